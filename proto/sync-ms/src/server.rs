//! The module beside the game server: it stamps updates, and serves actions in order.

use std::collections::VecDeque;
use std::sync::Arc;

use evenkeel_core::{Draws, PeerId, SessionClock, SessionTime, Span, Synchronized, earlier};
use evenkeel_session::{PeerMap, Station};

use crate::clients::{ClientCounts, ClientReport, ClientState, Standing};
use crate::command::SmsEvent;
use crate::config::SyncConfig;
use crate::fair_order::FairnessMeter;
use crate::message::{Frame, PART_LEN_MAX, UpdateFrame, VERSION};
use crate::order::{ClientView, Order, Tag, WaitPolicy};
use crate::parts::split;
use crate::queue::ActionQueue;
use crate::update_log::Logged;

mod demand;
mod endpoint;
mod hold;
mod serving;

use demand::is_recent;
use hold::SteadyHold;
use serving::Turn;

/// Events that wait for the application. Beyond, the oldest is dropped: the application has stalled. What waits of 255 players
/// fits at once, as when the order is switched.
const EVENTS_MAX: usize = 65_536;

const TOSSES: u64 = 0x746f_7373;

/// The server-side module.
#[derive(Debug)]
pub struct Sms<C = Synchronized> {
    station: Station<C>,
    order: Order,
    /// The policy of that order.
    policy: Option<Arc<dyn WaitPolicy>>,
    sync_out: bool,
    cap: Span,
    heartbeat: Span,
    repeats: u32,
    foresight: Span,
    hold_rise: Option<Span>,
    clients: PeerMap<ClientState>,
    /// What was counted of players that have left.
    left: ClientCounts,
    queue: ActionQueue,
    /// Until when the head waits, as things stand.
    wait_until: Option<SessionTime>,
    /// When the next ping is due.
    ping_at: Option<SessionTime>,
    /// When the last update left or the last action came,
    used_at: Option<SessionTime>,
    /// and when the last action came.
    acted_at: Option<SessionTime>,
    /// The largest tag of an action served in its turn.
    served: SessionTime,
    /// When the last update is shown. The next is not shown before it.
    shown_at: SessionTime,
    steady_hold: SteadyHold,
    meter: FairnessMeter,
    draws: Draws,
    views: Vec<ClientView>,
    events: VecDeque<SmsEvent>,
    dropped: u64,
}

impl Sms {
    /// A module whose clock shows session time.
    #[must_use]
    pub fn new(config: &SyncConfig) -> Self {
        Self::with_clock(config, Synchronized)
    }
}

impl<C: SessionClock> Sms<C> {
    /// A module with this clock, which always has a session time.
    #[must_use]
    pub fn with_clock(config: &SyncConfig, clock: C) -> Self {
        Self {
            station: Station::new(VERSION, Span::ZERO, config.seed, clock),
            order: config.order.clone(),
            policy: config.order.policy(),
            sync_out: config.sync_out,
            cap: config.cap,
            heartbeat: config.heartbeat,
            repeats: config.repeats,
            foresight: config.foresight,
            hold_rise: config.hold_rise,
            clients: PeerMap::new(),
            left: ClientCounts::default(),
            queue: ActionQueue::default(),
            wait_until: None,
            ping_at: None,
            used_at: None,
            acted_at: None,
            served: SessionTime::MIN,
            shown_at: SessionTime::MIN,
            steady_hold: SteadyHold::new(config.hold_fall),
            meter: FairnessMeter::default(),
            draws: config.seed.child(TOSSES).draws(),
            views: Vec::new(),
            events: VecDeque::new(),
            dropped: 0,
        }
    }

    /// The order in which actions are served.
    #[must_use]
    pub const fn order(&self) -> &Order {
        &self.order
    }

    /// Whether updates are shown to everybody at once.
    #[must_use]
    pub const fn is_sync_out(&self) -> bool {
        self.sync_out
    }

    /// The session's clock.
    #[must_use]
    pub const fn clock(&self) -> &C {
        &self.station.clock
    }

    /// The session's clock, for one that is [set from outside](evenkeel_core::clock::MirroredClock).
    pub const fn clock_mut(&mut self) -> &mut C {
        &mut self.station.clock
    }

    /// What is known about each player.
    pub fn reports(&self) -> impl Iterator<Item = ClientReport> + '_ {
        self.clients.iter().map(|(peer, client)| client.report(peer))
    }

    /// What is known about a player.
    #[must_use]
    pub fn report(&self, peer: PeerId) -> Option<ClientReport> {
        self.clients.get(peer).map(|client| client.report(peer))
    }

    /// What is counted of all players, those that have left included.
    #[must_use]
    pub fn totals(&self) -> ClientCounts {
        let mut totals = self.left;
        self.clients.values().for_each(|client| totals += client.counts);
        totals
    }

    /// Events dropped because the application did not take them.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    fn push_event(&mut self, event: SmsEvent) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
            self.dropped += 1;
        }
        self.events.push_back(event);
    }

    fn drain_station_events(&mut self) {
        while let Some(peer) = self.station.outbox.poll_stalled() {
            self.push_event(SmsEvent::Stalled { peer });
        }
        while let Some(event) = self.station.clock.poll_event() {
            self.push_event(SmsEvent::Clock(event));
        }
    }

    /// Sends an update to one player or to all.
    fn update(&mut self, now: SessionTime, to: Option<PeerId>, reliable: bool, payload: &[u8]) {
        self.note_use(now, false);
        let hold = if self.sync_out { self.hold(now) } else { Span::ZERO };
        let update = Logged { stamp: now, hold, reliable };
        match to {
            Some(peer) => self.send_update(peer, update, payload),
            None => {
                let peers: Vec<PeerId> = self.clients.ids().collect();
                peers.into_iter().for_each(|peer| self.send_update(peer, update, payload));
            }
        }
    }

    /// How long after now everybody shows an update: as long as the slowest takes, and never before the update before.
    /// Nobody is delayed by more than the cap, the nearest neither.
    fn hold(&mut self, now: SessionTime) -> Span {
        let (mut nearest, mut slowest) = (None, Span::ZERO);
        for (_, client) in self.clients.iter_mut() {
            let made_up_for = client.made_up_for(now, self.hold_rise);
            if client.is_guaranteed() {
                nearest = earlier(nearest, client.distance(true));
                slowest = slowest.max(made_up_for.unwrap_or(Span::ZERO));
            }
        }
        let longest = nearest.unwrap_or(Span::ZERO) + self.cap;
        let steady = self.steady_hold.at(now, slowest.min(longest));
        let hold = steady.max(self.shown_at - now).max(Span::ZERO).min(longest);
        self.shown_at = self.shown_at.max(now + hold);
        hold
    }

    fn send_update(&mut self, peer: PeerId, update: Logged, payload: &[u8]) {
        let Some(client) = self.clients.get_mut(peer) else { return };
        let outbox = &mut self.station.outbox;
        let Logged { stamp, hold, reliable } = update;
        let room = if reliable { PART_LEN_MAX } else { outbox.frames_max(peer) };
        let Some(parts) = split(payload, room) else {
            client.counts.unsent += 1;
            return;
        };
        let id = client.log.push(update);
        client.hold = hold;
        client.counts.updates += 1;
        let mut is_sent = true;
        for (part, payload) in parts {
            let frame = Frame::Update(UpdateFrame { id, stamp, hold, part, payload });
            let nonce = if reliable {
                outbox.reliable(peer, |stamp, bytes| frame.emit(Some(stamp), bytes))
            } else {
                outbox.datagram(peer, |stamp, bytes| frame.emit(Some(stamp), bytes))
            };
            is_sent &= nonce.is_some();
        }
        client.counts.unsent += u64::from(!is_sent);
    }

    /// Pings whom it is time to ping.
    fn ping(&mut self, now: SessionTime) {
        if self.ping_at.is_none_or(|at| at > now) {
            return;
        }
        let heartbeat = if self.is_ordering(now) { self.heartbeat } else { Span::ZERO };
        let frame = Frame::Ping { heartbeat };
        let mut next: Option<SessionTime> = None;
        for (peer, client) in self.clients.iter_mut() {
            if client.ping_at <= now {
                client.ping_at = now + client.path.ping_interval();
                let nonce = self.station.outbox.unstamped(peer, |stamp, bytes| frame.emit(stamp, bytes));
                if let Some(nonce) = nonce {
                    client.path.pinged(nonce, now);
                }
            }
            next = earlier(next, Some(client.ping_at));
        }
        self.ping_at = next.filter(|_| self.is_measuring(now));
        self.review_standings(now);
    }

    /// Decides who is waited for.
    fn review_standings(&mut self, now: SessionTime) {
        if self.policy.is_none() {
            return;
        }
        let (heartbeat, is_ordering, sync_out) = (self.heartbeat, self.is_ordering(now), self.sync_out);
        let present =
            self.clients.values().filter(|client| !is_ordering || !client.is_silent(now, heartbeat));
        let least = present.filter_map(|client| client.distance(sync_out)).min().unwrap_or(Span::ZERO);
        let mut changes = Vec::new();
        for (peer, client) in self.clients.iter_mut() {
            let excess = client.distance(sync_out).map_or(Span::ZERO, |distance| distance - least);
            // Somebody at the cap does not flicker.
            let cap =
                if client.standing == Standing::BeyondCap { self.cap - self.cap.part(10) } else { self.cap };
            let standing = match client.standing {
                _ if excess > cap => Standing::BeyondCap,
                _ if is_ordering && client.is_silent(now, heartbeat) => Standing::Silent,
                _ => Standing::Guaranteed,
            };
            if client.set_standing(standing) {
                changes.push(SmsEvent::Guaranteed { peer, is_guaranteed: standing == Standing::Guaranteed });
            }
        }
        changes.into_iter().for_each(|event| self.push_event(event));
    }

    fn switch(&mut self, now: SessionTime, order: Order, sync_out: bool) {
        while let Some((place, action)) = self.queue.pop() {
            self.serve(now, place, action, Turn::None);
        }
        self.wait_until = None;
        self.policy = order.policy();
        (self.order, self.sync_out) = (order, sync_out);
        if is_recent(self.used_at, now) {
            // Everybody learns at once what is asked of it from now on.
            self.ping_all(now);
        }
    }

    fn tag(&self) -> Tag {
        self.policy.as_ref().map_or(Tag::Virtual, |policy| policy.tag())
    }
}

//! The module beside a player: it shows updates, and tags actions.
//!
//! A tag says which update the player had before it when it acted, and how long it had been shown. That is the player's
//! reaction by its own clock, so the place in the fair order, the update's stamp plus the reaction, needs no clock that is
//! shared. A promise names the earliest such place of the *next* action: with it the SMS knows when nobody can be faster any
//! more.

use std::collections::VecDeque;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionClock, SessionTime, Span,
    Synchronized, earlier,
};
use evenkeel_session::Station;

use crate::command::{SmcCommand, SmcEvent};
use crate::config::{Late, Respective, SyncConfig};
use crate::message::{Frame, Moment, PART_LEN_MAX, PAYLOAD_MAX, SyncMessage, UpdateFrame, VERSION};
use crate::parts::{PartBuffer, split};
use crate::seq_window::SeqWindow;

mod held;
mod pace;
mod sent;

use held::{HELD_MAX, Held, HeldUpdate};
use pace::Pace;
use sent::{Sent, SentActions};

/// Events that wait for the application. Beyond, the oldest is dropped: the application has stalled. All updates that are
/// held fit at once, as when a connection ends.
const EVENTS_MAX: usize = 2 * HELD_MAX;
/// Delays of updates that wait for the next packet. Beyond, the oldest is dropped: newer ones say more.
const HEARD_MAX: usize = 8;
/// The shortest heartbeat that a server may ask for.
const HEARTBEAT_MIN: Span = Span::from_millis(1);
/// How long a ping asks for promises and heartbeats: many times as long as until the next.
const PINGED_FOR: Span = Span::from_secs(1);

/// A new action is repeated this soon, so that a lost packet costs no more than the jitter of most paths.
const REPEAT_AFTER: Span = Span::from_millis(4);

/// An update that has been shown.
#[derive(Clone, Copy, Debug)]
struct Shown {
    update: u32,
    stamp: SessionTime,
    at: LocalTime,
}

impl Shown {
    /// The place of a moment in the fair order, in server time.
    fn place(&self, at: LocalTime) -> SessionTime {
        self.stamp + (at - self.at)
    }

    /// A place relative to this update.
    fn moment(&self, place: SessionTime) -> Moment {
        Moment { update: self.update, elapsed: place - self.stamp }
    }
}

/// What a client counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SmcCounts {
    /// Updates that arrived.
    pub updates: u64,
    /// Updates that arrived after everybody else showed them.
    pub late: u64,
    /// Updates that were shown without holding them, because there was no session time or too many were held.
    pub not_held: u64,
    /// Actions that were not sent, because they were too long or there was no connection.
    pub unsent: u64,
    /// Events dropped because the application did not take them.
    pub dropped: u64,
}

/// The client-side module of one player.
#[derive(Debug)]
pub struct Smc<C = Synchronized> {
    station: Station<C>,
    server: PeerId,
    late: Late,
    respective: Respective,
    /// The longest silence that the server accepts; without one, any.
    heartbeat: Option<Span>,
    /// Until when the server listens, unless another ping comes.
    pinged_until: LocalTime,
    repeats: u32,
    foresight: Span,
    is_connected: bool,
    arrived: SeqWindow,
    parts: PartBuffer,
    held: Held,
    heard: VecDeque<(u32, Span)>,
    newest: Option<Shown>,
    /// What the next action reacts to.
    respected: Option<Shown>,
    pace: Pace,
    /// The place of the last action or promise: the next action is not before it.
    floor: SessionTime,
    next_seq: u32,
    sent: SentActions,
    /// The nonce of a message with a ping.
    unanswered: Option<u32>,
    /// When a packet was last put together.
    spoke: LocalTime,
    /// Whether it held a new action, which is repeated soon.
    is_repeating: bool,
    events: VecDeque<SmcEvent>,
    counts: SmcCounts,
}

impl Smc {
    /// A client whose clock shows session time.
    #[must_use]
    pub fn new(config: &SyncConfig, server: PeerId) -> Self {
        Self::with_clock(config, server, Synchronized)
    }
}

impl<C: SessionClock> Smc<C> {
    /// A client with this clock.
    #[must_use]
    pub fn with_clock(config: &SyncConfig, server: PeerId, clock: C) -> Self {
        Self {
            station: Station::new(VERSION, Span::ZERO, config.seed, clock),
            server,
            late: config.late,
            respective: config.respective,
            heartbeat: None,
            pinged_until: LocalTime::MIN,
            repeats: config.repeats,
            foresight: config.foresight,
            is_connected: false,
            arrived: SeqWindow::default(),
            parts: PartBuffer::default(),
            held: Held::default(),
            heard: VecDeque::new(),
            newest: None,
            respected: None,
            pace: Pace::default(),
            floor: SessionTime::MIN,
            next_seq: 0,
            sent: SentActions::default(),
            unanswered: None,
            spoke: LocalTime::MIN,
            is_repeating: false,
            events: VecDeque::new(),
            counts: SmcCounts::default(),
        }
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

    /// What has been counted.
    #[must_use]
    pub const fn counts(&self) -> SmcCounts {
        self.counts
    }

    fn push_event(&mut self, event: SmcEvent) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
            self.counts.dropped += 1;
        }
        self.events.push_back(event);
    }

    fn drain_clock_events(&mut self) {
        while let Some(event) = self.station.clock.poll_event() {
            self.push_event(SmcEvent::Clock(event));
        }
    }

    /// Sends an action, the ones before it, and a promise.
    fn act(&mut self, now: LocalTime, session: Option<SessionTime>, reliable: bool, bytes: Vec<u8>) {
        if bytes.len() > PAYLOAD_MAX || !self.is_connected {
            self.counts.unsent += 1;
            return;
        }
        if self.respective == Respective::Newest {
            self.respected = self.newest;
        }
        let reaction = self.respected.map(|shown| {
            self.floor = self.floor.max(shown.place(now));
            shown.moment(self.floor)
        });
        self.pace.acted(now);
        let mut action = Sent { seq: self.next_seq, reaction, sent: session, bytes, repeats: self.repeats };
        self.next_seq = self.next_seq.wrapping_add(1);
        if reliable {
            self.send_reliably(&action);
        }
        if self.send_in_datagrams(&action) > 1 {
            // Too much to repeat.
            action.repeats = 0;
        }
        let new = Some(action.seq);
        self.sent.push(action);
        // The game reads its input queue now: the next action reacts to what it finds.
        self.respected = self.newest;
        self.speak(now, new);
    }

    /// Returns the number of parts.
    fn send_in_datagrams(&mut self, action: &Sent) -> usize {
        let outbox = &mut self.station.outbox;
        let Some(parts) = split(&action.bytes, outbox.frames_max(self.server)) else {
            self.counts.unsent += 1;
            return 0;
        };
        let send = |(part, payload)| {
            outbox.unstamped(self.server, |stamp, bytes| action.frame(part, payload).emit(stamp, bytes));
        };
        parts.map(send).count()
    }

    fn send_reliably(&mut self, action: &Sent) {
        for (part, payload) in split(&action.bytes, PART_LEN_MAX).into_iter().flatten() {
            let frame = action.frame(part, payload);
            self.station.outbox.reliable_unstamped(self.server, |stamp, bytes| frame.emit(stamp, bytes));
        }
    }

    /// Adds what a packet carries beside a new action: the actions before it as far as they fit, delays, and a promise.
    fn speak(&mut self, now: LocalTime, new: Option<u32>) {
        self.spoke = now;
        self.is_repeating = new.is_some() && self.repeats > 0;
        if !self.is_connected {
            return;
        }
        let room = self.station.outbox.frames_max(self.server);
        let (outbox, server) = (&mut self.station.outbox, self.server);
        self.sent.repeat(room, new, |action| {
            outbox.unstamped(server, |stamp, bytes| action.whole().emit(stamp, bytes));
        });
        while let Some((update, delay)) = self.heard.pop_front() {
            let frame = Frame::Heard { update, delay };
            self.station.outbox.unstamped(self.server, |stamp, bytes| frame.emit(stamp, bytes));
        }
        if let Some(moment) = self.promise(now) {
            let frame = Frame::Promise { next: self.next_seq, moment };
            self.station.outbox.unstamped(self.server, |stamp, bytes| frame.emit(stamp, bytes));
        }
    }

    /// Promises the earliest place of the next action in the fair order, if the server listens.
    fn promise(&mut self, now: LocalTime) -> Option<Moment> {
        let shown = self.respected?;
        if now >= self.pinged_until {
            return None;
        }
        // The next action may react to a later update, which took longer than this one.
        let margin = match self.respective {
            Respective::BeforePreviousAction => Span::ZERO,
            Respective::Newest => self.pace.excess(shown.stamp, shown.at),
        };
        let next = self.pace.next_action().map_or(now, |next| next.min(now + self.foresight).max(now));
        self.floor = self.floor.max(shown.place(next) - margin);
        Some(shown.moment(self.floor))
    }

    fn on_update(
        &mut self,
        now: LocalTime,
        session: Option<SessionTime>,
        channel: Channel,
        update: &UpdateFrame<'_>,
    ) {
        if self.arrived.has(update.id) {
            return;
        }
        let Some(bytes) = self.parts.add(update.id, update.part, update.payload) else { return };
        self.arrived.note(update.id);
        let UpdateFrame { id, stamp, hold, .. } = *update;
        // An update on the reliable channel must be seen, however late.
        let is_discarded_late = self.late == Late::Discard && channel == Channel::Datagram;
        self.on_whole_update(now, session, HeldUpdate { id, stamp, bytes }, hold, is_discarded_late);
    }

    fn on_whole_update(
        &mut self,
        now: LocalTime,
        session: Option<SessionTime>,
        update: HeldUpdate,
        hold: Span,
        is_discarded_late: bool,
    ) {
        self.counts.updates += 1;
        let Some(at) = session else {
            self.counts.not_held += u64::from(hold > Span::ZERO);
            return self.show(now, update, Span::ZERO);
        };
        if self.heard.len() == HEARD_MAX {
            self.heard.pop_front();
        }
        self.heard.push_back((update.id, at - update.stamp));
        let show_at = update.stamp + hold;
        if hold <= Span::ZERO {
            return self.show(now, update, Span::ZERO);
        }
        if show_at < at {
            self.counts.late += 1;
            if !is_discarded_late {
                self.show(now, update, at - show_at);
            }
            return;
        }
        self.held.push(show_at, update);
        while let Some(crowded_out) = self.held.pop_crowded() {
            self.counts.not_held += 1;
            self.show(now, crowded_out, Span::ZERO);
        }
    }

    fn show(&mut self, now: LocalTime, update: HeldUpdate, late: Span) {
        let HeldUpdate { id, stamp, bytes } = update;
        let shown = Shown { update: id, stamp, at: now };
        self.pace.shown(stamp, now);
        if self.newest.is_none_or(|newest| newest.update < id) {
            self.newest = Some(shown);
        }
        if self.respective == Respective::Newest || self.respected.is_none() {
            self.respected = self.newest;
        }
        self.push_event(SmcEvent::Update { id, stamp, late, bytes });
    }

    /// Shows what is due. A clock that jumps makes it due at once.
    fn show_due(&mut self, now: LocalTime, session: Option<SessionTime>) {
        while let Some(update) = self.held.pop_due(session) {
            self.show(now, update, Span::ZERO);
        }
    }

    fn heartbeat_at(&self) -> Option<LocalTime> {
        let every = self.heartbeat.filter(|_| self.is_connected && self.respected.is_some())?;
        let pause = if self.is_repeating { every.min(REPEAT_AFTER) } else { every };
        Some(self.spoke + pause).filter(|at| *at < self.pinged_until)
    }

    fn beat(&mut self, now: LocalTime) {
        if self.heartbeat_at().is_some_and(|at| at <= now) {
            self.speak(now, None);
        }
    }

    /// Advances the time, and does what is due.
    fn advance(&mut self, now: LocalTime) -> Option<SessionTime> {
        let session = self.station.set_now(now);
        self.show_due(now, session);
        session
    }

    /// Answers the ping of a message.
    fn answer(&mut self, now: LocalTime) {
        if let Some(nonce) = self.unanswered.take() {
            let frame = Frame::Pong(nonce);
            self.station.outbox.unstamped(self.server, |stamp, bytes| frame.emit(stamp, bytes));
            // The answer leaves at once anyway, so it brings the newest promise along.
            self.speak(now, None);
        }
    }

    fn apply(
        &mut self,
        now: LocalTime,
        session: Option<SessionTime>,
        (channel, nonce): (Channel, u32),
        frame: &Frame<'_>,
    ) {
        match frame {
            Frame::Update(update) => self.on_update(now, session, channel, update),
            Frame::Ping { heartbeat } => {
                self.heartbeat = (*heartbeat > Span::ZERO).then(|| (*heartbeat).max(HEARTBEAT_MIN));
                self.pinged_until = now + PINGED_FOR;
                self.unanswered = Some(nonce);
            }
            Frame::Clock(frame) => self.station.on_clock_frame(self.server, frame),
            Frame::Action(_) | Frame::Promise { .. } | Frame::Heard { .. } | Frame::Pong(_) => {}
        }
    }
}

impl<C: SessionClock> Endpoint for Smc<C> {
    type Command = SmcCommand;
    type Event = SmcEvent;

    fn handle_command(&mut self, now: LocalTime, command: SmcCommand) {
        let now = self.station.hold(now);
        let session = self.advance(now);
        let SmcCommand::Act { reliable, bytes } = command;
        self.act(now, session, reliable, bytes);
        self.drain_clock_events();
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if from != self.server || !self.is_connected {
            return Err(Rejected::UnknownPeer);
        }
        let mut message = SyncMessage::unchecked(bytes);
        message.check(|frame| match frame {
            Frame::Update(_) => Ok(()),
            Frame::Ping { .. } | Frame::Clock(_) if channel == Channel::Datagram => Ok(()),
            _ => Err(Rejected::Unexpected),
        })?;
        let now = self.station.hold(now);
        let session = self.advance(now);
        let nonce = message.header().nonce;
        message.each(|frame| self.apply(now, session, (channel, nonce), frame));
        self.answer(now);
        // A clock that has just been fixed, or has jumped, may make updates due.
        self.advance(now);
        self.drain_clock_events();
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        if change.peer() != self.server {
            return;
        }
        let now = self.station.hold(now);
        self.advance(now);
        self.station.on_peer(change);
        self.is_connected = matches!(change, PeerChange::Joined { .. });
        // The numbers of another connection's updates and actions mean nothing to this one.
        while let Some(update) = self.held.pop() {
            self.show(now, update, Span::ZERO);
        }
        (self.newest, self.respected, self.heartbeat) = (None, None, None);
        (self.arrived, self.parts) = (SeqWindow::default(), PartBuffer::default());
        (self.sent, self.next_seq, self.floor) = (SentActions::default(), 0, SessionTime::MIN);
        self.heard.clear();
        self.spoke = now;
        self.drain_clock_events();
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        let now = self.station.hold(now);
        self.advance(now);
        self.station.wake_clock();
        self.beat(now);
        self.drain_clock_events();
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.station.poll(now, bytes, |_, _| {})
    }

    fn poll_event(&mut self) -> Option<SmcEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        earlier(self.station.next_timeout(self.held.next_at()), self.heartbeat_at())
    }
}

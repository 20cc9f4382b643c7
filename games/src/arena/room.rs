//! The relay of an arena: dead reckoning for its players, and a referee that updates fifty times a second.

use std::collections::VecDeque;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Seed, SessionClock, Span, Wire, delegate_endpoint,
};
use evenkeel_dr::{DrConfig, DrEvent, DrRelay, DrRoom, RelayCommand, RoomEntity};
use evenkeel_session::Room;

use super::field::Field;
use super::referee::Referee;

/// Interval between the referee's updates.
const UPDATE_INTERVAL: Span = Span::from_millis(20);
/// Limit on messages waiting to be sent; they are drained after every call.
const OUTGOING_MAX: usize = 65_536;

/// The relay of an arena.
#[derive(Debug)]
pub struct ArenaRoom<C> {
    dr: DrRelay<C>,
    referee: Referee,
    players: Vec<PeerId>,
    next: Option<LocalTime>,
    latest: LocalTime,
    outgoing: VecDeque<(PeerId, Vec<u8>)>,
    present: Vec<RoomEntity>,
}

impl<C: SessionClock> ArenaRoom<C> {
    /// Makes a room with this clock.
    #[must_use]
    pub fn new(config: &DrConfig, clock: C, seed: Seed) -> Self {
        Self {
            dr: DrRelay::with_clock(config, clock),
            referee: Referee::new(Field::default(), seed),
            players: Vec::new(),
            next: None,
            latest: LocalTime::MIN,
            outgoing: VecDeque::new(),
            present: Vec::new(),
        }
    }

    /// Returns the referee.
    #[must_use]
    pub const fn referee(&self) -> &Referee {
        &self.referee
    }

    fn update(&mut self, now: LocalTime) {
        self.latest = self.latest.max(now);
        let now = self.latest;
        if self.next.is_none_or(|next| next <= now)
            && let Some(session) = self.dr.clock().session(now)
        {
            // Missed updates are not made up for.
            let next = self.next.map_or(now, |next| next + UPDATE_INTERVAL);
            self.next = Some(if next > now { next } else { now + UPDATE_INTERVAL });
            self.present.clear();
            self.present.extend(self.dr.entities());
            self.referee.update(&self.present, session);
        }
        while let Some((to, message)) = self.referee.poll_message() {
            let mut bytes = Vec::new();
            message.emit(&mut bytes);
            match to {
                Some(peer) => self.send(peer, bytes),
                None => {
                    (0..self.players.len()).for_each(|index| self.send(self.players[index], bytes.clone()))
                }
            }
        }
    }

    fn send(&mut self, to: PeerId, bytes: Vec<u8>) {
        if self.outgoing.len() < OUTGOING_MAX && self.players.contains(&to) {
            self.outgoing.push_back((to, bytes));
        }
    }
}

impl<C: SessionClock> DrRoom<C> for ArenaRoom<C> {
    fn dr(&self) -> &DrRelay<C> {
        &self.dr
    }
}

impl<C: SessionClock> Room for ArenaRoom<C> {
    fn stalled(event: &DrEvent) -> Option<PeerId> {
        DrRelay::<C>::stalled(event)
    }

    fn tallies(&self, player: PeerId) -> Vec<(&'static str, u64)> {
        let score = self.referee.score(player);
        let fouls = self.referee.fouls(player);
        [("hits", score.hits), ("losses", score.losses), ("fouls", fouls)]
            .map(|(name, count)| (name, u64::from(count)))
            .to_vec()
    }
}

impl<C: SessionClock> Endpoint for ArenaRoom<C> {
    type Command = RelayCommand;
    type Event = DrEvent;

    delegate_endpoint!(self.dr: handle_command, handle_message, poll_event);

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.dr.handle_peer(now, change);
        let peer = change.peer();
        self.players.retain(|player| *player != peer);
        self.outgoing.retain(|(to, _)| *to != peer);
        match change {
            PeerChange::Joined { .. } => {
                self.players.push(peer);
                self.referee.join(peer);
            }
            PeerChange::Left { .. } => self.referee.leave(peer),
        }
        self.update(now);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.dr.handle_timeout(now);
        self.update(now);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        if let Some((to, message)) = self.outgoing.pop_front() {
            *bytes = message;
            return Some((to, Channel::Reliable));
        }
        self.dr.poll_transmit(now, bytes)
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let update = self.next.filter(|_| !self.players.is_empty());
        [update, self.dr.poll_timeout()].into_iter().flatten().min()
    }
}

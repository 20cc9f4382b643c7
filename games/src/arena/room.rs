//! The relay of an arena: dead reckoning for its players, and a referee who looks at it fifty times a second.

use std::collections::VecDeque;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Seed, SessionClock, Span, Wire,
};
use evenkeel_dr::{DrConfig, DrEvent, DrRelay, DrRoom, RelayCommand, RoomEntity};
use evenkeel_session::Room;

use super::field::Field;
use super::referee::Referee;

/// How often the referee looks.
const LOOK: Span = Span::from_millis(20);
/// Messages that wait to be taken; they are taken after every call.
const WAITING_MAX: usize = 65_536;

/// The relay of an arena.
#[derive(Debug)]
pub struct ArenaRoom<C> {
    dr: DrRelay<C>,
    referee: Referee,
    here: Vec<PeerId>,
    next: Option<LocalTime>,
    latest: LocalTime,
    outgoing: VecDeque<(PeerId, Vec<u8>)>,
    present: Vec<RoomEntity>,
}

impl<C: SessionClock> ArenaRoom<C> {
    /// A room with this clock.
    #[must_use]
    pub fn new(config: &DrConfig, clock: C, seed: Seed) -> Self {
        Self {
            dr: DrRelay::with_clock(config, clock),
            referee: Referee::new(Field::default(), seed),
            here: Vec::new(),
            next: None,
            latest: LocalTime::MIN,
            outgoing: VecDeque::new(),
            present: Vec::new(),
        }
    }

    /// Who decides.
    #[must_use]
    pub const fn referee(&self) -> &Referee {
        &self.referee
    }

    fn look(&mut self, now: LocalTime) {
        self.latest = self.latest.max(now);
        let now = self.latest;
        if self.next.is_none_or(|next| next <= now)
            && let Some(session) = self.dr.clock().session(now)
        {
            // Looks that were missed are not made up for.
            let next = self.next.map_or(now, |next| next + LOOK);
            self.next = Some(if next > now { next } else { now + LOOK });
            self.present.clear();
            self.present.extend(self.dr.entities());
            self.referee.look(&self.present, session);
        }
        while let Some((to, news)) = self.referee.poll_news() {
            let mut bytes = Vec::new();
            news.emit(&mut bytes);
            match to {
                Some(peer) => self.say(peer, bytes),
                None => (0..self.here.len()).for_each(|place| self.say(self.here[place], bytes.clone())),
            }
        }
    }

    fn say(&mut self, to: PeerId, bytes: Vec<u8>) {
        if self.outgoing.len() < WAITING_MAX && self.here.contains(&to) {
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

    fn handle_command(&mut self, now: LocalTime, command: RelayCommand) {
        self.dr.handle_command(now, command);
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        self.dr.handle_message(now, from, channel, bytes)
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.dr.handle_peer(now, change);
        let peer = change.peer();
        self.here.retain(|here| *here != peer);
        self.outgoing.retain(|(to, _)| *to != peer);
        match change {
            PeerChange::Joined { .. } => {
                self.here.push(peer);
                self.referee.join(peer);
            }
            PeerChange::Left { .. } => self.referee.leave(peer),
        }
        self.look(now);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.dr.handle_timeout(now);
        self.look(now);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        if let Some((to, news)) = self.outgoing.pop_front() {
            *bytes = news;
            return Some((to, Channel::Reliable));
        }
        self.dr.poll_transmit(now, bytes)
    }

    fn poll_event(&mut self) -> Option<DrEvent> {
        self.dr.poll_event()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let look = self.next.filter(|_| !self.here.is_empty());
        [look, self.dr.poll_timeout()].into_iter().flatten().min()
    }
}

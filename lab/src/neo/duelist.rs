//! Players of a game of tells, honest ones and cheats, around the real machine of any protocol.
//!
//! Every move carries a tell: the time at which its player made it. A cheat puts the newest tell that it has seen of the
//! honest into its own moves, as if it reacted to it; it also reads what arrives before its machine may show it. If an
//! honest player accepts a move of a slot with a tell of that slot, the cheat has moved after having seen the others move.
//! The cheats work on what any machine takes and gives: its clock, and its messages.

use std::collections::VecDeque;

use evenkeel_core::{Channel, Draws, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Seed, Span};
use evenkeel_neo::{NeoCommand, NeoEvent};

use super::node::BoxedPeer;

/// How often a player moves.
const TICK: Span = Span::from_millis(10);
/// What tells of the honest and of cheats begin with.
const HONEST: [u8; 6] = *b"tell-h";
const CHEATED: [u8; 6] = *b"tell-c";
/// Length of a tell.
const TELL: usize = HONEST.len() + 8;
/// Limit on the messages that a replaying cheat remembers.
const REMEMBERED_MAX: usize = 64;

/// What a player does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Role {
    /// Plays by the rules.
    Honest,
    /// Its machine lives this much in the past, so that it sends later and knows more: look-ahead, fixed delay, and wrong
    /// timestamps.
    Late(Span),
    /// It sends nothing for three slots out of four, and then what suits it: suppress-correct.
    Suppressing,
    /// It tells one half of the players another move than the other: inconsistency.
    TwoFaced,
    /// It sends messages again, its own and those of others.
    Replaying,
    /// Its machine says that it is another player.
    Spoofing,
}

/// What a move tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tell {
    pub(crate) at: LocalTime,
    pub(crate) is_honest: bool,
}

impl Tell {
    fn bytes(self, face: u8) -> Vec<u8> {
        let mark = if self.is_honest { HONEST } else { CHEATED };
        [&mark[..], &self.at.as_nanos().to_le_bytes(), &[face]].concat()
    }

    /// Reads it from a move.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let is_honest = bytes.starts_with(&HONEST);
        let time = bytes.get(HONEST.len()..TELL)?.try_into().ok()?;
        let at = LocalTime::from_nanos(i64::from_le_bytes(time));
        (is_honest || bytes.starts_with(&CHEATED)).then_some(Self { at, is_honest })
    }

    /// The newest tell of an honest player anywhere in a message.
    fn newest(bytes: &[u8]) -> Option<LocalTime> {
        let tells = bytes.windows(TELL).filter(|window| window.starts_with(&HONEST));
        tells.filter_map(Self::of).map(|tell| tell.at).max()
    }
}

/// A player.
pub(crate) struct Duelist {
    role: Role,
    peer: BoxedPeer,
    /// The machine that faces the other half, of a two-faced cheat.
    twin: Option<BoxedPeer>,
    /// The newest tell of an honest player that it has seen.
    seen: LocalTime,
    next: LocalTime,
    /// The length of a slot, for cheats that count them.
    slot: Span,
    remembered: VecDeque<(Channel, Vec<u8>)>,
    replays: VecDeque<(PeerId, Channel, Vec<u8>)>,
    draws: Draws,
}

impl Duelist {
    pub(crate) fn new(role: Role, peer: BoxedPeer, twin: Option<BoxedPeer>, slot: Span, seed: Seed) -> Self {
        Self {
            role,
            peer,
            twin,
            seen: LocalTime::from_nanos(0),
            next: LocalTime::from_nanos(0),
            slot,
            remembered: VecDeque::new(),
            replays: VecDeque::new(),
            draws: seed.draws(),
        }
    }

    const fn lag(&self) -> Span {
        match self.role {
            Role::Late(lag) => lag,
            _ => Span::ZERO,
        }
    }

    /// The machine that talks with this player.
    fn facing(&mut self, other: PeerId) -> &mut BoxedPeer {
        match &mut self.twin {
            Some(twin) if other.0 % 2 == 1 => twin,
            _ => &mut self.peer,
        }
    }

    /// Moves if it is time.
    fn play(&mut self, now: LocalTime) {
        if now < self.next {
            return;
        }
        self.next = now + TICK;
        let is_honest = self.role == Role::Honest;
        let tell = Tell { at: if is_honest { now } else { self.seen }, is_honest };
        let lag = self.lag();
        self.peer.handle_command(now - lag, NeoCommand::Submit(tell.bytes(0)));
        if let Some(twin) = &mut self.twin {
            twin.handle_command(now, NeoCommand::Submit(tell.bytes(1)));
        }
        if self.role == Role::Replaying && !self.remembered.is_empty() {
            let index = self.draws.below(self.remembered.len() as u64) as usize;
            let (channel, bytes) = self.remembered[index].clone();
            let to = PeerId(self.draws.below(8) as u32);
            self.replays.push_back((to, channel, bytes));
        }
    }

    fn remember(&mut self, channel: Channel, bytes: &[u8]) {
        if self.role == Role::Replaying && channel == Channel::Datagram {
            if self.remembered.len() == REMEMBERED_MAX {
                self.remembered.pop_front();
            }
            self.remembered.push_back((channel, bytes.to_vec()));
        }
    }

    /// Whether a message is held back.
    fn is_suppressed(&self, now: LocalTime) -> bool {
        let slots = now.as_nanos() / self.slot.as_nanos().max(1);
        self.role == Role::Suppressing && slots % 4 != 3
    }
}

impl Endpoint for Duelist {
    type Command = NeoCommand;
    type Event = NeoEvent;

    fn handle_command(&mut self, now: LocalTime, command: NeoCommand) {
        let lag = self.lag();
        self.peer.handle_command(now - lag, command);
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if self.role != Role::Honest {
            self.seen = self.seen.max(Tell::newest(bytes).unwrap_or(LocalTime::MIN));
            self.remember(channel, bytes);
        }
        let lag = self.lag();
        let handled = self.facing(from).handle_message(now - lag, from, channel, bytes);
        self.play(now);
        handled
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        let lag = self.lag();
        self.facing(change.peer()).handle_peer(now - lag, change);
        self.play(now);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        let lag = self.lag();
        self.play(now);
        self.peer.handle_timeout(now - lag);
        if let Some(twin) = &mut self.twin {
            twin.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        if let Some((to, channel, replayed)) = self.replays.pop_front() {
            *bytes = replayed;
            return Some((to, channel));
        }
        let lag = self.lag();
        loop {
            let mut sent = self.peer.poll_transmit(now - lag, bytes);
            if sent.is_none()
                && let Some(twin) = &mut self.twin
            {
                sent = twin.poll_transmit(now, bytes);
            }
            let (to, channel) = sent?;
            self.remember(channel, bytes);
            if channel == Channel::Reliable || !self.is_suppressed(now) {
                return Some((to, channel));
            }
        }
    }

    fn poll_event(&mut self) -> Option<NeoEvent> {
        while self.twin.as_mut().and_then(BoxedPeer::poll_event).is_some() {}
        self.peer.poll_event()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let own = self.peer.poll_timeout().map(|at| at + self.lag());
        let twin = self.twin.as_ref().and_then(BoxedPeer::poll_timeout);
        [own, twin, Some(self.next)].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_are_found_within_messages() {
        let tell = |millis: i64| Tell { at: LocalTime::from_nanos(millis * 1_000_000), is_honest: true };
        let (early, late) = (tell(5), tell(9));
        let message = [&[1, 2, 3][..], &late.bytes(0), &[0; 9], &early.bytes(0)].concat();
        assert_eq!(Tell::newest(&message), Some(late.at));
        assert_eq!(Tell::of(&early.bytes(0)), Some(early));
        let cheated = Tell { is_honest: false, ..late };
        assert_eq!(Tell::newest(&cheated.bytes(1)), None, "cheats do not react to cheats");
        assert_eq!(Tell::of(&cheated.bytes(1)), Some(cheated));
    }
}

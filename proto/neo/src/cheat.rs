//! Cheaters, to show that cheating does not pay: for tests, the lab, and a demonstration.
//!
//! A [`CheatingPeer`] is a [`NeoPeer`] whose clock, messages and moves are tampered with, as somebody would who has the
//! source. With [`Cheat::None`] it is an honest peer.

use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{
    Channel, ClockEvent, ClockFrame, Endpoint, LocalTime, MedianClock, PeerChange, PeerId, Rejected,
    SessionClock, SessionTime, Span, earlier,
};

use crate::command::{NeoCommand, NeoEvent};
use crate::config::NeoConfig;
use crate::control::Control;
use crate::crypto::{Commitment, Identity, Nonce, PublicKey, Session, commit};
use crate::message::{Datagram, Opening, Update, VoteBlock, emit_datagram, emit_update};
use crate::peer::NeoPeer;
use crate::proof::{Signed, Statement};

/// Messages held back. Beyond, the oldest leave.
const HELD_MAX: usize = 4_096;
/// Slots whose sniffed moves are kept.
const SNIFFED_MAX: usize = 256;
/// Moves that a peer makes before it tells two stories: it has to be trusted first.
pub const HONEST_MOVES: u64 = 40;

/// How a peer cheats.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Cheat {
    /// Not at all.
    #[default]
    None,
    /// Waits until this peer's move of a slot is open, and makes the same move for the same slot.
    LookAhead(PeerId),
    /// Is silent for the first half of each period, and then tells what it did meanwhile.
    SuppressCorrect(Span),
    /// Sends everything this much later.
    FixedDelay(Span),
    /// Says that its moves were made this much earlier than they were.
    Timestamp(Span),
    /// Tells these peers other moves than the rest.
    Inconsistency(Vec<PeerId>),
    /// Tells these peers other state changes than the rest.
    TwoChanges(Vec<PeerId>),
    /// Votes for these peers' moves, however late they were.
    Collusion(Vec<PeerId>),
    /// Repeats this peer's commitments and openings as its own.
    Replay(PeerId),
    /// Claims to hold this key.
    Spoofing(PublicKey),
}

/// A clock that is behind another one.
#[derive(Clone, Debug, Default)]
pub struct LateClock<C> {
    inner: C,
    by: Span,
}

impl<C: SessionClock> SessionClock for LateClock<C> {
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        self.inner.session(now).map(|at| at - self.by)
    }
    fn local(&self, at: SessionTime) -> Option<LocalTime> {
        self.inner.local(at + self.by)
    }
    fn error_max(&self, now: LocalTime) -> Option<Span> {
        self.inner.error_max(now)
    }
    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.inner.handle_peer(now, change);
    }
    fn handle_frame(&mut self, now: LocalTime, from: PeerId, frame: &ClockFrame) {
        self.inner.handle_frame(now, from, frame);
    }
    fn poll_due(&mut self, now: LocalTime) -> Option<PeerId> {
        self.inner.poll_due(now)
    }
    fn poll_frame(&mut self, now: LocalTime, to: PeerId) -> Option<ClockFrame> {
        self.inner.poll_frame(now, to)
    }
    fn is_urgent(&self, to: PeerId) -> bool {
        self.inner.is_urgent(to)
    }
    fn poll_timeout(&self) -> Option<LocalTime> {
        self.inner.poll_timeout()
    }
    fn poll_event(&mut self) -> Option<ClockEvent> {
        self.inner.poll_event()
    }
}

/// What a cheater saw of its victim's slot.
#[derive(Clone, Debug, Default)]
struct Sniffed {
    commitment: Option<Commitment>,
    opening: Option<(Nonce, Vec<u8>)>,
}

/// A message that is held back.
type Held = (LocalTime, PeerId, Channel, Vec<u8>);

/// A peer that cheats.
#[derive(Debug)]
pub struct CheatingPeer<C = MedianClock> {
    inner: NeoPeer<LateClock<C>>,
    identity: Identity,
    session: Session,
    cheat: Cheat,
    now: LocalTime,
    sniffed: BTreeMap<u64, Sniffed>,
    held: VecDeque<Held>,
}

impl CheatingPeer<MedianClock> {
    /// A cheater whose session time is the median of all peers' clocks.
    #[must_use]
    pub fn new(config: &NeoConfig, identity: Identity, cheat: Cheat) -> Self {
        Self::with_clock(config, identity, cheat, MedianClock::default())
    }
}

impl<C: SessionClock> CheatingPeer<C> {
    /// A cheater with this clock.
    #[must_use]
    pub fn with_clock(config: &NeoConfig, identity: Identity, cheat: Cheat, clock: C) -> Self {
        let by = match cheat {
            // Late enough that the victim's opening has arrived.
            Cheat::LookAhead(_) => config.round + Span::from_millis(150),
            // Late enough that the victim's commitment has arrived, and still in time.
            Cheat::Replay(_) => config.round.part(2),
            Cheat::Timestamp(by) => by,
            _ => Span::ZERO,
        };
        let inner = NeoPeer::with_clock(config, identity.clone(), LateClock { inner: clock, by });
        let (sniffed, held) = (BTreeMap::new(), VecDeque::new());
        Self { inner, identity, session: config.session, cheat, now: LocalTime::MIN, sniffed, held }
    }

    /// The machine that it tampers with.
    #[must_use]
    pub const fn peer(&self) -> &NeoPeer<LateClock<C>> {
        &self.inner
    }

    /// How it cheats.
    #[must_use]
    pub const fn cheat(&self) -> &Cheat {
        &self.cheat
    }

    fn sniff(&mut self, from: PeerId, bytes: &[u8]) {
        let victim = match self.cheat {
            Cheat::LookAhead(victim) | Cheat::Replay(victim) => victim,
            _ => return,
        };
        let Ok(Datagram { update: Some(mut update), .. }) = Datagram::parse(bytes) else { return };
        update.slot = self.inner.complete_slot(self.now, update.slot);
        if from != victim {
            return;
        }
        self.sniffed.entry(update.slot).or_default().commitment = Some(update.commitment);
        for opening in &update.openings {
            let slot = update.slot.saturating_sub(u64::from(opening.lag));
            self.sniffed.entry(slot).or_default().opening = Some((opening.nonce, opening.bytes.to_vec()));
        }
        while self.sniffed.len() > SNIFFED_MAX {
            self.sniffed.pop_first();
        }
    }

    /// Sets the move of the slot that is made next to what the victim opened for it.
    fn look_ahead(&mut self) {
        if !matches!(self.cheat, Cheat::LookAhead(_)) {
            return;
        }
        let opening = self.sniffed.get(&self.inner.next_slot()).and_then(|sniffed| sniffed.opening.clone());
        if let Some((_, bytes)) = opening {
            self.inner.handle_command(self.now, NeoCommand::Submit(bytes));
        }
    }

    /// When a message that is ready now leaves.
    fn leaves_at(&self, channel: Channel) -> LocalTime {
        match self.cheat {
            Cheat::FixedDelay(delay) if channel == Channel::Datagram => self.now + delay,
            Cheat::SuppressCorrect(period) if channel == Channel::Datagram => {
                let phase = self.now.as_nanos().rem_euclid(period.as_nanos().max(1));
                let silent = (period.part(2).as_nanos() - phase).max(0);
                self.now + Span::from_nanos(silent)
            }
            _ => self.now,
        }
    }

    fn tamper(&self, to: PeerId, channel: Channel, bytes: &mut Vec<u8>) {
        if channel == Channel::Reliable {
            return self.tamper_control(to, bytes);
        }
        let original = bytes.clone();
        let Ok(Datagram { update: Some(mut update), clock }) = Datagram::parse(&original) else { return };
        update.slot = self.inner.complete_slot(self.now, update.slot);
        let mut body = Vec::new();
        match &self.cheat {
            Cheat::Inconsistency(others) if others.contains(&to) => {
                self.tell_otherwise(to, &update, &mut body)
            }
            Cheat::Replay(_) => self.replay(&update, &mut body),
            Cheat::Collusion(_) => self.vote_late(to, &update, &mut body),
            _ => return,
        }
        if !body.is_empty() {
            emit_datagram(Some(&body), clock.as_ref(), bytes);
        }
    }

    fn tamper_control(&self, to: PeerId, bytes: &mut Vec<u8>) {
        match (&self.cheat, Control::parse(bytes)) {
            (Cheat::Spoofing(victim), Ok(Control::Hello { session, challenge, .. })) => {
                *bytes = Control::Hello { session, key: *victim, challenge }.to_bytes();
            }
            (Cheat::TwoChanges(others), Ok(Control::Signed { author, signed }))
                if others.contains(&to) && author == self.inner.key() =>
            {
                if let Some(signed) = self.other_change(signed.statement) {
                    *bytes = Control::Signed { author, signed }.to_bytes();
                }
            }
            _ => {}
        }
    }

    /// The other story about a state change.
    fn other_change(&self, told: Statement) -> Option<Signed> {
        let Statement::State { stream, number, slot, mut bytes } = told else { return None };
        bytes.iter_mut().for_each(|byte| *byte ^= 0x55);
        let statement = Statement::State { stream, number, slot, bytes };
        Some(Signed::new(&self.identity, self.session, statement))
    }

    fn sign(
        &self,
        slot: u64,
        newest: Commitment,
        earlier: Option<(u8, Commitment)>,
    ) -> (u8, crate::SignatureBytes) {
        let statement = Statement::Commitments { slot, newest, earlier };
        let signed = Signed::new(&self.identity, self.session, statement);
        (earlier.map_or(0, |(back, _)| back), signed.signature)
    }

    /// The other story: another move for the same slot, with everything that goes with it.
    fn other_move(&self, slot: u64, bytes: &[u8]) -> (Nonce, Vec<u8>, Commitment) {
        let nonce = self.identity.nonce(Session([0xee; 16]), slot);
        let other: Vec<u8> = bytes.iter().map(|byte| byte ^ 0x55).chain([1]).collect();
        let commitment = commit(self.session, slot, &self.inner.key(), &nonce, &other);
        (nonce, other, commitment)
    }

    fn tell_otherwise(&self, to: PeerId, update: &Update<'_>, body: &mut Vec<u8>) {
        let from = self.inner.first_slot().map_or(u64::MAX, |first| first.saturating_add(HONEST_MOVES));
        let told = |slot| {
            let (bytes, commitment) = self.inner.own_move(slot)?;
            Some(if slot < from { commitment } else { self.other_move(slot, &bytes).2 })
        };
        let Some(commitment) = told(update.slot).filter(|_| update.slot >= from) else { return };
        let others: Vec<(u8, Nonce, Vec<u8>)> = update
            .openings
            .iter()
            .map(|opening| {
                let slot = update.slot.saturating_sub(u64::from(opening.lag));
                if slot < from {
                    return (opening.lag, opening.nonce, opening.bytes.to_vec());
                }
                let (nonce, bytes, _) = self.other_move(slot, opening.bytes);
                (opening.lag, nonce, bytes)
            })
            .collect();
        let openings =
            others.iter().map(|(lag, nonce, bytes)| Opening { lag: *lag, nonce: *nonce, bytes }).collect();
        let signature = update.signature.map(|(back, _)| {
            let earlier = (back > 0).then(|| told(update.slot.saturating_sub(u64::from(back)))).flatten();
            self.sign(update.slot, commitment, earlier.map(|hash| (back, hash)))
        });
        // Echoes are keyed by the commitment, so an honest vote needs new ones.
        let blocks: Vec<_> = update
            .votes
            .iter()
            .filter_map(|block| {
                let slot = update.slot.saturating_sub(u64::from(block.lag));
                Some((block.lag, self.inner.votes_for(to, slot, &commitment)?))
            })
            .collect();
        let votes =
            blocks.iter().map(|(lag, (bitmap, echoes))| VoteBlock { lag: *lag, bitmap, echoes }).collect();
        emit_update(&Update { commitment, votes, openings, signature, ..update.clone() }, body);
    }

    fn replay(&self, update: &Update<'_>, body: &mut Vec<u8>) {
        let stolen = |slot: u64| self.sniffed.get(&slot).and_then(|sniffed| sniffed.commitment);
        let Some(commitment) = stolen(update.slot) else { return };
        let openings: Vec<Opening<'_>> = update
            .openings
            .iter()
            .filter_map(|opening| {
                let sniffed = self.sniffed.get(&(update.slot.saturating_sub(u64::from(opening.lag))))?;
                let (nonce, bytes) = sniffed.opening.as_ref()?;
                Some(Opening { lag: opening.lag, nonce: *nonce, bytes })
            })
            .collect();
        let signature = update.signature.map(|_| self.sign(update.slot, commitment, None));
        emit_update(&Update { commitment, openings, signature, votes: Vec::new(), ..update.clone() }, body);
    }

    /// Votes again when the accomplices' late commitments have arrived.
    fn vote_late(&self, to: PeerId, update: &Update<'_>, body: &mut Vec<u8>) {
        let last = update.votes.iter().map(|block| block.lag).max().unwrap_or(0);
        let late: Vec<_> = (last + 1..last + 8)
            .filter_map(|lag| {
                let slot = update.slot.checked_sub(u64::from(lag))?;
                Some((lag, self.inner.votes_for(to, slot, &update.commitment)?))
            })
            .collect();
        let mut votes = update.votes.clone();
        votes.extend(late.iter().map(|(lag, (bitmap, echoes))| VoteBlock { lag: *lag, bitmap, echoes }));
        emit_update(&Update { votes, ..update.clone() }, body);
    }

    fn hold(&mut self) {
        let mut bytes = Vec::new();
        while let Some((to, channel)) = self.inner.poll_transmit(self.now, &mut bytes) {
            self.tamper(to, channel, &mut bytes);
            let at = self.leaves_at(channel);
            self.held.push_back((at, to, channel, std::mem::take(&mut bytes)));
        }
    }
}

impl<C: SessionClock> Endpoint for CheatingPeer<C> {
    type Command = NeoCommand;
    type Event = NeoEvent;

    fn handle_command(&mut self, now: LocalTime, command: NeoCommand) {
        self.now = self.now.max(now);
        self.inner.handle_command(now, command);
        self.hold();
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        self.now = self.now.max(now);
        if channel == Channel::Datagram {
            self.sniff(from, bytes);
        }
        self.look_ahead();
        let handled = self.inner.handle_message(now, from, channel, bytes);
        if let Cheat::Collusion(accomplices) = &self.cheat {
            for accomplice in accomplices.clone() {
                self.inner.pretend_in_time(accomplice);
            }
        }
        self.hold();
        handled
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.now = self.now.max(now);
        self.inner.handle_peer(now, change);
        self.hold();
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.now = self.now.max(now);
        self.look_ahead();
        self.inner.handle_timeout(now);
        self.hold();
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.now = self.now.max(now);
        self.hold();
        let is_full = self.held.len() > HELD_MAX;
        let ready = self.held.iter().position(|(at, ..)| *at <= self.now || is_full)?;
        let (_, to, channel, message) = self.held.remove(ready)?;
        *bytes = message;
        Some((to, channel))
    }

    fn poll_event(&mut self) -> Option<NeoEvent> {
        self.inner.poll_event()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        earlier(self.inner.poll_timeout(), self.held.iter().map(|(at, ..)| *at).min())
    }
}

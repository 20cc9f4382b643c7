//! The protocols that NEO descends from or is compared with, as small machines with NEO's commands and events.
//!
//! They assume what their papers do: synchronized clocks, and peers that are who they say. None of them notices a cheat.
//! State changes travel on the reliable channel, once to each peer that is connected.
//!
//! | protocol | a move is played | |
//! | --- | --- | --- |
//! | [`Bucket`](Baseline::Bucket) | a fixed time after it was made; later ones are not used | MiMaze, 1999 |
//! | [`LocalLag`](Baseline::LocalLag) | the same, but later ones are played at once | Mauve, 2000 |
//! | [`Lockstep`](Baseline::Lockstep) | when all have committed to a move and opened it | Baughman and Levine, 2001 |
//! | [`Pipelined`](Baseline::Pipelined) | the same, with several moves under way | Lee and others, 2002 |
//! | [`AdaptivePipelined`](Baseline::AdaptivePipelined) | the same, as many as the slowest link needs | Cronin and others, 2003 |
//! | [`Server`](Baseline::Server), [`Client`](Baseline::Client) | on arrival; the server passes it on | |

use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionTime, Span};

use crate::command::{NeoCommand, NeoEvent, PlayedMove, UnusedReason};
use crate::config::{MOVE_LEN_MAX, PEERS_MAX, STATE_LEN_MAX};
use crate::crypto::{Identity, PublicKey, Session};
use crate::stats::NeoStats;

mod lockstep;
mod wire;

use lockstep::Lockstep;
use wire::BaselineMessage;

/// Messages and events that wait. Beyond, the oldest are dropped: the driver has stalled.
const WAITING_MAX: usize = 65_536;
/// Moves that wait for their time.
const HELD_MAX: usize = 4_096;

/// Which protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Baseline {
    /// Everything is played this long after it was made. Slower players are out.
    Bucket(Span),
    /// Everything is played this long after it was made, or as soon as it arrives.
    LocalLag(Span),
    /// A move is made when the last one has been opened by all.
    Lockstep,
    /// So many moves may be committed to before the first of them has been opened.
    Pipelined(u32),
    /// As many as the measured delay takes slots.
    AdaptivePipelined,
    /// Passes each client's moves on to the others.
    Server,
    /// Sends its moves to this server.
    Client(PeerId),
}

/// A peer, client or server of a [`Baseline`].
#[derive(Debug)]
pub struct BaselinePeer {
    baseline: Baseline,
    slot: Span,
    session: Session,
    identity: Identity,
    now: LocalTime,
    peers: BTreeMap<PeerId, PeerLink>,
    submitted: Vec<u8>,
    next: u64,
    /// Moves that wait for the time at which they are played.
    held: Vec<PlayedMove>,
    lockstep: Lockstep,
    outbox: VecDeque<(PeerId, Channel, Vec<u8>)>,
    events: VecDeque<NeoEvent>,
    stats: NeoStats,
    has_left: bool,
}

#[derive(Clone, Debug, Default)]
struct PeerLink {
    /// The slot after the newest that arrived, to tell old ones.
    next: u64,
}

impl BaselinePeer {
    /// A machine that makes a move in each slot of this length. The identity matters to lockstep only, whose commitments
    /// need nonces.
    #[must_use]
    pub fn new(baseline: Baseline, slot: Span, identity: Identity) -> Self {
        Self {
            baseline,
            slot: slot.max(Span::from_millis(1)),
            session: Session::default(),
            identity,
            now: LocalTime::MIN,
            peers: BTreeMap::new(),
            submitted: Vec::new(),
            next: 0,
            held: Vec::new(),
            lockstep: Lockstep::default(),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            stats: NeoStats::default(),
            has_left: false,
        }
    }

    /// What was counted so far.
    #[must_use]
    pub const fn stats(&self) -> NeoStats {
        self.stats
    }

    /// The number of moves that may be under way: the pipeline of lockstep.
    #[must_use]
    pub fn pipeline(&self) -> u32 {
        match self.baseline {
            Baseline::Pipelined(depth) => depth.clamp(1, 64),
            Baseline::AdaptivePipelined => {
                // A turn takes the delay twice: once for the commitments, once for the openings.
                let slots = 2 * self.lockstep.slowest().as_nanos().max(0) / self.slot.as_nanos() + 1;
                slots.clamp(1, 64) as u32
            }
            _ => 1,
        }
    }

    fn is_lockstep(&self) -> bool {
        matches!(self.baseline, Baseline::Lockstep | Baseline::Pipelined(_) | Baseline::AdaptivePipelined)
    }

    fn at(&self) -> SessionTime {
        SessionTime::from_nanos(self.now.as_nanos())
    }

    fn begin(&self, slot: u64) -> SessionTime {
        SessionTime::from_nanos(0) + self.slot.times(i64::try_from(slot).unwrap_or(i64::MAX))
    }

    fn push_event(&mut self, event: NeoEvent) {
        if self.events.len() >= WAITING_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    fn send(&mut self, to: PeerId, channel: Channel, message: &BaselineMessage<'_>) {
        if self.outbox.len() >= WAITING_MAX {
            self.outbox.pop_front();
        }
        self.outbox.push_back((to, channel, message.to_bytes()));
    }

    fn send_to_all(&mut self, channel: Channel, message: &BaselineMessage<'_>) {
        let peers: Vec<PeerId> = self.peers.keys().copied().collect();
        peers.into_iter().for_each(|peer| self.send(peer, channel, message));
    }

    fn advance(&mut self, now: LocalTime) {
        self.now = self.now.max(now);
        self.play_held();
        if self.has_left || self.baseline == Baseline::Server {
            return;
        }
        let at = self.at();
        let due = (at.as_nanos() / self.slot.as_nanos()).max(0) as u64;
        if self.is_lockstep() {
            self.step(due);
        } else if due >= self.next {
            self.next = due + 1;
            self.make_move(due);
        }
    }

    fn make_move(&mut self, slot: u64) {
        let bytes = self.submitted.clone();
        let message = BaselineMessage::Move { author: 0, slot, bytes: &bytes };
        match self.baseline {
            Baseline::Client(server) if self.peers.contains_key(&server) => {
                self.send(server, Channel::Datagram, &message);
            }
            Baseline::Client(_) => {}
            _ => self.send_to_all(Channel::Datagram, &message),
        }
        self.note_committed(slot);
    }

    fn note_committed(&mut self, slot: u64) {
        self.stats.committed += 1;
        self.push_event(NeoEvent::Committed { slot, round: slot, at: self.begin(slot) });
    }

    fn play(&mut self, mut made: PlayedMove) {
        made.played = self.at();
        self.stats.note_played(&made);
        self.push_event(NeoEvent::Played(made));
    }

    fn hear_move(&mut self, from: PeerId, slot: u64, bytes: &[u8]) {
        let (at, made) = (self.at(), self.begin(slot));
        let link = self.peers.entry(from).or_default();
        let is_old = slot < link.next;
        link.next = link.next.max(slot.saturating_add(1));
        let bytes = bytes.to_vec();
        let played = PlayedMove {
            from,
            slot,
            made,
            revealed: made,
            arrived: at,
            played: at,
            is_in_time: true,
            votes: (0, 0),
            bytes,
        };
        let (lag, is_forgiving) = match self.baseline {
            Baseline::Bucket(lag) => (lag, false),
            Baseline::LocalLag(lag) => (lag, true),
            _ => (Span::ZERO, true),
        };
        let due = made + lag;
        if due <= at {
            // What is older than what was shown would move the player back.
            let is_used = is_forgiving && !is_old;
            return if is_used { self.play(played) } else { self.note_unused(from, slot) };
        }
        if self.held.len() < HELD_MAX {
            self.held.push(played);
        }
    }

    fn note_unused(&mut self, from: PeerId, slot: u64) {
        self.stats.late += 1;
        self.stats.unused[UnusedReason::NeverArrived as usize] += 1;
        let (made, arrived) = (self.begin(slot), Some(self.at()));
        let reason = UnusedReason::NeverArrived;
        self.push_event(NeoEvent::Unused { from, slot, reason, made, arrived, votes: (0, 0) });
    }

    /// The time at which held moves are played after they were made.
    fn lag(&self) -> Span {
        match self.baseline {
            Baseline::Bucket(lag) | Baseline::LocalLag(lag) => lag,
            _ => Span::ZERO,
        }
    }

    fn play_held(&mut self) {
        let (at, lag) = (self.at(), self.lag());
        let (due, held) = std::mem::take(&mut self.held).into_iter().partition(|made| made.made + lag <= at);
        self.held = held;
        due.into_iter().for_each(|made| self.play(made));
    }

    /// Passes a client's message on to the other clients.
    fn pass_on(&mut self, from: PeerId, channel: Channel, message: &BaselineMessage<'_>) {
        let message = message.by(from.0);
        let others: Vec<PeerId> = self.peers.keys().copied().filter(|peer| *peer != from).collect();
        others.into_iter().for_each(|peer| self.send(peer, channel, &message));
    }

    fn hear(&mut self, from: PeerId, channel: Channel, message: &BaselineMessage<'_>) {
        if self.baseline == Baseline::Server {
            let is_news = match message {
                BaselineMessage::Move { slot, .. } => {
                    let link = self.peers.entry(from).or_default();
                    let is_news = *slot >= link.next;
                    link.next = link.next.max(slot.saturating_add(1));
                    is_news
                }
                _ => true,
            };
            return if is_news {
                self.pass_on(from, channel, message)
            };
        }
        let author = match self.baseline {
            Baseline::Client(_) => PeerId(message.author()),
            _ => from,
        };
        match message {
            BaselineMessage::Move { slot, bytes, .. } => self.hear_move(author, *slot, bytes),
            BaselineMessage::State { slot, bytes, .. } => {
                self.stats.changes_received += 1;
                let mut key = PublicKey::default();
                key.0[..4].copy_from_slice(&author.0.to_be_bytes());
                let bytes = bytes.to_vec();
                self.push_event(NeoEvent::StateChanged {
                    author: key,
                    from: Some(author),
                    slot: *slot,
                    bytes,
                });
            }
            BaselineMessage::Commit { slot, commitment } => self.hear_commit(from, *slot, *commitment),
            BaselineMessage::Open { slot, nonce, bytes } => self.hear_open(from, *slot, **nonce, bytes),
        }
    }

    fn change_state(&mut self, bytes: Vec<u8>) {
        if bytes.len() > STATE_LEN_MAX {
            self.stats.refused += 1;
            return;
        }
        let slot = (self.at().as_nanos() / self.slot.as_nanos()).max(0) as u64;
        let message = BaselineMessage::State { author: 0, slot, bytes: &bytes };
        match self.baseline {
            Baseline::Client(server) => self.send(server, Channel::Reliable, &message),
            _ => self.send_to_all(Channel::Reliable, &message),
        }
        self.stats.changes_sent += 1;
        self.push_event(NeoEvent::StateSent { slot, bytes });
    }
}

impl Endpoint for BaselinePeer {
    type Command = NeoCommand;
    type Event = NeoEvent;

    fn handle_command(&mut self, now: LocalTime, command: NeoCommand) {
        self.advance(now);
        match command {
            NeoCommand::Submit(bytes) if bytes.len() <= MOVE_LEN_MAX => self.submitted = bytes,
            NeoCommand::Submit(_) | NeoCommand::Interest(_) | NeoCommand::Tell { .. } => {
                self.stats.refused += 1
            }
            NeoCommand::ChangeState(bytes) => self.change_state(bytes),
            NeoCommand::Leave => self.has_left = true,
        }
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        let message = BaselineMessage::parse(bytes)?;
        if !self.peers.contains_key(&from) {
            return Err(Rejected::UnknownPeer);
        }
        let at = self.now.max(now);
        let slots = at.as_nanos() / self.slot.as_nanos() + 200;
        let is_sane = message.slot() <= slots.max(0) as u64 && message.fits(self.is_lockstep());
        if !is_sane {
            self.stats.rejected += 1;
            return Err(Rejected::OutOfRange);
        }
        self.advance(now);
        self.hear(from, channel, &message);
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.advance(now);
        match change {
            PeerChange::Joined { peer, .. } if self.peers.len() < PEERS_MAX => {
                self.peers.insert(peer, PeerLink::default());
                self.lockstep.join(peer);
            }
            PeerChange::Joined { .. } => self.stats.refused += 1,
            PeerChange::Left { peer } => {
                self.peers.remove(&peer);
                self.outbox.retain(|(to, ..)| *to != peer);
                self.lockstep.leave(peer);
                self.advance(now);
            }
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.advance(now);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.now = self.now.max(now);
        let (to, channel, message) = self.outbox.pop_front()?;
        *bytes = message;
        match channel {
            Channel::Datagram => {
                self.stats.datagrams += 1;
                self.stats.datagram_bytes += bytes.len() as u64;
            }
            Channel::Reliable => {
                self.stats.reliable += 1;
                self.stats.reliable_bytes += bytes.len() as u64;
            }
        }
        Some((to, channel))
    }

    fn poll_event(&mut self) -> Option<NeoEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let held = self.held.iter().map(|made| made.made + self.lag()).min();
        let is_silent = self.has_left || self.baseline == Baseline::Server;
        let own = (!is_silent && self.can_step()).then(|| self.begin(self.next));
        let due = evenkeel_core::earlier(held, own)?;
        Some(LocalTime::from_nanos(due.as_nanos()))
    }
}

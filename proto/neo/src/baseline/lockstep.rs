//! Lockstep: commit to a move, wait for all, open it.
//!
//! Moves are numbered by turn. A turn begins at its slot, or later if too many turns are under way. Commitments and openings
//! travel on the reliable channel: a lost one would stop everybody.

use std::collections::BTreeMap;

use evenkeel_core::{Channel, LocalTime, PeerId, SessionTime, Span};

use super::{BaselineMessage, BaselinePeer};
use crate::command::{NeoEvent, PlayedMove, UnusedReason};
use crate::crypto::{Commitment, Nonce, PublicKey, commit};

/// Turns ahead of the own ones of which commitments and openings are kept.
const AHEAD_MAX: u64 = 256;

/// One turn.
#[derive(Clone, Debug, Default)]
struct Turn {
    own: Option<(Nonce, Vec<u8>, LocalTime)>,
    is_opened: bool,
    opened_at: Option<SessionTime>,
    commitments: BTreeMap<PeerId, Commitment>,
    openings: BTreeMap<PeerId, (Nonce, Vec<u8>, SessionTime)>,
}

/// The turns under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Lockstep {
    turns: BTreeMap<u64, Turn>,
    /// The next turn to be played.
    playing: u64,
    /// The peers, and how long each takes to answer a commitment, smoothed.
    peers: BTreeMap<PeerId, Span>,
}

impl Lockstep {
    pub(super) fn join(&mut self, peer: PeerId) {
        self.peers.insert(peer, Span::ZERO);
    }

    pub(super) fn leave(&mut self, peer: PeerId) {
        self.peers.remove(&peer);
    }

    /// How long the slowest peer takes.
    pub(super) fn slowest(&self) -> Span {
        self.peers.values().copied().max().unwrap_or_default()
    }

    fn turn_mut(&mut self, turn: u64) -> Option<&mut Turn> {
        let is_kept = (self.playing..self.playing + AHEAD_MAX).contains(&turn);
        is_kept.then(|| self.turns.entry(turn).or_default())
    }
}

impl BaselinePeer {
    /// Whether the next turn waits for its slot only.
    pub(super) fn can_step(&self) -> bool {
        !self.is_lockstep() || self.next < self.lockstep.playing + u64::from(self.pipeline())
    }

    /// Begins the turns that are due.
    pub(super) fn step(&mut self, due: u64) {
        if self.next == 0 && self.lockstep.playing == 0 && due > 0 && self.lockstep.turns.is_empty() {
            // The first turn is that of the slot in which this peer began.
            self.next = due;
            self.lockstep.playing = due;
        }
        while self.can_step() && self.next <= due {
            let turn = self.next;
            self.next += 1;
            let nonce = self.identity.nonce(self.session, turn);
            let bytes = self.submitted.clone();
            let commitment = commit(self.session, turn, &PublicKey::default(), &nonce, &bytes);
            let now = self.now;
            if let Some(state) = self.lockstep.turn_mut(turn) {
                state.own = Some((nonce, bytes, now));
            }
            self.send_to_all(Channel::Reliable, &BaselineMessage::Commit { slot: turn, commitment });
            self.note_committed(turn);
            self.progress();
        }
        self.progress();
    }

    pub(super) fn hear_commit(&mut self, from: PeerId, turn: u64, commitment: Commitment) {
        let now = self.now;
        let Some(state) = self.lockstep.turn_mut(turn) else { return };
        state.commitments.entry(from).or_insert(commitment);
        let took = state.own.as_ref().map_or(Span::ZERO, |(_, _, made)| now - *made);
        if let Some(usual) = self.lockstep.peers.get_mut(&from) {
            *usual = *usual + (took - *usual).part(8);
        }
        self.advance(now);
    }

    pub(super) fn hear_open(&mut self, from: PeerId, turn: u64, nonce: Nonce, bytes: &[u8]) {
        let (now, at) = (self.now, self.at());
        let Some(state) = self.lockstep.turn_mut(turn) else { return };
        state.openings.entry(from).or_insert((nonce, bytes.to_vec(), at));
        self.advance(now);
    }

    /// Opens the moves that all have committed to, and plays the turns that all have opened.
    fn progress(&mut self) {
        let (first, last) = (self.lockstep.playing, self.next);
        for turn in first..last {
            self.open_turn(turn);
        }
        while self.play_turn() {}
    }

    fn open_turn(&mut self, turn: u64) {
        let at = self.at();
        let peers = &self.lockstep.peers;
        let Some(state) = self.lockstep.turns.get_mut(&turn).filter(|state| !state.is_opened) else { return };
        let Some((nonce, bytes, _)) = state.own.clone() else { return };
        if !peers.keys().all(|peer| state.commitments.contains_key(peer)) {
            return;
        }
        state.is_opened = true;
        state.opened_at = Some(at);
        self.send_to_all(
            Channel::Reliable,
            &BaselineMessage::Open { slot: turn, nonce: &nonce, bytes: &bytes },
        );
    }

    fn play_turn(&mut self) -> bool {
        let turn = self.lockstep.playing;
        let peers = &self.lockstep.peers;
        let Some(state) = self.lockstep.turns.get(&turn).filter(|state| state.is_opened) else {
            return false;
        };
        if !peers.keys().all(|peer| state.openings.contains_key(peer)) {
            return false;
        }
        let (made, at) = (self.begin(turn), self.at());
        let state = self.lockstep.turns.remove(&turn).unwrap_or_default();
        self.lockstep.playing += 1;
        for (from, (nonce, bytes, arrived)) in state.openings {
            // The papers trust the connection: their commitments name no sender.
            let opened = commit(self.session, turn, &PublicKey::default(), &nonce, &bytes);
            let is_same = state.commitments.get(&from) == Some(&opened);
            if !is_same {
                self.stats.unused[UnusedReason::BadHash as usize] += 1;
                let (reason, arrived) = (UnusedReason::BadHash, Some(arrived));
                self.push_event(NeoEvent::Unused { from, slot: turn, reason, made, arrived, votes: (0, 0) });
                continue;
            }
            let revealed = state.opened_at.unwrap_or(made);
            let (slot, played, votes) = (turn, at, (0, 0));
            self.play(PlayedMove {
                from,
                slot,
                made,
                revealed,
                arrived,
                played,
                is_in_time: true,
                votes,
                bytes,
            });
        }
        true
    }
}

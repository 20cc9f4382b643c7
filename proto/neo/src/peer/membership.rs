//! Joining, leaving, falling silent, and being evicted.

use std::collections::BTreeSet;

use evenkeel_core::{LocalTime, PeerChange, PeerId, Rejected, SessionClock};

use super::{NeoPeer, PROOFS_MAX};
use crate::command::{Departure, NeoEvent};
use crate::control::Control;
use crate::crypto::{PublicKey, SignatureBytes, Verifier};
use crate::members::{Member, OWN, Seat, Stage};
use crate::proof::Proof;

/// What an answer signs: a label that no [statement](crate::Statement) begins with, both keys and the number.
fn greeting(from: &PublicKey, to: &PublicKey, challenge: u64) -> Vec<u8> {
    [&[0][..], b"hello", &from.0, &to.0, &challenge.to_le_bytes()].concat()
}

impl<C: SessionClock> NeoPeer<C> {
    pub(super) fn connect(&mut self, peer: PeerId, datagram_max: usize) {
        self.disconnect(peer);
        let drawn = self.identity.nonce(self.config.session, u64::MAX - self.challenges);
        self.challenges += 1;
        let challenge = u64::from_le_bytes(drawn);
        let Some(seat) = self.members.add(peer, datagram_max, challenge, self.now) else {
            self.stats.refused += 1;
            return;
        };
        let is_reached =
            !self.config.has_areas || self.interest.as_ref().is_none_or(|interest| interest.contains(&peer));
        if let Some(member) = self.members.get_mut(seat) {
            member.is_reached = is_reached;
        }
        self.clock.handle_peer(self.now, PeerChange::Joined { peer, datagram_max });
        if !self.has_left {
            self.send(peer, &Control::Hello { session: self.config.session, key: self.key, challenge });
        }
    }

    pub(super) fn disconnect(&mut self, peer: PeerId) {
        if let Some(seat) = self.members.seat_of(peer) {
            self.drop_member(seat, Departure::Disconnected);
        }
    }

    /// Removes a connection. What its peer changed and others lack is passed on.
    fn drop_member(&mut self, seat: Seat, why: Departure) {
        let Some(member) = self.members.remove(seat) else { return };
        self.clock.handle_peer(self.now, PeerChange::Left { peer: member.peer });
        self.outbox.forget(member.peer);
        self.members.forget_rosters_of(seat);
        self.slots.values_mut().for_each(|phase| phase.book_mut().forget(seat));
        if let Some((key, _)) = member.proved().filter(|_| member.is_present()) {
            self.push_event(NeoEvent::Left { peer: member.peer, key: *key, why });
            self.tell_roster();
            self.tell_known();
        }
        self.decide_all();
    }

    /// Tells those with whom this peer exchanges updates whom it hears, if that changed. Others need it when they are near.
    /// Returns whether it did.
    pub(super) fn tell_roster(&mut self) -> bool {
        let is_new = self.members.renew_roster();
        if is_new {
            let roster = self.roster();
            let near =
                |member: &Member| member.proved().is_some() && (member.is_reached || member.is_reaching);
            let near: Vec<PeerId> = self
                .members
                .iter()
                .filter(|(_, member)| near(member))
                .map(|(_, member)| member.peer)
                .collect();
            near.into_iter().for_each(|peer| self.send(peer, &roster));
        }
        is_new
    }

    fn roster(&self) -> Control {
        Control::Roster { version: self.members.roster().0, keys: self.members.roster_keys() }
    }

    /// Handles a message on the reliable channel.
    pub(super) fn hear_control(
        &mut self,
        now: LocalTime,
        from: PeerId,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        let control = Control::parse(bytes)?;
        let seat = self.members.seat_of(from).ok_or(Rejected::UnknownPeer)?;
        self.check_control(seat, &control)?;
        self.advance(now);
        match control {
            Control::Hello { key, challenge, .. } => self.answer(seat, key, challenge),
            Control::Answer { .. } => self.admit(seat),
            Control::Roster { version, keys } => self.members.take_roster(seat, version, keys),
            Control::Signed { author, signed } => self.hear_signed(seat, author, signed),
            Control::Have { known } => self.tell_beyond(seat, known),
            Control::Ask { slot } => self.show_slot(seat, slot),
            Control::Proof(proof) => self.evict(*proof),
            Control::Reach { is_in } => {
                if let Some(member) = self.members.get_mut(seat) {
                    member.is_reaching = is_in;
                    member.since = None;
                }
                self.has_new_reach = true;
            }
            Control::Tempo(told) => self.hear_tempo(seat, told),
            Control::Tell { bytes } => self.push_event(NeoEvent::Told { from, bytes }),
            Control::Bye => self.drop_member(seat, Departure::Left),
        }
        Ok(())
    }

    /// Checks a message before any of it is acted on.
    fn check_control(&self, seat: Seat, control: &Control) -> Result<(), Rejected> {
        let Some(member) = self.members.get(seat) else { return Err(Rejected::UnknownPeer) };
        let session = self.config.session;
        match control {
            Control::Hello { session: theirs, key, .. } => {
                let is_ours = *theirs == session && *key != self.key && !self.evicted.contains_key(key);
                if !is_ours {
                    return Err(Rejected::OutOfRange);
                }
                let is_first = member.key.is_none() && !self.has_left;
                if is_first && Verifier::new(key).is_some() { Ok(()) } else { Err(Rejected::Unexpected) }
            }
            Control::Answer { signature } => {
                let Some((key, verifier)) = member.key.as_ref().filter(|_| member.stage == Stage::Greeting)
                else {
                    return Err(Rejected::Unexpected);
                };
                self.check_answer(key, verifier, member.challenge, signature)
            }
            _ if member.proved().is_none() => Err(Rejected::Unexpected),
            Control::Proof(proof) => {
                let is_news = !self.evicted.contains_key(&proof.culprit) && self.evicted.len() < PROOFS_MAX;
                if !is_news {
                    return Err(Rejected::Unexpected);
                }
                if proof.is_valid(session) { Ok(()) } else { Err(Rejected::OutOfRange) }
            }
            Control::Signed { author, signed } => self.check_signed(member, author, signed),
            _ => Ok(()),
        }
    }

    fn check_answer(
        &self,
        key: &PublicKey,
        verifier: &Verifier,
        challenge: u64,
        signature: &SignatureBytes,
    ) -> Result<(), Rejected> {
        let content = greeting(key, &self.key, challenge);
        let is_signed = verifier.is_signed(self.config.session, &content, signature);
        if is_signed { Ok(()) } else { Err(Rejected::OutOfRange) }
    }

    fn answer(&mut self, seat: Seat, key: PublicKey, challenge: u64) {
        let Some(member) = self.members.get_mut(seat) else { return };
        let peer = member.peer;
        member.key = Verifier::new(&key).map(|verifier| (key, verifier));
        let signature = self.identity.sign(self.config.session, &greeting(&self.key, &key, challenge));
        self.send(peer, &Control::Answer { signature });
    }

    /// Admits a peer that has proved to hold its key.
    fn admit(&mut self, seat: Seat) {
        let Some((key, peer)) =
            self.members.get(seat).and_then(|member| Some((member.key.as_ref()?.0, member.peer)))
        else {
            return;
        };
        // It is back while its last connection has not ended yet.
        if let Some(last) = self.members.seat_by_key(&key).filter(|last| *last != OWN) {
            self.drop_member(last, Departure::Disconnected);
        }
        let now = self.now;
        if let Some(member) = self.members.get_mut(seat) {
            member.stage = Stage::Present;
            member.heard = now;
        }
        self.push_event(NeoEvent::Joined { peer, key });
        if !self.tell_roster() {
            self.send(peer, &self.roster());
        }
        self.send(peer, &Control::Have { known: self.streams.known() });
        self.tell_tempo(peer);
        let proofs: Vec<Proof> = self.evicted.values().cloned().collect();
        proofs.into_iter().for_each(|proof| self.send(peer, &Control::Proof(Box::new(proof))));
        if self.members.get(seat).is_some_and(|member| !member.is_reached) {
            self.send(peer, &Control::Reach { is_in: false });
        }
    }

    /// Evicts whoever a valid proof names, and passes the proof on.
    pub(super) fn evict(&mut self, proof: Proof) {
        let key = proof.culprit;
        if self.evicted.contains_key(&key) || self.evicted.len() >= PROOFS_MAX || key == self.key {
            return;
        }
        let seat = self.members.seat_by_key(&key);
        let peer = seat.and_then(|seat| self.peer_in(seat));
        self.evicted.insert(key, proof.clone());
        self.stats.evicted += 1;
        self.push_event(NeoEvent::Evicted { peer, key, proof: Box::new(proof.clone()) });
        self.send_to_all(&Control::Proof(Box::new(proof)));
        if let Some(seat) = seat {
            self.drop_member(seat, Departure::Evicted);
        }
    }

    /// Looks for peers that have fallen silent. Called once per slot.
    pub(super) fn review_silence(&mut self) {
        let (now, silence) = (self.now, self.config.silence);
        let mut fallen = Vec::new();
        for (_, member) in self.members.iter_mut() {
            member.allowance = 64;
            if member.is_present() && member.is_reaching && now - member.heard > silence {
                member.stage = Stage::Silent;
                member.since = None;
                fallen.extend(member.proved().map(|(key, _)| (member.peer, *key)));
            }
        }
        if fallen.is_empty() {
            return;
        }
        for (peer, key) in fallen {
            self.push_event(NeoEvent::Left { peer, key, why: Departure::Silent });
        }
        self.tell_roster();
        self.tell_known();
    }

    /// Renews the roster after others said whether they send updates. Called once per slot: they may say it often.
    pub(super) fn review_reach(&mut self) {
        if std::mem::take(&mut self.has_new_reach) {
            self.tell_roster();
            self.decide_all();
        }
    }

    /// A peer that was silent is heard again.
    pub(super) fn welcome_back(&mut self, seat: Seat) {
        let Some(member) = self.members.get_mut(seat).filter(|member| member.stage == Stage::Silent) else {
            return;
        };
        member.stage = Stage::Present;
        let (peer, key) = (member.peer, member.proved().map(|(key, _)| *key));
        if let Some(key) = key {
            self.push_event(NeoEvent::Joined { peer, key });
        }
        self.tell_roster();
        self.send(peer, &Control::Have { known: self.streams.known() });
    }

    /// Sets the area of interest.
    pub(super) fn set_interest(&mut self, peers: &[PeerId]) {
        if !self.config.has_areas {
            self.stats.refused += 1;
            return;
        }
        let interest: BTreeSet<PeerId> = peers.iter().copied().take(OWN).collect();
        let mut told = Vec::new();
        for (_, member) in self.members.iter_mut() {
            let is_reached = interest.contains(&member.peer);
            if is_reached != member.is_reached {
                member.is_reached = is_reached;
                told.extend(member.proved().map(|_| (member.peer, is_reached)));
            }
        }
        self.interest = Some(interest);
        let roster = self.roster();
        for (peer, is_in) in told {
            self.send(peer, &Control::Reach { is_in });
            if is_in {
                self.send(peer, &roster);
            }
        }
    }
}

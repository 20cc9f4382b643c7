//! Peers on a network with one constant delay, and what a malicious one can put on it.

use std::collections::BTreeMap;

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Synchronized};

use super::NeoPeer;
use crate::command::{NeoCommand, NeoEvent, PlayedMove};
use crate::config::NeoConfig;
use crate::control::Control;
use crate::crypto::{Identity, PublicKey, Session};

mod hostile;
mod thesis;

/// A message on its way: sender, receiver, channel and bytes.
type InFlight = (usize, PeerId, Channel, Vec<u8>);

pub(super) fn session() -> Session {
    Session([5; 16])
}

pub(super) fn identity(i: usize) -> Identity {
    Identity::from_secret([i as u8 + 1; 32])
}

pub(super) fn millis(millis: i64) -> LocalTime {
    LocalTime::from_nanos(millis * 1_000_000)
}

/// Peers that are all connected, and the events of each.
pub(super) struct Net {
    pub(super) peers: Vec<NeoPeer<Synchronized>>,
    pub(super) events: Vec<(usize, NeoEvent)>,
    pub(super) now: i64,
    delay: i64,
    flight: BTreeMap<i64, Vec<InFlight>>,
    /// Reliable messages and their bytes, by sender and receiver.
    pub(super) reliable: BTreeMap<(usize, usize), (u64, u64)>,
}

impl Net {
    pub(super) fn new(config: &NeoConfig, count: usize, delay: i64) -> Self {
        let build = |i| NeoPeer::with_clock(config, identity(i), Synchronized);
        let mut net = Self {
            peers: (0..count).map(build).collect(),
            events: Vec::new(),
            now: 0,
            delay,
            flight: BTreeMap::new(),
            reliable: BTreeMap::new(),
        };
        for here in 0..count {
            for there in (0..count).filter(|there| *there != here) {
                net.join(here, there);
            }
        }
        net
    }

    /// Tells one peer that another has connected.
    pub(super) fn join(&mut self, here: usize, there: usize) {
        let joined = PeerChange::Joined { peer: PeerId(there as u32), datagram_max: 1_200 };
        self.peers[here].handle_peer(millis(self.now), joined);
    }

    pub(super) fn run_until(&mut self, until: i64) {
        let mut bytes = Vec::new();
        while self.now < until {
            self.now += 1;
            let now = millis(self.now);
            for (from, to, channel, bytes) in self.flight.remove(&self.now).unwrap_or_default() {
                let _ = self.peers[to.0 as usize].handle_message(now, PeerId(from as u32), channel, &bytes);
            }
            for (here, peer) in self.peers.iter_mut().enumerate() {
                peer.handle_timeout(now);
                peer.handle_command(now, NeoCommand::Submit(vec![here as u8; 8]));
                while let Some((to, channel)) = peer.poll_transmit(now, &mut bytes) {
                    if channel == Channel::Reliable {
                        let sent = self.reliable.entry((here, to.0 as usize)).or_default();
                        *sent = (sent.0 + 1, sent.1 + bytes.len() as u64);
                    }
                    let arrives = self.flight.entry(self.now + self.delay).or_default();
                    arrives.push((here, to, channel, bytes.clone()));
                }
                while let Some(event) = peer.poll_event() {
                    self.events.push((here, event));
                }
            }
        }
    }

    /// A malicious peer says something to one other.
    pub(super) fn say(&mut self, from: usize, to: usize, control: &Control) -> Result<(), Rejected> {
        let now = millis(self.now);
        self.peers[to].handle_message(now, PeerId(from as u32), Channel::Reliable, &control.to_bytes())
    }

    pub(super) fn key(&self, i: usize) -> PublicKey {
        self.peers[i].key()
    }

    pub(super) fn played(&self) -> impl Iterator<Item = &PlayedMove> {
        self.events.iter().filter_map(|(_, event)| match event {
            NeoEvent::Played(made) => Some(made),
            _ => None,
        })
    }

    /// The state changes that a peer was told of.
    pub(super) fn changes(&self, at: usize) -> Vec<(PublicKey, Vec<u8>)> {
        let changes = self.events.iter().filter_map(|(here, event)| match event {
            NeoEvent::StateChanged { author, bytes, .. } if *here == at => Some((*author, bytes.clone())),
            _ => None,
        });
        changes.collect()
    }
}

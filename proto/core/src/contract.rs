//! A hostile schedule that every [`Endpoint`] must survive.
//!
//! [`check`] connects a handful of machines over a network that loses, duplicates, reorders and damages
//! messages. Peers flap, timeouts come early, late and repeatedly, garbage arrives on every channel, and
//! queues are left undrained. Each machine has a twin that gets the same calls except for the messages that
//! the machine rejected. The check panics if
//! - draining does not end, or a timeout stays due after it was handled (spinning);
//! - a machine and its twin transmit different bytes or want different timeouts: rejecting a message must
//!   leave the state unchanged, and the state must depend on the calls alone.

use crate::draws::{Draws, Seed};
use crate::endpoint::{Channel, Endpoint};
use crate::peer::{PeerChange, PeerId};
use crate::time::{LocalTime, Span};

/// A drain that yields more messages than this counts as endless.
const DRAIN_MAX: usize = 100_000;
/// Limit on messages in flight; when it is reached, a random one is lost.
const FLIGHT_MAX: usize = 256;

struct InFlight {
    from: usize,
    to: PeerId,
    channel: Channel,
    bytes: Vec<u8>,
}

struct Harness<E> {
    nodes: Vec<[E; 2]>,
    flight: Vec<InFlight>,
    draws: Draws,
    now: LocalTime,
}

/// Runs `steps` steps of the hostile schedule on `nodes` machines, driven by `seed`.
///
/// `build` makes machine number `i`, which its peers know as `PeerId(i)`; `command` makes a command for it.
///
/// # Panics
/// If a machine breaks the contract.
pub fn check<E: Endpoint>(
    seed: u64,
    steps: usize,
    nodes: usize,
    build: impl Fn(usize) -> E,
    mut command: impl FnMut(usize, &mut Draws) -> E::Command,
) where
    E::Command: Clone,
{
    let mut harness = Harness {
        nodes: (0..nodes).map(|i| [build(i), build(i)]).collect(),
        flight: Vec::new(),
        draws: Seed::new(seed).draws(),
        now: LocalTime::from_nanos(1_000_000_000),
    };
    for i in 0..nodes {
        for j in 0..nodes {
            harness.peer(i, PeerChange::Joined { peer: PeerId(j as u32), datagram_max: 1200 });
        }
    }
    for _ in 0..steps {
        let node = harness.draws.below(nodes as u64) as usize;
        match harness.draws.below(20) {
            0..8 => {
                let command = command(node, &mut harness.draws);
                harness.each(node, |endpoint, now| endpoint.handle_command(now, command.clone()));
            }
            8..15 => harness.deliver(),
            15 => harness.garbage(node),
            16 => harness.flap(node),
            17 => harness.advance(),
            _ => harness.timeout(node),
        }
        let pause = harness.draws.below(30_000_000) as i64;
        harness.now += Span::from_nanos(pause);
        // One call in four is not drained, so that queues fill up.
        if !harness.draws.chance(0.25) {
            harness.drain(node);
        }
    }
}

impl<E: Endpoint> Harness<E> {
    fn each(&mut self, node: usize, mut call: impl FnMut(&mut E, LocalTime)) {
        for endpoint in &mut self.nodes[node] {
            call(endpoint, self.now);
        }
    }

    fn peer(&mut self, node: usize, change: PeerChange) {
        self.each(node, |endpoint, now| endpoint.handle_peer(now, change));
    }

    fn message(&mut self, node: usize, from: PeerId, channel: Channel, bytes: &[u8]) {
        let now = self.now;
        let [endpoint, twin] = &mut self.nodes[node];
        if endpoint.handle_message(now, from, channel, bytes).is_ok() {
            let twin_result = twin.handle_message(now, from, channel, bytes);
            assert!(
                twin_result.is_ok(),
                "node {node} accepts a message that its twin rejects: {twin_result:?}"
            );
        }
        self.drain(node);
    }

    fn deliver(&mut self) {
        if self.flight.is_empty() {
            return;
        }
        let index = self.draws.below(self.flight.len() as u64) as usize;
        let InFlight { from, to, mut channel, mut bytes } = self.flight.swap_remove(index);
        let node = to.0 as usize;
        if node >= self.nodes.len() {
            return;
        }
        let mut sender = PeerId(from as u32);
        match self.draws.below(20) {
            0 => self.damage(&mut bytes),
            1 => channel = if channel == Channel::Datagram { Channel::Reliable } else { Channel::Datagram },
            2 => sender = PeerId(self.draws.below(self.nodes.len() as u64 + 2) as u32),
            3 | 4 => self.message(node, sender, channel, &bytes),
            5 => return,
            _ => {}
        }
        self.message(node, sender, channel, &bytes);
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let at = self.draws.below(bytes.len() as u64) as usize;
        match self.draws.below(3) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << self.draws.below(8),
            _ => {
                let tail = bytes[at..].to_vec();
                bytes.extend_from_slice(&tail);
            }
        }
    }

    fn garbage(&mut self, node: usize) {
        let len = self.draws.below(200) as usize;
        let mut bytes: Vec<u8> = (0..len).map(|_| self.draws.bits() as u8).collect();
        // Small numbers in front get half of the garbage past the version byte and the tag.
        if let [version, tag, ..] = &mut bytes[..] {
            *version %= 2;
            *tag %= 10;
        }
        let from = PeerId(self.draws.below(self.nodes.len() as u64 + 2) as u32);
        let channel = if self.draws.chance(0.5) { Channel::Datagram } else { Channel::Reliable };
        self.message(node, from, channel, &bytes);
    }

    fn flap(&mut self, node: usize) {
        let peer = PeerId(self.draws.below(self.nodes.len() as u64 + 1) as u32);
        let datagram_max = [0, 40, 300, 1200, 65_535][self.draws.below(5) as usize];
        let joined = PeerChange::Joined { peer, datagram_max };
        let left = PeerChange::Left { peer };
        let changes: &[PeerChange] = match self.draws.below(4) {
            0 => &[left, joined],
            1 => &[left, left, joined, joined],
            2 => &[joined],
            _ => &[left],
        };
        for change in changes {
            self.peer(node, *change);
        }
    }

    fn advance(&mut self) {
        let jump = [1_000_000, 200_000_000, 2_000_000_000, 60_000_000_000][self.draws.below(4) as usize];
        self.now += Span::from_nanos(jump);
    }

    fn timeout(&mut self, node: usize) {
        if self.draws.chance(0.5)
            && let Some(at) = self.nodes[node][0].poll_timeout()
            && at - self.now < Span::from_secs(60)
        {
            self.now = self.now.max(at);
        }
        let repeats = 1 + self.draws.below(3);
        for _ in 0..repeats {
            self.each(node, |endpoint, now| endpoint.handle_timeout(now));
        }
        self.drain(node);
        if let Some(at) = self.nodes[node][0].poll_timeout() {
            assert!(
                at > self.now,
                "node {node} handled its timeout {at:?} at {:?} and still wants it",
                self.now
            );
        }
    }

    fn drain(&mut self, node: usize) {
        let now = self.now;
        let [endpoint, twin] = &mut self.nodes[node];
        let (mut bytes, mut twin_bytes) = (Vec::new(), Vec::new());
        for count in 0.. {
            assert!(count < DRAIN_MAX, "node {node} never stops transmitting");
            let sent = endpoint.poll_transmit(now, &mut bytes);
            let twin_sent = twin.poll_transmit(now, &mut twin_bytes);
            assert_eq!(sent, twin_sent, "node {node} and its twin transmit to different peers");
            let Some((to, channel)) = sent else { break };
            assert_eq!(bytes, twin_bytes, "node {node} and its twin transmit different bytes");
            if self.flight.len() == FLIGHT_MAX {
                let lost = self.draws.below(FLIGHT_MAX as u64) as usize;
                self.flight.swap_remove(lost);
            }
            self.flight.push(InFlight { from: node, to, channel, bytes: bytes.clone() });
        }
        while endpoint.poll_event().is_some() {}
        while twin.poll_event().is_some() {}
        assert_eq!(
            endpoint.poll_timeout(),
            twin.poll_timeout(),
            "node {node} and its twin want different timeouts"
        );
    }
}

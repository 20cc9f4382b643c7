//! A test bench for session clocks: nodes with local clocks of any offset and rate, and links of any delay.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of it")]

use evenkeel_core::clock::SessionClock;
use evenkeel_core::{ClockEvent, ClockFrame, Draws, LocalTime, PeerChange, PeerId, Seed, SessionTime};

pub const MS: i64 = 1_000_000;

/// A session clock and the faults of the local clock beneath it.
pub struct Node<C: ?Sized> {
    pub offset: i64,
    pub skew_ppm: i64,
    pub events: Vec<ClockEvent>,
    pub is_connected: bool,
    pub clock: Box<C>,
}

impl<C: SessionClock + ?Sized> Node<C> {
    pub fn new(clock: Box<C>, offset: i64, skew_ppm: i64) -> Self {
        Self { offset, skew_ppm, events: Vec::new(), is_connected: true, clock }
    }

    pub fn local(&self, now: i64) -> LocalTime {
        LocalTime::from_nanos(now + self.offset + (now / 1_000) * self.skew_ppm / 1_000)
    }
}

/// Nodes that are all joined with each other. Time passes in whole milliseconds.
pub struct Bench<C: ?Sized> {
    pub now: i64,
    pub nodes: Vec<Node<C>>,
    /// By sender and receiver: the minimum delay and the mean of an exponential addition, in milliseconds.
    pub delay: fn(usize, usize) -> (i64, f64),
    flying: Vec<(i64, usize, usize, ClockFrame)>,
    draws: Draws,
}

impl<C: SessionClock + ?Sized> Bench<C> {
    pub fn new(seed: u64, nodes: Vec<Node<C>>, delay: fn(usize, usize) -> (i64, f64)) -> Self {
        let draws = Seed::new(seed).draws();
        let mut bench = Self { now: 0, nodes, delay, flying: Vec::new(), draws };
        for a in 0..bench.nodes.len() {
            for b in (0..bench.nodes.len()).filter(|b| *b != a) {
                bench.peer_change(a, PeerChange::Joined { peer: PeerId(b as u32), datagram_max: 1_200 });
            }
        }
        bench
    }

    pub fn peer_change(&mut self, node: usize, change: PeerChange) {
        let now = self.nodes[node].local(self.now);
        self.nodes[node].clock.handle_peer(now, change);
    }

    /// Advances by a millisecond.
    pub fn tick(&mut self) {
        self.now += MS;
        self.flying.sort_by_key(|(at, ..)| *at);
        while self.flying.first().is_some_and(|(at, ..)| *at <= self.now) {
            let (at, from, to, frame) = self.flying.remove(0);
            let node = &mut self.nodes[to];
            let now = node.local(at);
            node.clock.handle_frame(now, PeerId(from as u32), &frame);
        }
        for from in 0..self.nodes.len() {
            let now = self.nodes[from].local(self.now);
            let is_due = self.nodes[from].clock.poll_timeout().is_some_and(|at| at <= now);
            while let Some(to) = self.nodes[from].clock.poll_due(now).filter(|_| is_due) {
                self.send(from, to.0 as usize, now);
            }
            let node = &mut self.nodes[from];
            assert!(
                node.clock.poll_timeout().is_none_or(|at| at > now),
                "the timeout stays due after it was handled"
            );
            node.events.extend(core::iter::from_fn(|| node.clock.poll_event()));
        }
    }

    fn send(&mut self, from: usize, to: usize, now: LocalTime) {
        while let Some(frame) = self.nodes[from].clock.poll_frame(now, PeerId(to as u32)) {
            let (least, mean) = (self.delay)(from, to);
            let at = self.now + least * MS + self.draws.exponential(mean * 1e6) as i64;
            if self.nodes[from].is_connected && self.nodes[to].is_connected {
                self.flying.push((at, from, to, frame));
            }
        }
    }

    /// Advances by `millis` milliseconds and calls `inspect` after each.
    pub fn run(&mut self, millis: i64, mut inspect: impl FnMut(&Self)) {
        for _ in 0..millis {
            self.tick();
            inspect(self);
        }
    }

    pub fn session(&self, node: usize) -> Option<SessionTime> {
        self.nodes[node].clock.session(self.nodes[node].local(self.now))
    }

    /// Returns how far a node's session time is ahead of the server's local clock, in nanoseconds.
    pub fn error(&self, node: usize, server: usize) -> Option<i64> {
        let truth = self.nodes[server].local(self.now).as_nanos();
        self.session(node).map(|session| session.as_nanos() - truth)
    }
}

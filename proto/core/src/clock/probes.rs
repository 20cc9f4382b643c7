//! When to probe a peer, and which echoes belong to an outstanding probe.

use std::collections::VecDeque;

use super::exchange::Exchange;
use super::frame::ClockFrame;
use crate::time::{LocalTime, Span};

/// Interval between the probes of a burst.
pub const BURST_INTERVAL: Span = Span::from_millis(20);
/// Interval between probes otherwise.
pub const PROBE_INTERVAL: Span = Span::from_millis(100);
/// Number of probes in a burst, limited so that a silent peer is not flooded for long.
const BURST_MAX: u32 = 100;
/// Limit on outstanding probes; beyond it, the oldest are given up. At the slow rate they span 6.4 s.
const OUTSTANDING_MAX: usize = 64;

/// The probes to one peer.
#[derive(Clone, Debug)]
pub(super) struct Probes {
    outstanding: VecDeque<LocalTime>,
    /// When the next probe is due.
    next: LocalTime,
    /// Whether a due probe waits for a datagram.
    is_forced: bool,
    /// Number of probes left in the burst.
    burst: u32,
    /// Number of rejected echoes.
    pub(super) ignored: u64,
}

impl Probes {
    /// The first probe is due immediately.
    pub(super) const fn new(now: LocalTime) -> Self {
        Self { outstanding: VecDeque::new(), next: now, is_forced: false, burst: BURST_MAX, ignored: 0 }
    }

    /// Starts a burst.
    pub(super) fn start_burst(&mut self, now: LocalTime) {
        self.burst = BURST_MAX;
        self.next = self.next.min(now + BURST_INTERVAL);
    }

    /// Ends the burst.
    pub(super) const fn end_burst(&mut self) {
        self.burst = 0;
    }

    /// Returns whether a datagram must leave for a probe. True once per probe.
    pub(super) fn poll_due(&mut self, now: LocalTime) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.is_forced = true;
            self.next = now + self.interval();
        }
        is_due
    }

    /// Returns a probe for a datagram that leaves now, if one is due within a quarter of the interval.
    pub(super) fn poll_frame(&mut self, now: LocalTime) -> Option<ClockFrame> {
        let interval = self.interval();
        if !self.is_forced && now + interval.part(4) < self.next {
            return None;
        }
        // A probe is identified by its time, so while the clock stands still the first one has to do.
        if self.outstanding.back().is_some_and(|last| *last >= now) {
            return None;
        }
        self.is_forced = false;
        self.burst = self.burst.saturating_sub(1);
        self.next = now + interval;
        if self.outstanding.len() >= OUTSTANDING_MAX {
            self.outstanding.pop_front();
        }
        self.outstanding.push_back(now);
        Some(ClockFrame::Probe { sent: now })
    }

    /// Returns the exchange that an echo completes. Unsolicited and impossible echoes are counted instead.
    pub(super) fn complete(&mut self, echo: &ClockFrame, now: LocalTime) -> Option<Exchange> {
        let ClockFrame::Echo { probe, .. } = echo else { return None };
        let exchange = self.outstanding.binary_search(probe).ok().and_then(|place| {
            self.outstanding.remove(place);
            Exchange::complete(echo, now)
        });
        self.ignored = self.ignored.saturating_add(u64::from(exchange.is_none()));
        exchange
    }

    /// Returns when to call [`poll_due`](Self::poll_due) again.
    pub(super) const fn next(&self) -> LocalTime {
        self.next
    }

    const fn interval(&self) -> Span {
        if self.burst > 0 { BURST_INTERVAL } else { PROBE_INTERVAL }
    }
}

//! When to probe a peer, and which echoes answer a probe that was really sent.

use std::collections::VecDeque;

use super::exchange::Exchange;
use super::frame::ClockFrame;
use crate::time::{LocalTime, Span};

/// Between probes while more exchanges are wanted soon.
pub const BURST_INTERVAL: Span = Span::from_millis(20);
/// Between probes otherwise.
pub const PROBE_INTERVAL: Span = Span::from_millis(100);
/// The most probes of a burst: a peer that does not answer is not pestered for long.
const BURST_MAX: u32 = 100;
/// The most probes that wait for their echoes; of more, the oldest are given up. At the slow rate that is 6.4 s.
const OUTSTANDING_MAX: usize = 64;

/// The probes to one peer.
#[derive(Clone, Debug)]
pub(super) struct Probes {
    outstanding: VecDeque<LocalTime>,
    /// When the next probe is due.
    next: LocalTime,
    /// It was due, and some datagram must carry it.
    is_forced: bool,
    /// How many are left of a burst.
    burst: u32,
    /// Echoes that were not taken.
    pub(super) ignored: u64,
}

impl Probes {
    /// The first probe is due at once.
    pub(super) const fn new(now: LocalTime) -> Self {
        Self { outstanding: VecDeque::new(), next: now, is_forced: false, burst: BURST_MAX, ignored: 0 }
    }

    /// Asks for exchanges soon.
    pub(super) fn hurry(&mut self, now: LocalTime) {
        self.burst = BURST_MAX;
        self.next = self.next.min(now + BURST_INTERVAL);
    }

    /// There are enough exchanges.
    pub(super) const fn relax(&mut self) {
        self.burst = 0;
    }

    /// Whether a datagram must leave for a probe. Says so once.
    pub(super) fn poll_due(&mut self, now: LocalTime) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.is_forced = true;
            self.next = now + self.interval();
        }
        is_due
    }

    /// The probe for a datagram that leaves now: if it is due, or will be within a quarter of its interval.
    pub(super) fn poll_frame(&mut self, now: LocalTime) -> Option<ClockFrame> {
        let interval = self.interval();
        if !self.is_forced && now + interval.part(4) < self.next {
            return None;
        }
        // A clock that stands still gives two probes the same name, and the first one is enough.
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

    /// The exchange that an echo completes. An echo of nothing that is outstanding, or one that cannot be, is counted.
    pub(super) fn complete(&mut self, echo: &ClockFrame, now: LocalTime) -> Option<Exchange> {
        let ClockFrame::Echo { probe, .. } = echo else { return None };
        let exchange = self.outstanding.binary_search(probe).ok().and_then(|place| {
            self.outstanding.remove(place);
            Exchange::complete(echo, now)
        });
        self.ignored = self.ignored.saturating_add(u64::from(exchange.is_none()));
        exchange
    }

    /// When to ask [`poll_due`](Self::poll_due) again.
    pub(super) const fn next(&self) -> LocalTime {
        self.next
    }

    const fn interval(&self) -> Span {
        if self.burst > 0 { BURST_INTERVAL } else { PROBE_INTERVAL }
    }
}

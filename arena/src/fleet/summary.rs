//! What a fleet of bots saw, sent and received.
//!
//! A bot's error is known because the other bots are in the same process: at an instant of their shared clock, the path
//! that one exports is compared with where another shows it. Each bot is compared with the next one only, which is the
//! same for each and takes no longer with more bots.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use evenkeel_core::{LocalTime, SessionClock, Span};
use evenkeel_dr::DrEvent;
use evenkeel_net::NodeId;
use evenkeel_net::crank::PeerCounts;
use evenkeel_serve::RELAY;
use serde::Serialize;

use super::{BotMachine, Fleet};

/// Events of all bots, counted on the crank's thread.
#[derive(Debug, Default)]
pub struct FleetCounters {
    generated: AtomicU64,
    arrived: AtomicU64,
    /// The sum over arrivals of the local time less the session time at which the vector was made, in microseconds.
    ages_micros: AtomicI64,
}

impl FleetCounters {
    /// Counts an event; the callback for [`Fleet::start`].
    pub fn note(&self, at: LocalTime, event: &DrEvent) {
        match event {
            DrEvent::Generated { .. } => {
                self.generated.fetch_add(1, Ordering::Relaxed);
            }
            // Introductions repeat vectors of any age.
            DrEvent::Arrived { generated, introduction: false, .. } => {
                self.arrived.fetch_add(1, Ordering::Relaxed);
                let micros = (at.as_nanos() - generated.as_nanos()) / 1_000;
                self.ages_micros.fetch_add(micros, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

/// What a fleet saw, sent and received.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FleetSummary {
    /// How long it played, in seconds.
    pub seconds: f64,
    /// Its bots.
    pub bots: usize,
    /// Entities of others that a bot saw at a time: the most of any bot.
    pub seen: usize,
    /// Mean time from making a vector to its arrival, in milliseconds; `None` if none arrived.
    pub delay_ms: Option<f64>,
    /// Mean distance between where a bot's tank is exported and where the next bot shows it, in units; `None` for a lone
    /// bot.
    pub error_mean: Option<f64>,
    /// The same for the bot that is worst off.
    pub error_worst: Option<f64>,
    /// Half of the certified interval of the session clock, in milliseconds: the widest of any bot at the end.
    pub clock_error_max_ms: Option<f64>,
    /// DR vectors that the bots made.
    pub vectors_sent: u64,
    /// DR vectors that arrived at them.
    pub vectors_received: u64,
    /// Bytes of all their messages, without the transport's headers.
    pub bytes_sent: u64,
    /// Bytes of all messages to them.
    pub bytes_received: u64,
}

/// What is known of one bot.
#[derive(Clone, Copy, Debug, Default)]
struct BotSample {
    error_sum: f64,
    samples: u32,
    /// Bytes out and in: of connections that are over, and of the present one.
    bytes_past: (u64, u64),
    bytes_present: (u64, u64),
}

/// Looks at a fleet now and then, and summarizes it.
#[derive(Debug)]
pub struct FleetObserver {
    start: LocalTime,
    bots: Vec<BotSample>,
    seen: usize,
}

impl FleetObserver {
    /// Starts to observe a fleet.
    #[must_use]
    pub fn new(fleet: &Fleet) -> Self {
        let bots = vec![BotSample::default(); fleet.config.bots()];
        Self { start: fleet.config.clock.now(), bots, seen: 0 }
    }

    /// Looks at every bot once.
    pub async fn sample(&mut self, fleet: &Fleet) {
        let at = fleet.config.clock.now();
        let count = self.bots.len();
        for bot in 0..count {
            let node = NodeId(bot as u32);
            if let Ok(Some(counts)) = fleet.crank.peer_counts(node, RELAY).await {
                self.bots[bot].note_bytes(&counts);
            }
            let next = NodeId(((bot + 1) % count) as u32);
            let exported = move |machine: &mut BotMachine, _| {
                let entity = machine.entity();
                Some((entity, machine.peer().exported(at, entity)?))
            };
            let other = match count {
                1 => None,
                _ => fleet.crank.with(next, exported).await.ok().flatten(),
            };
            let look = move |machine: &mut BotMachine, _| {
                let peer = machine.peer();
                let off =
                    other.and_then(|(entity, there)| Some(peer.position(at, RELAY, entity)?.distance(there)));
                (peer.placed_vectors().count(), off)
            };
            let Ok((seen, off)) = fleet.crank.with(node, look).await else { continue };
            self.seen = self.seen.max(seen);
            if let Some(off) = off {
                self.bots[bot].error_sum += off;
                self.bots[bot].samples += 1;
            }
        }
    }

    /// Summarizes what was seen until now.
    pub async fn summarize(&mut self, fleet: &Fleet, counters: &FleetCounters) -> FleetSummary {
        self.sample(fleet).await;
        let now = fleet.config.clock.now();
        let mut offset = None;
        let mut clock_error: Option<Span> = None;
        for bot in 0..self.bots.len() {
            let clock = move |machine: &mut BotMachine, _| {
                let clock = machine.peer().clock();
                (clock.session(now), clock.error_max(now))
            };
            let Ok((session, error)) = fleet.crank.with(NodeId(bot as u32), clock).await else { continue };
            offset = offset.or(session.map(|session| session.as_nanos() - now.as_nanos()));
            clock_error = clock_error.max(error);
        }
        let arrived = counters.arrived.load(Ordering::Relaxed);
        let ages = counters.ages_micros.load(Ordering::Relaxed) as f64 / 1e3;
        let delay = |offset: i64| ages / arrived as f64 + offset as f64 / 1e6;
        let errors: Vec<f64> = self.bots.iter().filter_map(BotSample::error).collect();
        let (sent, received) = self.bots.iter().map(BotSample::bytes).fold((0, 0), add_pairs);
        FleetSummary {
            seconds: (now - self.start).as_secs_f64(),
            bots: self.bots.len(),
            seen: self.seen,
            delay_ms: offset.filter(|_| arrived > 0).map(delay),
            error_mean: (!errors.is_empty()).then(|| evenkeel_core::stats::mean(&errors)),
            error_worst: errors.iter().copied().reduce(f64::max),
            clock_error_max_ms: clock_error.map(|error| error.as_millis_f64()),
            vectors_sent: counters.generated.load(Ordering::Relaxed),
            vectors_received: arrived,
            bytes_sent: sent,
            bytes_received: received,
        }
    }
}

impl BotSample {
    /// Notes the bytes of the present connection. A new one counts from zero.
    const fn note_bytes(&mut self, counts: &PeerCounts) {
        if counts.bytes_out < self.bytes_present.0 || counts.bytes_in < self.bytes_present.1 {
            self.bytes_past = add_pairs(self.bytes_past, self.bytes_present);
        }
        self.bytes_present = (counts.bytes_out, counts.bytes_in);
    }

    const fn bytes(&self) -> (u64, u64) {
        add_pairs(self.bytes_past, self.bytes_present)
    }

    fn error(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.error_sum / f64::from(self.samples))
    }
}

const fn add_pairs(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0 + other.0, one.1 + other.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_earlier_connections_are_kept() {
        let mut bot = BotSample::default();
        let counts = |bytes_out, bytes_in| PeerCounts { bytes_out, bytes_in, ..PeerCounts::default() };
        for (sent, received) in [(10, 20), (30, 40), (5, 6), (7, 8)] {
            bot.note_bytes(&counts(sent, received));
        }
        assert_eq!(bot.bytes(), (30 + 7, 40 + 8));
    }
}

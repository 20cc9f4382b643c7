//! The clocks of a server, a follower and three peers, with the fuzzer as their network: it delivers, delays, drops and
//! forges frames and steps the machines' clocks.
//!
//! Checks that session time never goes backwards, that error bounds are consistent, that polling ends, and that a timeout
//! is not due again once it was handled.

use std::collections::BTreeSet;

use evenkeel_core::{
    ClockFrame, LocalTime, PeerChange, PeerId, ServerClock, SessionClock, SessionTime, Span,
};

use crate::feed::Feed;
use crate::forge::Overheard;
use crate::node::AnyClock;

/// The most frames or peers that one drain may return.
const DRAIN_MAX: usize = 64;
/// The most frames in flight; beyond, the oldest is dropped.
const FLIGHT_MAX: usize = 128;
/// The most overheard probes kept.
const PROBES_MAX: usize = 32;
/// The most decisions of a run.
const STEPS_MAX: usize = 600;
/// The latest time, far below where time arithmetic saturates.
const NOW_MAX: i64 = 1 << 59;
const SERVER: usize = 0;
const FOLLOWER: usize = 1;

/// A machine with its clock.
struct ClockSite {
    clock: AnyClock,
    offset: i64,
    /// The latest local time: a machine's clock that is set back stands still.
    latest: LocalTime,
    joined: BTreeSet<PeerId>,
    shown: Option<SessionTime>,
}

/// The machines and the frames in flight between them.
pub struct Clocks {
    sites: Vec<ClockSite>,
    flight: Vec<(usize, PeerId, ClockFrame)>,
    probes: Vec<LocalTime>,
    now: i64,
}

impl Clocks {
    /// Creates the machines, each with a local clock of its own offset.
    pub fn new(feed: &mut Feed<'_>) -> Self {
        let clocks = [
            AnyClock::Server(ServerClock::default()),
            AnyClock::follower(PeerId(SERVER as u32)),
            AnyClock::median(),
            AnyClock::median(),
            AnyClock::median(),
        ];
        let site = |clock| ClockSite {
            clock,
            offset: i64::from(feed.short()) << 20,
            latest: LocalTime::MIN,
            joined: BTreeSet::new(),
            shown: None,
        };
        let sites = clocks.into_iter().map(site).collect();
        let mut clocks = Self { sites, flight: Vec::new(), probes: Vec::new(), now: 100_000_000_000 };
        for (site, peer) in [(0, 1), (1, 0), (2, 3), (2, 4), (3, 2), (3, 4), (4, 2), (4, 3)] {
            clocks.peer(site, PeerChange::Joined { peer: PeerId(peer), datagram_max: 1200 });
        }
        clocks
    }

    /// Performs the decisions of the feed.
    ///
    /// # Panics
    /// If a clock breaks its contract.
    pub fn run(&mut self, feed: &mut Feed<'_>) {
        for _ in 0..STEPS_MAX {
            if feed.is_over() {
                break;
            }
            let choice = feed.byte();
            let site = usize::from(choice >> 4) % self.sites.len();
            match choice & 15 {
                0..3 => self.pass(feed.millis()),
                // A calm period, in which the clocks synchronize.
                3..6 => (0..10).for_each(|_| {
                    self.pass(Span::from_millis(20));
                    self.deliver_all();
                }),
                6 | 7 => self.deliver_all(),
                8 | 9 => self.deliver(feed),
                10 | 11 => self.forge(site, feed),
                12 => self.flap(site, feed),
                13 => self.jump(site, feed),
                14 => self.pass(Span::from_nanos(feed.long().clamp(0, NOW_MAX))),
                _ => self.visit(site),
            }
        }
    }

    fn now_at(&mut self, site: usize) -> LocalTime {
        let site = &mut self.sites[site];
        site.latest = site.latest.max(LocalTime::from_nanos(self.now + site.offset));
        site.latest
    }

    fn pass(&mut self, pause: Span) {
        self.now = (self.now + pause.as_nanos()).min(NOW_MAX);
        (0..self.sites.len()).for_each(|site| self.visit(site));
    }

    /// Polls the clock as a driver does when it wakes.
    fn visit(&mut self, index: usize) {
        let now = self.now_at(index);
        let site = &mut self.sites[index];
        let mut due = Vec::new();
        while let Some(peer) = site.clock.poll_due(now) {
            assert!(site.joined.contains(&peer), "clock {index} has a frame for an absent peer");
            due.push(peer);
            assert!(due.len() <= DRAIN_MAX, "clock {index} is due without end");
        }
        if let Some(at) = site.clock.poll_timeout() {
            assert!(at > now, "clock {index} was polled at {now:?} and its timeout {at:?} is still due");
        }
        for to in due {
            for count in 0.. {
                assert!(count <= DRAIN_MAX, "clock {index} has frames without end");
                let Some(frame) = site.clock.poll_frame(now, to) else { break };
                if let ClockFrame::Probe { sent } = frame {
                    self.probes.push(sent);
                }
                self.flight.push((index, to, frame));
            }
        }
        self.flight.drain(..self.flight.len().saturating_sub(FLIGHT_MAX));
        self.probes.drain(..self.probes.len().saturating_sub(PROBES_MAX));
        for count in 0.. {
            assert!(count <= DRAIN_MAX, "clock {index} has events without end");
            if site.clock.poll_event().is_none() {
                break;
            }
        }
        self.check_reading(index, now);
    }

    /// Reads the clock and checks the reading.
    fn check_reading(&mut self, index: usize, now: LocalTime) {
        let site = &mut self.sites[index];
        let Some(shown) = site.clock.session(now) else {
            assert!(site.clock.error_max(now).is_none() && site.clock.interval(now).is_none());
            return;
        };
        let before = site.shown.replace(shown);
        assert!(
            before.is_none_or(|before| before <= shown),
            "clock {index} went from {before:?} back to {shown:?}"
        );
        let (low, high) = site.clock.interval(now).expect("a clock that shows a time has bounds");
        assert!(low <= high, "clock {index} has an empty interval: {low:?} to {high:?}");
        assert!(site.clock.error_max(now).is_some_and(|error| error >= Span::ZERO));
        let later = now + Span::from_millis(15);
        assert!(site.clock.session(later) >= Some(shown), "clock {index} will go backwards");
        let _ = site.clock.local(shown);
    }

    fn handle(&mut self, from: usize, to: PeerId, frame: &ClockFrame) {
        let index = to.0 as usize;
        if index < self.sites.len() && self.sites[index].joined.contains(&PeerId(from as u32)) {
            let now = self.now_at(index);
            self.sites[index].clock.handle_frame(now, PeerId(from as u32), frame);
            self.check_reading(index, now);
        }
    }

    fn deliver_all(&mut self) {
        for (from, to, frame) in core::mem::take(&mut self.flight) {
            self.handle(from, to, &frame);
        }
    }

    /// Delivers a frame out of order, once or twice, or drops it.
    fn deliver(&mut self, feed: &mut Feed<'_>) {
        if self.flight.is_empty() {
            return;
        }
        let (from, to, frame) = self.flight.remove(feed.below(self.flight.len()));
        for _ in 0..feed.below(3) {
            self.handle(from, to, &frame);
        }
    }

    fn forge(&mut self, site: usize, feed: &mut Feed<'_>) {
        let from = feed.below(self.sites.len());
        let now = SessionTime::from_nanos(self.now + (i64::from(feed.short()) << 12));
        let frame = match feed.below(4) {
            0 => ClockFrame::Probe { sent: LocalTime::from_nanos(feed.long()) },
            _ => Overheard { now, nonces: &[], probes: &self.probes }.echo(feed),
        };
        self.handle(from, PeerId(site as u32), &frame);
    }

    /// Lets a peer join or leave. A follower of the server, or a clock without peers, may then restart at another time.
    fn flap(&mut self, site: usize, feed: &mut Feed<'_>) {
        let peer = PeerId(feed.below(self.sites.len()) as u32);
        let (joined, left) = (PeerChange::Joined { peer, datagram_max: 1200 }, PeerChange::Left { peer });
        for change in feed.pick(&[&[left, joined][..], &[joined], &[left]]) {
            self.peer(site, *change);
        }
    }

    fn peer(&mut self, index: usize, change: PeerChange) {
        let now = self.now_at(index);
        let site = &mut self.sites[index];
        let is_new = match index {
            SERVER => false,
            FOLLOWER => change.peer() == PeerId(SERVER as u32),
            _ => site.joined.is_empty(),
        };
        site.shown = site.shown.filter(|_| !is_new);
        site.clock.handle_peer(now, change);
        match change {
            PeerChange::Joined { peer, .. } => site.joined.insert(peer),
            PeerChange::Left { peer } => site.joined.remove(&peer),
        };
        self.check_reading(index, now);
    }

    /// Steps a machine's clock.
    fn jump(&mut self, site: usize, feed: &mut Feed<'_>) {
        let offset = &mut self.sites[site].offset;
        *offset = offset.saturating_add(feed.long()).clamp(-NOW_MAX, NOW_MAX);
    }
}

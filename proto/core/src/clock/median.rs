//! The clock of a peer in a session without a server: the median of all peers' clocks.
//!
//! Each peer bounds the offset to every other one, counts its own clock with offset zero, and takes the
//! median. All honest peers find the same time, within their bounds. A minority of liars cannot move the
//! median outside of the range of the honest clocks, because there is an honest clock on either side of it.

use std::collections::BTreeMap;

use super::band::Band;
use super::echoes::PendingEchoes;
use super::exchange::{Observed, OffsetEstimator};
use super::follower::EXCHANGES_MIN;
use super::frame::ClockFrame;
use super::hull::{Hull, WINDOW};
use super::output::Output;
use super::probes::Probes;
use super::{ClockEvent, SessionClock};
use crate::peer::{PeerChange, PeerId};
use crate::time::{LocalTime, SessionTime, Span};

/// Limit on the peers that are probed; later ones do not count.
pub const PEERS_MAX: usize = 64;
/// How long the first session time waits for a peer that has joined and not answered. Then a majority is
/// enough.
pub const JOIN_WAIT_MAX: Span = Span::from_secs(2);

/// The median of this node's clock and those of all connected peers.
#[derive(Clone, Debug)]
pub struct MedianClock {
    peers: BTreeMap<PeerId, PeerConnection>,
    echoes: PendingEchoes,
    output: Output,
    now: LocalTime,
}

impl Default for MedianClock {
    /// A clock without peers. A local clock may show times before zero.
    fn default() -> Self {
        let (peers, echoes, output) = (BTreeMap::new(), PendingEchoes::default(), Output::default());
        Self { peers, echoes, output, now: LocalTime::MIN }
    }
}

#[derive(Clone, Debug)]
struct PeerConnection {
    joined: LocalTime,
    probes: Probes,
    hull: Hull,
    /// Exchanges since the beginning or the last break.
    exchanges: u32,
    /// The bounds from enough exchanges; after a break the old ones stay until there are enough again.
    band: Option<Band>,
    last_echo: LocalTime,
}

impl PeerConnection {
    fn new(now: LocalTime) -> Self {
        let (probes, hull) = (Probes::new(now), Hull::default());
        Self { joined: now, probes, hull, exchanges: 0, band: None, last_echo: now }
    }

    /// Returns the bounds of the peer's clock, if they are fresh.
    fn band(&self, now: LocalTime) -> Option<Band> {
        self.band.filter(|_| now - self.last_echo < WINDOW)
    }
}

impl MedianClock {
    /// Returns the median, or `None` if too few peers are known or some may still answer.
    fn band(&self, now: LocalTime) -> Option<Band> {
        let known: Vec<Band> = self.peers.values().filter_map(|peer| peer.band(now)).collect();
        let may_answer =
            |peer: &PeerConnection| peer.band(now).is_none() && now - peer.joined < JOIN_WAIT_MAX;
        let is_waiting = self.output.session(now).is_none() && self.peers.values().any(may_answer);
        // A majority of all peers, this node included.
        let is_majority = 2 * (known.len() + 1) > self.peers.len() + 1;
        (!known.is_empty() && is_majority && !is_waiting).then(|| median_band(now, &known))
    }

    fn advance(&mut self, now: LocalTime) -> LocalTime {
        self.now = self.now.max(now);
        self.output.advance(self.now);
        self.now
    }

    /// Recomputes the median. Runs at every exchange and probe, so silence needs no timer.
    fn steer(&mut self) {
        match self.band(self.now) {
            Some(band) => self.output.steer(self.now, band),
            None if self.peers.values().all(|peer| peer.band(self.now).is_none()) => {
                self.output.lose(self.now);
            }
            None => {}
        }
    }

    fn handle_echo(&mut self, now: LocalTime, from: PeerId, echo: &ClockFrame) {
        let Some(peer) = self.peers.get_mut(&from) else { return };
        let Some(exchange) = peer.probes.complete(echo, now) else { return };
        match peer.hull.observe(&exchange) {
            Observed::Ignored => return,
            Observed::Taken => peer.exchanges = peer.exchanges.saturating_add(1),
            Observed::Broke => {
                peer.exchanges = 0;
                peer.probes.start_burst(now);
            }
        }
        peer.last_echo = now;
        if peer.exchanges < EXCHANGES_MIN {
            return;
        }
        if peer.exchanges == EXCHANGES_MIN {
            peer.probes.end_burst();
        }
        peer.band = peer.hull.band();
        self.steer();
    }
}

impl SessionClock for MedianClock {
    #[inline]
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        self.output.session(now)
    }

    #[inline]
    fn local(&self, at: SessionTime) -> Option<LocalTime> {
        self.output.local(at)
    }

    /// The bound holds for the median of the clocks as they are, if none of them lies. Liars change the
    /// median itself.
    fn error_max(&self, now: LocalTime) -> Option<Span> {
        self.output.error_max(now)
    }

    fn interval(&self, now: LocalTime) -> Option<(SessionTime, SessionTime)> {
        self.output.interval(now)
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        let now = self.advance(now);
        if self.peers.is_empty() {
            self.output.restart(now);
        }
        self.echoes.handle_peer(change);
        self.peers.remove(&change.peer());
        if matches!(change, PeerChange::Joined { .. }) && self.peers.len() < PEERS_MAX {
            self.peers.insert(change.peer(), PeerConnection::new(now));
        }
        self.steer();
    }

    fn handle_frame(&mut self, now: LocalTime, from: PeerId, frame: &ClockFrame) {
        let now = self.advance(now);
        match frame {
            ClockFrame::Probe { sent } => self.echoes.handle_probe(now, from, *sent),
            ClockFrame::Echo { .. } => self.handle_echo(now, from, frame),
        }
    }

    fn poll_due(&mut self, now: LocalTime) -> Option<PeerId> {
        let now = self.advance(now);
        let mut peers = self.peers.iter_mut();
        let probed = peers.find_map(|(id, peer)| peer.probes.poll_due(now).then_some(*id));
        if probed.is_some() {
            self.steer();
        }
        probed.or_else(|| self.echoes.poll_due(now))
    }

    fn poll_frame(&mut self, now: LocalTime, to: PeerId) -> Option<ClockFrame> {
        let now = self.advance(now);
        let echo = self.echoes.poll_frame(now, to);
        echo.or_else(|| self.peers.get_mut(&to)?.probes.poll_frame(now))
    }

    fn is_urgent(&self, to: PeerId) -> bool {
        self.peers.get(&to).is_some_and(|peer| peer.exchanges < EXCHANGES_MIN)
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let probes = self.peers.values().map(|peer| peer.probes.next());
        probes.chain(self.echoes.next()).chain(self.output.wake()).min()
    }

    fn poll_event(&mut self) -> Option<ClockEvent> {
        self.output.poll_event()
    }
}

/// The median of these clocks and this node's own. It lies between the medians of their bounds and runs no
/// faster than the fastest of them.
fn median_band(now: LocalTime, known: &[Band]) -> Band {
    let with_own = |bound: fn(&Band, LocalTime) -> Span| {
        median(known.iter().map(|band| bound(band, now)).chain([Span::ZERO]).collect())
    };
    let mut rates: Vec<i64> = known.iter().map(|band| band.best_ppb).chain([0]).collect();
    rates.sort_unstable();
    Band {
        at: now,
        low: with_own(Band::low),
        high: with_own(Band::high),
        low_ppb: known.iter().map(|band| band.low_ppb).fold(0, i64::min),
        high_ppb: known.iter().map(|band| band.high_ppb).fold(0, i64::max),
        best: with_own(Band::best),
        best_ppb: rates[rates.len() / 2],
    }
}

/// The middle value, or the midpoint of the two middle values; `offsets` is not empty.
fn median(mut offsets: Vec<Span>) -> Span {
    offsets.sort_unstable();
    let (low, high) = (offsets[(offsets.len() - 1) / 2], offsets[offsets.len() / 2]);
    low + (high - low).part(2)
}

//! The protocols that are compared: NEO by any settings, its ancestors, and client-server.

use std::collections::{BTreeSet, VecDeque};

use evenkeel_core::clock::Synchronized;
use evenkeel_core::{Endpoint, LocalTime, PeerId, Seed, SessionTime, Span, delegate_endpoint};
use evenkeel_games::eater::MovePeer;
use evenkeel_neo::{
    Baseline, BaselinePeer, Cheat, CheatingPeer, Deadline, Identity, NeoCommand, NeoConfig, NeoEvent,
    NeoPeer, PublicKey, Session,
};

use super::node::BoxedPeer;

/// The slots of the baselines: as often as ours.
const SLOT: Span = Span::from_millis(50);
/// MiMaze plays everything 100 ms after it was made.
const BUCKET: Span = Span::from_millis(100);
/// Local lag long enough for most messages.
const LAG: Span = Span::from_millis(150);
/// Moves under way in pipelined lockstep.
const PIPELINE: u32 = 4;

/// A protocol with its settings.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum MoveProtocol {
    Neo(NeoConfig),
    Baseline(Baseline),
    /// Client-server with this time between updates: the server is the node after the players.
    ClientServer(Span),
}

/// A player's machine, and the key by which others know it.
pub(crate) struct Machine {
    pub(crate) peer: Box<dyn MovePeer + Send>,
    pub(crate) key: PublicKey,
}

impl MoveProtocol {
    /// The thesis' NEO with rounds of this length in milliseconds, and this depth.
    pub(crate) fn thesis(round: u32, depth: u32) -> Self {
        let round = Span::from_millis(i64::from(round));
        Self::Neo(NeoConfig { round, depth, ..NeoConfig::thesis(session()) })
    }

    /// Ours.
    pub(crate) fn ours() -> Self {
        Self::Neo(NeoConfig::new(session()))
    }

    /// From the thesis' rules to ours, one improvement at a time.
    pub(crate) fn ladder() -> Vec<(&'static str, Self)> {
        let thesis = NeoConfig::thesis(session());
        let ours = NeoConfig::new(session());
        let others = NeoConfig { quorum: ours.quorum, ..thesis.clone() };
        let at_quorum =
            NeoConfig { processing: ours.processing, patience: Span::from_millis(500), ..others.clone() };
        let late = NeoConfig { uses_late: ours.uses_late, ..at_quorum.clone() };
        let slots = NeoConfig {
            round: ours.round,
            depth: ours.depth,
            deadline: Deadline::Round,
            patience: ours.patience,
            ..late.clone()
        };
        let repeated = NeoConfig { repeats: ours.repeats, ..slots.clone() };
        let signed = NeoConfig { is_accountable: true, ..repeated.clone() };
        assert_eq!(signed, ours, "the last rung is what players get");
        [
            ("thesis", thesis),
            ("votes of others", others),
            ("played at the quorum", at_quorum),
            ("late openings used", late),
            ("50 ms slots, 200 ms deadline", slots),
            ("one update repeated", repeated),
            ("signed: ours", signed),
            ("ours, areas of interest", NeoConfig { has_areas: true, ..ours }),
        ]
        .into_iter()
        .map(|(name, config)| (name, Self::Neo(config)))
        .collect()
    }

    /// The protocols that NEO descends from or is compared with.
    pub(crate) fn baselines() -> Vec<(&'static str, Self)> {
        vec![
            ("client-server", Self::ClientServer(SLOT)),
            ("bucket synchronization", Self::Baseline(Baseline::Bucket(BUCKET))),
            ("local lag", Self::Baseline(Baseline::LocalLag(LAG))),
            ("lockstep", Self::Baseline(Baseline::Lockstep)),
            ("pipelined lockstep", Self::Baseline(Baseline::Pipelined(PIPELINE))),
            ("adaptive pipelined", Self::Baseline(Baseline::AdaptivePipelined)),
        ]
    }

    pub(crate) const fn has_areas(&self) -> bool {
        matches!(self, Self::Neo(NeoConfig { has_areas: true, .. }))
    }

    /// Whether its peers find the time themselves; the baselines' clocks agree.
    pub(crate) const fn keeps_time(&self) -> bool {
        matches!(self, Self::Neo(_))
    }

    /// The number of moves that a player makes per second, if nothing holds it up.
    pub(crate) fn moves_per_second(&self) -> f64 {
        match self {
            Self::Neo(config) => f64::from(config.depth) / config.round.as_secs_f64(),
            Self::ClientServer(slot) => 1.0 / slot.as_secs_f64(),
            Self::Baseline(_) => 1.0 / SLOT.as_secs_f64(),
        }
    }

    /// The machine of a player, which finds the session's time by itself if the protocol can.
    pub(crate) fn machine(&self, index: usize, players: usize, secret: Seed) -> Machine {
        match self {
            Self::Neo(config) => {
                let identity = identity(secret);
                let key = identity.key();
                Machine { peer: Box::new(NeoPeer::new(config, identity)), key }
            }
            _ => self.synchronized(index, players, secret),
        }
    }

    /// The machine of a player whose clock shows the session's time.
    pub(crate) fn synchronized(&self, index: usize, players: usize, secret: Seed) -> Machine {
        let identity = identity(secret);
        let key = key_of(PeerId(index as u32));
        let (baseline, slot) = match self {
            Self::Neo(config) => {
                let key = identity.key();
                return Machine { peer: Box::new(NeoPeer::with_clock(config, identity, Synchronized)), key };
            }
            Self::Baseline(baseline) => (*baseline, SLOT),
            Self::ClientServer(slot) => (Baseline::Client(PeerId(players as u32)), *slot),
        };
        Machine { peer: Box::new(GreetingPeer::new(BaselinePeer::new(baseline, slot, identity))), key }
    }

    /// The machine of a player that says it is the one with this secret. Under the baselines a player is who its connection
    /// is, so that there is nothing to claim.
    pub(crate) fn spoofing(&self, index: usize, players: usize, secret: Seed, victim: Seed) -> Machine {
        let Self::Neo(config) = self else { return self.synchronized(index, players, secret) };
        let own = identity(secret);
        let key = own.key();
        let cheat = Cheat::Spoofing(identity(victim).key());
        Machine { peer: Box::new(Spoofer(CheatingPeer::with_clock(config, own, cheat, Synchronized))), key }
    }

    /// The server, if there is one.
    pub(crate) fn server(&self, players: usize) -> Option<BoxedPeer> {
        let Self::ClientServer(slot) = self else { return None };
        let server = BaselinePeer::new(Baseline::Server, *slot, identity(Seed::new(players as u64)));
        Some(BoxedPeer(Box::new(GreetingPeer::new(server))))
    }
}

fn session() -> Session {
    Session([7; 16])
}

fn identity(secret: Seed) -> Identity {
    let mut draws = secret.draws();
    let mut bytes = [0; 32];
    bytes.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&draws.bits().to_le_bytes()));
    Identity::from_secret(bytes)
}

/// The key under which a baseline reports a peer's state changes.
fn key_of(peer: PeerId) -> PublicKey {
    let mut key = PublicKey::default();
    key.0[..4].copy_from_slice(&peer.0.to_be_bytes());
    key
}

/// A player that claims to be another one.
struct Spoofer(CheatingPeer<Synchronized>);

impl Endpoint for Spoofer {
    type Command = NeoCommand;
    type Event = NeoEvent;

    delegate_endpoint!(self.0);
}

impl MovePeer for Spoofer {
    fn session_time(&self, now: LocalTime) -> Option<SessionTime> {
        self.0.peer().session_time(now)
    }
}

/// A baseline that reports, as NEO does, that a peer joined, when it first hears of it.
struct GreetingPeer {
    peer: BaselinePeer,
    known: BTreeSet<PeerId>,
    events: VecDeque<NeoEvent>,
}

impl GreetingPeer {
    const fn new(peer: BaselinePeer) -> Self {
        Self { peer, known: BTreeSet::new(), events: VecDeque::new() }
    }
}

impl Endpoint for GreetingPeer {
    type Command = NeoCommand;
    type Event = NeoEvent;

    delegate_endpoint!(self.peer: handle_command, handle_message, handle_peer, handle_timeout, poll_transmit, poll_timeout);

    fn poll_event(&mut self) -> Option<NeoEvent> {
        if self.events.is_empty() {
            let event = self.peer.poll_event()?;
            let from = match &event {
                NeoEvent::Played(played) => Some(played.from),
                NeoEvent::StateChanged { from, .. } => *from,
                _ => None,
            };
            if let Some(peer) = from.filter(|peer| self.known.insert(*peer)) {
                self.events.push_back(NeoEvent::Joined { peer, key: key_of(peer) });
            }
            self.events.push_back(event);
        }
        self.events.pop_front()
    }
}

impl MovePeer for GreetingPeer {
    fn session_time(&self, now: LocalTime) -> Option<SessionTime> {
        Some(SessionTime::from_nanos(now.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_leads_from_the_thesis_to_ours_one_change_at_a_time() {
        let ladder = MoveProtocol::ladder();
        assert_eq!(ladder[0].1, MoveProtocol::thesis(250, 2));
        assert_eq!(ladder[ladder.len() - 2].1, MoveProtocol::ours());
        for pair in ladder.windows(2) {
            assert_ne!(pair[0].1, pair[1].1, "{} changes nothing", pair[1].0);
        }
    }
}

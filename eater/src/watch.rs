//! What a peer remembers of its session: who came and went, who was caught, and what it sent.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use evenkeel_core::{LocalTime, PeerId};
use evenkeel_games::eater::{EaterEvent, EaterId, EaterNode};
use evenkeel_neo::{Departure, NeoEvent, PublicKey};
use evenkeel_net::transport::CloseCode;
use evenkeel_net::{CrankHandle, NodeId};
use evenkeel_p2p::{Mesh, PeerKey};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::caught::Caught;
use crate::cheater::Machine;
use crate::meters::Meters;

/// The machine of a crank.
pub(crate) type Node = EaterNode<Machine>;

pub(crate) const NODE: NodeId = NodeId(0);
/// Names, arrivals and departures that are remembered; the oldest are forgotten.
const REMEMBERED_MAX: usize = 256;
/// Proofs that are remembered.
const CAUGHT_MAX: usize = 64;
/// Notices to the watching task; more than peers can join at once.
pub(crate) const NOTICES_MAX: usize = 256;
/// Seconds over which bandwidth is averaged.
const SAMPLES_MAX: usize = 11;

/// What the crank's thread tells the task that acts on it.
pub(crate) enum Notice {
    Joined(PeerId, PublicKey),
    Evicted(PublicKey),
}

/// Somebody came or went.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Coming {
    pub(crate) name: String,
    pub(crate) key: String,
    /// `joined`, or why it left.
    pub(crate) what: &'static str,
    pub(crate) at_unix_ms: i64,
}

/// What had been sent at some time.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: LocalTime,
    payload: u64,
    wire: u64,
}

/// What a peer remembers.
#[derive(Default)]
pub(crate) struct Observed {
    pub(crate) meters: Meters,
    pub(crate) caught: Vec<Caught>,
    pub(crate) comings: VecDeque<Coming>,
    /// Names by eater, also of those who left.
    names: BTreeMap<EaterId, String>,
    samples: VecDeque<Sample>,
}

/// Shared by the crank's thread, the page and the watching task.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Observed>>);

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Observed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an event of the machine; runs on the crank's thread.
    pub(crate) fn handle_event(&self, now: LocalTime, event: EaterEvent, notices: &mpsc::Sender<Notice>) {
        let EaterEvent::Peer(event) = event else { return };
        let mut observed = self.lock();
        match event {
            NeoEvent::Played(played) => observed.meters.handle_played(now, &played),
            NeoEvent::Unused { reason, .. } => observed.meters.handle_unused(now, reason),
            NeoEvent::Joined { peer, key } => {
                observed.note(&key, "joined");
                let _ = notices.try_send(Notice::Joined(peer, key));
            }
            NeoEvent::Left { key, why, .. } => observed.note(&key, departure_name(why)),
            NeoEvent::Evicted { key, proof, .. } => {
                if observed.caught.len() < CAUGHT_MAX {
                    observed.caught.push(Caught { key: key.0, at_unix_ms: unix_ms(), proof: *proof });
                }
                let _ = notices.try_send(Notice::Evicted(key));
            }
            _ => {}
        }
    }
}

impl Observed {
    fn note(&mut self, key: &PublicKey, what: &'static str) {
        if self.comings.len() == REMEMBERED_MAX {
            self.comings.pop_front();
        }
        let name = self.name(EaterId::of(key));
        let key = PeerKey::from_bytes(&key.0).map(|key| key.to_string()).unwrap_or_default();
        self.comings.push_back(Coming { name, key, what, at_unix_ms: unix_ms() });
    }

    /// Remembers a name, which other peers have chosen: at most 24 characters of it, and no control characters.
    pub(crate) fn learn_name(&mut self, key: &PeerKey, hello: &[u8]) {
        let name: String =
            String::from_utf8_lossy(hello).chars().filter(|char| !char.is_control()).take(24).collect();
        let eater = EaterId::of(&PublicKey(*key.as_bytes()));
        if self.names.len() < REMEMBERED_MAX || self.names.contains_key(&eater) {
            self.names.insert(eater, if name.trim().is_empty() { key.to_string() } else { name });
        }
    }

    pub(crate) fn name(&self, eater: EaterId) -> String {
        self.names.get(&eater).cloned().unwrap_or_else(|| format!("{:04x}", eater.0 & 0xffff))
    }

    /// Returns the payload and the UDP bytes sent lately, in bits per second.
    pub(crate) fn bits_per_second(&self) -> (f64, f64) {
        let (Some(first), Some(last)) = (self.samples.front(), self.samples.back()) else {
            return (0.0, 0.0);
        };
        let seconds = (last.at - first.at).as_secs_f64();
        if seconds <= 0.0 {
            return (0.0, 0.0);
        }
        let rate = |from: u64, to: u64| to.saturating_sub(from) as f64 * 8.0 / seconds;
        (rate(first.payload, last.payload), rate(first.wire, last.wire))
    }
}

const fn departure_name(why: Departure) -> &'static str {
    match why {
        Departure::Left => "left",
        Departure::Disconnected => "disconnected",
        Departure::Silent => "silent",
        Departure::Evicted => "evicted",
    }
}

pub(crate) fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Acts on what the machine reports: whoever proves another key than its connection's is disconnected, and whoever cheated is
/// refused from then on.
pub(crate) async fn act(mut notices: mpsc::Receiver<Notice>, crank: CrankHandle<Node>, mesh: Mesh) {
    while let Some(notice) = notices.recv().await {
        match notice {
            Notice::Joined(peer, key) => {
                let proved = PeerKey::from_bytes(&key.0).map(|key| key.peer_id());
                if proved != Some(peer) {
                    let _ = crank.detach(NODE, peer, CloseCode::Protocol);
                }
            }
            Notice::Evicted(key) => {
                if let Some(key) = PeerKey::from_bytes(&key.0) {
                    mesh.ban(key);
                }
            }
        }
    }
}

/// Notes every second what has been sent.
pub(crate) async fn sample(shared: Shared, crank: CrankHandle<Node>, mesh: Mesh) {
    loop {
        let read = |node: &mut Node, now| (node.peer().stats(), now);
        let Ok((stats, at)) = crank.with(NODE, read).await else { return };
        let sample =
            Sample { at, payload: stats.datagram_bytes + stats.reliable_bytes, wire: mesh.wire_bytes().0 };
        {
            let mut observed = shared.lock();
            if observed.samples.len() == SAMPLES_MAX {
                observed.samples.pop_front();
            }
            observed.samples.push_back(sample);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

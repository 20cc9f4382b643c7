//! The players beside this proxy: one per address that sends to it.

use std::collections::{BTreeMap, VecDeque};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use evenkeel_core::clock::{FollowerClock, Hull};
use evenkeel_core::{LocalTime, Seed, Span};
use evenkeel_net::crank::{Bucket, CrankError, NodeId, PeerCounters, PeerCounts, Verdict};
use evenkeel_net::transport::Connection;
use evenkeel_sync_ms::{Smc, SmcCommand, SmcCounts, SmcEvent, SyncConfig};
use tokio::task::AbortHandle;

use super::{ClientCrank, SERVER};
use crate::config::ClientConfig;
use crate::counters::{ClientCounters, DatagramCounters, add, count};
use crate::hello::PlayerId;
use crate::report::{ClientTotals, LocalPlayerReport};

/// Datagrams of a player that wait for its tunnel. Beyond, the oldest is dropped.
const PENDING_MAX: usize = 64;
/// How long they wait: what a game sent earlier means nothing any more.
const PENDING_AGE_MAX: Duration = Duration::from_secs(1);
/// An address that has exchanged fewer datagrams than this in either direction has only asked something, as server browsers
/// do,
const VISITOR_DATAGRAMS: u64 = 8;
/// and is forgotten after this time.
const VISITOR_IDLE: Duration = Duration::from_secs(5);

/// A player.
pub(crate) struct LocalPlayer {
    pub(crate) node: NodeId,
    pub(crate) from: SocketAddr,
    pub(crate) id: PlayerId,
    actions: AtomicU64,
    shown: AtomicU64,
    state: Mutex<PlayerState>,
}

struct PlayerState {
    bucket: Bucket,
    heard_at: Instant,
    /// The attachment to the crank, while there is one.
    attached: Option<Arc<PeerCounters>>,
    pending: VecDeque<(Instant, Vec<u8>)>,
    dialing: Option<AbortHandle>,
    /// The port at which the game knows the player.
    port: u16,
}

impl LocalPlayer {
    fn state(&self) -> MutexGuard<'_, PlayerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_dialing(&self, dialing: AbortHandle) {
        self.state().dialing = Some(dialing);
    }

    /// Actions sent.
    pub(super) fn actions(&self) -> u64 {
        self.actions.load(Ordering::Relaxed)
    }

    /// The port at which the game knows the player; 0 at first.
    pub(super) fn port(&self) -> u16 {
        self.state().port
    }

    /// Passes a datagram of the player's game to its machine.
    pub(super) fn act(&self, crank: &ClientCrank, counters: &ClientCounters, at: LocalTime, bytes: &[u8]) {
        let mut state = self.state();
        state.heard_at = Instant::now();
        if state.bucket.offer(at, bytes.len()) != Verdict::Pass {
            return count(&counters.over_game_allowance);
        }
        if state.attached.is_some() {
            return self.command(crank, counters, at, bytes.to_vec());
        }
        if state.pending.len() == PENDING_MAX {
            state.pending.pop_front();
            count(&counters.stale);
        }
        state.pending.push_back((Instant::now(), bytes.to_vec()));
    }

    fn command(&self, crank: &ClientCrank, counters: &ClientCounters, at: LocalTime, bytes: Vec<u8>) {
        self.actions.fetch_add(1, Ordering::Relaxed);
        if crank.command_at(self.node, at, SmcCommand::Act { reliable: false, bytes }).is_err() {
            count(&counters.overloaded);
        }
    }

    /// Attaches a tunnel, and sends what has waited for it.
    pub(super) fn attach(
        &self,
        crank: &ClientCrank,
        counters: &ClientCounters,
        connection: Connection,
        config: &ClientConfig,
        port: u16,
    ) {
        let emulation = config.link.emulation(self.node.0);
        let attachment = evenkeel_net::Attachment { connection, emulation, allowance: None };
        // Under the lock, so that the end of the attachment is not handled before it is noted here.
        let mut state = self.state();
        let Ok(attached) = crank.attach(self.node, SERVER, attachment) else { return };
        (state.attached, state.port) = (Some(attached), port);
        for (at, bytes) in std::mem::take(&mut state.pending) {
            if at.elapsed() > PENDING_AGE_MAX {
                count(&counters.stale);
            } else {
                self.command(crank, counters, crank.clock().now(), bytes);
            }
        }
    }

    fn is_idle(&self, idle: Duration) -> bool {
        let exchanged = [&self.actions, &self.shown].map(|count| count.load(Ordering::Relaxed));
        let is_visitor = exchanged.iter().any(|count| *count < VISITOR_DATAGRAMS);
        let idle = if is_visitor { idle.min(VISITOR_IDLE) } else { idle };
        self.state().heard_at.elapsed() > idle
    }

    pub(super) fn report(&self, counts: SmcCounts, clock_error: Option<Span>) -> LocalPlayerReport {
        LocalPlayerReport {
            player: self.node.0,
            from: self.from.to_string(),
            is_connected: self.state().attached.is_some(),
            clock_error_ms: clock_error.map(Span::as_millis_f64),
            updates: counts.updates,
            late: counts.late,
            not_held: counts.not_held,
            actions: self.actions(),
        }
    }
}

#[derive(Default)]
struct PlayerTable {
    by_address: BTreeMap<SocketAddr, Arc<LocalPlayer>>,
    by_node: BTreeMap<NodeId, Arc<LocalPlayer>>,
    /// The number of the next player's machine. None is used twice: the former one may still be on its way out.
    next: u32,
    /// What attachments that have ended lost on emulated links.
    emulated: [u64; 2],
    /// What players did that are gone.
    gone: ClientTotals,
}

fn machine() -> Smc<FollowerClock<Hull>> {
    let settings = SyncConfig { seed: Seed::new(evenkeel_net::random()), ..SyncConfig::default() };
    Smc::with_clock(&settings, SERVER, FollowerClock::new(SERVER))
}

/// Puts a new machine in place of a player's one that has failed. Returns whether it has.
pub(super) async fn look_after(player: &LocalPlayer, crank: &ClientCrank) -> bool {
    let has_failed = crank.with(player.node, |_, _| ()).await == Err(CrankError::NoSuchNode);
    has_failed && crank.add(player.node, machine()).is_ok()
}

/// All players, and the socket through which they are reached.
pub(crate) struct Players {
    pub(crate) counters: ClientCounters,
    socket: UdpSocket,
    table: Mutex<PlayerTable>,
}

impl Players {
    pub(crate) fn new(socket: UdpSocket) -> Self {
        Self { counters: ClientCounters::default(), socket, table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, PlayerTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, from: SocketAddr) -> Option<Arc<LocalPlayer>> {
        self.table().by_address.get(&from).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<LocalPlayer>> {
        self.table().by_node.values().cloned().collect()
    }

    /// Makes a player and its machine; `None` if there is no place.
    pub(super) fn admit(
        &self,
        from: SocketAddr,
        config: &ClientConfig,
        crank: &ClientCrank,
    ) -> Option<Arc<LocalPlayer>> {
        let mut table = self.table();
        if table.by_node.len() >= config.players_max {
            return None;
        }
        let node = NodeId(table.next);
        table.next = table.next.checked_add(1)?;
        crank.add(node, machine()).ok()?;
        let mut id = PlayerId::default();
        id[..8].copy_from_slice(&evenkeel_net::random().to_le_bytes());
        id[8..].copy_from_slice(&evenkeel_net::random().to_le_bytes());
        let player = Arc::new(LocalPlayer {
            node,
            from,
            id,
            actions: AtomicU64::new(0),
            shown: AtomicU64::new(0),
            state: Mutex::new(PlayerState {
                bucket: Bucket::new(config.allowance(), crank.clock().now()),
                heard_at: Instant::now(),
                attached: None,
                pending: VecDeque::new(),
                dialing: None,
                port: 0,
            }),
        });
        table.by_address.insert(from, player.clone());
        table.by_node.insert(node, player.clone());
        Some(player)
    }

    /// Handles an event of a player's machine, on the crank's thread.
    pub(super) fn on_event(&self, node: NodeId, event: SmcEvent) {
        let SmcEvent::Update { bytes, .. } = event else { return };
        let Some(player) = self.table().by_node.get(&node).cloned() else { return };
        let sent = self.socket.send_to(&bytes, player.from);
        let ClientCounters { game_sent, game_sent_bytes, game_send_failed, .. } = &self.counters;
        DatagramCounters { sent: game_sent, bytes: game_sent_bytes, failed: game_send_failed }.note(&sent);
        player.shown.fetch_add(1, Ordering::Relaxed);
    }

    /// Handles the end of a tunnel, on the crank's thread.
    pub(super) fn on_detached(&self, counters: &Arc<PeerCounters>) {
        let PeerCounts { emulated_losses, emulated_overflows, .. } = counters.read();
        let mut table = self.table();
        table.emulated[0] += emulated_losses;
        table.emulated[1] += emulated_overflows;
        let is_of = |player: &&Arc<LocalPlayer>| {
            player.state().attached.as_ref().is_some_and(|attached| Arc::ptr_eq(attached, counters))
        };
        if let Some(player) = table.by_node.values().find(is_of) {
            player.state().attached = None;
        }
    }

    /// Adds up what all emulated links have lost.
    pub(super) fn count_emulation(&self) {
        let table = self.table();
        let [mut losses, mut overflows] = table.emulated;
        for player in table.by_node.values() {
            let counts = player.state().attached.as_ref().map(|attached| attached.read()).unwrap_or_default();
            losses += counts.emulated_losses;
            overflows += counts.emulated_overflows;
        }
        self.counters.emulated_losses.store(losses, Ordering::Relaxed);
        self.counters.emulated_overflows.store(overflows, Ordering::Relaxed);
    }

    /// What players did that are gone.
    pub(super) fn gone(&self) -> ClientTotals {
        self.table().gone
    }

    /// Adds what a player did that is gone.
    pub(super) fn note_gone(&self, player: &LocalPlayer, counts: SmcCounts) {
        self.table().gone.add(player.actions(), counts);
    }

    /// Forgets players whose games are silent, and returns them. Their machines are still there.
    pub(super) fn end_idle(&self, idle: Duration) -> Vec<Arc<LocalPlayer>> {
        let mut table = self.table();
        let gone: Vec<_> = table.by_node.values().filter(|player| player.is_idle(idle)).cloned().collect();
        for player in &gone {
            table.by_node.remove(&player.node);
            table.by_address.remove(&player.from);
            self.end(player);
        }
        gone
    }

    /// Stops dialing for all players.
    pub(super) fn end_all(&self) {
        self.table().by_node.values().for_each(|player| self.end(player));
    }

    fn end(&self, player: &LocalPlayer) {
        let mut state = player.state();
        if let Some(dialing) = state.dialing.take() {
            dialing.abort();
        }
        add(&self.counters.stale, state.pending.len() as u64);
        state.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_net::crank::Crank;

    use super::*;

    #[test]
    fn the_number_of_a_player_that_is_gone_is_nobody_elses() {
        let crank: ClientCrank = Crank::new().start().expect("a thread");
        let players = Players::new(UdpSocket::bind("127.0.0.1:0").expect("bound"));
        let config = ClientConfig::default();
        let admit = |port: u16| {
            let player = players.admit(([127, 0, 0, 1], port).into(), &config, &crank);
            player.expect("there is room").node
        };
        let first = [admit(1_001), admit(1_002)];
        // The machines of those who are forgotten now are removed a little later.
        assert_eq!(players.end_idle(Duration::ZERO).len(), 2);
        let second = [admit(1_001), admit(1_003)];
        assert!(second.iter().all(|node| !first.contains(node)), "{first:?}, then {second:?}");
    }
}

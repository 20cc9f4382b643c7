//! Runs of a scenario over real sockets: the simulator's machines on cranks, connected by QUIC on loopback, with the
//! scenario's links emulated at the players.
//!
//! All machines use one local clock, so the true time is known. The machines still synchronize their session clocks.

use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver as Inbox, channel};
use std::thread::sleep;
use std::time::Duration;

use evenkeel_core::clock::{FollowerClock, ServerClock};
use evenkeel_core::{LocalTime, PeerId, Seed, SessionClock, Span};
use evenkeel_dr::{DrCommand, DrConfig, DrEvent, DrPeer, DrRelay, EntityId, PolicyKind, Topology};
use evenkeel_games::{STEP, Sample};
use evenkeel_link::{ClockFaults, Link, LinkFaults, TrueTime};
use evenkeel_net::certificate::Certificate;

use evenkeel_net::token::unix_seconds;
use evenkeel_net::transport::{Limits, Listener, Trust, connect};
use evenkeel_net::{Attachment, Crank, CrankError, CrankHandle, Emulation, LocalClock, NodeId};
use evenkeel_serve::RELAY;
use evenkeel_sim::{NodeId as Role, Observer};
use tokio::runtime::Runtime;

use super::run::{ReceiverFigures, RunFigures};
use super::truth::Truth;
use super::world::{machine_config, movers};
use crate::parallel::Progress;
use crate::scenario::{Absence, Scenario, ScenarioTopology};

const LINKS: u64 = 4;
const OWNER: Role = Role(0);
/// The longest time until all clocks are synchronized.
const SYNCHRONIZING_MAX: Duration = Duration::from_secs(20);

/// Why a scenario did not run over sockets.
#[derive(Debug, thiserror::Error)]
pub enum SocketsError {
    /// It needs what only the simulator has.
    #[error("over sockets {0}")]
    Unsuited(&'static str),
    /// The network failed.
    #[error("over sockets: {0}")]
    Network(String),
    /// The run was cancelled.
    #[error("stopped")]
    Cancelled,
}

impl From<CrankError> for SocketsError {
    fn from(error: CrankError) -> Self {
        Self::Network(error.to_string())
    }
}

/// A receiver's node in the [`Truth`].
fn role(index: usize) -> Role {
    Role(2 + index as u32)
}

/// The crank's node of the player with this role.
const fn node(role: Role) -> NodeId {
    NodeId(role.0)
}

/// An event of a run, for the [`Truth`].
#[derive(Clone, Copy, Debug)]
enum SocketEvent {
    Dr(Role, DrEvent),
    Moves { entity: EntityId, from: evenkeel_core::Vec3, to: evenkeel_core::Vec3 },
    Ends(EntityId),
}

/// Checks that a scenario can run over sockets.
///
/// # Errors
/// [`SocketsError::Unsuited`] if it cannot.
pub fn check_suited(scenario: &Scenario) -> Result<(), SocketsError> {
    if scenario.topology == ScenarioTopology::Direct {
        return Err(SocketsError::Unsuited("players meet at a relay: set topology = \"relay\""));
    }
    let clocks = scenario.receivers.iter().map(|receiver| &receiver.clock).chain([&scenario.owner_clock]);
    if clocks.into_iter().any(|clock| *clock != ClockFaults::default()) {
        return Err(SocketsError::Unsuited(
            "clocks have no faults: remove clock from the owner and the receivers",
        ));
    }
    for receiver in &scenario.receivers {
        if receiver.absence != Absence::default() {
            return Err(SocketsError::Unsuited(
                "receivers stay for the whole run: remove joins_s and leaves_s",
            ));
        }
        if receiver.claims_extra != Span::ZERO || receiver.holds_acks != Span::ZERO {
            return Err(SocketsError::Unsuited(
                "receivers are honest: remove claims_extra_ms and holds_acks_ms",
            ));
        }
    }
    Ok(())
}

/// Runs a scenario under one policy with one seed over real sockets, in real time.
///
/// # Errors
/// [`SocketsError`] if the scenario is unsuited, the network fails or the run is cancelled.
pub fn run_on_sockets(
    scenario: &Scenario,
    policy: PolicyKind,
    seed: u64,
    progress: &Progress,
) -> Result<RunFigures, SocketsError> {
    check_suited(scenario)?;
    let mut sockets = SocketSession::start(scenario, policy, seed)?;
    sockets.wait_for_clocks(progress)?;
    let start = sockets.clock.now();
    let mut log = Vec::new();
    let before = sockets.play(scenario, seed, start, &mut log, progress)?;
    let after = sockets.known()?;
    // The events of the last arrivals follow within a moment.
    sleep(Duration::from_millis(50));
    log.extend(sockets.events.try_iter());
    log.sort_by_key(|(at, _)| *at);
    let truth = judge(scenario, start, &log);
    let receivers: Vec<_> = (0..scenario.receivers.len())
        .map(|index| {
            let errors = truth.errors(role(index));
            let ((known, sent), (known_before, sent_before)) = (after[index], before[index]);
            ReceiverFigures {
                aee: errors.aee,
                after_error: errors.after_error,
                real_error: errors.real_error,
                sent: sent - sent_before,
                delivered: errors.delivered,
                known_aee: known - known_before,
                present: 1.0,
                clock: None,
            }
        })
        .collect();
    let sent = receivers.iter().map(|receiver| receiver.sent).sum();
    let events = log.len() as u64;
    Ok(RunFigures { policy, seed, triggers: truth.triggers, sent, receivers, samples: Vec::new(), events })
}

/// Replays the log to find the true errors.
fn judge(scenario: &Scenario, start: LocalTime, log: &[(LocalTime, SocketEvent)]) -> Truth {
    let mut truth = Truth::new(OWNER, (0..scenario.receivers.len()).map(role));
    let true_time = |at: LocalTime| TrueTime::from_nanos(at.as_nanos());
    let (warm, end) = (start + scenario.warmup, start + scenario.duration);
    let mut is_warm = false;
    for &(at, event) in log.iter().filter(|(at, _)| *at <= end) {
        if at >= warm && !is_warm {
            truth.reset(true_time(warm));
            is_warm = true;
        }
        match event {
            SocketEvent::Dr(role, event) => truth.on_event(true_time(at), role, event),
            SocketEvent::Moves { entity, from, to } => truth.drive(entity, true_time(at), from, to, STEP),
            SocketEvent::Ends(entity) => truth.end(entity, true_time(at)),
        }
    }
    truth.count_to(true_time(end));
    truth
}

/// The machine of a player.
pub type PlayerMachine = DrPeer<FollowerClock>;

/// A relay and its players on sockets.
pub struct SocketSession {
    /// The local clock of all machines.
    pub clock: LocalClock,
    /// The players: the owner is node 0, the receivers are nodes 2 and up.
    pub players: CrankHandle<PlayerMachine>,
    relay: CrankHandle<DrRelay<ServerClock>>,
    receivers: usize,
    events: Inbox<(LocalTime, SocketEvent)>,
    _runtime: Runtime,
}

impl SocketSession {
    /// Starts a relay and connects all players over emulated links.
    ///
    /// # Errors
    /// [`SocketsError::Network`] if the sockets fail.
    pub fn start(scenario: &Scenario, policy: PolicyKind, seed: u64) -> Result<Self, SocketsError> {
        let network = |error: &dyn ToString| SocketsError::Network(error.to_string());
        let runtime = Runtime::new().map_err(|error| network(&error))?;
        let clock = LocalClock::start();
        let config = machine_config(scenario, policy, seed, Topology::Relay(RELAY));
        let relay = Crank::new().with_clock(clock).start().map_err(|error| network(&error))?;
        relay.add(NodeId(0), DrRelay::with_clock(&config, ServerClock::default()))?;
        let (sender, events) = channel();
        // Stamped when reported, so that a late crank shows in the results.
        let players = Crank::new().with_clock(clock).on_event(move |node, _, event| {
            let _ = sender.send((clock.now(), SocketEvent::Dr(Role(node.0), event)));
        });
        let players = players.start().map_err(|error| network(&error))?;
        let sockets =
            Self { clock, players, relay, receivers: scenario.receivers.len(), events, _runtime: runtime };
        sockets._runtime.block_on(sockets.connect_all(scenario, &config, seed))?;
        Ok(sockets)
    }

    async fn connect_all(
        &self,
        scenario: &Scenario,
        config: &DrConfig,
        seed: u64,
    ) -> Result<(), SocketsError> {
        let network = |error: &dyn ToString| SocketsError::Network(error.to_string());
        let certificate = Certificate::self_signed(&[], unix_seconds()).map_err(|error| network(&error))?;
        let address = [(Ipv4Addr::LOCALHOST, 0).into()];
        let mut listener =
            Listener::bind(&address, &certificate, Limits::default()).map_err(|error| network(&error))?;
        let url = format!("https://{}/", listener.local_addresses()[0]);
        let trust = Trust::Pinned(vec![certificate.hash()]);
        let uplink = match scenario.topology {
            ScenarioTopology::Relay { uplink } => LinkFaults::constant(uplink),
            ScenarioTopology::Direct => LinkFaults::default(),
        };
        let owner = (OWNER, uplink.clone(), uplink);
        let receivers = scenario.receivers.iter().enumerate();
        let receivers = receivers.map(|(index, r)| (role(index), r.back.clone(), r.forward.clone()));
        for (role, outgoing, incoming) in std::iter::once(owner).chain(receivers) {
            let accepting = async { listener.accept().await?.accept(b"").await.ok() };
            let (served, connected) = tokio::join!(accepting, connect(&url, None, &trust, Limits::default()));
            let served = served.ok_or_else(|| network(&"the relay did not accept a player"))?;
            let connection = connected.map_err(|error| network(&error))?;
            self.relay.attach(NodeId(0), PeerId(role.0 + 1), served)?;
            let seed = Seed::new(seed).child(LINKS).child(u64::from(role.0));
            let emulation = Emulation {
                outgoing: Link::new(outgoing, seed.child(0)),
                incoming: Link::new(incoming, seed.child(1)),
            };
            self.players.add(node(role), DrPeer::with_clock(config, FollowerClock::new(RELAY)))?;
            let attachment = Attachment { connection, emulation: Some(emulation), allowance: None };
            self.players.attach(node(role), RELAY, attachment)?;
        }
        Ok(())
    }

    /// Waits until all clocks are synchronized.
    ///
    /// # Errors
    /// [`SocketsError`] if that takes too long or is cancelled.
    pub fn wait_for_clocks(&self, progress: &Progress) -> Result<(), SocketsError> {
        let roles = std::iter::once(OWNER).chain((0..self.receivers).map(role));
        let mut waited = Duration::ZERO;
        for role in roles {
            while !self.players.with_blocking(node(role), |peer, now| peer.clock().session(now).is_some())? {
                if progress.is_cancelled() {
                    return Err(SocketsError::Cancelled);
                }
                if waited > SYNCHRONIZING_MAX {
                    return Err(SocketsError::Network("the clocks do not synchronize".to_owned()));
                }
                waited += Duration::from_millis(20);
                sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }

    /// Each receiver's accumulated export error by the relay's ledger, and the vectors sent to it.
    fn known(&self) -> Result<Vec<(f64, u64)>, SocketsError> {
        let count = self.receivers;
        Ok(self.relay.with_blocking(NodeId(0), move |relay, now| {
            let session = relay.clock().session(now).unwrap_or_default();
            let known = |index| {
                let peer = PeerId(role(index).0 + 1);
                (relay.ledger().accumulated(peer, session), relay.ledger().sent_to(peer))
            };
            (0..count).map(known).collect()
        })?)
    }

    /// Drives the owner's entities in real time. Returns the ledger's values at the end of the warm-up.
    fn play(
        &mut self,
        scenario: &Scenario,
        seed: u64,
        start: LocalTime,
        log: &mut Vec<(LocalTime, SocketEvent)>,
        progress: &Progress,
    ) -> Result<Vec<(f64, u64)>, SocketsError> {
        let mut entities: Vec<_> = movers(scenario, seed)
            .into_iter()
            .enumerate()
            .map(|(index, mover)| PacedEntity { id: EntityId(index as u32), mover, life: None, step: None })
            .collect();
        let mut before = None;
        let mut next = start;
        while next < start + scenario.duration {
            self.sleep_until(next);
            if progress.is_cancelled() {
                return Err(SocketsError::Cancelled);
            }
            if before.is_none() && next >= start + scenario.warmup {
                before = Some(self.known()?);
            }
            let mut states = Vec::new();
            for entity in &mut entities {
                let now = self.clock.now();
                if let Some(state) = entity.advance(now, start, log) {
                    states.push((entity.id, state));
                } else {
                    self.players.command(node(OWNER), DrCommand::End { entity: entity.id })?;
                }
            }
            self.players.command(node(OWNER), DrCommand::ObserveAll { states })?;
            log.extend(self.events.try_iter());
            next += scenario.tick;
        }
        self.sleep_until(start + scenario.duration);
        before.map_or_else(|| self.known(), Ok)
    }

    /// Sleeps until a local time.
    pub fn sleep_until(&self, at: LocalTime) {
        let wait = (at - self.clock.now()).as_secs_f64();
        if wait > 0.0 {
            sleep(Duration::from_secs_f64(wait));
        }
    }
}

/// An entity that moves in real time.
struct PacedEntity {
    id: EntityId,
    mover: evenkeel_games::Mover,
    life: Option<u64>,
    /// The last motion step in the log.
    step: Option<u64>,
}

impl PacedEntity {
    /// Moves to `now` and logs every motion step on the way. Returns the state, or `None` while the entity is dead.
    fn advance(
        &mut self,
        now: LocalTime,
        start: LocalTime,
        log: &mut Vec<(LocalTime, SocketEvent)>,
    ) -> Option<evenkeel_dr::MotionState> {
        let step = ((now - start).as_nanos() / STEP.as_nanos()).max(0).unsigned_abs();
        let entity = self.id;
        let mut here = None;
        let mut next: Option<Sample> = None;
        for passed in self.step.map_or(step, |last| last + 1).min(step)..=step {
            (here, next) = (self.mover.at(passed), self.mover.at(passed + 1));
            let at = start + STEP.times(passed as i64);
            let life = here.map(|sample| sample.life);
            if self.life.is_some() && self.life != life {
                log.push((at, SocketEvent::Ends(entity)));
            }
            self.life = life;
            if let (Some(here), Some(next)) = (here, next)
                && here.life == next.life
            {
                let (from, to) = (here.state.position, next.state.position);
                log.push((at, SocketEvent::Moves { entity, from, to }));
            }
        }
        self.step = Some(step);
        let mut state = here?.state;
        let late = (now - (start + STEP.times(step as i64))).as_secs_f64() / STEP.as_secs_f64();
        if let Some(next) = next.filter(|next| Some(next.life) == self.life) {
            state.position = state.position + (next.state.position - state.position) * late;
        }
        Some(state)
    }
}

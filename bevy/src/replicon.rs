//! Our fairness in an app on `bevy_replicon`.
//!
//! replicon sends an entity's changes to a client once priority x (ticks since the last acknowledged one) reaches 1. So a
//! priority of 1 sends now, and one of 0 does not. Before replicon sends, this plugin asks the policy of `evenkeel-dr`, the same
//! machine that serves Evenkeel's own players, who should be sent what, and writes its answer into each client's
//! [`PriorityMap`].
//!
//! The machine is not told what arrives: replicon keeps its acknowledgments to itself. Instead each client has a shadow
//! receiver here, which gets what was sent after half of the round trip that the backend measures
//! ([`ConnectedClientStats`]). What a client has lost, or has not been sent for long, replicon sends by itself: the priority is
//! never quite 0 ([`FairReplicon::at_least_every`]).

use core::marker::PhantomData;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bevy_app::{App, Plugin, PostUpdate};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::common_conditions::resource_changed;
use bevy_replicon::prelude::*;
use bevy_replicon::server::PriorityMap;
use bevy_replicon::server::server_tick::ServerTick;
use bevy_time::{Real, Time};
use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Span};
use evenkeel_dr::message::{Frame, frames};
use evenkeel_dr::{Budget, DrCommand, DrConfig, DrPeer, EntityId, MotionState, PolicyKind, Threshold};

/// The machine that runs the policy, as its receivers see it.
const SERVER: PeerId = PeerId(0);
/// The largest datagram of the machine. Nothing is sent, but it decides how much fits.
const DATAGRAM_MAX: usize = 1_200;

/// When the plugin works.
#[derive(SystemSet, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FairSystems {
    /// In [`PostUpdate`], before replicon sends: priorities are written.
    Share,
}

/// Shares what replicon sends of the entities with a component `C` fairly between the clients.
///
/// ```
/// use bevy_app::App;
/// use bevy_ecs::prelude::Component;
/// use evenkeel_bevy::FairReplicon;
/// use evenkeel_core::Vec3;
/// use evenkeel_dr::MotionState;
///
/// #[derive(Component)]
/// struct Position(f64, f64);
///
/// // After the app's `RepliconPlugins`:
/// let fair = FairReplicon::<Position>::new(|at| MotionState { position: Vec3::xy(at.0, at.1), ..Default::default() });
/// # fn add(app: &mut App, fair: FairReplicon<Position>) {
/// app.add_plugins(fair.budget("30%".parse().expect("a budget")));
/// # }
/// ```
pub struct FairReplicon<C> {
    motion: fn(&C) -> MotionState,
    threshold: f64,
    policy: PolicyKind,
    budget: Budget,
    least: f32,
    component: PhantomData<fn(&C)>,
}

impl<C> FairReplicon<C> {
    /// Reads where an entity is from its component. If clients go on showing the last value they got, leave the velocity 0; if
    /// they extrapolate, tell it.
    #[must_use]
    pub fn new(motion: fn(&C) -> MotionState) -> Self {
        let policy = DrConfig::default().policy;
        let budget = Budget::of_receivers(0.3).unwrap_or(Budget::ALL);
        Self { motion, threshold: 0.01, policy, budget, least: 1.0 / 64.0, component: PhantomData }
    }

    /// Sets what is sent, on average: a part of the clients per change (`30%`), or a number of sends per change.
    #[must_use]
    pub const fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Sets the policy; `even` by default.
    #[must_use]
    pub const fn policy(mut self, policy: PolicyKind) -> Self {
        self.policy = policy;
        self
    }

    /// Sets how far an entity must move before the change counts, in the game's units.
    #[must_use]
    pub const fn threshold(mut self, distance: f64) -> Self {
        self.threshold = distance;
        self
    }

    /// Sets after how many ticks without an acknowledgment replicon sends an entity to a client anyway.
    #[must_use]
    pub const fn at_least_every(mut self, ticks: u16) -> Self {
        self.least = if ticks == 0 { 1.0 } else { 1.0 / ticks as f32 };
        self
    }
}

impl<C: Component> Plugin for FairReplicon<C> {
    fn build(&self, app: &mut App) {
        let threshold = Threshold { distance: self.threshold, time: None };
        let config = DrConfig {
            policy: self.policy,
            budget: self.budget,
            threshold,
            tick: Span::ZERO,
            ..DrConfig::default()
        };
        app.insert_resource(Fairness(Mutex::new(Sharing::<C>::new(config, self.motion, self.least))))
            .add_systems(
                PostUpdate,
                share::<C>
                    .in_set(FairSystems::Share)
                    .after(ServerSystems::IncrementTick)
                    .before(ServerSystems::Send)
                    .run_if(resource_changed::<ServerTick>),
            );
    }
}

/// A client's stand-in: it acknowledges what was sent once the client has most likely got it.
struct Shadow {
    peer: PeerId,
    machine: DrPeer,
    /// On the way to the client, and back, in order of arrival.
    there: VecDeque<(LocalTime, Channel, Vec<u8>)>,
    back: VecDeque<(LocalTime, Channel, Vec<u8>)>,
    delay: Span,
    /// The entities that were sent at this tick.
    chosen: Vec<Entity>,
}

/// The policy at work, and how much it chose.
#[derive(Resource)]
pub struct Fairness<C>(
    /// Never contended: the machine is used by one system. A resource must be shareable.
    Mutex<Sharing<C>>,
);

impl<C> Fairness<C> {
    fn sharing(&self) -> MutexGuard<'_, Sharing<C>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how often a client was sent an entity.
    #[must_use]
    pub fn sends(&self) -> u64 {
        self.sharing().sends
    }
}

/// The policy's machine, with a stand-in for each client.
struct Sharing<C> {
    config: DrConfig,
    motion: fn(&C) -> MotionState,
    least: f32,
    machine: DrPeer,
    shadows: HashMap<Entity, Shadow>,
    next_peer: u32,
    ids: HashMap<Entity, EntityId>,
    entities: BTreeMap<EntityId, Entity>,
    next_id: u32,
    sends: u64,
    buffer: Vec<u8>,
}

impl<C> Sharing<C> {
    fn new(config: DrConfig, motion: fn(&C) -> MotionState, least: f32) -> Self {
        Self {
            machine: DrPeer::new(&config),
            config,
            motion,
            least,
            shadows: HashMap::new(),
            next_peer: SERVER.0,
            ids: HashMap::new(),
            entities: BTreeMap::new(),
            next_id: 0,
            sends: 0,
            buffer: Vec::new(),
        }
    }

    fn admit(&mut self, client: Entity, now: LocalTime) {
        self.next_peer += 1;
        let peer = PeerId(self.next_peer);
        let mut machine = DrPeer::new(&self.config);
        machine.handle_peer(now, PeerChange::Joined { peer: SERVER, datagram_max: DATAGRAM_MAX });
        self.machine.handle_peer(now, PeerChange::Joined { peer, datagram_max: DATAGRAM_MAX });
        let (there, back) = (VecDeque::new(), VecDeque::new());
        let shadow = Shadow { peer, machine, there, back, delay: Span::ZERO, chosen: Vec::new() };
        self.shadows.insert(client, shadow);
    }

    /// Hands over what has arrived by now, there and back.
    fn catch_up(&mut self, now: LocalTime) {
        for shadow in self.shadows.values_mut() {
            while shadow.there.front().is_some_and(|(at, ..)| *at <= now)
                && let Some((at, channel, bytes)) = shadow.there.pop_front()
            {
                // What the machine itself made is never refused.
                let _ = shadow.machine.handle_message(at, SERVER, channel, &bytes);
                shadow.answer(at, &mut self.buffer);
            }
            shadow.machine.handle_timeout(now);
            shadow.answer(now, &mut self.buffer);
            while shadow.back.front().is_some_and(|(at, ..)| *at <= now)
                && let Some((_, channel, bytes)) = shadow.back.pop_front()
            {
                let _ = self.machine.handle_message(now, shadow.peer, channel, &bytes);
            }
        }
    }

    /// Notes what the policy sends, for priorities and shadows.
    fn drain(&mut self, now: LocalTime) {
        let mut bytes = std::mem::take(&mut self.buffer);
        while let Some((to, channel)) = self.machine.poll_transmit(now, &mut bytes) {
            let Some(shadow) = self.shadows.values_mut().find(|shadow| shadow.peer == to) else { continue };
            if let Ok((_, sent)) = frames(&bytes) {
                let sent = sent.filter_map(|frame| match frame {
                    Frame::Vector(vector) => self.entities.get(&vector.entity).copied(),
                    _ => None,
                });
                shadow.chosen.extend(sent);
            }
            shadow.there.push_back((now + shadow.delay, channel, bytes.clone()));
        }
        self.buffer = bytes;
        while self.machine.poll_event().is_some() {}
    }

    /// The machine's number for an entity.
    fn id(&mut self, entity: Entity) -> EntityId {
        *self.ids.entry(entity).or_insert_with(|| {
            let id = EntityId(self.next_id);
            self.next_id += 1;
            self.entities.insert(id, entity);
            id
        })
    }
}

impl Shadow {
    fn answer(&mut self, at: LocalTime, bytes: &mut Vec<u8>) {
        while let Some((_, channel)) = self.machine.poll_transmit(at, bytes) {
            self.back.push_back((at + self.delay, channel, bytes.clone()));
        }
        while self.machine.poll_event().is_some() {}
    }
}

fn share<C: Component>(
    mut fairness: ResMut<Fairness<C>>,
    time: Res<Time<Real>>,
    moving: Query<(Entity, Ref<C>), With<Replicated>>,
    mut clients: Query<(Entity, &mut PriorityMap, &ConnectedClientStats), With<AuthorizedClient>>,
) {
    let fairness = fairness.0.get_mut().unwrap_or_else(PoisonError::into_inner);
    let now = LocalTime::from_nanos(i64::try_from(time.elapsed().as_nanos()).unwrap_or(i64::MAX));
    // Clients and entities that came and went.
    for (client, _, stats) in &clients {
        if !fairness.shadows.contains_key(&client) {
            fairness.admit(client, now);
        }
        let half = Span::from_secs_f64((stats.rtt / 2.0).clamp(0.0, 10.0));
        if let Some(shadow) = fairness.shadows.get_mut(&client) {
            shadow.delay = half;
        }
    }
    let gone: Vec<Entity> =
        fairness.shadows.keys().copied().filter(|client| !clients.contains(*client)).collect();
    for client in gone {
        if let Some(shadow) = fairness.shadows.remove(&client) {
            fairness.machine.handle_peer(now, PeerChange::Left { peer: shadow.peer });
        }
    }
    let ended: Vec<Entity> =
        fairness.ids.keys().copied().filter(|entity| !moving.contains(*entity)).collect();
    for entity in ended {
        if let Some(id) = fairness.ids.remove(&entity) {
            fairness.entities.remove(&id);
            fairness.machine.handle_command(now, DrCommand::End { entity: id });
        }
        for (_, mut priorities, _) in &mut clients {
            priorities.remove(&entity);
        }
    }
    // What the policy decides now.
    fairness.catch_up(now);
    let motion = fairness.motion;
    let mut states: Vec<(EntityId, MotionState)> =
        moving.iter().map(|(entity, component)| (fairness.id(entity), motion(&component))).collect();
    states.sort_unstable_by_key(|(id, _)| *id);
    fairness.machine.handle_command(now, DrCommand::ObserveAll { states });
    fairness.machine.handle_timeout(now);
    fairness.drain(now);
    for (client, mut priorities, _) in &mut clients {
        let Some(shadow) = fairness.shadows.get_mut(&client) else { continue };
        // Other entities' priorities are the app's own.
        priorities.extend(fairness.ids.keys().map(|entity| (*entity, fairness.least)));
        fairness.sends += shadow.chosen.len() as u64;
        priorities.extend(shadow.chosen.drain(..).map(|entity| (entity, 1.0)));
    }
}

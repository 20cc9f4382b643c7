//! Our fairness in an app on `bevy_replicon`, beside plain replicon, in one run: real apps of replicon, whose messages are
//! delayed in virtual time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bevy_app::{App, PluginGroup, PostUpdate};
use bevy_ecs::prelude::*;
use bevy_replicon::prelude::*;
use bevy_replicon::server::ReplicatePriority;
use bevy_state::app::StatesPlugin;
use bevy_state::prelude::*;
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use evenkeel_bevy::FairReplicon;
use evenkeel_core::{Draws, Seed, Vec3};
use evenkeel_dr::{Budget, MotionState};
use serde::{Deserialize, Serialize};

const TICKS: usize = 60 * 60;
const ENTITIES: u32 = 16;
/// One way, in ticks of 1/60 s: 117, 33 and 17 ms.
const DELAYS: [usize; 3] = [7, 2, 1];
const TICK: Duration = Duration::from_nanos(16_666_667);

#[derive(Component, Clone, Copy, Serialize, Deserialize)]
struct Position(f32, f32);

#[derive(Component, Clone, Copy, Serialize, Deserialize)]
struct Number(u32);

/// Velocity and the time until it changes, in ticks.
#[derive(Component)]
struct Course(f32, f32, u32);

#[derive(Resource)]
struct Chance(Draws);

fn drive(mut moving: Query<(&mut Position, &mut Course)>, mut chance: ResMut<Chance>) {
    for (mut position, mut course) in &mut moving {
        if course.2 == 0 {
            let (angle, speed) = (chance.0.unit() * std::f64::consts::TAU, 20.0 * chance.0.unit());
            let turn = 20 + chance.0.below(100) as u32;
            *course = Course((speed * angle.cos()) as f32, (speed * angle.sin()) as f32, turn);
        }
        course.2 -= 1;
        position.0 += course.0 / 60.0;
        position.1 += course.1 / 60.0;
    }
}

fn app() -> App {
    let mut app = App::new();
    app.add_plugins((TimePlugin, StatesPlugin, RepliconPlugins.set(ServerPlugin::new(PostUpdate))));
    app.insert_resource(TimeUpdateStrategy::ManualDuration(TICK));
    app.replicate::<Position>().replicate::<Number>();
    app
}

/// A client's app and its link.
struct Player {
    app: App,
    client: Entity,
    delay: usize,
    there: VecDeque<(usize, usize, bevy_replicon::bytes::Bytes)>,
    back: VecDeque<(usize, usize, bevy_replicon::bytes::Bytes)>,
    bytes: usize,
    off: f64,
}

/// What one way to send costs whom.
struct Figures {
    /// Mean distance between where an entity is and where each player sees it.
    off: [f64; 3],
    bytes: usize,
    /// Of an update of the server's app in which it sends, per entity and player: the median, as other programs run meanwhile.
    cost: Duration,
}

impl Figures {
    fn mean(&self) -> f64 {
        self.off.iter().sum::<f64>() / 3.0
    }

    fn spread(&self) -> f64 {
        (self.off.iter().map(|off| (off - self.mean()).powi(2)).sum::<f64>() / 3.0).sqrt()
    }
}

fn connect(server: &mut App, delay: usize) -> Player {
    let mut app = app();
    app.finish();
    let rtt = 2.0 * delay as f64 * TICK.as_secs_f64();
    let client = server.world_mut().spawn(ConnectedClient { max_size: 1200 }).id();
    server.world_mut().get_mut::<ConnectedClientStats>(client).expect("required").rtt = rtt;
    app.world_mut().resource_mut::<NextState<ClientState>>().set(ClientState::Connected);
    Player { app, client, delay, there: VecDeque::new(), back: VecDeque::new(), bytes: 0, off: 0.0 }
}

/// Lets the game run, with what `set` adds to the server's app.
fn run(set: impl FnOnce(&mut App), priority: Option<f32>) -> Figures {
    let mut server = app();
    server.insert_resource(Chance(Seed::new(5).draws())).add_systems(bevy_app::Update, drive);
    set(&mut server);
    server.finish();
    server.world_mut().resource_mut::<NextState<ServerState>>().set(ServerState::Running);
    for number in 0..ENTITIES {
        let place = Position(10.0 * number as f32, 0.0);
        let mut entity = server.world_mut().spawn((Replicated, Number(number), place, Course(0.0, 0.0, 0)));
        if let Some(priority) = priority {
            entity.insert(ReplicatePriority(priority));
        }
    }
    server.update();
    let mut players: Vec<Player> = DELAYS.iter().map(|delay| connect(&mut server, *delay)).collect();
    let mut took = Vec::new();
    // The first seconds are the handshake's.
    let counted_from = 300;
    for tick in 0..TICKS + counted_from {
        let start = Instant::now();
        server.update();
        took.push(start.elapsed());
        let sent: Vec<_> = server.world_mut().resource_mut::<ServerMessages>().drain_sent().collect();
        for (client, channel, bytes) in sent {
            let player = players.iter_mut().find(|player| player.client == client).expect("a player");
            player.bytes += if tick < counted_from { 0 } else { bytes.len() };
            player.there.push_back((tick + player.delay, channel, bytes));
        }
        let mut positions = [Position(0.0, 0.0); ENTITIES as usize];
        let mut query = server.world_mut().query::<(&Number, &Position)>();
        query.iter(server.world()).for_each(|(number, at)| positions[number.0 as usize] = *at);
        for player in &mut players {
            step(player, &mut server, tick, (tick >= counted_from).then_some(&positions));
        }
    }
    took.sort_unstable();
    let cost = took[took.len() / 2] / (ENTITIES * DELAYS.len() as u32);
    let off = [0, 1, 2].map(|player: usize| players[player].off / TICKS as f64);
    Figures { off, bytes: players.iter().map(|player| player.bytes).sum(), cost }
}

/// One frame of a player: what has arrived by now, and how far off it sees the entities.
fn step(player: &mut Player, server: &mut App, tick: usize, real: Option<&[Position; ENTITIES as usize]>) {
    let mut messages = player.app.world_mut().resource_mut::<ClientMessages>();
    while player.there.front().is_some_and(|(at, ..)| *at <= tick) {
        let (_, channel, bytes) = player.there.pop_front().expect("there is one");
        messages.insert_received(channel, bytes);
    }
    player.app.update();
    let mut messages = player.app.world_mut().resource_mut::<ClientMessages>();
    let sent: Vec<_> = messages.drain_sent().collect();
    player.back.extend(sent.into_iter().map(|(channel, bytes)| (tick + player.delay, channel, bytes)));
    while player.back.front().is_some_and(|(at, ..)| *at <= tick) {
        let (_, channel, bytes) = player.back.pop_front().expect("there is one");
        server.world_mut().resource_mut::<ServerMessages>().insert_received(player.client, channel, bytes);
    }
    let Some(real) = real else { return };
    let mut query = player.app.world_mut().query::<(&Number, &Position)>();
    let mut seen = 0;
    for (number, at) in query.iter(player.app.world()) {
        let real = real[number.0 as usize];
        player.off += f64::from((at.0 - real.0).hypot(at.1 - real.1)) / f64::from(ENTITIES);
        seen += 1;
    }
    assert_eq!(seen, ENTITIES, "everybody has everything, whatever the priorities");
}

fn fair(budget: f64) -> Figures {
    run(
        |app| {
            let fair = FairReplicon::<Position>::new(|at| MotionState {
                position: Vec3::xy(f64::from(at.0), f64::from(at.1)),
                ..MotionState::default()
            });
            app.add_plugins(fair.budget(Budget::of_receivers(budget).expect("a share")));
        },
        None,
    )
}

/// Searches the budget with which as many bytes are sent as plain replicon sends, or all that the policy wants to send.
fn fair_at(bytes: usize) -> Figures {
    let (mut low, mut high) = (0.0, 1.0);
    let mut ours = fair(high);
    for _ in 0..10 {
        let ratio = ours.bytes as f64 / bytes as f64;
        if (0.99..=1.01).contains(&ratio) || (ratio < 1.0 && high == 1.0 && low > 0.9) {
            break;
        }
        let middle = (low + high) / 2.0;
        ours = fair(middle);
        *(if ours.bytes > bytes { &mut high } else { &mut low }) = middle;
    }
    ours
}

fn row(name: &str, figures: &Figures) {
    let [far, middle, near] = figures.off;
    println!(
        "{name:<24} {far:>6.3} {middle:>6.3} {near:>6.3} {:>6.3} {:>6.3} {:>9} {:>7}",
        figures.mean(),
        figures.spread(),
        figures.bytes,
        figures.cost.as_nanos(),
    );
}

#[test]
fn at_equal_bytes_everybody_sees_the_others_more_nearly_alike() {
    println!("                            far middle   near   mean spread     bytes ns/pair");
    for (ticks, is_tight) in [(30.0, true), (6.0, false)] {
        let plain = run(|_| {}, Some(1.0 / ticks));
        let ours = fair_at(plain.bytes);
        row(&format!("replicon, priority 1/{ticks}"), &plain);
        row("with FairReplicon", &ours);
        assert!(ours.spread() < plain.spread(), "{} and {}", ours.spread(), plain.spread());
        let ratio = ours.bytes as f64 / plain.bytes as f64;
        // With bytes to spare, the policy leaves what would only make the near ones better off than the far one.
        assert!(ratio < 1.05 && (ratio > 0.95 || !is_tight), "{ratio}");
    }
}

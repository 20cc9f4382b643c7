//! Replicated state beside replicon's, in one run: the same objects, changes and players; what is sent, and what it costs the
//! server. Nothing is lost or delayed: both send what changed once.

use std::time::{Duration, Instant};

use bevy_app::{App, PluginGroup, PostUpdate};
use bevy_ecs::prelude::*;
use bevy_replicon::prelude::*;
use bevy_state::app::StatesPlugin;
use bevy_state::prelude::*;
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use evenkeel_core::{Endpoint, LocalTime, PeerChange, PeerId, Seed, Span};
use evenkeel_objects::{ObjectId, ObjectPeer, ObjectPeerConfig, ObjectRoom, ObjectRoomConfig};
use serde::{Deserialize, Serialize};

const OBJECTS: usize = 200;
const PLAYERS: usize = 16;
const TICKS: usize = 300;
const TICK: Span = Span::from_millis(20);
const SERVER: PeerId = PeerId(0);

evenkeel_objects::schema! {
    /// What is measured.
    static MEASURED = "measured";
    objects {
        /// An object with a field that changes.
        Thing: still { owner state: f32, owner name: String }
    }
    messages {}
}

#[derive(Component, Clone, Copy, Serialize, Deserialize)]
struct Changing(f32);

#[derive(Component, Clone, Serialize, Deserialize)]
struct Label(String);

/// Per change and receiver.
struct Cost {
    bytes: f64,
    nanos: f64,
}

/// The median of the ticks, as other programs run meanwhile.
fn median(mut ticks: Vec<Duration>) -> Duration {
    ticks.sort_unstable();
    ticks[ticks.len() / 2]
}

fn cost(ticks: Vec<Duration>, bytes: usize, changing: usize) -> Cost {
    let changes = (changing * PLAYERS) as f64;
    Cost { bytes: bytes as f64 / changes / TICKS as f64, nanos: median(ticks).as_nanos() as f64 / changes }
}

/// Which objects change at a tick.
fn chosen(tick: usize, changing: usize) -> impl Iterator<Item = usize> {
    (0..changing).map(move |number| (37 * tick + number) % OBJECTS)
}

fn replicon_app() -> App {
    let mut app = App::new();
    app.add_plugins((TimePlugin, StatesPlugin, RepliconPlugins.set(ServerPlugin::new(PostUpdate))));
    let tick = Duration::from_nanos(TICK.as_nanos() as u64);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(tick));
    app.replicate::<Changing>().replicate::<Label>();
    app
}

fn replicon(changing: usize) -> Cost {
    let mut server = replicon_app();
    server.finish();
    server.world_mut().resource_mut::<NextState<ServerState>>().set(ServerState::Running);
    let things: Vec<Entity> = (0..OBJECTS)
        .map(|number| {
            let label = Label(format!("thing {number}"));
            server.world_mut().spawn((Replicated, Changing(0.0), label)).id()
        })
        .collect();
    server.update();
    let mut players: Vec<(App, Entity)> = (0..PLAYERS)
        .map(|_| {
            let mut app = replicon_app();
            app.finish();
            app.world_mut().resource_mut::<NextState<ClientState>>().set(ClientState::Connected);
            (app, server.world_mut().spawn(ConnectedClient { max_size: 1200 }).id())
        })
        .collect();
    let (mut ticks, mut bytes) = (Vec::new(), 0);
    for tick in 0..TICKS + 50 {
        let value = tick as f32;
        if tick >= 50 {
            for number in chosen(tick, changing) {
                let mut thing = server.world_mut().get_mut::<Changing>(things[number]).expect("it exists");
                thing.0 = value;
            }
        }
        let start = Instant::now();
        server.update();
        let took = start.elapsed();
        let sent: Vec<_> = server.world_mut().resource_mut::<ServerMessages>().drain_sent().collect();
        if tick >= 50 {
            ticks.push(took);
            bytes += sent.iter().map(|(.., message)| message.len()).sum::<usize>();
        }
        for (client, channel, message) in sent {
            let player = players.iter_mut().find(|(_, entity)| *entity == client).expect("a player");
            player.0.world_mut().resource_mut::<ClientMessages>().insert_received(channel, message);
        }
        for (app, client) in &mut players {
            app.update();
            let answers: Vec<_> = app.world_mut().resource_mut::<ClientMessages>().drain_sent().collect();
            for (channel, message) in answers {
                server
                    .world_mut()
                    .resource_mut::<ServerMessages>()
                    .insert_received(*client, channel, message);
            }
        }
    }
    for (app, _) in &mut players {
        let mut query = app.world_mut().query::<&Changing>();
        assert_eq!(query.iter(app.world()).count(), OBJECTS, "everybody has everything");
    }
    cost(ticks, bytes, changing)
}

fn ours(changing: usize) -> Cost {
    let config = ObjectRoomConfig { schema: &MEASURED, tick: TICK, ..ObjectRoomConfig::default() };
    let (mut room, mut now) = (ObjectRoom::new(&config), LocalTime::from_nanos(0));
    let mut players: Vec<ObjectPeer> = (0..PLAYERS)
        .map(|number| {
            let seed = Seed::new(number as u64);
            let mut player =
                ObjectPeer::new(&ObjectPeerConfig { relay: SERVER, schema: &MEASURED, tick: TICK, seed });
            let peer = PeerId(number as u32 + 1);
            room.handle_peer(now, PeerChange::Joined { peer, datagram_max: 1200 });
            player.handle_peer(now, PeerChange::Joined { peer: SERVER, datagram_max: 1200 });
            player
        })
        .collect();
    let things: Vec<ObjectId> = (0..OBJECTS)
        .filter_map(|number| room.create_object(&Thing { state: 0.0, name: format!("thing {number}") }, None))
        .collect();
    assert_eq!(things.len(), OBJECTS);
    let (mut ticks, mut bytes, mut buffer) = (Vec::new(), 0, Vec::new());
    for tick in 0..TICKS + 50 {
        now += TICK;
        let is_counted = tick >= 50;
        let start = Instant::now();
        room.advance(now);
        if is_counted {
            for number in chosen(tick, changing) {
                assert!(room.set(things[number], 0, &(tick as f32).to_le_bytes()));
            }
        }
        room.handle_timeout(now);
        let mut sent = Vec::new();
        while let Some((to, channel)) = room.poll_transmit(now, &mut buffer) {
            sent.push((to, channel, buffer.clone()));
        }
        let mut took = start.elapsed();
        while room.poll_event().is_some() {}
        bytes += if is_counted { sent.iter().map(|(.., message)| message.len()).sum() } else { 0 };
        for (to, channel, message) in sent {
            let player = &mut players[to.0 as usize - 1];
            player.handle_message(now, SERVER, channel, &message).expect("an honest room");
        }
        for (player, number) in players.iter_mut().zip(1..) {
            player.handle_timeout(now);
            while let Some((_, channel)) = player.poll_transmit(now, &mut buffer) {
                let start = Instant::now();
                room.handle_message(now, PeerId(number), channel, &buffer).expect("an honest player");
                took += start.elapsed();
            }
            while player.poll_event().is_some() {}
        }
        if is_counted {
            ticks.push(took);
        }
    }
    for player in &players {
        assert_eq!(player.objects().count(), OBJECTS, "everybody has everything");
    }
    cost(ticks, bytes, changing)
}

#[test]
fn state_costs_no_more_bytes_than_with_replicon() {
    println!("{OBJECTS} objects, {PLAYERS} players; per changed object and receiver:");
    println!("changing   replicon: bytes    ns   ours: bytes    ns");
    for changing in [1, 10, 50, 200] {
        let (theirs, ours) = (replicon(changing), ours(changing));
        println!(
            "{changing:>8} {:>17.1} {:>5.0} {:>13.1} {:>5.0}",
            theirs.bytes, theirs.nanos, ours.bytes, ours.nanos
        );
        // Both send each change once; what differs is the header of a packet and of an entity.
        assert!(ours.bytes < 2.0 * theirs.bytes + 8.0, "{} and {}", ours.bytes, theirs.bytes);
    }
}

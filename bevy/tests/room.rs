//! Apps in a room of a real relay, over real sockets.

use std::time::{Duration, Instant};

use bevy_app::{App, Update};
use bevy_ecs::message::Messages;
use bevy_ecs::prelude::*;
use bevy_state::app::StatesPlugin;
use bevy_state::prelude::*;
use bevy_transform::components::Transform;
use evenkeel::relay::{RelayConfig, RelayServer};
use evenkeel::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel::{ClientConfig, EntityId, MotionState, Vec3};
use evenkeel_bevy::{Connection, Copy, CopyOf, EvenkeelPlugin, Motion, Owned, Room, RoomEvent};
use tokio::runtime::Runtime;

const PATIENCE: Duration = Duration::from_secs(20);

struct Site {
    runtime: Runtime,
    relay: RelayServer,
    key: IssuerKey,
}

impl Site {
    fn start() -> Self {
        let (runtime, key) = (Runtime::new().expect("a runtime"), IssuerKey::generate());
        let address = vec!["127.0.0.1:0".parse().expect("an address")];
        let config = RelayConfig {
            listen: address.clone(),
            http: address,
            issuer: Some(key.id().to_string()),
            ..RelayConfig::default()
        };
        let relay = runtime.block_on(RelayServer::start(config, None)).expect("started");
        Self { runtime, relay, key }
    }

    fn config(&self, name: &str) -> ClientConfig {
        let name = Name::new(name).expect("a name");
        let claims = Claims::issue(Name::new("arena").expect("a name"), name, unix_seconds(), 600);
        let url = format!("https://{}/arena", self.relay.addresses()[0]);
        ClientConfig::pinned(&url, &self.key.sign(&claims), &self.relay.hashes())
    }

    fn app(&self, name: &str) -> App {
        let mut app = App::new();
        app.add_plugins((StatesPlugin, EvenkeelPlugin));
        app.init_resource::<Entered>().add_systems(
            OnEnter(Connection::Connected),
            |mut entered: ResMut<Entered>| {
                entered.0 += 1;
            },
        );
        app.insert_resource(Room::enter(self.config(name)).expect("started"));
        app
    }
}

/// How often the app has come to be connected.
#[derive(Resource, Default)]
struct Entered(u32);

fn circling(since: Instant) -> Motion {
    let angle = since.elapsed().as_secs_f64();
    Motion::planar((10.0 * angle.cos(), 10.0 * angle.sin()), (-10.0 * angle.sin(), 10.0 * angle.cos()))
}

/// Runs all apps until it is so.
fn until(apps: &mut [&mut App], mut is_so: impl FnMut(&mut [&mut App]) -> bool) {
    let start = Instant::now();
    while !is_so(apps) {
        assert!(start.elapsed() < PATIENCE, "it did not come to pass");
        apps.iter_mut().for_each(|app| app.update());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn copies(app: &mut App) -> Vec<(Entity, Copy, Motion, Transform)> {
    let mut query = app.world_mut().query::<(Entity, &Copy, &Motion, &Transform)>();
    query.iter(app.world()).map(|(entity, copy, motion, at)| (entity, *copy, *motion, *at)).collect()
}

fn connection(app: &App) -> Connection {
    *app.world().resource::<State<Connection>>().get()
}

#[test]
fn an_owned_entity_has_copies_in_other_apps_until_it_is_despawned() {
    let site = Site::start();
    let (mut owner, mut other) = (site.app("ada"), site.app("bob"));
    assert_eq!(connection(&owner), Connection::None);
    let since = Instant::now();
    let tank = owner.world_mut().spawn((Owned(3), circling(since))).id();
    owner.add_systems(Update, move |mut tanks: Query<&mut Motion, With<Owned>>| {
        tanks.iter_mut().for_each(|mut motion| *motion = circling(since));
    });
    until(&mut [&mut owner, &mut other], |apps| !copies(apps[1]).is_empty());
    assert_eq!((connection(&owner), connection(&other)), (Connection::Connected, Connection::Connected));
    assert_eq!(owner.world().resource::<Entered>().0, 1);
    let (copy, of, ..) = copies(&mut other)[0];
    assert_eq!(of.entity.local(), 3);
    assert_eq!(other.world().resource::<CopyOf>().get(of.entity), Some(copy));
    assert!(copies(&mut owner).is_empty(), "one's own entities have no copies");

    // It follows: both apps run in turn, so the copy is read some milliseconds after the owner was.
    let mut off = Vec::new();
    until(&mut [&mut owner, &mut other], |apps| {
        let Motion(MotionState { position: real, .. }) = circling(since);
        if let Some((_, _, Motion(seen), at)) = copies(apps[1]).first() {
            off.push(seen.position.distance(real));
            assert!((f64::from(at.translation.x) - seen.position.x).abs() < 1e-3, "what is drawn follows");
        }
        off.len() == 200
    });
    off.sort_unstable_by(f64::total_cmp);
    assert!(off[100] < 2.0, "usually {} units off, at a speed of 10 per second", off[100]);

    // A late joiner sees it, too.
    let mut late = site.app("eve");
    until(&mut [&mut owner, &mut other, &mut late], |apps| copies(apps[2]).len() == 1);

    owner.world_mut().despawn(tank);
    until(&mut [&mut owner, &mut other, &mut late], |apps| {
        copies(apps[1]).is_empty() && copies(apps[2]).is_empty()
    });
    drop((owner, other, late));
    site.runtime.block_on(site.relay.stop());
}

#[test]
fn what_happens_is_told_as_messages_and_mistakes_are_named() {
    let site = Site::start();
    let (mut owner, mut other) = (site.app("ada"), site.app("bob"));
    owner.world_mut().spawn((Owned(0), Motion::planar((1.0, 2.0), (0.0, 0.0))));
    let wrong = Motion(MotionState { position: Vec3::xy(f64::NAN, 0.0), ..MotionState::default() });
    let mut seen: Vec<RoomEvent> = Vec::new();
    let told = |app: &App, seen: &mut Vec<RoomEvent>| {
        let messages = app.world().resource::<Messages<RoomEvent>>();
        seen.extend(messages.get_cursor_current().read(messages).cloned());
        seen.extend(messages.iter_current_update_messages().cloned());
    };
    until(&mut [&mut owner, &mut other], |apps| {
        told(apps[1], &mut seen);
        seen.iter().any(|event| matches!(event, RoomEvent::Appeared { of, .. } if of.entity.local() == 0))
    });
    owner.world_mut().spawn((Owned(1), wrong));
    until(&mut [&mut owner, &mut other], |apps| {
        told(apps[0], &mut seen);
        seen.iter().any(|event| matches!(event, RoomEvent::NotReported { .. }))
    });
    assert_eq!(owner.world().resource::<Room>().why(), None);

    // Leaving: the room is gone, and so are its copies.
    other.world_mut().remove_resource::<Room>();
    until(&mut [&mut owner, &mut other], |apps| {
        told(apps[1], &mut seen);
        copies(apps[1]).is_empty() && connection(apps[1]) == Connection::None
    });
    let gone = |event: &RoomEvent| matches!(event, RoomEvent::Gone { of } if of.entity.local() == EntityId(0).local());
    assert!(seen.iter().any(gone), "{seen:?}");

    // A relay that does not admit the player ends it, in words.
    let mut config = site.config("eve");
    config.target.token = "forged".to_owned();
    other.insert_resource(Room::enter(config).expect("started"));
    until(&mut [&mut other], |apps| connection(apps[0]) == Connection::Over);
    let why = other.world().resource::<Room>().why().expect("a reason");
    assert!(why.contains("token"), "{why}");
    drop((owner, other));
    site.runtime.block_on(site.relay.stop());
}

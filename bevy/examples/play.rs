//! A game with sprites: drive with the arrow keys or WASD among others in a room.
//!
//! Alone, with a relay and two bots in this process, one of which you see as from far away:
//! `cargo run --example play --features play`
//!
//! In a room of any relay:
//! `cargo run --example play --features play -- https://127.0.0.1:7878/arena "$(evenkeel token --room arena --name ada)"`

use std::error::Error;
use std::time::{Duration, Instant};

use bevy::prelude::*;
use evenkeel::link::{Link, LinkFaults};
use evenkeel::relay::{RelayConfig, RelayServer};
use evenkeel::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel::{Client, ClientConfig, Emulation, MotionState, Seed, Span};
use evenkeel_bevy::{Connection, Copy, EvenkeelPlugin, Motion, Owned, Room, RoomEvent};

const SIZE: f32 = 24.0;
const SPEED: f64 = 160.0;
const COLOURS: [Color; 4] = [
    Color::srgb(0.34, 0.71, 0.87),
    Color::srgb(0.98, 0.57, 0.24),
    Color::srgb(0.29, 0.87, 0.5),
    Color::srgb(0.8, 0.47, 0.65),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (config, _site) = match arguments.as_slice() {
        [url, token] => (ClientConfig::new(url, token), None),
        [] => {
            let site = Site::start()?;
            (site.config("you", 0)?, Some(site))
        }
        _ => return Err("usage: play [URL TOKEN]".into()),
    };
    App::new()
        .add_plugins((DefaultPlugins, EvenkeelPlugin))
        .insert_resource(Room::enter(config)?)
        .insert_resource(ClearColor(Color::srgb(0.05, 0.07, 0.08)))
        .add_systems(Startup, set_up)
        .add_systems(Update, (drive, dress, tell))
        .run();
    Ok(())
}

fn set_up(mut commands: Commands) {
    commands.spawn(Camera2d);
    commands.spawn((
        Owned(0),
        Motion::planar((0.0, 0.0), (0.0, 0.0)),
        Sprite::from_color(Color::WHITE, Vec2::splat(SIZE)),
    ));
}

/// Moves one's own entity by the keys.
fn drive(
    keys: Res<ButtonInput<KeyCode>>,
    time: Res<Time>,
    mut mine: Query<(&mut Motion, &mut Transform), With<Owned>>,
) {
    let held = |keys_of: [KeyCode; 2]| f64::from(u8::from(keys.any_pressed(keys_of)));
    let x = held([KeyCode::ArrowRight, KeyCode::KeyD]) - held([KeyCode::ArrowLeft, KeyCode::KeyA]);
    let y = held([KeyCode::ArrowUp, KeyCode::KeyW]) - held([KeyCode::ArrowDown, KeyCode::KeyS]);
    let length = x.hypot(y).max(1.0);
    for (mut motion, mut transform) in &mut mine {
        let MotionState { position, velocity, .. } = &mut motion.0;
        (velocity.x, velocity.y) = (SPEED * x / length, SPEED * y / length);
        position.x += velocity.x * time.delta_secs_f64();
        position.y += velocity.y * time.delta_secs_f64();
        transform.translation = vec3(position.x as f32, position.y as f32, 1.0);
    }
}

/// Gives new copies a sprite in their player's colour.
fn dress(mut commands: Commands, new: Query<(Entity, &Copy), Added<Copy>>) {
    for (entity, copy) in &new {
        let colour = COLOURS[copy.player.0 as usize % COLOURS.len()];
        commands.entity(entity).insert(Sprite::from_color(colour, Vec2::splat(SIZE)));
    }
}

/// Says in the window's title how the connection is, and who came and went.
fn tell(
    connection: Res<State<Connection>>,
    room: Res<Room>,
    mut events: MessageReader<RoomEvent>,
    mut window: Single<&mut Window>,
    mut last: Local<String>,
) {
    for event in events.read() {
        match event {
            RoomEvent::Appeared { of, .. } => *last = format!("player {} appeared", of.player.0),
            RoomEvent::Gone { of } => *last = format!("player {} is gone", of.player.0),
            _ => {}
        }
    }
    let state = match connection.get() {
        Connection::Connected => "arrow keys or WASD".to_owned(),
        Connection::None | Connection::Connecting => "connecting ...".to_owned(),
        Connection::Over => format!("over: {}", room.why().unwrap_or_default()),
    };
    let title = format!("Evenkeel: {state} {}", *last);
    if window.title != title {
        window.title = title;
    }
}

/// A relay with two bots, for playing alone.
struct Site {
    relay: RelayServer,
    key: IssuerKey,
    runtime: tokio::runtime::Runtime,
}

impl Site {
    fn start() -> Result<Self, Box<dyn Error>> {
        let (runtime, key) = (tokio::runtime::Runtime::new()?, IssuerKey::generate());
        let address = vec!["127.0.0.1:0".parse()?];
        let config = RelayConfig {
            listen: address.clone(),
            http: address,
            issuer: Some(key.id().to_string()),
            ..RelayConfig::default()
        };
        let relay = runtime.block_on(RelayServer::start(config, None))?;
        let site = Self { relay, key, runtime };
        for (name, delay, radius) in [("near", 5, 90.0), ("far", 150, 180.0)] {
            let bot = Client::start(site.config(name, delay)?)?;
            std::thread::spawn(move || circle(&bot, radius));
        }
        Ok(site)
    }

    fn config(&self, name: &str, delay: i64) -> Result<ClientConfig, Box<dyn Error>> {
        let claims = Claims::issue(Name::new("arena")?, Name::new(name)?, unix_seconds(), 3_600);
        let url = format!("https://{}/arena", self.relay.addresses()[0]);
        let mut config = ClientConfig::pinned(&url, &self.key.sign(&claims), &self.relay.hashes());
        let link = move |seed| Link::new(LinkFaults::constant(Span::from_millis(delay)), Seed::new(seed));
        config.emulation = Some(Box::new(move || Emulation { outgoing: link(1), incoming: link(2) }));
        Ok(config)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.runtime.block_on(self.relay.stop());
    }
}

/// Drives a bot in circles, for ever.
fn circle(bot: &Client, radius: f64) {
    let start = Instant::now();
    loop {
        let angle = start.elapsed().as_secs_f64();
        let (x, y) = (radius * angle.cos(), radius * angle.sin());
        let Motion(state) = Motion::planar((x, y), (-y, x));
        if bot.observe(&[(0, state)]).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(16));
    }
}

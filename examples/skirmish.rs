//! A small game, client and server: ships with health and names, shots that must arrive, chat, areas of interest, late
//! joiners, and a rule of the server for hits. `cargo run --example skirmish -p evenkeel`

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use evenkeel::layers::serve::ServedRoom;
use evenkeel::relay::{
    Game, GameLogic, GameOutbox, ObjectRoomConfig, ObjectRoomEvent, RelayConfig, RelayServer,
};
use evenkeel::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel::{
    Area, Client, ClientConfig, ClientEvent, Delivery, MessageError, MotionState, ObjectId, Owner, PeerId,
    SessionTime, Target, Vec3,
};

evenkeel::schema! {
    /// What travels: who writes a field is part of its declaration.
    pub static SKIRMISH = "skirmish";
    objects {
        /// A player's ship.
        Ship: planar { owner name: String, owner colour: u8, server health: u8, server score: u16 }
        /// A rock, which the server moves.
        Rock: planar { owner size: u8 }
    }
    messages {
        /// A shot at a ship.
        Fire { at: ObjectId }
        /// A ship was hit, by a player.
        Hit { ship: ObjectId, by: PeerId }
        /// Chat.
        Say { text: String }
    }
}

/// How far shots reach, and how far ships see.
pub(crate) const RANGE: f64 = 40.0;
const SIGHT: Area = Area::Radius { enter: 60.0, leave: 70.0 };
const FULL: u8 = 100;

/// The server's rules.
#[derive(Default)]
pub(crate) struct Rules {
    rock: Option<ObjectId>,
    /// By player: nobody is healed by another ship.
    health: BTreeMap<PeerId, u8>,
}

impl Rules {
    /// A ship loses health if a shot reaches it; who destroys one scores.
    fn fire(&mut self, by: PeerId, at: ObjectId, outbox: &mut GameOutbox) -> Option<()> {
        let room = outbox.objects();
        let shooter = room.objects().find(|object| object.owner == Owner::Player(by))?;
        let (from, to) = (shooter.position?, room.object(at)?.position?);
        let (shooter, health) = (shooter.object, room.read::<Ship>(at)?.health);
        if from.distance(to) > RANGE || shooter == at {
            return None;
        }
        let left = if health <= 25 { FULL } else { health - 25 };
        self.health.insert(at.creator(), left);
        outbox.objects_mut().update(at, |ship: &mut Ship| ship.health = left);
        if health <= 25 {
            outbox.objects_mut().update(shooter, |ship: &mut Ship| ship.score += 1);
        }
        outbox.tell(Target::Scope(at), Delivery::ReliableUnordered, &Hit { ship: at, by });
        Some(())
    }
}

impl GameLogic for Rules {
    fn objects(&self) -> ObjectRoomConfig {
        let look_speed_max = 50.0; // Somewhat faster than ships, so that nobody leaps about to see it all.
        ObjectRoomConfig { schema: &SKIRMISH, area: SIGHT, look_speed_max, ..ObjectRoomConfig::default() }
    }

    fn object_event(&mut self, event: &ObjectRoomEvent, outbox: &mut GameOutbox) {
        if let ObjectRoomEvent::Created { object, owner } = event {
            // The name is the one in the player's token, whatever its ship says.
            let welcome = Say { text: format!("{} joined", outbox.objects().name(*owner)) };
            let health = self.health.get(owner).copied().unwrap_or(FULL);
            outbox.objects_mut().update(*object, |ship: &mut Ship| ship.health = health);
            outbox.tell(Target::Room, Delivery::ReliableOrdered, &welcome);
        } else if let Some((by, Fire { at })) = event.message() {
            self.fire(by, at, outbox);
        }
    }

    fn tick(&mut self, now: SessionTime, _: &[evenkeel::relay::RoomEntity], outbox: &mut GameOutbox) {
        let angle = 0.2 * now.as_nanos() as f64 / 1e9;
        let position = Vec3::xy(20.0 * angle.cos(), 20.0 * angle.sin());
        let velocity = Vec3::xy(-4.0 * angle.sin(), 4.0 * angle.cos());
        let rock =
            self.rock.or_else(|| outbox.objects_mut().create_object(&Rock { size: 3 }, Some(position)));
        self.rock = rock;
        if let Some(rock) = rock {
            outbox
                .observe(rock, MotionState { position, velocity, turn_rate: 0.2, ..MotionState::default() });
        }
    }
}

/// A player: a ship, and what has been said.
pub(crate) struct Player {
    pub(crate) client: Client,
    pub(crate) ship: ObjectId,
    pub(crate) chat: Vec<String>,
    pub(crate) hits: Vec<Hit>,
    pub(crate) motion: MotionState,
}

impl Player {
    pub(crate) fn join(config: ClientConfig, name: &str, at: Vec3) -> Result<Self, Box<dyn Error>> {
        let client = Client::connect(config.with_schema(&SKIRMISH))?;
        let ship = client.create(&Ship { name: name.to_owned(), colour: 1, health: 0, score: 0 })?;
        let motion = MotionState { position: at, ..MotionState::default() };
        Ok(Self { client, ship, chat: Vec::new(), hits: Vec::new(), motion })
    }

    /// Moves the ship, and takes what was said and done.
    pub(crate) fn tick(&mut self, seconds: f64) -> Result<(), MessageError> {
        self.motion.position = self.motion.position + self.motion.velocity * seconds;
        self.client.move_objects(&[(self.ship, self.motion)])?;
        for (_, event) in self.client.events() {
            let ClientEvent::Object(event) = event else { continue };
            if let Some((_, Say { text })) = event.message() {
                self.chat.push(text);
            } else if let Some((_, hit)) = event.message() {
                self.hits.push(hit);
            }
        }
        Ok(())
    }

    /// The ships in sight, each where it is now.
    pub(crate) fn ships(&self) -> Vec<(ObjectId, Ship, Vec3)> {
        let (world, now) = (self.client.world(), self.client.session_time());
        let place = |object: &evenkeel::WorldObject| object.position(now?);
        world.all().filter_map(|(object, ship)| Some((object.object, ship, place(object)?))).collect()
    }

    pub(crate) fn fire(&self, at: ObjectId) -> Result<(), MessageError> {
        self.client.tell(Target::Server, Delivery::Quickest, &Fire { at })
    }

    pub(crate) fn say(&self, text: &str) -> Result<(), MessageError> {
        self.client.tell(Target::Room, Delivery::ReliableOrdered, &Say { text: text.to_owned() })
    }
}

/// A relay with the game, on this machine, and the key for tokens.
pub(crate) async fn serve() -> Result<(RelayServer<impl ServedRoom>, IssuerKey), Box<dyn Error>> {
    let key = IssuerKey::generate();
    let config = RelayConfig {
        listen: vec!["127.0.0.1:0".parse()?],
        http: vec!["127.0.0.1:0".parse()?],
        issuer: Some(key.id().to_string()),
        ..RelayConfig::default()
    };
    Ok((RelayServer::start_with(config, None, Game::new(|_| Rules::default())).await?, key))
}

/// The settings of a player. A lobby would issue the token.
pub(crate) fn player<R: ServedRoom>(
    relay: &RelayServer<R>,
    key: &IssuerKey,
    name: &str,
) -> Result<ClientConfig, Box<dyn Error>> {
    let claims = Claims::issue(Name::new("arena")?, Name::new(name)?, unix_seconds(), 600);
    let url = format!("https://{}/arena", relay.addresses()[0]);
    Ok(ClientConfig::pinned(&url, &key.sign(&claims), &relay.hashes()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Runtime::new()?;
    let (relay, key) = runtime.block_on(serve())?;
    let join = |name, x| Player::join(player(&relay, &key, name)?, name, Vec3::xy(x, 0.0));
    let mut players = [join("ada", 0.0)?, join("bo", 12.0)?, join("cy", 24.0)?];
    for tick in 1..=500 {
        for player in &mut players {
            player.tick(0.02)?;
            let target = player.ships().into_iter().find(|(ship, ..)| *ship != player.ship);
            if let Some((ship, ..)) = target.filter(|_| tick % 50 == 0) {
                player.fire(ship)?;
            }
        }
        if tick % 100 == 0 {
            players[tick / 100 % 3].say("well shot")?;
            for (_, Ship { name, health, score, .. }, at) in players[2].ships() {
                println!("{} s: {name} at {:.0}, {:.0}: {health} health, {score} hit", tick / 50, at.x, at.y);
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("cy has heard: {}", players[2].chat.join("; "));
    drop(players);
    runtime.block_on(relay.stop());
    Ok(())
}

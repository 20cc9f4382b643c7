//! Two players follow the same tank over real sockets, one from nearby and one from far away, in two rooms at once: one
//! without Evenkeel's fairness, one with. `cargo run --example two_players -p evenkeel`

use std::error::Error;
use std::time::{Duration, Instant};

use evenkeel::link::{Link, LinkFaults};
use evenkeel::relay::{Budget, RelayConfig, RelayServer, RoomConfig};
use evenkeel::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel::{Client, ClientConfig, Emulation, MotionState, Seed, Span, Vec3};

/// Both send the players a third of the vectors, on average: `even` more of them to the far one.
const POLICIES: [&str; 2] = ["base-matched", "even"];
const SECONDS: u32 = 60;
const TICK: Duration = Duration::from_millis(20);

/// A tank driving a figure of eight.
fn tank(seconds: f64) -> MotionState {
    let angle = 0.6 * seconds;
    MotionState {
        position: Vec3::xy(20.0 * angle.sin(), 10.0 * (2.0 * angle).sin()),
        velocity: Vec3::xy(12.0 * angle.cos(), 12.0 * (2.0 * angle).cos()),
        ..MotionState::default()
    }
}

/// A room with the tank's driver and the two players that follow it.
struct Room {
    driver: Client,
    players: [Client; 2],
    /// Each player's distance from the real tank, summed over the ticks: of this second, and of all.
    off: [[f64; 2]; 2],
}

impl Room {
    fn tick(&mut self, now: f64) -> Result<(), Box<dyn Error>> {
        let real = tank(now);
        self.driver.observe(&[(0, real)])?;
        for (player, index) in self.players.iter().zip(0..) {
            let seen = player.others().first().map_or(real.position, |other| other.position);
            self.off.iter_mut().for_each(|sums| sums[index] += seen.distance(real.position));
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // A relay in this process. In production: `evenkeel relay --config relay.toml`.
    let key = IssuerKey::generate();
    let mut config = RelayConfig {
        listen: vec!["127.0.0.1:0".parse()?],
        http: vec!["127.0.0.1:0".parse()?],
        issuer: Some(key.id().to_string()),
        ..RelayConfig::default()
    };
    let budget = Budget::of_receivers(1.0 / 3.0).ok_or("a share")?;
    for (room, policy) in POLICIES.iter().enumerate() {
        let room_config = RoomConfig { policy: (*policy).to_owned(), budget, ..RoomConfig::default() };
        config.rooms.insert(format!("room-{room}"), room_config);
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let relay = runtime.block_on(RelayServer::start(config, None))?;

    // A lobby would issue the tokens. The far player's links add 150 ms each way.
    let connect = |room: usize, name: &str, delay: i64| -> Result<Client, Box<dyn Error>> {
        let claims =
            Claims::issue(Name::new(&format!("room-{room}"))?, Name::new(name)?, unix_seconds(), 600);
        let url = format!("https://{}/room-{room}", relay.addresses()[0]);
        let mut config = ClientConfig::pinned(&url, &key.sign(&claims), &relay.hashes());
        config.emulation = Some(Box::new(move || {
            let link = |seed| Link::new(LinkFaults::constant(Span::from_millis(delay)), Seed::new(seed));
            Emulation { outgoing: link(1), incoming: link(2) }
        }));
        Ok(Client::connect(config)?)
    };
    let mut rooms = Vec::new();
    for room in 0..POLICIES.len() {
        let players = [connect(room, "near", 5)?, connect(room, "far", 150)?];
        rooms.push(Room { driver: connect(room, "driver", 0)?, players, off: [[0.0; 2]; 2] });
    }

    // The game loop: every tick, report your own entities and read where the others' are.
    println!("Units between the real tank and where each player sees it:\n");
    println!("  second  {:>8} near     far   {:>8} near     far", POLICIES[0], POLICIES[1]);
    let (start, ticks) = (Instant::now(), 1_000 / TICK.as_millis() as u32);
    let means = |rooms: &[Room], sums: usize, ticks: u32| -> String {
        let mean = |off: f64| format!("{:>8.2}", off / f64::from(ticks));
        let room = |room: &Room| format!("     {}{}", mean(room.off[sums][0]), mean(room.off[sums][1]));
        rooms.iter().map(room).collect()
    };
    for tick in 1..=SECONDS * ticks {
        for room in &mut rooms {
            room.tick(start.elapsed().as_secs_f64())?;
        }
        if tick % ticks == 0 {
            println!("  {:>6}{}", tick / ticks, means(&rooms, 0, ticks));
            rooms.iter_mut().for_each(|room| room.off[0] = [0.0; 2]);
        }
        std::thread::sleep((TICK * tick).saturating_sub(start.elapsed()));
    }
    println!("\n    mean{}", means(&rooms, 1, SECONDS * ticks));

    for (room, policy) in POLICIES.iter().enumerate() {
        let name = Name::new(&format!("room-{room}"))?;
        let report = runtime.block_on(relay.report(&name)).ok_or("the room exists")?;
        let players = report.players.iter().filter(|player| player.name != "driver");
        let sent: Vec<String> = players.map(|player| format!("{}: {}", player.name, player.sent)).collect();
        println!("{policy:>8}: DR vectors sent to {}", sent.join(", "));
    }
    drop(rooms);
    runtime.block_on(relay.stop());
    Ok(())
}

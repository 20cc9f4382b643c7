//! Two players over real sockets, one near and one far, accurate and fair: `cargo run --example two_players -p evenkeel-serve`

use std::error::Error;
use std::time::{Duration, Instant};

use evenkeel_core::{Seed, Span, Vec3};
use evenkeel_dr::MotionState;
use evenkeel_link::{Link, LinkFaults};
use evenkeel_net::Emulation;
use evenkeel_net::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel_serve::{Client, ClientConfig, RelayConfig, RelayServer};

/// A tank driving a figure of eight; each player has its own phase.
fn tank(seconds: f64, player: f64) -> MotionState {
    let angle = player * 2.0 + seconds * 0.6;
    MotionState {
        position: Vec3::xy(20.0 * angle.sin(), 10.0 * (2.0 * angle).sin()),
        velocity: Vec3::xy(12.0 * angle.cos(), 12.0 * (2.0 * angle).cos()),
        ..MotionState::default()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // A relay in this process. In production: `evenkeel relay --config relay.toml`.
    let key = IssuerKey::generate();
    let config = RelayConfig {
        listen: vec!["127.0.0.1:0".parse()?],
        http: vec!["127.0.0.1:0".parse()?],
        issuer: Some(key.id().to_string()),
        ..RelayConfig::default()
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let relay = runtime.block_on(RelayServer::start(config, None))?;
    let url = format!("https://{}/arena", relay.addresses()[0]);

    // Two players. A lobby would issue the tokens. The far player's links add 150 ms each way.
    let room = Name::new("arena")?;
    let player = |name| -> Result<ClientConfig, Box<dyn Error>> {
        let token = key.sign(&Claims::issue(room.clone(), Name::new(name)?, unix_seconds(), 600));
        Ok(ClientConfig::pinned(&url, &token, &relay.hashes()))
    };
    let mut near = Client::connect(player("near")?)?;
    let mut far = player("far")?;
    far.emulation = Some(Box::new(|| {
        let link = |seed| Link::new(LinkFaults::constant(Span::from_millis(150)), Seed::new(seed));
        Emulation { outgoing: link(1), incoming: link(2) }
    }));
    let mut far = Client::connect(far)?;

    // The game loop: report your own tank, draw the others'.
    let start = Instant::now();
    for tick in 0..500 {
        let now = start.elapsed().as_secs_f64();
        near.observe(&[(0, tank(now, 0.0))]);
        far.observe(&[(0, tank(now, 1.0))]);
        if tick % 50 == 49 {
            let off = |client: &Client, truth: MotionState| {
                client.others().first().map_or(f64::NAN, |other| other.position.distance(truth.position))
            };
            let now = start.elapsed().as_secs_f64();
            let (near_off, far_off) = (off(&near, tank(now, 1.0)), off(&far, tank(now, 0.0)));
            println!(
                "{now:4.1} s: near sees far {near_off:.2} units off, far sees near {far_off:.2} units off"
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    }

    // Each player's error, as the relay's ledger has it.
    if let Some(report) = runtime.block_on(relay.report(&room)) {
        println!("policy {}, spread {:.2}, mean {:.2}", report.policy, report.std_aee, report.mean_aee);
        for player in report.players {
            println!(
                "  {:5} export error {:6.2} units x s, {} vectors",
                player.name, player.aee, player.sent
            );
        }
    }
    runtime.block_on(relay.stop());
    Ok(())
}

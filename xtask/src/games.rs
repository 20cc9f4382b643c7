//! A real game behind the proxies of Sync-MS: Debian's OpenArena, its server and its client, unmodified.
//!
//! `cargo xtask games` installs the packages, puts a pair of proxies with 20 ms each way in front of the server, asks for the
//! server's status through them with `quakestat`, and lets the game's own client play through them for a minute, on a
//! virtual screen with a software renderer. What is judged is what the game server itself says about its players, asked
//! without the proxies, and what the proxies have counted.

mod openarena;
mod process;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{apt, cargo};
use openarena::{Display, GameClient, GameServer, PLAYER};
use process::{ChildGroup, Proxy};

/// The emulated delay, each way.
const DELAY_MS: u64 = 20;
/// How long the client plays.
const PLAYS: Duration = Duration::from_secs(60);
/// How long the client may take to load the game and get in.
const JOINS: Duration = Duration::from_secs(120);
/// The fewest datagrams each way in that time. The server sends 20 updates per second.
const DATAGRAMS_MIN: u64 = PLAYS.as_secs() * 15;

/// The commands that are needed, and the packages that have them.
const NEEDED: [(&str, &str); 4] = [
    ("/usr/games/openarena-server", "openarena-server"),
    ("/usr/games/openarena", "openarena"),
    ("/usr/bin/quakestat", "qstat"),
    ("/usr/bin/Xvfb", "xvfb"),
];

pub(crate) fn run(root: &Path) -> Result<()> {
    for (command, package) in NEEDED {
        if !Path::new(command).exists() && !apt::install(package) {
            bail!("{command} is missing: install the package {package} (Debian)");
        }
    }
    let evenkeel = cargo::build(root, &["--release", "--package", "evenkeel-cli", "--bin", "evenkeel"])?;
    let home = Home::new()?;
    let game = GameServer::start(&home.0)?;
    println!("game server on {}: {}", game.address, quakestat(game.address)?);
    let arguments = ["server", "--listen", "127.0.0.1:0", "--game", &game.address.to_string()];
    let server = Proxy::start(&evenkeel, &home.0, &arguments, "clients:")?;
    let (tunnel, delay) = (server.address.to_string(), DELAY_MS.to_string());
    let arguments = ["client", "--listen", "127.0.0.1:0", "--server", &tunnel, "--link-delay", &delay];
    let client = Proxy::start(&evenkeel, &home.0, &arguments, "players:")?;
    let answer = quakestat(client.address)?;
    println!("through the proxies, {DELAY_MS} ms each way, on {}: {answer}", client.address);
    let display = Display::start()?;
    let _player = GameClient::start(&home.0, &display, client.address)?;
    play(&game, &server, client.address)
}

/// Watches the client play.
fn play(game: &GameServer, server: &Proxy, through: SocketAddr) -> Result<()> {
    let start = Instant::now();
    let mut pings = Vec::new();
    while game.ping_of(PLAYER)?.is_none() {
        ensure!(start.elapsed() < JOINS, "the client did not get in within {} s", JOINS.as_secs());
        std::thread::sleep(Duration::from_secs(1));
    }
    println!("{PLAYER} is in the game after {:.0} s", start.elapsed().as_secs_f64());
    let (before, start) = (player(server)?, Instant::now());
    while start.elapsed() < PLAYS {
        std::thread::sleep(Duration::from_secs(1));
        let ping = game.ping_of(PLAYER)?;
        pings.push(
            ping.with_context(|| format!("{PLAYER} left after {:.0} s", start.elapsed().as_secs_f64()))?,
        );
        if pings.len() == 30 {
            println!("after 30 s, through the proxies: {}", quakestat(through)?);
        }
    }
    let (after, seconds) = (player(server)?, start.elapsed().as_secs_f64());
    let grown = |key: &str| after[key].as_u64().unwrap_or(0) - before[key].as_u64().unwrap_or(0);
    let (actions, updates) = (grown("actions"), grown("updates"));
    println!(
        "{PLAYER} played for {seconds:.0} s: listed by the server {} times of {}, ping {} to {} ms; {actions} datagrams to the \
         server ({} behind, {} clamped), {updates} to the client; added {} ms to updates, {:.1} ms to actions",
        pings.len(),
        pings.len(),
        pings.iter().min().unwrap_or(&0),
        pings.iter().max().unwrap_or(&0),
        grown("behind"),
        grown("clamped"),
        after["added_down_ms"].as_f64().map_or("-".to_owned(), |added| format!("{added:.1}")),
        after["added_up_ms"].as_f64().unwrap_or(f64::NAN),
    );
    ensure!(
        actions >= DATAGRAMS_MIN,
        "only {actions} datagrams to the server: at least {DATAGRAMS_MIN} were expected"
    );
    ensure!(
        updates >= DATAGRAMS_MIN,
        "only {updates} datagrams to the client: at least {DATAGRAMS_MIN} were expected"
    );
    Ok(())
}

/// The player with the most datagrams: the others are status requests.
fn player(server: &Proxy) -> Result<Value> {
    let report: Value = serde_json::from_str(&server.get("/api/players")?)?;
    let players = report["players"].as_array().context("the report has no players")?;
    let busiest = players.iter().max_by_key(|player| player["actions"].as_u64());
    busiest.cloned().context("the proxy knows no player")
}

/// Asks for a server's status.
fn quakestat(address: SocketAddr) -> Result<String> {
    let output = Command::new("/usr/bin/quakestat").args(["-q3s", &address.to_string()]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().nth(1).unwrap_or_default();
    let answer = line.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(answer.contains("aggressor"), "no answer from {address}: quakestat printed {text:?}");
    Ok(answer)
}

/// A folder for all that the programs keep.
struct Home(PathBuf);

impl Home {
    fn new() -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("evenkeel-games-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program of the game, run in this home.
fn start_game(home: &Path, command: &mut Command, log: &str) -> Result<ChildGroup> {
    let log = fs::File::create(home.join(log))?;
    command.env("HOME", home).stdin(std::process::Stdio::null());
    command.stdout(log.try_clone()?).stderr(log);
    ChildGroup::start(command)
}

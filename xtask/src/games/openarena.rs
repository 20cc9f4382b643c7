//! OpenArena: its server, its client, and the screen that the client needs.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::process::ChildGroup;
use super::start_game;

/// The client's name in the game.
pub(crate) const PLAYER: &str = "Ada";

/// How long the server may take to load its map.
const LOADS: Duration = Duration::from_secs(60);
const ANSWERS: Duration = Duration::from_millis(500);

/// Four bytes of ones precede whatever is not part of a connection.
const STATUS_REQUEST: &[u8] = b"\xff\xff\xff\xffgetstatus\n";

/// A dedicated server on loopback.
pub(crate) struct GameServer {
    _process: ChildGroup,
    pub(crate) address: SocketAddr,
}

impl GameServer {
    pub(crate) fn start(home: &Path) -> Result<Self> {
        let address = UdpSocket::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new("/usr/games/openarena-server");
        // 1: not announced on the Internet.
        for (name, value) in [
            ("dedicated", "1"),
            ("net_ip", "127.0.0.1"),
            ("net_port", &address.port().to_string()),
            ("sv_maxclients", "8"),
            ("ttycon", "0"),
        ] {
            command.args(["+set", name, value]);
        }
        command.args(["+map", "aggressor"]);
        let server = Self { _process: start_game(home, &mut command, "server.log")?, address };
        let start = Instant::now();
        while server.status().is_err() {
            ensure!(start.elapsed() < LOADS, "the game server does not answer on {address}");
            std::thread::sleep(ANSWERS);
        }
        Ok(server)
    }

    /// What the server says about itself and its players, without any proxy.
    fn status(&self) -> Result<String> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_read_timeout(Some(ANSWERS))?;
        let mut buffer = [0; 16 * 1024];
        for attempt in 0.. {
            socket.send_to(STATUS_REQUEST, self.address)?;
            match socket.recv(&mut buffer) {
                Ok(len) => return Ok(String::from_utf8_lossy(&buffer[..len]).into_owned()),
                // The server answers only so many requests a second.
                Err(_) if attempt < 3 => {}
                Err(error) => return Err(error).context("the game server does not answer"),
            }
        }
        unreachable!("the last attempt returns")
    }

    /// The ping of a player, in milliseconds, as the server shows it; `None` if the player is not in the game.
    pub(crate) fn ping_of(&self, player: &str) -> Result<Option<u64>> {
        Ok(ping_of(&self.status()?, player))
    }
}

/// Each player has a line: score, ping and name.
fn ping_of(status: &str, player: &str) -> Option<u64> {
    let line = status.lines().skip(2).find(|line| line.contains(&format!("\"{player}")))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A screen that nobody sees.
pub(crate) struct Display {
    _process: ChildGroup,
    name: String,
}

impl Display {
    pub(crate) fn start() -> Result<Self> {
        let mut command = Command::new("/usr/bin/Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = ChildGroup::start(&mut command)?;
        let stdout = process.0.stdout.take().context("standard output is a pipe")?;
        let mut number = String::new();
        BufReader::new(stdout).read_line(&mut number)?;
        ensure!(!number.trim().is_empty(), "Xvfb did not start");
        Ok(Self { _process: process, name: format!(":{}", number.trim()) })
    }
}

/// The game's own client. It runs forward, turns and shoots.
pub(crate) struct GameClient(#[expect(dead_code, reason = "it ends when it is dropped")] ChildGroup);

impl GameClient {
    pub(crate) fn start(home: &Path, display: &Display, server: SocketAddr) -> Result<Self> {
        let mut command = Command::new("/usr/games/openarena");
        command
            .env("DISPLAY", &display.name)
            .env("LIBGL_ALWAYS_SOFTWARE", "1")
            .env("SDL_AUDIODRIVER", "dummy");
        for (name, value) in [
            ("name", PLAYER),
            ("rate", "25000"),
            ("activeAction", "+forward; +left; +attack"),
            ("com_introplayed", "1"),
            ("com_maxfps", "30"),
            ("com_maxfpsUnfocused", "30"),
            ("s_initsound", "0"),
            ("cl_renderer", "opengl1"),
            ("r_fullscreen", "0"),
            ("r_mode", "-1"),
            ("r_customwidth", "320"),
            ("r_customheight", "240"),
            ("r_picmip", "5"),
        ] {
            command.args(["+set", name, value]);
        }
        command.args(["+connect", &server.to_string()]);
        start_game(home, &mut command, "client.log").map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_players_ping_is_read_from_the_servers_status() {
        let status =
            "\u{fffd}statusResponse\n\\mapname\\aggressor\\x\\\"Ada\n3 48 \"Bo^7\"\n0 61 \"Ada^7\"\n";
        assert_eq!(ping_of(status, "Ada"), Some(61));
        assert_eq!(ping_of(status, "Cy"), None);
    }
}

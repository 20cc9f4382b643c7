//! Relays and bots: the real binary, in a folder of its own.

use std::fs::{self, OpenOptions};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::http;

/// Time a relay has to answer.
const START_MAX: Duration = Duration::from_secs(30);
/// How long bots play, in seconds: longer than any test.
const BOTS_SECONDS: &str = "900";

/// The room that all players are in.
pub(crate) const ROOM: &str = "arena";

/// Runs a program until standard input ends, which it does when this program exits or is killed.
const UNTIL_STDIN_ENDS: &str = "\"$@\" </dev/null & child=$!; cat >/dev/null; kill -KILL $child; wait $child";

/// A child process that is killed when dropped.
pub(crate) struct Program {
    child: Child,
    log: PathBuf,
}

impl Program {
    /// Starts `evenkeel` with these arguments. Its output is logged in the folder.
    pub(crate) fn start(evenkeel: &Path, folder: &Path, arguments: &[&str]) -> Result<Self> {
        let log = folder.join(format!("{}.log", arguments[0]));
        let file = OpenOptions::new().create(true).append(true).open(&log)?;
        let mut command = Command::new("sh");
        command.args(["-c", UNTIL_STDIN_ENDS, "sh"]).arg(evenkeel).args(arguments).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().context("cannot start a shell")?;
        Ok(Self { child, log })
    }

    /// Waits until it answers HTTP requests.
    pub(crate) fn wait_until_ready(&self, address: SocketAddr) -> Result<()> {
        let deadline = Instant::now() + START_MAX;
        let question = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        while let Err(error) = http::request(address, &question) {
            if Instant::now() > deadline {
                bail!("{}: {error:#}\n{}", address, fs::read_to_string(&self.log).unwrap_or_default());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Returns its process id, on systems with procfs: the shell's child that is not `cat`.
    pub(crate) fn process_id(&self) -> Option<u32> {
        let shell = self.child.id();
        let children = fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).ok()?;
        let is_cat = |process: &u32| {
            let name = fs::read_to_string(format!("/proc/{process}/comm"));
            name.is_ok_and(|name| name.trim() == "cat")
        };
        children.split_whitespace().filter_map(|word| word.parse().ok()).find(|process| !is_cat(process))
    }

    /// Kills it, as a crash would.
    pub(crate) fn kill(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A running relay.
pub(crate) struct Relay<'a> {
    evenkeel: &'a Path,
    folder: PathBuf,
    address: SocketAddr,
    program: Program,
}

impl<'a> Relay<'a> {
    /// Starts one that keeps its key and certificate in the folder.
    pub(crate) fn start(evenkeel: &'a Path, folder: &Path) -> Result<Self> {
        let address = free_address()?;
        let settings = format!(
            "listen = [\"{address}\"]\nhttp = [\"{address}\"]\ntoken_key = \"evenkeel.key\"\n\
             keep_certificate = \"evenkeel.pem\"\n"
        );
        fs::write(folder.join("relay.toml"), settings)?;
        let program = Self::spawn_relay(evenkeel, folder, address)?;
        Ok(Self { evenkeel, folder: folder.to_owned(), address, program })
    }

    fn spawn_relay(evenkeel: &Path, folder: &Path, address: SocketAddr) -> Result<Program> {
        let program = Program::start(evenkeel, folder, &["relay", "--config", "relay.toml"])?;
        program.wait_until_ready(address)?;
        Ok(program)
    }

    /// Kills the relay, as a crash would.
    pub(crate) fn kill(&mut self) {
        self.program.kill();
    }

    /// Starts it again with the same key, certificate and address.
    pub(crate) fn restart(&mut self) -> Result<()> {
        self.program = Self::spawn_relay(self.evenkeel, &self.folder, self.address)?;
        Ok(())
    }

    /// Issues a token for a number of players.
    pub(crate) fn token(&self, name: &str, seats: u32) -> Result<String> {
        let mut command = Command::new(self.evenkeel);
        command.args(["token", "--room", ROOM, "--name", name, "--seats", &seats.to_string()]);
        let output = command.current_dir(&self.folder).output().context("cannot start evenkeel")?;
        if !output.status.success() {
            bail!("no token: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Returns the query of a page's URL that lets it join.
    pub(crate) fn invitation(&self, name: &str, seats: u32) -> Result<String> {
        let hashes = http::get(self.address, "/api/certificate")?;
        let hash = hashes["sha256"][0].as_str().context("the relay has no certificate of its own")?;
        let token = self.token(name, seats)?;
        Ok(format!("url=https://{}/{ROOM}&hash={hash}&token={token}", self.address))
    }

    /// Starts bots.
    pub(crate) fn bots(&self, count: u32) -> Result<Program> {
        let token = self.token("bot", count)?;
        let (url, count) = (format!("https://{}", self.address), count.to_string());
        let arguments =
            ["bot", "--connect", &url, "--count", &count, "--seconds", BOTS_SECONDS, "--token", &token];
        Program::start(self.evenkeel, &self.folder, &arguments)
    }

    /// Returns the relay's view of a player by name, if present.
    pub(crate) fn player(&self, name: &str) -> Result<Option<Value>> {
        let room = http::get(self.address, &format!("/api/rooms/{ROOM}"))?;
        let players = room["players"].as_array().context("the room has no players")?;
        Ok(players.iter().find(|player| player["name"] == name).cloned())
    }
}

/// Finds a port of this machine that is free for both UDP and TCP.
pub(crate) fn free_address() -> Result<SocketAddr> {
    for _ in 0..100 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        if UdpSocket::bind(address).is_ok() {
            return Ok(address);
        }
    }
    bail!("no port is free")
}

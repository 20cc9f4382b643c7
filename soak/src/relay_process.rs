//! A relay in a process of its own, with its configuration in a temporary folder.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use evenkeel_net::certificate::CertificateHash;
use evenkeel_net::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel_net::transport::Trust;
use evenkeel_serve::RoomReport;
use evenkeel_serve::Target;

use crate::child::{self, ANSWER_MAX, ChildProcess};
use crate::metrics::Metrics;
use crate::usage::{Usage, usage};
use crate::{Harness, SoakError};

/// Kept lines of the relay's standard error.
const LINES_MAX: usize = 50;
/// The lifetime of tokens, longer than any soak.
const TOKEN_SECONDS: u64 = 7 * 24 * 3600;

/// What the relay has written to its standard error.
#[derive(Debug, Default)]
struct RelayLog {
    lines: VecDeque<String>,
    players: Option<SocketAddr>,
    api: Option<SocketAddr>,
    hash: Option<CertificateHash>,
    panics: usize,
}

impl RelayLog {
    fn add(&mut self, line: String) {
        let address = |url: &str| url.trim().split_once("://")?.1.parse().ok();
        if let Some(url) = line.strip_prefix("players:") {
            self.players = self.players.or(address(url));
        } else if let Some(url) = line.strip_prefix("API:") {
            self.api = self.api.or(address(url));
        } else if let Some((_, hash)) = line.split_once("SHA-256:") {
            self.hash = CertificateHash::parse(hash.trim()).ok();
        }
        self.panics += usize::from(line.contains("panicked"));
        if self.lines.len() == LINES_MAX {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}

/// A relay in a process of its own. Dropping it kills the process.
pub(crate) struct RelayProcess {
    process: ChildProcess,
    key: IssuerKey,
    log: Arc<Mutex<RelayLog>>,
    pub(crate) players: SocketAddr,
    api: SocketAddr,
    pub(crate) hash: CertificateHash,
}

impl RelayProcess {
    /// Starts a relay with these lines appended to its configuration; returns once it has announced its addresses.
    pub(crate) async fn start(harness: &Harness, config: &str) -> Result<Self, SoakError> {
        let key = IssuerKey::generate();
        let folder = child::temporary_folder()?;
        let issuer = key.id();
        let text =
            format!("listen = [\"127.0.0.1:0\"]\nhttp = [\"127.0.0.1:0\"]\nissuer = \"{issuer}\"\n{config}");
        let file = folder.join("relay.toml");
        std::fs::write(&file, text)?;
        let mut command = Command::new(&harness.program);
        command.args(["relay", "--config"]).arg(file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = ChildProcess::start(command, folder)?;
        let log = Arc::new(Mutex::new(RelayLog::default()));
        if let Some(stderr) = process.child.stderr.take() {
            let log = log.clone();
            std::thread::spawn(move || read_lines(stderr, &log));
        }
        let start = Instant::now();
        loop {
            let announced = {
                let log = log.lock().unwrap_or_else(PoisonError::into_inner);
                log.players.zip(log.api).zip(log.hash)
            };
            if let Some(((players, api), hash)) = announced {
                return Ok(Self { process, key, log, players, api, hash });
            }
            if start.elapsed() > ANSWER_MAX || !process.is_running() {
                let log = log.lock().unwrap_or_else(PoisonError::into_inner);
                let lines: Vec<_> = log.lines.iter().cloned().collect();
                return Err(SoakError::RelayNotStarted(lines.join("; ")));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Issues a token for a room, with this many seats.
    pub(crate) fn token(&self, room: &str, name: &str, seats: u16) -> String {
        let name_of = |text: &str| Name::new(text).expect("names of soaks are valid");
        let claims = Claims::issue(name_of(room), name_of(name), unix_seconds(), TOKEN_SECONDS);
        self.key.sign(&Claims { seats, ..claims })
    }

    /// Where a player with this token connects.
    pub(crate) fn target(&self, room: &str, token: String) -> Target {
        let url = format!("https://{}/{room}", self.players);
        Target { url, token, seat: None, trust: Trust::Pinned(vec![self.hash]) }
    }

    /// The process's memory and processor time.
    pub(crate) fn usage(&self) -> Option<Usage> {
        usage(self.process.child.id())
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.process.is_running()
    }

    /// The number of panics reported on its standard error.
    pub(crate) fn panics(&self) -> usize {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).panics
    }

    pub(crate) async fn metrics(&self) -> Result<Metrics, SoakError> {
        self.get("/metrics").await.map(|page| Metrics::parse(&page))
    }

    pub(crate) async fn report(&self, room: &str) -> Result<RoomReport, SoakError> {
        let path = format!("/api/rooms/{room}");
        let page = self.get(&path).await?;
        serde_json::from_str(&page).map_err(|error| SoakError::NoAnswer { path, reason: error.to_string() })
    }

    async fn get(&self, path: &str) -> Result<String, SoakError> {
        child::get(self.api, path).await
    }
}

fn read_lines(stderr: ChildStderr, log: &Mutex<RelayLog>) {
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        log.lock().unwrap_or_else(PoisonError::into_inner).add(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relays_announcement_is_parsed() {
        let mut log = RelayLog::default();
        let hash = "ab".repeat(32);
        log.add("players:  https://127.0.0.1:4433".to_owned());
        log.add("API:      http://127.0.0.1:8080".to_owned());
        log.add(format!("certificate (its own), SHA-256:  {hash}"));
        log.add("thread 'x' panicked at y".to_owned());
        assert_eq!(log.players, "127.0.0.1:4433".parse().ok());
        assert_eq!(log.api, "127.0.0.1:8080".parse().ok());
        assert_eq!((log.hash.is_some(), log.panics), (true, 1));
    }
}

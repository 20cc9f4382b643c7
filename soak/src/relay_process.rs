//! A relay in a process of its own, with its configuration in a temporary folder.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use evenkeel_net::certificate::CertificateHash;
use evenkeel_net::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel_net::transport::Trust;
use evenkeel_serve::RoomReport;
use evenkeel_serve::Target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::metrics::Metrics;
use crate::usage::{Usage, usage};
use crate::{Harness, SoakError};

/// How long the relay may take to start, and to answer a request.
const ANSWER_MAX: Duration = Duration::from_secs(20);
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

/// A process and its folder. Dropping it kills the process and removes the folder.
struct ChildProcess {
    child: Child,
    folder: PathBuf,
}

impl ChildProcess {
    /// Starts a process in a process group of its own. A terminal's Ctrl-C goes to a whole group, and a soak that is stopped
    /// early still has questions for its relay.
    fn start(mut command: Command, folder: PathBuf) -> Result<Self, SoakError> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        match command.spawn() {
            Ok(child) => Ok(Self { child, folder }),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&folder);
                Err(SoakError::RelayNotStarted(format!("{}: {error}", command.get_program().display())))
            }
        }
    }

    fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
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
        let unique = format!("evenkeel-soak-{}-{:x}", std::process::id(), unix_nanos());
        let folder = std::env::temp_dir().join(unique);
        std::fs::create_dir(&folder)?;
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
        let request = async {
            let mut stream = TcpStream::connect(self.api).await?;
            stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).await?;
            let mut page = String::new();
            stream.read_to_string(&mut page).await?;
            Ok::<_, std::io::Error>(page)
        };
        let no_answer = |reason: String| SoakError::NoAnswer { path: path.to_owned(), reason };
        let page = tokio::time::timeout(ANSWER_MAX, request)
            .await
            .map_err(|_| no_answer("it timed out".to_owned()))?
            .map_err(|error| no_answer(error.to_string()))?;
        let (head, body) =
            page.split_once("\r\n\r\n").ok_or_else(|| no_answer("not an HTTP response".to_owned()))?;
        match head.lines().next() {
            Some(line) if line.contains(" 200 ") => Ok(body.to_owned()),
            line => Err(no_answer(line.unwrap_or_default().to_owned())),
        }
    }
}

fn read_lines(stderr: ChildStderr, log: &Mutex<RelayLog>) {
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        log.lock().unwrap_or_else(PoisonError::into_inner).add(line);
    }
}

fn unix_nanos() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The process group of a process; `None` if there is no such process.
    #[cfg(target_os = "linux")]
    fn group(id: u32) -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_has_its_own_group_and_ends_with_its_owner() {
        let folder = std::env::temp_dir().join(format!("evenkeel-child-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut command = Command::new("sleep");
        command.arg("60");
        let mut process = ChildProcess::start(command, folder.clone()).expect("it starts");
        let id = process.child.id();
        assert!(process.is_running());
        assert_eq!(group(id), Some(id));
        assert_ne!(group(std::process::id()), Some(id));
        drop(process);
        assert_eq!((group(id), folder.exists()), (None, false));
    }

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

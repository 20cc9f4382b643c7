//! A relay in a process of its own, with a configuration in a folder that goes with it.

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
use crate::proc::{Usage, usage};
use crate::{Bench, SoakError};

/// The relay has so long to start, and to answer.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// Lines of the relay's standard error that are kept.
const LINES_MAX: usize = 50;
/// How long tokens are good: longer than any soak.
const TOKEN_SECONDS: u64 = 7 * 24 * 3600;

/// What the relay has written to its standard error.
#[derive(Debug, Default)]
struct Said {
    lines: VecDeque<String>,
    players: Option<SocketAddr>,
    api: Option<SocketAddr>,
    hash: Option<CertificateHash>,
    panics: usize,
}

impl Said {
    fn hear(&mut self, line: String) {
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

/// A process and its folder. Dropping it ends the process, and takes the folder along.
struct Process {
    child: Child,
    folder: PathBuf,
}

impl Process {
    /// Starts it, in a group of its own: Ctrl-C in a terminal goes to all of a group, and a soak that is stopped early still
    /// asks its relay.
    fn start(mut command: Command, folder: PathBuf) -> Result<Self, SoakError> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        match command.spawn() {
            Ok(child) => Ok(Self { child, folder }),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&folder);
                Err(SoakError::NoRelay(format!("{}: {error}", command.get_program().display())))
            }
        }
    }

    fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A relay in a process of its own. Dropping it ends the process.
pub(super) struct RelayChild {
    process: Process,
    key: IssuerKey,
    said: Arc<Mutex<Said>>,
    pub(super) players: SocketAddr,
    api: SocketAddr,
    pub(super) hash: CertificateHash,
}

impl RelayChild {
    /// Starts one with these further lines of configuration.
    pub(super) async fn start(bench: &Bench, config: &str) -> Result<Self, SoakError> {
        let key = IssuerKey::generate();
        let unique = format!("evenkeel-soak-{}-{:x}", std::process::id(), unix_nanos());
        let folder = std::env::temp_dir().join(unique);
        std::fs::create_dir(&folder)?;
        let issuer = key.id();
        let text =
            format!("listen = [\"127.0.0.1:0\"]\nhttp = [\"127.0.0.1:0\"]\nissuer = \"{issuer}\"\n{config}");
        let file = folder.join("relay.toml");
        std::fs::write(&file, text)?;
        let mut command = Command::new(&bench.program);
        command.args(["relay", "--config"]).arg(file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = Process::start(command, folder)?;
        let said = Arc::new(Mutex::new(Said::default()));
        if let Some(stderr) = process.child.stderr.take() {
            let heard = said.clone();
            std::thread::spawn(move || listen(stderr, &heard));
        }
        let start = Instant::now();
        loop {
            let found = {
                let said = said.lock().unwrap_or_else(PoisonError::into_inner);
                said.players.zip(said.api).zip(said.hash)
            };
            if let Some(((players, api), hash)) = found {
                return Ok(Self { process, key, said, players, api, hash });
            }
            if start.elapsed() > ANSWER_MAX || !process.lives() {
                let said = said.lock().unwrap_or_else(PoisonError::into_inner);
                return Err(SoakError::NoRelay(said.lines.iter().cloned().collect::<Vec<_>>().join("; ")));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// A token for so many players of a room, named after it.
    pub(super) fn token(&self, room: &str, name: &str, seats: u16) -> String {
        let name_of = |text: &str| Name::new(text).expect("names of soaks are plain");
        let claims = Claims::issue(name_of(room), name_of(name), unix_seconds(), TOKEN_SECONDS);
        self.key.sign(&Claims { seats, ..claims })
    }

    /// The way into a room with a token.
    pub(super) fn target(&self, room: &str, token: String) -> Target {
        let url = format!("https://{}/{room}", self.players);
        Target { url, token, seat: None, trust: Trust::Pinned(vec![self.hash]) }
    }

    /// What the process has used.
    pub(super) fn usage(&self) -> Option<Usage> {
        usage(self.process.child.id())
    }

    /// Whether the process still runs.
    pub(super) fn lives(&mut self) -> bool {
        self.process.lives()
    }

    /// Times that its standard error spoke of a panic, and its last lines.
    pub(super) fn said(&self) -> (usize, Vec<String>) {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        (said.panics, said.lines.iter().cloned().collect())
    }

    pub(super) async fn metrics(&self) -> Result<Metrics, SoakError> {
        self.ask("/metrics").await.map(|page| Metrics::parse(&page))
    }

    pub(super) async fn report(&self, room: &str) -> Result<RoomReport, SoakError> {
        let path = format!("/api/rooms/{room}");
        let page = self.ask(&path).await?;
        serde_json::from_str(&page).map_err(|error| SoakError::NoAnswer { path, words: error.to_string() })
    }

    async fn ask(&self, path: &str) -> Result<String, SoakError> {
        let asked = async {
            let mut stream = TcpStream::connect(self.api).await?;
            stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).await?;
            let mut page = String::new();
            stream.read_to_string(&mut page).await?;
            Ok::<_, std::io::Error>(page)
        };
        let no_answer = |words: String| SoakError::NoAnswer { path: path.to_owned(), words };
        let page = tokio::time::timeout(ANSWER_MAX, asked)
            .await
            .map_err(|_| no_answer("it took too long".to_owned()))?
            .map_err(|error| no_answer(error.to_string()))?;
        let (head, body) = page.split_once("\r\n\r\n").ok_or_else(|| no_answer("no answer".to_owned()))?;
        match head.lines().next() {
            Some(line) if line.contains(" 200 ") => Ok(body.to_owned()),
            line => Err(no_answer(line.unwrap_or_default().to_owned())),
        }
    }
}

fn listen(stderr: ChildStderr, said: &Mutex<Said>) {
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        said.lock().unwrap_or_else(PoisonError::into_inner).hear(line);
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
    fn ctrl_c_does_not_reach_it_and_its_owners_end_does() {
        let folder = std::env::temp_dir().join(format!("evenkeel-child-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut command = Command::new("sleep");
        command.arg("60");
        let mut process = Process::start(command, folder.clone()).expect("it starts");
        let id = process.child.id();
        assert!(process.lives());
        assert_eq!(group(id), Some(id));
        assert_ne!(group(std::process::id()), Some(id));
        drop(process);
        assert_eq!((group(id), folder.exists()), (None, false));
    }

    #[test]
    fn what_a_relay_announces_is_heard() {
        let mut said = Said::default();
        let hash = "ab".repeat(32);
        said.hear("players:  https://127.0.0.1:4433".to_owned());
        said.hear("API:      http://127.0.0.1:8080".to_owned());
        said.hear(format!("certificate (its own), SHA-256:  {hash}"));
        said.hear("thread 'x' panicked at y".to_owned());
        assert_eq!(said.players, "127.0.0.1:4433".parse().ok());
        assert_eq!(said.api, "127.0.0.1:8080".parse().ok());
        assert_eq!((said.hash.is_some(), said.panics), (true, 1));
    }
}

//! Peers in processes of their own, over real connections with emulated faults: they play for minutes, one is killed, and it
//! comes back. Everything is read from their pages.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use evenkeel_core::{Seed, Span};
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::config::exponential_faults;
use crate::simulated::simulate;
use crate::summary::Summary;
use crate::watch::unix_ms;

/// How long peers may take to find each other.
const MEET_MAX: Duration = Duration::from_secs(90);
/// What is not counted, while clocks settle.
const WARM_UP: Duration = Duration::from_secs(10);
/// How long a killed peer may take to be noticed before the soak gives up waiting.
const NOTICE_MAX: Duration = Duration::from_secs(20);
/// How long the same peers play in the simulator.
const SIMULATED: Span = Span::from_secs(60);
const POLL: Duration = Duration::from_millis(200);
const ANSWER_MAX: u64 = 1024 * 1024;

/// What to run.
#[derive(Clone, Debug)]
pub struct SoakConfig {
    /// The program `evenkeel`.
    pub program: PathBuf,
    /// A folder for the peers' keys.
    pub folder: PathBuf,
    /// The number of peers.
    pub peers: usize,
    /// How long they play before one is killed.
    pub play: Duration,
    /// Mean one-way delay, in milliseconds.
    pub delay_ms: f64,
    /// Losses, in percent.
    pub loss_percent: f64,
}

/// What was measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SoakReport {
    /// The number of peers, each a process.
    pub peers: usize,
    /// How long was measured, in seconds.
    pub seconds: f64,
    /// Mean playout delay of all moves at all peers.
    pub playout_ms: f64,
    /// The least and the greatest of the peers' means.
    pub playout_range_ms: (f64, f64),
    /// Mean age of moves when shown.
    pub age_ms: f64,
    /// Share of moves that were not used.
    pub unused_share: f64,
    /// Unused moves by reason.
    pub unused_by_reason: Vec<(String, u64)>,
    /// Moves played out.
    pub played: u64,
    /// Payload sent per peer, in kilobits per second.
    pub up_kbps: f64,
    /// UDP payload sent per peer, QUIC's own overhead included.
    pub wire_up_kbps: f64,
    /// Timeouts handled within a millisecond, as a share: the least of the peers'.
    pub punctual: f64,
    /// From the kill until the last survivor had the peer out.
    pub out_ms: i64,
    /// By when it must be out: its timeout and three rounds.
    pub out_max_ms: i64,
    /// Moves that the survivors played out per second afterwards, relative to what their number promises.
    pub goes_on: f64,
    /// From its restart until everybody had it back.
    pub back_ms: i64,
    /// Peers evicted: must be none, as all are honest.
    pub evicted: usize,
    /// The playout delay of as many peers in the simulator, with the same faults, for a minute.
    pub simulated_playout_ms: f64,
    /// The share of moves that were not used there.
    pub simulated_unused_share: f64,
}

/// By how much a figure may differ from the simulator's: this share of it,
const APART_MAX: f64 = 0.15;
/// and shares of unused moves by so much in any case: with 10 peers it is a few of ten thousand moves, and chance decides.
const UNUSED_APART_MIN: f64 = 0.001;

impl SoakReport {
    /// Whether playout and unused moves are within 15 % of the simulator's.
    #[must_use]
    pub fn is_like_simulated(&self) -> bool {
        let is_near =
            |one: f64, other: f64, least: f64| (one - other).abs() <= (APART_MAX * other).max(least);
        is_near(self.playout_ms, self.simulated_playout_ms, 0.0)
            && is_near(self.unused_share, self.simulated_unused_share, UNUSED_APART_MIN)
    }

    /// What is not as it should be, in the names of the report's figures.
    #[must_use]
    pub fn failures(&self) -> Vec<&'static str> {
        let checks = [
            ("playout_ms or unused_share against the simulated", self.is_like_simulated()),
            ("out_ms", self.out_ms <= self.out_max_ms),
            ("evicted", self.evicted == 0),
            ("goes_on", self.goes_on > 0.8),
        ];
        checks.into_iter().filter(|(_, is_fine)| !is_fine).map(|(what, _)| what).collect()
    }
}

/// Why a soak could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum SoakError {
    /// A process did not start.
    #[error("cannot start {}: {source}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Something did not happen in time.
    #[error("after {seconds:.0} s, {what}")]
    TooLate {
        /// What did not happen.
        what: String,
        /// How long it was waited for.
        seconds: f64,
    },
    /// A page does not answer.
    #[error("the page at {0} does not answer: did its process end?")]
    Silent(SocketAddr),
    /// No port is free.
    #[error("no free port: {0}")]
    Port(io::Error),
}

/// A process.
struct Process {
    child: Child,
    page: SocketAddr,
}

/// Runs the soak. `tell` is called with what happens.
///
/// # Errors
/// [`SoakError`] says what went wrong.
pub async fn run(config: &SoakConfig, tell: impl Fn(&str)) -> Result<SoakReport, SoakError> {
    let mut processes = vec![spawn(config, 0, None)?];
    let host = processes[0].page;
    let ticket = until(MEET_MAX, "the first peer has no ticket", async || {
        Some(get(host, "/api/eater").await?["ticket"].as_str()?.to_owned())
    })
    .await?;
    for number in 1..config.peers {
        processes.push(spawn(config, number, Some(&ticket))?);
    }
    tell(&format!("{} processes started", config.peers));
    let pages: Vec<SocketAddr> = processes.iter().map(|process| process.page).collect();
    meet(&pages).await?;
    tell("all peers have met");
    sleep(WARM_UP).await;
    let (before, began) = (summaries(&pages).await?, Instant::now());
    sleep(config.play).await;
    let (after, seconds) = (summaries(&pages).await?, began.elapsed().as_secs_f64());
    tell("measured; now one is killed");

    let killed = config.peers - 1;
    let key = after[killed].key.clone();
    let killed_at = unix_ms();
    let _ = processes[killed].child.kill().await;
    let survivors = &pages[..killed];
    let out_at = comings(survivors, &key, |what| what != "joined", killed_at).await?;
    tell(&format!("it was out after {} ms", out_at - killed_at));
    let first = summaries(survivors).await?;
    sleep(Duration::from_secs(5)).await;
    let second = summaries(survivors).await?;
    let going = played(&second) - played(&first);
    let fair = (played(&after) - played(&before)) as f64 / seconds * 5.0;
    let pairs = |peers: usize| (peers * (peers - 1)) as f64;

    let restarted_at = unix_ms();
    processes[killed] = spawn(config, killed, Some(&ticket))?;
    let back_at = comings(survivors, &key, |what| what == "joined", restarted_at).await?;
    let pages: Vec<SocketAddr> = processes.iter().map(|process| process.page).collect();
    meet(&pages).await?;
    tell(&format!("it is back after {} ms", back_at - restarted_at));
    let last = summaries(&pages).await?;
    for process in &mut processes {
        let _ = process.child.kill().await;
    }
    let mut report = report(config, &before, &after, seconds);
    report.out_ms = out_at - killed_at;
    report.goes_on = going as f64 / (fair * pairs(config.peers - 1) / pairs(config.peers));
    report.back_ms = back_at - restarted_at;
    report.evicted = last.iter().map(|summary| summary.caught.len()).sum();
    Ok(report)
}

/// The figures of the time between two readings.
fn report(config: &SoakConfig, before: &[Summary], after: &[Summary], seconds: f64) -> SoakReport {
    // Means are of everything since the beginning, so the earlier part is taken out again.
    let part = |value: fn(&Summary) -> Option<f64>| -> Vec<f64> {
        let sum = |summary: &Summary| value(summary).unwrap_or(0.0) * summary.played as f64;
        let pairs = before.iter().zip(after);
        pairs.map(|(b, a)| (sum(a) - sum(b)) / (a.played - b.played).max(1) as f64).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let grown = |value: fn(&Summary) -> u64| -> u64 {
        after.iter().map(value).sum::<u64>() - before.iter().map(value).sum::<u64>()
    };
    let (playouts, ages) = (part(|summary| summary.playout_ms), part(|summary| summary.age_ms));
    let (played, unused) = (grown(|summary| summary.played), grown(|summary| summary.unused));
    let kbps = |bytes: u64| bytes as f64 * 8.0 / 1e3 / seconds / config.peers as f64;
    let reasons = after[0].unused_by_reason.iter().enumerate().map(|(place, (name, _))| {
        let sum = |all: &[Summary]| all.iter().map(|one| one.unused_by_reason[place].1).sum::<u64>();
        (name.clone(), sum(after) - sum(before))
    });
    let faults = exponential_faults(Span::from_millis_f64(config.delay_ms), config.loss_percent / 100.0);
    let number = u8::try_from(config.peers).unwrap_or(u8::MAX);
    let simulated = simulate(number, &faults, SIMULATED, Seed::new(1));
    SoakReport {
        peers: config.peers,
        seconds,
        playout_ms: mean(&playouts),
        playout_range_ms: (
            playouts.iter().copied().fold(f64::INFINITY, f64::min),
            playouts.iter().copied().fold(0.0, f64::max),
        ),
        age_ms: mean(&ages),
        unused_share: unused as f64 / (played + unused).max(1) as f64,
        unused_by_reason: reasons.collect(),
        played,
        up_kbps: kbps(grown(|summary| summary.payload_bytes)),
        wire_up_kbps: kbps(grown(|summary| summary.wire_bytes)),
        punctual: after.iter().map(|summary| summary.punctual).fold(1.0, f64::min),
        out_ms: 0,
        out_max_ms: out_max_ms(),
        goes_on: 0.0,
        back_ms: 0,
        evicted: 0,
        simulated_playout_ms: simulated.playout_ms().unwrap_or(0.0),
        simulated_unused_share: simulated.unused_share().unwrap_or(0.0),
    }
}

/// A peer's timeout and three rounds, in milliseconds.
fn out_max_ms() -> i64 {
    let neo = evenkeel_neo::NeoConfig::default();
    (neo.silence + neo.round.times(3)).as_nanos() / 1_000_000
}

fn played(summaries: &[Summary]) -> u64 {
    summaries.iter().map(|summary| summary.played).sum()
}

fn spawn(config: &SoakConfig, number: usize, ticket: Option<&str>) -> Result<Process, SoakError> {
    let page = free_port().map_err(SoakError::Port)?;
    let mut command = Command::new(&config.program);
    command.arg("eater");
    match ticket {
        None => command.arg("host"),
        Some(ticket) => command.args(["join", ticket]),
    };
    command.args(["--local", "--bot", "--name", &format!("peer {number}")]);
    command.args(["--port", &page.port().to_string()]);
    command.args(["--delay", &config.delay_ms.to_string(), "--loss", &config.loss_percent.to_string()]);
    command.arg("--key").arg(key_file(&config.folder, number));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let child = command.spawn();
    let child = child.map_err(|source| SoakError::Spawn { program: config.program.clone(), source })?;
    Ok(Process { child, page })
}

fn key_file(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number}.key"))
}

fn free_port() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// Waits until every peer takes part with every other.
async fn meet(pages: &[SocketAddr]) -> Result<(), SoakError> {
    until(MEET_MAX, "not all peers have met", async || {
        let all = summaries(pages).await.ok()?;
        let others = pages.len() - 1;
        all.iter().all(|summary| summary.peers == others && summary.played > 0).then_some(())
    })
    .await
}

/// Waits until every peer has noted this of the peer with this key, and returns when the last one did.
async fn comings(
    pages: &[SocketAddr],
    key: &str,
    is_meant: impl Fn(&str) -> bool,
    since: i64,
) -> Result<i64, SoakError> {
    until(NOTICE_MAX, "not all peers have noticed", async || {
        let mut last = since;
        for summary in summaries(pages).await.ok()? {
            let mut noted =
                summary.comings.iter().filter(|(who, what, at)| who == key && is_meant(what) && *at >= since);
            last = last.max(noted.next()?.2);
        }
        Some(last)
    })
    .await
}

async fn summaries(pages: &[SocketAddr]) -> Result<Vec<Summary>, SoakError> {
    let mut all = Vec::new();
    for page in pages {
        let answer = get(*page, "/api/eater/summary").await;
        let summary = answer.and_then(|answer| serde_json::from_value(answer).ok());
        all.push(summary.ok_or(SoakError::Silent(*page))?);
    }
    Ok(all)
}

async fn until<T>(
    longest: Duration,
    what: &str,
    mut ask: impl AsyncFnMut() -> Option<T>,
) -> Result<T, SoakError> {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return Ok(answer);
        }
        if began.elapsed() > longest {
            return Err(SoakError::TooLate { what: what.to_owned(), seconds: longest.as_secs_f64() });
        }
        sleep(POLL).await;
    }
}

/// Reads JSON from a page.
async fn get(page: SocketAddr, path: &str) -> Option<Value> {
    let asking = async {
        let mut stream = TcpStream::connect(page).await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {page}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.take(ANSWER_MAX).read_to_string(&mut answer).await?;
        io::Result::Ok(answer)
    };
    let answer = timeout(Duration::from_secs(5), asking).await.ok()?.ok()?;
    serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_soak_is_judged_by_the_simulator() {
        let fine = SoakReport {
            peers: 10,
            seconds: 300.0,
            playout_ms: 41.0,
            playout_range_ms: (40.0, 42.0),
            age_ms: 241.0,
            unused_share: 0.000_4,
            unused_by_reason: Vec::new(),
            played: 500_000,
            up_kbps: 182.0,
            wire_up_kbps: 260.0,
            punctual: 1.0,
            out_ms: 2_300,
            out_max_ms: out_max_ms(),
            goes_on: 1.0,
            back_ms: 900,
            evicted: 0,
            simulated_playout_ms: 39.6,
            simulated_unused_share: 0.000_1,
        };
        assert_eq!(fine.failures(), Vec::<&str>::new());
        let slow = SoakReport { playout_ms: 46.0, ..fine.clone() };
        assert!(!slow.is_like_simulated());
        let lossy = SoakReport { unused_share: 0.002, ..fine.clone() };
        assert!(!lossy.is_like_simulated());
        let unfair = SoakReport { evicted: 1, out_ms: 5_000, goes_on: 0.5, ..fine };
        assert_eq!(unfair.failures(), ["out_ms", "evicted", "goes_on"]);
    }
}

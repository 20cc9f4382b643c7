//! The two proxies, in processes of their own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use super::ProxyLoad;
use crate::child::{self, ANSWER_MAX, ChildProcess};
use crate::metrics::Metrics;
use crate::usage::{Usage, usage};
use crate::{Harness, SoakError};

/// A proxy's process, and the two addresses that it has announced.
struct ProxyProcess {
    process: ChildProcess,
    address: SocketAddr,
    page: SocketAddr,
}

impl ProxyProcess {
    fn start(harness: &Harness, folder: &Path, arguments: &[String], word: &str) -> Result<Self, SoakError> {
        let mut command = Command::new(&harness.program);
        command.arg("sync-ms").args(arguments).args(["--page", "127.0.0.1:0"]).env("XDG_STATE_HOME", folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Each process removes its folder at its end; the common one is the first's.
        let own = child::temporary_folder()?;
        let mut process = ChildProcess::start(command, own)?;
        let (sender, lines) = mpsc::channel();
        if let Some(stderr) = process.child.stderr.take() {
            std::thread::spawn(move || read_lines(stderr, &sender));
        }
        let (start, mut seen, mut address, mut page) = (Instant::now(), Vec::new(), None, None);
        loop {
            if let (Some(address), Some(page)) = (address, page) {
                return Ok(Self { process, address, page });
            }
            let left = ANSWER_MAX.saturating_sub(start.elapsed());
            let Ok(line) = lines.recv_timeout(left) else {
                return Err(SoakError::RelayNotStarted(seen.join("; ")));
            };
            let after = |word: &str| line.strip_prefix(word).and_then(|rest| rest.split_whitespace().next());
            address = address.or(after(word).and_then(|text| text.parse().ok()));
            page = page.or(after("page:").and_then(|url| url.strip_prefix("http://")?.parse().ok()));
            seen.push(line);
        }
    }

    async fn metrics(&self) -> Result<Metrics, SoakError> {
        child::get(self.page, "/metrics").await.map(|text| Metrics::parse(&text))
    }
}

/// Both proxies. Dropping them kills the processes.
pub(super) struct ProxyPair {
    server: ProxyProcess,
    client: ProxyProcess,
    /// Where players' games connect.
    pub(super) players: SocketAddr,
}

/// What both proxies have counted at one time.
pub(super) struct ProxyReading {
    at: Instant,
    server: Metrics,
    client: Metrics,
    usage: [Option<Usage>; 2],
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl ProxyPair {
    pub(super) async fn start(
        harness: &Harness,
        load: &ProxyLoad,
        game: SocketAddr,
    ) -> Result<Self, SoakError> {
        let folder = child::temporary_folder()?;
        let (game, out) = (game.to_string(), if load.out { "on" } else { "off" });
        let mut arguments = words(&["server", "--listen", "127.0.0.1:0", "--game", &game]);
        arguments.extend(words(&["--order", &load.order, "--out", out]));
        let server = ProxyProcess::start(harness, &folder, &arguments, "clients:")?;
        let list =
            |values: Vec<f64>| values.iter().map(|value| format!("{value:.3}")).collect::<Vec<_>>().join(",");
        let (delays, target) = (load.delays(), server.address.to_string());
        let jitters = delays.iter().map(|delay| delay * load.jitter).collect();
        let loss = load.loss_percent.to_string();
        let mut arguments = words(&["client", "--listen", "127.0.0.1:0", "--server", &target]);
        arguments.extend(words(&["--link-delay", &list(delays), "--link-jitter", &list(jitters)]));
        arguments.extend(words(&["--link-loss", &loss, "--link-seed", "24"]));
        let client = ProxyProcess::start(harness, &folder, &arguments, "players:")?;
        let _ = std::fs::remove_dir_all(folder);
        let players = client.address;
        Ok(Self { server, client, players })
    }

    pub(super) async fn read(&self) -> Result<ProxyReading, SoakError> {
        Ok(ProxyReading {
            at: Instant::now(),
            server: self.server.metrics().await?,
            client: self.client.metrics().await?,
            usage: [&self.server, &self.client].map(|proxy| usage(proxy.process.child.id())),
        })
    }

    pub(super) fn is_running(&mut self) -> bool {
        self.server.process.is_running() && self.client.process.is_running()
    }
}

/// Counters that tell of a queue at its limit, or of something dropped.
const OVERFLOWS: [&str; 9] = [
    "queue_full_total",
    "over_allowance_total",
    "too_slow_total",
    "flooding_total",
    "proxy_overloaded_total",
    "proxy_game_send_failed_total",
    "proxy_panics_total",
    "rejected_total",
    "overdue_total",
];

impl ProxyReading {
    /// Datagrams lost on emulated links.
    pub(super) fn lost_on_links(&self) -> f64 {
        self.client.sum("proxy_emulated_losses_total")
    }

    pub(super) fn overflows(&self) -> f64 {
        let both: f64 = OVERFLOWS.iter().map(|name| self.server.sum(name) + self.client.sum(name)).sum();
        let own = ["proxy_over_game_allowance_total", "proxy_stale_total", "proxy_no_place_total"];
        let client: f64 = own.iter().map(|name| self.client.sum(name)).sum();
        both + client
            + self.client.sum("proxy_emulated_overflows_total")
            + self.server.sum("player_overflows_total")
    }

    /// The share of actions behind, as the service counts it, since then.
    pub(super) fn behind_share(&self, then: &Self) -> f64 {
        self.server.growth(&then.server, "player_behind_total")
            / self.server.growth(&then.server, "player_actions_total")
    }

    pub(super) fn late_and_clamped(&self, then: &Self) -> String {
        let grown = |name| self.server.growth(&then.server, name);
        format!("{:.0}, {:.0}", grown("player_late_total"), grown("player_clamped_total"))
    }

    /// What waiting added to an action, averaged over the players.
    pub(super) fn added_up_ms(&self) -> f64 {
        1e3 * self.server.sum("player_added_up_seconds") / self.server.sum("players")
    }

    /// What the proxies cost, and how punctual they are.
    pub(super) fn costs(&self, then: &Self) -> Vec<(String, String)> {
        let seconds = (self.at - then.at).as_secs_f64();
        let mut figures = Vec::new();
        for (index, name) in ["server's proxy", "client's proxy"].into_iter().enumerate() {
            let (now, before) =
                if index == 0 { (&self.server, &then.server) } else { (&self.client, &then.client) };
            let used = self.usage[index].zip(then.usage[index]);
            let share = used.map_or(f64::NAN, |(now, then)| (now.cpu - then.cpu).as_secs_f64() / seconds);
            figures.push((format!("{name}: share of a core"), format!("{:.0} %", 100.0 * share)));
            let rate = |metric| now.growth(before, metric) / seconds;
            figures.push((
                format!("{name}: tunnel datagrams per second, in and out"),
                format!("{:.0}, {:.0}", rate("datagrams_received_total"), rate("datagrams_sent_total")),
            ));
            figures.push((
                format!("{name}: deadlines served within 1 ms"),
                format!("{:.2} %", 100.0 * now.on_time(before, 1)),
            ));
        }
        figures
    }
}

fn read_lines(stderr: ChildStderr, lines: &mpsc::Sender<String>) {
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        let _ = lines.send(line);
    }
}

//! `evenkeel link`: a bad network in front of any UDP program.

use std::net::SocketAddr;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use comfy_table::{LineStyle, Table, TableStyle};
use evenkeel_conditioner::{
    Conditioner, ConditionerConfig, DirectionReport, Profile, Report, StartError, parse,
};
use evenkeel_core::Span;
use evenkeel_link::{DelayLaw, DelayStep, Jitter, LinkFaults, Loss, RateLimit, Reorder};

use crate::failure::Failure;
use crate::{network, output};

const EXAMPLES: &str = "\
Examples:
  evenkeel link --listen 127.0.0.1:5000 --to 127.0.0.1:27960 --delay 40 --jitter 5 --loss 1
  evenkeel link --listen 127.0.0.1:5000 --to 127.0.0.1:27960 --delay 5 --delay 150       the second client is far away
  evenkeel link --listen 127.0.0.1:5000 --to 127.0.0.1:27960 --delay 40 --delay-back 120 --loss bursts:9.5,0.5,0,60
  evenkeel link --listen 127.0.0.1:5000 --to 127.0.0.1:27960 --jitter trace:wifi.csv --seed 7 --json

Clients connect to --listen instead of the server. Everything applies to each direction; with --delay-back,
--jitter-back, --loss-back and --steps-back the way back differs. An option that is given several times holds for
the clients in turn. docs/link.md explains the laws. Ctrl-C ends it with a summary.";

/// A line under the header and no frame.
const FRAMELESS: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('-'));

/// Arguments of `evenkeel link`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LinkArgs {
    /// Where clients send to (UDP)
    #[arg(long, value_name = "ADDR")]
    listen: SocketAddr,

    /// The server (UDP)
    #[arg(long, value_name = "ADDR")]
    to: String,

    /// One-way delay in milliseconds
    #[arg(long, value_name = "MS", value_parser = parse::delay, allow_hyphen_values = true)]
    delay: Vec<Span>,

    /// The delay's variation: 5, uniform:5, normal:5, gamma:5, exponential:5, lognormal:5,0.8, trace:FILE.csv
    #[arg(long, value_name = "LAW", value_parser = parse::jitter, allow_hyphen_values = true)]
    jitter: Vec<Jitter>,

    /// Percentage of datagrams lost, or bursts:GOOD_S,BAD_S,GOOD_%,BAD_%
    #[arg(long, value_name = "LAW", value_parser = parse::loss, allow_hyphen_values = true)]
    loss: Vec<Loss>,

    /// Lasting changes of the delay: SECOND:MS,SECOND:MS,...
    #[arg(long, value_name = "STEPS", value_parser = steps)]
    steps: Vec<Steps>,

    /// Percentage of datagrams that arrive twice
    #[arg(long, value_name = "PERCENT", value_parser = parse::share, allow_hyphen_values = true)]
    duplicate: Vec<f64>,

    /// Percentage of datagrams held back, and for how long: PERCENT,MS
    #[arg(long, value_name = "LAW", value_parser = parse::reorder)]
    reorder: Vec<Reorder>,

    /// Bytes per second, and bytes that may wait: RATE,QUEUE
    #[arg(long, value_name = "LAW", value_parser = parse::rate)]
    rate: Vec<RateLimit>,

    /// The delay from the server to the client [default: as --delay]
    #[arg(long, value_name = "MS", value_parser = parse::delay, allow_hyphen_values = true)]
    delay_back: Vec<Span>,

    /// The variation from the server to the client [default: as --jitter]
    #[arg(long, value_name = "LAW", value_parser = parse::jitter, allow_hyphen_values = true)]
    jitter_back: Vec<Jitter>,

    /// The loss from the server to the client [default: as --loss]
    #[arg(long, value_name = "LAW", value_parser = parse::loss, allow_hyphen_values = true)]
    loss_back: Vec<Loss>,

    /// The changes from the server to the client [default: as --steps]
    #[arg(long, value_name = "STEPS", value_parser = steps)]
    steps_back: Vec<Steps>,

    /// The seed of all draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The most clients at a time
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    clients: usize,

    /// Seconds of silence after which a client is forgotten
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    idle: u64,

    /// Seconds between two lines of statistics on standard error; 0 for none
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=86_400))]
    every: u64,

    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// A list of steps as one value of an argument.
#[derive(Clone, Debug)]
struct Steps(Vec<DelayStep>);

/// Parses [`Steps`]; clap would take a bare list for several values.
fn steps(text: &str) -> Result<Steps, String> {
    parse::steps(text).map(Steps)
}

/// Runs until Ctrl-C or SIGTERM.
pub(crate) fn run(args: LinkArgs) -> Result<(), Failure> {
    let profiles = profiles(&args);
    let count = profiles.len();
    network::run(async {
        let found = tokio::net::lookup_host(&args.to).await.ok().and_then(|mut found| found.next());
        let unknown = || format!("--to {}: not an address, and no such host; expected HOST:PORT", args.to);
        let to = found.ok_or_else(|| Failure::mistake(unknown()))?;
        let idle = Duration::from_secs(args.idle);
        let (listen, seed, clients_max) = (args.listen, args.seed, args.clients);
        let config = ConditionerConfig { listen, to, profiles, seed, clients_max, idle };
        let conditioner = Conditioner::start(config).map_err(not_started)?;
        eprintln!("clients:  {} (UDP), instead of {to}", conditioner.address());
        let profiles = if count == 1 { "all alike".to_owned() } else { format!("{count} kinds in turn") };
        eprintln!("links:    {profiles}, seed {seed}");
        tokio::select! {
            () = network::until_stopped() => {}
            () = report_every(args.every, &conditioner) => {}
        }
        let report = conditioner.report();
        drop(conditioner);
        if args.json {
            let json = serde_json::to_value(&report).map_err(Failure::failed)?;
            return output::print_json(&json);
        }
        output::print(&summary(&report))
    })
}

/// The links of the clients in turn: as many as the option that was given most often.
fn profiles(args: &LinkArgs) -> Vec<Profile> {
    let counts = [
        args.delay.len(),
        args.jitter.len(),
        args.loss.len(),
        args.steps.len(),
        args.duplicate.len(),
        args.reorder.len(),
        args.rate.len(),
        args.delay_back.len(),
        args.jitter_back.len(),
        args.loss_back.len(),
        args.steps_back.len(),
    ];
    let count = counts.into_iter().max().unwrap_or(0).max(1);
    let profile = |client: usize| {
        let to_server = LinkFaults {
            delay: DelayLaw {
                base: turn(&args.delay, client).unwrap_or_default(),
                jitter: turn(&args.jitter, client).unwrap_or_default(),
            },
            steps: turn(&args.steps, client).map_or(Vec::new(), |steps| steps.0),
            loss: turn(&args.loss, client).unwrap_or_default(),
            duplicate: turn(&args.duplicate, client).unwrap_or_default(),
            reorder: turn(&args.reorder, client),
            rate: turn(&args.rate, client),
        };
        let mut to_client = to_server.clone();
        to_client.delay.base = turn(&args.delay_back, client).unwrap_or(to_client.delay.base);
        if let Some(jitter) = turn(&args.jitter_back, client) {
            to_client.delay.jitter = jitter;
        }
        to_client.loss = turn(&args.loss_back, client).unwrap_or(to_client.loss);
        if let Some(Steps(steps)) = turn(&args.steps_back, client) {
            to_client.steps = steps;
        }
        Profile { to_server, to_client }
    };
    (0..count).map(profile).collect()
}

/// The value for a client: those given, in turn.
fn turn<T: Clone>(values: &[T], client: usize) -> Option<T> {
    values.get(client % values.len().max(1)).cloned()
}

/// Prints a line of statistics now and then, for ever.
async fn report_every(seconds: u64, conditioner: &Conditioner) {
    if seconds == 0 {
        return std::future::pending().await;
    }
    let mut before = conditioner.report();
    loop {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let now = conditioner.report();
        let present = now.clients.iter().filter(|client| client.present).count();
        let rate = |now: &DirectionReport, before: &DirectionReport| {
            let received = now.received - before.received;
            let lost = 100.0 * (now.lost - before.lost) as f64 / received.max(1) as f64;
            format!("{:.0}/s, {lost:.1} % lost", received as f64 / seconds as f64)
        };
        eprintln!(
            "{:>7.0} s  {present} clients  to the server {}  to clients {}{}",
            now.up_s,
            rate(&now.to_server, &before.to_server),
            rate(&now.to_client, &before.to_client),
            dropped(&now),
        );
        before = now;
    }
}

/// What the limits dropped, if anything.
fn dropped(report: &Report) -> String {
    let overflowed = report.to_server.overflowed + report.to_client.overflowed;
    let refused = report.to_server.refused + report.to_client.refused;
    let mut text = String::new();
    if overflowed > 0 {
        text += &format!("  {overflowed} dropped: too much in flight");
    }
    if report.turned_away > 0 {
        text += &format!("  {} dropped: too many clients", report.turned_away);
    }
    if refused > 0 {
        text += &format!("  {refused} refused: does the server listen?");
    }
    text
}

fn summary(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(FRAMELESS);
    table.set_header(["client", "address", "way", "datagrams", "lost %", "doubled", "delay ms", "late ms"]);
    for client in &report.clients {
        for (way, figures) in [("to server", &client.to_server), ("to client", &client.to_client)] {
            table.add_row([
                client.number.to_string(),
                client.address.to_string(),
                way.to_owned(),
                figures.received.to_string(),
                format!("{:.1}", figures.lost_percent()),
                figures.doubled.to_string(),
                format!("{:.2}", figures.delay_mean_ms()),
                format!("{:.2}", figures.late_mean_ms()),
            ]);
        }
    }
    let count = report.clients_seen;
    let table = if report.clients.is_empty() { String::new() } else { format!("{table}\n") };
    format!("{table}{count} clients in {:.0} s{}\n", report.up_s, dropped(report))
}

fn not_started(error: StartError) -> Failure {
    match error {
        StartError::Thread(_) => Failure::failed(error),
        other => Failure::mistake(other),
    }
}

//! `evenkeel arena`: a game in the browser, with a switch between policies.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use evenkeel_arena::{Arena, ArenaConfig, ArenaError, DELAY_MAX, PolicyChoice};
use evenkeel_core::Span;
use evenkeel_serve::{PORT, StartError};

use crate::failure::Failure;
use crate::{network, relay};

const EXAMPLES: &str = "\
Examples:
  evenkeel arena                              four bots, 200, 80, 20 and 5 ms away; then open http://localhost:7878
  evenkeel arena --open                       the same, and open the page
  evenkeel arena --bots 8 --delays 300,10     the first bot 300 ms away, all others 10 ms
  evenkeel arena --policy even                start even; the page can switch
  evenkeel arena --record session.evkt        record every call to the relay, for `evenkeel replay`

While it runs:
  curl http://127.0.0.1:7878/api/rooms/arena
Ctrl-C (or SIGTERM) tells the players and stops it.";

/// Arguments of `evenkeel arena`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ArenaArgs {
    /// The number of bots.
    #[arg(long, value_name = "N", default_value_t = 4, allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(0..=64))]
    bots: u16,

    /// The policy at the start, which the page can switch: `base` (without us; also `base-matched`), `papers` (the
    /// papers' best; also `deterministic-budget`) or `even`.
    #[arg(long, value_name = "base|papers|even", default_value = "base", value_parser = choice)]
    policy: PolicyChoice,

    /// The bots' one-way delays in ms, in order; the last one applies to all further bots.
    #[arg(long, value_name = "MS,MS,..", default_value = "200,80,20,5", value_delimiter = ',', allow_negative_numbers = true, value_parser = delay)]
    delays: Vec<Span>,

    /// The port of the page, the API and WebTransport, on 127.0.0.1 and ::1.
    #[arg(long, value_name = "P", default_value_t = PORT)]
    port: u16,

    /// Open the page in a browser.
    #[arg(long)]
    open: bool,

    /// Record every call to the relay, with its time, to this file.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// The seed of the bots and the referee.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn choice(text: &str) -> Result<PolicyChoice, String> {
    match text {
        "base" | "base-matched" => Ok(PolicyChoice::Base),
        "papers" | "deterministic-budget" => Ok(PolicyChoice::Papers),
        "even" => Ok(PolicyChoice::Even),
        _ => Err("must be base, papers or even".to_owned()),
    }
}

fn delay(text: &str) -> Result<Span, String> {
    let millis: f64 = text.trim().parse().map_err(|_| "must be a number of milliseconds".to_owned())?;
    let most = DELAY_MAX.as_millis_f64();
    if (0.0..=most).contains(&millis) {
        Ok(Span::from_millis_f64(millis))
    } else {
        Err(format!("must lie between 0 and {most} ms"))
    }
}

/// Runs the arena until Ctrl-C or SIGTERM.
pub(crate) fn run(args: ArenaArgs) -> Result<(), Failure> {
    let config = ArenaConfig {
        bots: usize::from(args.bots),
        delays: args.delays,
        choice: args.policy,
        port: args.port,
        seed: args.seed,
        record: args.record.as_deref().map(relay::recording).transpose()?,
    };
    network::run_on(network::runtime_with_small_budgets()?, async {
        let arena = tokio::select! {
            arena = Arena::start(config) => arena.map_err(not_started)?,
            // No player has joined yet, so nobody needs to be told.
            () = network::until_stopped() => return Ok(()),
        };
        let port = arena.page_addresses().first().map_or(args.port, std::net::SocketAddr::port);
        let page = format!("http://localhost:{port}");
        eprintln!("the arena is open:  {page}      (Ctrl-C stops it)");
        if args.open && !open(&page) {
            eprintln!("cannot open a browser: open {page} yourself");
        }
        network::until_stopped().await;
        eprintln!("stopping: telling the players");
        let recorded = arena.server().recording();
        arena.stop().await;
        match recorded.and_then(|recording| recording.error()) {
            Some(error) => Err(Failure::failed(error)),
            None => Ok(()),
        }
    })
}

fn not_started(error: ArenaError) -> Failure {
    match error {
        ArenaError::Relay(StartError::Thread(_) | StartError::Recording(_)) | ArenaError::Thread(_) => {
            Failure::failed(error)
        }
        ArenaError::Relay(StartError::Bind(_) | StartError::Http(_)) => {
            Failure::mistake(format!("{error} (with --port)"))
        }
        other => Failure::mistake(other),
    }
}

/// Opens a page in the system's browser; returns whether the opener started.
pub(crate) fn open(page: &str) -> bool {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    Command::new(opener).arg(page).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}

//! `evenkeel arena`: play it, see it, switch it fair.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use evenkeel_arena::{Arena, ArenaConfig, ArenaError, Choice, DELAY_MAX};
use evenkeel_core::Span;
use evenkeel_serve::{PORT, StartError};

use crate::failure::Failure;
use crate::{network, relay};

const EXAMPLES: &str = "\
Examples:
  evenkeel arena                              four bots, 200, 80, 20 and 5 ms away; then open http://localhost:7878
  evenkeel arena --open                       and opens the page
  evenkeel arena --bots 8 --delays 300,10     the first bot 300 ms away, all others 10 ms
  evenkeel arena --policy base                begins without us; the page switches it
  evenkeel arena --record session.evkt        keep every call to the relay, for `evenkeel replay`

While it runs:
  curl http://127.0.0.1:7878/api/rooms/arena
Ctrl-C (or SIGTERM) tells the players and ends it.";

/// Arguments of `evenkeel arena`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// How many bots play.
    #[arg(long, value_name = "N", default_value_t = 4, allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(0..=64))]
    bots: u16,

    /// Who decides at first: `base` (without us; also `base-1/3`), `papers` (the papers' best; also `deterministic-budget`)
    /// or `even`.
    #[arg(long, value_name = "base|papers|even", default_value = "even", value_parser = choice)]
    policy: Choice,

    /// How far away the bots are, in ms, one way and each way; in order, the last one is for all further ones.
    #[arg(long, value_name = "MS,MS,..", default_value = "200,80,20,5", value_delimiter = ',', allow_negative_numbers = true, value_parser = delay)]
    delays: Vec<Span>,

    /// The port of page, API and WebTransport, on 127.0.0.1 and ::1.
    #[arg(long, value_name = "P", default_value_t = PORT)]
    port: u16,

    /// Open the page in a browser.
    #[arg(long)]
    open: bool,

    /// Write every call to the relay and its time here.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// What the bots depend on.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn choice(text: &str) -> Result<Choice, String> {
    match text {
        "base" | "base-1/3" => Ok(Choice::Base),
        "papers" | "deterministic-budget" => Ok(Choice::Papers),
        "even" => Ok(Choice::Even),
        _ => Err("it is one of base, papers, even".to_owned()),
    }
}

fn delay(text: &str) -> Result<Span, String> {
    let millis: f64 = text.trim().parse().map_err(|_| "it is a number of milliseconds".to_owned())?;
    let most = DELAY_MAX.as_millis_f64();
    if (0.0..=most).contains(&millis) {
        Ok(Span::from_millis_f64(millis))
    } else {
        Err(format!("it is between 0 and {most} ms"))
    }
}

/// Runs until it is told to stop.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let config = ArenaConfig {
        bots: usize::from(args.bots),
        delays: args.delays,
        choice: args.policy,
        port: args.port,
        seed: args.seed,
        record: args.record.as_deref().map(relay::recording).transpose()?,
    };
    network::runtime()?.block_on(async {
        let arena = tokio::select! {
            arena = Arena::start(config) => arena.map_err(not_started)?,
            // Nobody has come yet.
            () = network::until_stopped() => return Ok(()),
        };
        let port = arena.pages().first().map_or(args.port, std::net::SocketAddr::port);
        let page = format!("http://localhost:{port}");
        eprintln!("the arena is open:  {page}      (Ctrl-C ends it)");
        if args.open && !open(&page) {
            eprintln!("no browser could be opened: open {page} yourself");
        }
        network::until_stopped().await;
        eprintln!("stopping: telling the players");
        let recorded = arena.server().crank().recording();
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

/// Opens a page with whatever opens pages here.
fn open(page: &str) -> bool {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    Command::new(opener).arg(page).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}

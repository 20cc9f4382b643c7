//! `evenkeel lab soak`: a relay under load, or under attack, for as long as one likes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Subcommand;
use evenkeel_dr::policy::PolicyKind;
use evenkeel_serve::POLICY;
use evenkeel_soak::load::Load;
use evenkeel_soak::{Bench, SoakError, Verdict, hostile, load, saturate};
use serde_json::json;

use super::tables;
use crate::failure::Failure;
use crate::{network, output};

const EXAMPLES: &str = "\
Examples:
  evenkeel lab soak relay                        20 minutes of 200 bots in a room, 20 of 512 in 32 rooms
  evenkeel lab soak relay --minutes 1            the same, for a quick look
  evenkeel lab soak relay --saturate             how many bots in a room are too many
  evenkeel lab soak hostile                      ten million datagrams and messages of attackers in ten minutes

The relay is a process of its own on this machine; the bots share its cores. Ctrl-C ends a soak with what was
measured so far.

Exit status: 0 if everything held, 1 if something did not, 2 for a mistake in the arguments, 130 if it was stopped
early and everything had held.";

/// Arguments of `evenkeel lab soak`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Load: 200 bots in one room, then 512 in 32 rooms; every minute about a tenth of them crashes and comes back.
    Relay(RelayArgs),
    /// Attack: strangers and members send nonsense, lies and floods, beside two honest players.
    Hostile(HostileArgs),
}

const RELAY_EXAMPLES: &str = "\
Examples:
  evenkeel lab soak relay --minutes 20
  evenkeel lab soak relay --minutes 0 --rooms-minutes 5      the second load alone
  evenkeel lab soak relay --minutes 0 --saturate             how many bots in a room are too many
  evenkeel lab soak relay --minutes 2 --json | jq '.verdicts[].checks[] | select(.passed | not)'

What is judged: the relay's memory is flat, no queue reaches its limit, no reliable message is lost, everybody sees
everybody, whoever crashed is back within 3 s, at most 0.1 % of the datagrams to living bots are lost, and 99 % of the
relay's deadlines are served within 2 ms.";

/// Arguments of `evenkeel lab soak relay`.
#[derive(clap::Args)]
#[command(after_help = RELAY_EXAMPLES)]
struct RelayArgs {
    /// How long each load lasts; 0 leaves it out.
    #[arg(long, value_name = "M", default_value_t = 20.0, value_parser = minutes)]
    minutes: f64,

    /// How long the second load lasts, if not as long as the first.
    #[arg(long, value_name = "M", value_parser = minutes)]
    rooms_minutes: Option<f64>,

    /// Bots in the one room of the first load.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(2..=1000))]
    bots: u16,

    /// Rooms of 16 bots in the second load.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=256))]
    rooms: u16,

    /// The policy of the rooms.
    #[arg(long, value_name = "P", default_value = POLICY)]
    policy: PolicyKind,

    /// Afterwards, fill a room until the relay's deadlines are late or it needs a whole core.
    #[arg(long)]
    saturate: bool,

    /// How long each size of room lasts for --saturate.
    #[arg(long, value_name = "S", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=3600))]
    saturate_seconds: u64,

    /// Print one JSON document and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

const HOSTILE_EXAMPLES: &str = "\
Examples:
  evenkeel lab soak hostile
  evenkeel lab soak hostile --millions 0.5 --seconds 30 --control-seconds 15
  evenkeel lab soak hostile --json | jq '.attacks'

What is judged: the relay lives and nothing in it panicked, its memory is flat, the honest players stay connected, their
error is what it was without the attack, and nothing is shown under a name that is not its owner's; every kind of
attack was made and reached the room; nobody came in with a bad token; and whoever floods, never reads, or does nothing
after the handshake is closed. What a short soak gives no time for is said, and does not fail it: whoever never reads is
closed within 300 s, and all else comes within 20 s.";

/// Arguments of `evenkeel lab soak hostile`.
#[derive(clap::Args)]
#[command(after_help = HOSTILE_EXAMPLES)]
struct HostileArgs {
    /// How many datagrams and messages the attackers send, in millions.
    #[arg(long, value_name = "N", default_value_t = 10.0, value_parser = minutes)]
    millions: f64,

    /// In how much time. The attackers run on the relay's cores: too little time is an attack on the machine.
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(10..=1_000_000))]
    seconds: u64,

    /// The policy of the room.
    #[arg(long, value_name = "P", default_value = POLICY)]
    policy: PolicyKind,

    /// How long the honest players play before, in harmless company, for comparison.
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(10..=100_000))]
    control_seconds: u64,

    /// Print one JSON document and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|error| format!("{error}"))?;
    let fits = (0.0..=10_000.0).contains(&minutes);
    if fits { Ok(minutes) } else { Err("between 0 and 10000".to_owned()) }
}

/// Does what was asked.
pub(super) fn run(args: Args) -> Result<(), Failure> {
    let runtime = network::runtime()?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("this program does not find itself: {error}")))?;
    let stop = Arc::new(AtomicBool::new(false));
    let tell = Arc::new(|words: &str| eprintln!("{words}"));
    let bench = Bench { program, tell, stop: stop.clone() };
    let stopped_twice = async {
        network::until_stopped().await;
        eprintln!("stopping: what was measured so far is judged; once more to stop at once");
        stop.store(true, Ordering::Relaxed);
        network::until_stopped().await;
    };
    let soak = async {
        match args.command {
            Command::Relay(args) => relay(&bench, &args).await,
            Command::Hostile(args) => attack(&bench, &args).await,
        }
    };
    // Whichever is not waited for is dropped, and the relay's process with it.
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = soak => ended,
            () = stopped_twice => Err(Failure::Interrupted("stopped at once: nothing was judged".to_owned())),
        }
    });
    runtime.shutdown_background();
    ended
}

async fn relay(bench: &Bench, args: &RelayArgs) -> Result<(), Failure> {
    let loads = [
        (Load::new(1, usize::from(args.bots), args.policy), args.minutes),
        (Load::new(usize::from(args.rooms), 16, args.policy), args.rooms_minutes.unwrap_or(args.minutes)),
    ];
    let mut verdicts = Vec::new();
    for (load, minutes) in loads {
        if minutes > 0.0 && !bench.stop.load(Ordering::Relaxed) {
            let duration = Duration::from_secs_f64(minutes * 60.0);
            verdicts.push(load::run(bench, load, duration).await.map_err(failed)?);
        }
    }
    let mut steps = Vec::new();
    if args.saturate {
        let each = Duration::from_secs(args.saturate_seconds);
        steps = saturate::run(bench, each, args.policy).await.map_err(failed)?;
    }
    if args.json {
        output::print_json(&json!({ "verdicts": verdicts, "saturation": steps }))?;
    } else {
        output::print(&format!("{}{}", tables::verdicts(&verdicts), tables::saturation(&steps)))?;
    }
    conclude(bench, &verdicts)
}

async fn attack(bench: &Bench, args: &HostileArgs) -> Result<(), Failure> {
    let plan = hostile::Plan {
        policy: args.policy,
        messages: (args.millions * 1e6) as u64,
        duration: Duration::from_secs(args.seconds),
        control: Duration::from_secs(args.control_seconds),
    };
    let outcome = hostile::run(bench, plan).await.map_err(failed)?;
    let verdicts = [outcome.verdict];
    if args.json {
        output::print_json(&json!({ "verdicts": verdicts, "attacks": outcome.attacks }))?;
    } else {
        output::print(&format!("{}{}", tables::verdicts(&verdicts), tables::attacks(&outcome.attacks)))?;
    }
    conclude(bench, &verdicts)
}

fn failed(error: SoakError) -> Failure {
    Failure::failed(error)
}

fn conclude(bench: &Bench, verdicts: &[Verdict]) -> Result<(), Failure> {
    let not_held = verdicts.iter().flat_map(|verdict| &verdict.checks).filter(|check| !check.passed);
    let not_held: Vec<_> = not_held.map(|check| check.what.as_str()).collect();
    if !not_held.is_empty() {
        return Err(Failure::Changed(format!("did not hold: {}", not_held.join("; "))));
    }
    if bench.stop.load(Ordering::Relaxed) {
        let is_measured = verdicts.iter().any(|verdict| !verdict.checks.is_empty());
        let so_far = if is_measured { "what was measured so far held" } else { "nothing was measured yet" };
        return Err(Failure::Interrupted(format!("stopped early: {so_far}")));
    }
    Ok(())
}

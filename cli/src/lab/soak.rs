//! `evenkeel lab soak`: a relay under load or under attack, or a game behind proxies, for as long as one likes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Subcommand;
use evenkeel_dr::Budget;
use evenkeel_dr::policy::PolicyKind;
use evenkeel_serve::POLICY;
use evenkeel_soak::capacity::CapacityPlan;
use evenkeel_soak::load::Load;
use evenkeel_soak::sync_ms::ProxyLoad;
use evenkeel_soak::{Harness, SoakError, Verdict, capacity, hostile, load, saturate, sync_ms};
use serde_json::json;

use super::tables;
use crate::failure::Failure;
use crate::{network, output};

const EXAMPLES: &str = "\
Examples:
  evenkeel lab soak relay                        20 minutes of 200 bots in a room, 20 of 512 in 32 rooms
  evenkeel lab soak relay --minutes 1            the same, in short
  evenkeel lab soak relay --saturate             how many bots in a room are too many
  evenkeel lab soak capacity                     rooms by policy, budget and threads: processor time, lateness, error
  evenkeel lab soak hostile                      ten million datagrams and messages of attackers in ten minutes
  evenkeel lab soak sync-ms                      32 players behind the proxies of Sync-MS, for five minutes

The relay is a process of its own on this machine; the bots share its cores. Ctrl-C ends a soak early and judges what
was measured so far.

Exit status: 0 if every check passed, 1 if one failed, 2 for a mistake in the arguments, 130 if the soak was stopped
early and every check had passed.";

/// Arguments of `evenkeel lab soak`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SoakArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Load: 200 bots in one room, then 512 in 32 rooms; every minute about a tenth of them crash and come back.
    Relay(RelayArgs),
    /// Capacity: rooms of bots by policy, budget and threads, against processor time, lateness and error.
    Capacity(CapacityArgs),
    /// Attack: strangers and members send noise, lies and floods, beside two honest players.
    Hostile(HostileArgs),
    /// Proxies: a game's traffic through a pair of `evenkeel sync-ms`, with players at different distances.
    SyncMs(SyncMsSoakArgs),
}

const RELAY_EXAMPLES: &str = "\
Examples:
  evenkeel lab soak relay --minutes 20
  evenkeel lab soak relay --minutes 0 --rooms-minutes 5      the second load alone
  evenkeel lab soak relay --minutes 0 --saturate             how many bots in a room are too many
  evenkeel lab soak relay --minutes 2 --json | jq '.verdicts[].checks[] | select(.passed | not)'

Checks: the relay's memory is flat, no queue reaches its limit, no reliable message is lost, all bots of a room see each
other, a bot that crashed is back within 3 s, at most 0.1 % of the datagrams to connected bots are lost, and 99 % of the
relay's deadlines are served within 2 ms.";

/// Arguments of `evenkeel lab soak relay`.
#[derive(clap::Args)]
#[command(after_help = RELAY_EXAMPLES)]
struct RelayArgs {
    /// How long each load lasts; 0 skips it.
    #[arg(long, value_name = "M", default_value_t = 20.0, value_parser = amount)]
    minutes: f64,

    /// How long the second load lasts; as long as the first by default.
    #[arg(long, value_name = "M", value_parser = amount)]
    rooms_minutes: Option<f64>,

    /// Bots in the first load's room.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(2..=1000))]
    bots: u16,

    /// Rooms in the second load, of 16 bots each.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=256))]
    rooms: u16,

    /// The policy of the rooms.
    #[arg(long, value_name = "P", default_value = POLICY)]
    policy: PolicyKind,

    /// Afterwards, fill a room until the relay misses deadlines or needs a whole core.
    #[arg(long)]
    saturate: bool,

    /// How long --saturate measures each size of room.
    #[arg(long, value_name = "S", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=3600))]
    saturate_seconds: u64,

    /// Print one JSON document and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

const CAPACITY_EXAMPLES: &str = "\
Examples:
  evenkeel lab soak capacity
  evenkeel lab soak capacity --rooms 1,2,4 --bots 50 --threads 1,2 --policies even base-matched --budgets '64 kbit/s'
  taskset -c 0 evenkeel lab soak capacity --threads 1       everything on one core, the bots included

Every combination is measured. The bots share the relay's cores.";

/// Arguments of `evenkeel lab soak capacity`.
#[derive(clap::Args)]
#[command(after_help = CAPACITY_EXAMPLES)]
struct CapacityArgs {
    /// Numbers of rooms.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [1, 2, 4],
          value_parser = clap::value_parser!(u16).range(1..=256))]
    rooms: Vec<u16>,

    /// Bots per room.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(2..=1000))]
    bots: u16,

    /// The rooms' policies.
    #[arg(long, value_name = "P", num_args = 1.., default_values_t = [default_policy()])]
    policies: Vec<PolicyKind>,

    /// The rooms' budgets.
    #[arg(long, value_name = "B,B", value_delimiter = ',', default_values_t = ["64 kbit/s".to_owned(), "256 kbit/s".to_owned()])]
    budgets: Vec<String>,

    /// Numbers of the relay's threads.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [1, 2],
          value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: Vec<u16>,

    /// How long each combination is measured, at least twenty seconds.
    #[arg(long, value_name = "S", default_value_t = 20, value_parser = clap::value_parser!(u64).range(20..=3600))]
    seconds: u64,

    /// Print one JSON document and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

fn default_policy() -> PolicyKind {
    POLICY.parse().expect("the rooms' default is a policy")
}

const HOSTILE_EXAMPLES: &str = "\
Examples:
  evenkeel lab soak hostile
  evenkeel lab soak hostile --millions 0.5 --seconds 30 --control-seconds 15
  evenkeel lab soak hostile --json | jq '.attacks'

Checks: the relay keeps running and nothing in it panics, its memory is flat, the honest players stay connected, their
error is what it was without the attack, and no entity is shown under a name that is not its owner's; every kind of
attack is made and reaches the room; no bad token is admitted; and connections that flood, never read, or stall after
the handshake are closed. A connection that never reads is closed within 300 s, and all else happens within 20 s; what a
shorter soak gives no time for does not fail it, and the result says so.";

/// Arguments of `evenkeel lab soak hostile`.
#[derive(clap::Args)]
#[command(after_help = HOSTILE_EXAMPLES)]
struct HostileArgs {
    /// The number of datagrams and messages that the attackers send, in millions.
    #[arg(long, value_name = "N", default_value_t = 10.0, value_parser = amount)]
    millions: f64,

    /// How long the attack lasts. The attackers share the relay's cores: too short an attack overloads the machine itself.
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(10..=1_000_000))]
    seconds: u64,

    /// The policy of the room.
    #[arg(long, value_name = "P", default_value = POLICY)]
    policy: PolicyKind,

    /// How long the honest players play in harmless company before, for comparison.
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(10..=100_000))]
    control_seconds: u64,

    /// Print one JSON document and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

const SYNC_MS_EXAMPLES: &str = "\
Examples:
  evenkeel lab soak sync-ms
  evenkeel lab soak sync-ms --minutes 1 --loss 0.5
  evenkeel lab soak sync-ms --minutes 1 --order none --off      what the game is without the service

Checks, by the clock of game and players: 99 % of updates are shown to all players within 2 ms, at most 0.5 % of actions
are served behind later ones, nothing is lost but on the emulated links, and no queue reaches its limit.";

/// Arguments of `evenkeel lab soak sync-ms`.
#[derive(clap::Args)]
#[command(after_help = SYNC_MS_EXAMPLES)]
struct SyncMsSoakArgs {
    /// How long the traffic is measured.
    #[arg(long, value_name = "M", default_value_t = 5.0, value_parser = amount)]
    minutes: f64,

    /// Players, 5 to 120 ms away.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(2..=32))]
    players: u16,

    /// The percentage of datagrams that the emulated links lose.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = amount)]
    loss: f64,

    /// The order of actions.
    #[arg(long, value_name = "ORDER", default_value = "reaction")]
    order: String,

    /// Do not hold updates.
    #[arg(long)]
    off: bool,

    /// Print one JSON document and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

fn amount(text: &str) -> Result<f64, String> {
    let amount: f64 = text.parse().map_err(|error| format!("{error}"))?;
    let fits = (0.0..=10_000.0).contains(&amount);
    if fits { Ok(amount) } else { Err("must lie between 0 and 10000".to_owned()) }
}

/// Runs a soak, and prints and judges its result.
pub(super) fn run(args: SoakArgs) -> Result<(), Failure> {
    let runtime = network::runtime()?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("cannot find this program's file: {error}")))?;
    let stop = Arc::new(AtomicBool::new(false));
    let progress = Arc::new(|line: &str| eprintln!("{line}"));
    let harness = Harness { program, progress, stop: stop.clone() };
    let stopped_twice = async {
        network::until_stopped().await;
        eprintln!("stopping, and judging what was measured so far; press Ctrl-C again to stop at once");
        stop.store(true, Ordering::Relaxed);
        network::until_stopped().await;
    };
    let soak = async {
        match args.command {
            Command::Relay(args) => relay(&harness, &args).await,
            Command::Capacity(args) => capacity(&harness, args).await,
            Command::Hostile(args) => attack(&harness, &args).await,
            Command::SyncMs(args) => proxies(&harness, args).await,
        }
    };
    // The branch that loses is dropped, and the relay's process with it.
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = soak => ended,
            () = stopped_twice => Err(Failure::Interrupted("stopped at once: nothing was judged".to_owned())),
        }
    });
    runtime.shutdown_background();
    ended
}

async fn relay(harness: &Harness, args: &RelayArgs) -> Result<(), Failure> {
    let loads = [
        (Load::new(1, usize::from(args.bots), args.policy), args.minutes),
        (Load::new(usize::from(args.rooms), 16, args.policy), args.rooms_minutes.unwrap_or(args.minutes)),
    ];
    let mut verdicts = Vec::new();
    for (load, minutes) in loads {
        if minutes > 0.0 && !harness.stop.load(Ordering::Relaxed) {
            let duration = Duration::from_secs_f64(minutes * 60.0);
            verdicts.push(load::run(harness, load, duration).await.map_err(failed)?);
        }
    }
    let mut steps = Vec::new();
    if args.saturate {
        let each = Duration::from_secs(args.saturate_seconds);
        steps = saturate::run(harness, each, args.policy).await.map_err(failed)?;
    }
    if args.json {
        output::print_json(&json!({ "verdicts": verdicts, "saturation": steps }))?;
    } else {
        output::print(&format!("{}{}", tables::verdicts(&verdicts), tables::saturation(&steps)))?;
    }
    conclude(harness, &verdicts)
}

async fn capacity(harness: &Harness, args: CapacityArgs) -> Result<(), Failure> {
    let budgets = args.budgets.iter().map(|text| text.trim().parse::<Budget>()).collect::<Result<_, _>>();
    let all = |numbers: Vec<u16>| numbers.into_iter().map(usize::from).collect();
    let plan = CapacityPlan {
        rooms: all(args.rooms),
        bots: usize::from(args.bots),
        policies: args.policies,
        budgets: budgets.map_err(|error| Failure::mistake(format!("--budgets: {error}")))?,
        threads: all(args.threads),
        each: Duration::from_secs(args.seconds),
    };
    let rows = capacity::run(harness, &plan).await.map_err(failed)?;
    if args.json {
        output::print_json(&json!({ "rows": rows }))?;
    } else {
        output::print(&tables::capacity(&rows))?;
    }
    conclude(harness, &[])
}

async fn attack(harness: &Harness, args: &HostileArgs) -> Result<(), Failure> {
    let plan = hostile::AttackPlan {
        policy: args.policy,
        messages: (args.millions * 1e6) as u64,
        duration: Duration::from_secs(args.seconds),
        control: Duration::from_secs(args.control_seconds),
    };
    let outcome = hostile::run(harness, plan).await.map_err(failed)?;
    let verdicts = [outcome.verdict];
    if args.json {
        output::print_json(&json!({ "verdicts": verdicts, "attacks": outcome.attacks }))?;
    } else {
        output::print(&format!("{}{}", tables::verdicts(&verdicts), tables::attacks(&outcome.attacks)))?;
    }
    conclude(harness, &verdicts)
}

async fn proxies(harness: &Harness, args: SyncMsSoakArgs) -> Result<(), Failure> {
    let load = ProxyLoad {
        players: usize::from(args.players),
        loss_percent: args.loss,
        order: args.order,
        out: !args.off,
        ..ProxyLoad::default()
    };
    let duration = Duration::from_secs_f64(args.minutes * 60.0);
    let verdicts = [sync_ms::run(harness, &load, duration).await.map_err(failed)?];
    if args.json {
        output::print_json(&json!({ "verdicts": verdicts }))?;
    } else {
        output::print(&tables::verdicts(&verdicts))?;
    }
    conclude(harness, &verdicts)
}

fn failed(error: SoakError) -> Failure {
    Failure::failed(error)
}

fn conclude(harness: &Harness, verdicts: &[Verdict]) -> Result<(), Failure> {
    let failed_checks = verdicts.iter().flat_map(|verdict| &verdict.checks).filter(|check| !check.passed);
    let failed_checks: Vec<_> = failed_checks.map(|check| check.what.as_str()).collect();
    if !failed_checks.is_empty() {
        return Err(Failure::Changed(format!("failed: {}", failed_checks.join("; "))));
    }
    if harness.stop.load(Ordering::Relaxed) {
        let is_measured = verdicts.iter().any(|verdict| !verdict.checks.is_empty());
        let so_far = if is_measured { "every check passed so far" } else { "nothing was measured yet" };
        return Err(Failure::Interrupted(format!("stopped early: {so_far}")));
    }
    Ok(())
}

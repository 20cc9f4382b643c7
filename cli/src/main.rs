//! The `evenkeel` binary: arguments, progress and tables. Everything else is in the libraries.

mod arena;
mod bot;
mod failure;
mod lab;
mod network;
mod output;
mod progress;
mod relay;
mod replay;
mod token;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Failure;

/// A relay runs for weeks, and what it keeps of its players comes and goes in all sizes. The usual allocator of Linux leaves ever more unused
/// memory in between: a quarter of a megabyte a minute where fifty players break off and come back.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const EXAMPLES: &str = "\
Examples:
  evenkeel arena                                        play, on this machine: open http://localhost:7878
  evenkeel relay                                        run a relay on this machine
  evenkeel token --room arena --name ada                let a player in
  evenkeel lab scenario scenarios/papers.toml           compare fairness policies
  evenkeel lab scenario scenarios/papers.toml --json    the same, for a program
  evenkeel lab run                                      re-run the papers' figures and write a report

Exit status:
  0    done
  1    it did not work out: a verdict differs from the recorded one, a relay is gone, a replay is not the same
  2    a mistake in the arguments or in a file; the message says where, and what would be right
  130  stopped by Ctrl-C before it was done (what runs until it is stopped, as arena, relay and bot, ends with 0)";

/// Accurate and fair real-time games over the network.
#[derive(Parser)]
#[command(name = "evenkeel", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Play: a relay, bots at different distances, and a page that makes it fair with a switch.
    Arena(arena::Args),
    /// Run a relay: rooms of players, kept accurate and fair.
    Relay(relay::Args),
    /// Issue a token that lets a player into a room.
    Token(token::Args),
    /// Send bots into a room.
    Bot(bot::Args),
    /// Feed a recording to fresh machines and compare every byte.
    Replay(replay::Args),
    /// Measure: the papers' figures and claims, and scenarios of your own.
    Lab(lab::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Arena(args) => arena::run(args),
        Command::Relay(args) => relay::run(args),
        Command::Token(args) => token::run(&args),
        Command::Bot(args) => bot::run(args),
        Command::Replay(args) => replay::run(&args),
        Command::Lab(args) => lab::run(args),
    };
    result.map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}

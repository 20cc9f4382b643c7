//! The `evenkeel` binary: arguments, progress and tables. The libraries do the rest.

mod arena;
mod bot;
mod directory;
#[cfg(feature = "p2p")]
mod eater;
#[cfg(not(feature = "p2p"))]
#[path = "no_eater.rs"]
mod eater;
mod failure;
mod lab;
mod link;
mod network;
mod output;
mod progress;
mod relay;
mod replay;
mod sync_ms;
mod token;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Failure;

/// A relay runs for weeks, allocating and freeing all sizes as players come and go. glibc's allocator fragments under that
/// load, by about 0.25 MB a minute with fifty players that reconnect; jemalloc does not.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const EXAMPLES: &str = "\
Examples:
  evenkeel arena                                        play on this machine: open http://localhost:7878
  evenkeel relay                                        run a relay on this machine
  evenkeel sync-ms server --game 127.0.0.1:27960        put Sync-MS in front of an existing game
  evenkeel link --listen 127.0.0.1:5000 --to 127.0.0.1:27960 --delay 40 --loss 1    a bad network in front of any game
  evenkeel directory                                    a list of rooms that hands out tokens: http://localhost:7900
  evenkeel eater demo                                   play without a server, against a cheater
  evenkeel token --room arena --name ada                issue a token for a player
  evenkeel lab scenario scenarios/papers.toml           compare fairness policies
  evenkeel lab scenario scenarios/papers.toml --json    the same as JSON
  evenkeel lab run                                      re-run the papers' figures and write a report

Exit status:
  0    success; also Ctrl-C for commands that run until stopped (arena, relay, bot, sync-ms, link, directory, eater)
  1    failure: a verdict differs from the recorded one, a relay is unreachable, a replay diverges
  2    a mistake in the arguments or in a file; the message says where, and what would be right
  130  stopped by Ctrl-C before the work was done, or by a second Ctrl-C or SIGTERM at once";

/// Accurate and fair real-time games over the network.
#[derive(Parser)]
#[command(name = "evenkeel", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Subcommand)]
enum CliCommand {
    /// Play in the browser: a relay, bots at different distances, and a switch between policies
    Arena(arena::ArenaArgs),
    /// Run a relay, which keeps rooms of players accurate and fair
    Relay(relay::RelayServerArgs),
    /// Run a directory where players find rooms, or ask one
    Directory(directory::DirectoryArgs),
    /// Issue a token that lets a player into a room
    Token(token::TokenArgs),
    /// Send bots into a room
    Bot(bot::BotArgs),
    /// Make an existing UDP game fairer: a proxy beside its server, and one beside each player
    SyncMs(sync_ms::SyncMsArgs),
    /// Put a bad network in front of any UDP program: delay, jitter, loss and more, per client
    Link(link::LinkArgs),
    /// Play the Eater game among peers without a server, which proves cheaters
    Eater(eater::EaterArgs),
    /// Replay a recording and compare every byte
    Replay(replay::ReplayArgs),
    /// Run the papers' figures and claims, and scenarios of your own
    Lab(lab::LabArgs),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        CliCommand::Arena(args) => arena::run(args),
        CliCommand::Relay(args) => relay::run(args),
        CliCommand::Directory(args) => directory::run(args),
        CliCommand::Token(args) => token::run(&args),
        CliCommand::Bot(args) => bot::run(args),
        CliCommand::SyncMs(args) => sync_ms::run(args),
        CliCommand::Link(args) => link::run(args),
        CliCommand::Eater(args) => eater::run(args),
        CliCommand::Replay(args) => replay::run(&args),
        CliCommand::Lab(args) => lab::run(args),
    };
    result.map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}

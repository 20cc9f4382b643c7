//! The `evenkeel` binary: arguments, progress and tables. Everything else is in the libraries.

mod failure;
mod lab;
mod output;
mod progress;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Failure;

const EXAMPLES: &str = "\
Examples:
  evenkeel lab scenario scenarios/papers.toml           compare fairness policies
  evenkeel lab scenario scenarios/papers.toml --json    the same, for a program
  evenkeel lab run                                      re-run the papers' figures and write a report

Exit status:
  0    done
  1    a claim's verdict differs from the recorded one
  2    a mistake in the arguments or in a file; the message says where, and what would be right
  130  stopped by Ctrl-C";

/// Accurate and fair real-time games over the network.
#[derive(Parser)]
#[command(name = "evenkeel", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure: the papers' figures and claims, and scenarios of your own.
    Lab(lab::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Lab(args) => lab::run(args),
    };
    result.map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}

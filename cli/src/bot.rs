//! `evenkeel bot`: players that drive themselves.

use std::path::PathBuf;
use std::time::Duration;

use evenkeel_core::Seed;
use evenkeel_lab::fleet::{Fleet, FleetConfig, RECORDED};
use evenkeel_net::certificate::CertificateHash;
use evenkeel_net::transport::Trust;
use evenkeel_net::{Recording, Status, Target};

use crate::failure::Failure;
use crate::{network, relay};

const EXAMPLES: &str = "\
Examples:
  evenkeel bot --connect https://127.0.0.1:7878 --token \"$(evenkeel token --room arena --name bot)\"
  evenkeel bot --connect https://127.0.0.1:7878 --count 8 --token \"$(evenkeel token --room arena --name bot --seats 8)\"

Exit status: 0 if it was stopped or its time is over, 1 if the relay is gone, 2 if the relay does not want it.";

/// Arguments of `evenkeel bot`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The relay.
    #[arg(long, value_name = "URL")]
    connect: String,

    /// What lets the bot in; with --count, one with as many seats.
    #[arg(long)]
    token: String,

    /// How many bots.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    count: u16,

    /// The SHA-256 of the relay's certificate, if it is its own. A relay on this machine is asked for it.
    #[arg(long, value_name = "HASH")]
    pin: Option<String>,

    /// What the bots' ways depend on.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Stop after so long.
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,

    /// Write every call and its time here.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// Plays until it is told to stop, or the relay does not want it any more.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let trust = match &args.pin {
        Some(pin) => {
            let wrong = |error| Failure::mistake(format!("--pin {pin}: {error}"));
            Trust::Pinned(vec![CertificateHash::parse(pin).map_err(wrong)?])
        }
        None => Trust::Local,
    };
    let seconds = args.seconds.map(Duration::try_from_secs_f64).transpose();
    let seconds = seconds.map_err(|error| Failure::mistake(format!("--seconds: {error}")))?;
    let target = Target { url: args.connect, token: args.token, seat: None, trust };
    let recording = match &args.record {
        Some(path) => Some(Recording::start(relay::recording(path)?, RECORDED, 0).map_err(Failure::failed)?),
        None => None,
    };
    let config =
        FleetConfig { seed: Seed::new(args.seed), ..FleetConfig::new(target, usize::from(args.count)) };
    network::runtime()?.block_on(async {
        let fleet = Fleet::start(config, recording, |_, _, _| {}).await;
        let fleet = fleet.map_err(|error| network::not_connected(&error))?;
        eprintln!("{} playing; Ctrl-C ends it", if args.count == 1 { "a bot is" } else { "the bots are" });
        let time = async {
            match seconds {
                Some(seconds) => tokio::time::sleep(seconds).await,
                None => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            () = network::until_stopped() => Ok(()),
            () = time => Ok(()),
            words = unwanted(&fleet) => Err(Failure::mistake(words)),
        };
        fleet.stop().await;
        ended
    })
}

/// Comes back when no bot is wanted any more, and meanwhile tells what becomes of their connections.
async fn unwanted(fleet: &Fleet) -> String {
    let mut told = String::new();
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let statuses = fleet.statuses();
        let over = statuses.iter().flatten().filter_map(|status| match status {
            Status::Over(words) => Some(words),
            _ => None,
        });
        let words: Vec<_> = over.collect();
        if words.len() == statuses.len() {
            return words.first().map_or("no bot is left".to_owned(), |words| (*words).clone());
        }
        let trouble = statuses.iter().flatten().find_map(|status| match status {
            Status::Connecting(Some(words)) | Status::Over(words) => Some(words.clone()),
            _ => None,
        });
        if let Some(trouble) = trouble.filter(|trouble| *trouble != told) {
            eprintln!("{trouble}; trying again");
            told = trouble;
        }
    }
}

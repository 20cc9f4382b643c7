//! `evenkeel bot`: players that drive themselves.

use std::path::PathBuf;
use std::time::Duration;

use evenkeel_arena::fleet::{Fleet, FleetConfig, RECORDED};
use evenkeel_core::Seed;
use evenkeel_net::Recording;
use evenkeel_net::certificate::CertificateHash;
use evenkeel_net::transport::{CloseCode, ConnectError, Trust};
use evenkeel_serve::{Status, Target};

use crate::failure::Failure;
use crate::{network, relay};

const EXAMPLES: &str = "\
Examples:
  evenkeel bot --connect https://127.0.0.1:7878 --token \"$(evenkeel token --room arena --name bot)\"
  evenkeel bot --connect https://127.0.0.1:7878 --count 8 --token \"$(evenkeel token --room arena --name bot --seats 8)\"

A relay that goes away is looked for again, for as long as it takes.
Exit status: 0 if it was stopped or its time is over, 1 if no relay answers at first or every bot was sent away later,
2 if the relay does not let it in.";

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
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seconds: Option<f64>,

    /// Write every call and its time here.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// Plays until it is told to stop, or the relay has sent all bots away.
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
        let fleet = fleet.map_err(|error| not_let_in(&error, args.count))?;
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
            words = sent_away(&fleet) => Err(Failure::failed(words)),
        };
        fleet.stop().await;
        ended
    })
}

/// What became of the attempt to come in. Whatever is wrong with a token, the next one must have a seat for each bot.
fn not_let_in(error: &ConnectError, count: u16) -> Failure {
    match error {
        ConnectError::Refused(reason) if reason.code == CloseCode::TokenRefused && count > 1 => {
            let advice = format!("for {count} bots issue it with `evenkeel token --seats {count}`");
            Failure::mistake(format!("{error}; {advice}"))
        }
        _ => network::not_connected(error),
    }
}

/// Comes back when the last bot has been sent away for good, and meanwhile tells what becomes of their connections.
async fn sent_away(fleet: &Fleet) -> String {
    let mut told = None;
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let statuses = fleet.statuses();
        if let Some(words) = last_words(&statuses) {
            return words;
        }
        if let Some(words) = news(&mut told, trouble(&statuses)) {
            eprintln!("{words}");
        }
    }
}

/// What to say of the trouble that there is now, or of its end, after what was told before.
fn news(told: &mut Option<String>, trouble: Option<String>) -> Option<String> {
    if *told == trouble {
        return None;
    }
    told.clone_from(&trouble);
    Some(trouble.unwrap_or_else(|| "connected again".to_owned()))
}

/// Why it is over for the first of the bots, if it is over for all of them.
fn last_words(statuses: &[Option<Status>]) -> Option<String> {
    let over = statuses.iter().flatten().map_while(|status| match status {
        Status::Over(words) => Some(words),
        _ => None,
    });
    let words: Vec<_> = over.collect();
    (words.len() == statuses.len())
        .then(|| words.first().map_or("no bot is left".to_owned(), |w| (*w).clone()))
}

/// What to tell of bots that are not connected, while others are or may be again.
fn trouble(statuses: &[Option<Status>]) -> Option<String> {
    let trying = statuses.iter().flatten().find_map(|status| match status {
        Status::Connecting(Some(words)) => Some(format!("{words}; trying again")),
        _ => None,
    });
    let over = || {
        statuses.iter().flatten().find_map(|status| match status {
            Status::Over(words) => Some(format!("{words}; the other bots go on")),
            _ => None,
        })
    };
    trying.or_else(over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bots_that_try_again_are_said_to() {
        let over = || Some(Status::Over("replaced".to_owned()));
        let trying = || Some(Status::Connecting(Some("silent".to_owned())));
        let coming = || Some(Status::Connecting(None));
        assert_eq!(trouble(&[over(), coming()]).as_deref(), Some("replaced; the other bots go on"));
        assert_eq!(trouble(&[over(), trying()]).as_deref(), Some("silent; trying again"));
        assert_eq!(trouble(&[coming(), None]), None);
    }

    #[test]
    fn trouble_is_told_once_and_so_is_its_end_each_time() {
        let mut told = None;
        let mut said = |trouble: Option<&str>| news(&mut told, trouble.map(str::to_owned));
        for _ in 0..2 {
            assert_eq!(said(None), None);
            assert_eq!(said(Some("silent")).as_deref(), Some("silent"));
            assert_eq!(said(Some("silent")), None);
            assert_eq!(said(Some("gone")).as_deref(), Some("gone"));
            assert_eq!(said(None).as_deref(), Some("connected again"));
        }
    }

    #[test]
    fn it_is_over_once_it_is_for_every_bot() {
        let over = |words: &str| Some(Status::Over(words.to_owned()));
        assert_eq!(last_words(&[over("first"), over("second")]).as_deref(), Some("first"));
        assert_eq!(last_words(&[over("first"), Some(Status::Connecting(None))]), None);
        assert_eq!(last_words(&[Some(Status::Connecting(None)), over("second")]), None);
    }
}

//! `evenkeel bot`: players that drive by themselves.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_arena::fleet::{BOTS_RECORDING, Fleet, FleetConfig, FleetCounters, FleetObserver, FleetSummary};
use evenkeel_core::Seed;
use evenkeel_net::Recording;
use evenkeel_net::certificate::CertificateHash;
use evenkeel_net::transport::{CloseCode, ConnectError, Trust};
use evenkeel_serve::{Status, Target};

use serde_json::json;

use crate::failure::Failure;
use crate::{network, output, relay};

const EXAMPLES: &str = "\
Examples:
  evenkeel bot --connect https://127.0.0.1:7878 --token \"$(evenkeel token --room arena --name bot)\"
  evenkeel bot --connect https://127.0.0.1:7878 --count 8 --token \"$(evenkeel token --room arena --name bot --seats 8)\"

A bot that loses its relay reconnects, for as long as it takes.
At the end they print a summary: how long they played, their delay and error, vectors and bytes.
Exit status: 0 after Ctrl-C or --seconds, 1 if no relay answers at first or all bots were sent away later, 2 if the
relay refuses a bot.";

/// Arguments of `evenkeel bot`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BotArgs {
    /// The relay's URL.
    #[arg(long, value_name = "URL")]
    connect: String,

    /// The bots' token; with --count, one with as many seats.
    #[arg(long)]
    token: String,

    /// The number of bots.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    count: u16,

    /// The SHA-256 of the relay's certificate, if it is self-signed. A relay on this machine tells it by itself.
    #[arg(long, value_name = "HASH")]
    pin: Option<String>,

    /// The seed of the bots' motion.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Stop after this many seconds.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seconds: Option<f64>,

    /// Record every call, with its time, to this file.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Print the summary as one JSON document on standard output, and nothing else there.
    #[arg(long)]
    json: bool,
}

/// How often the bots are looked at for the summary.
const SAMPLE_PERIOD: Duration = Duration::from_millis(250);

/// Plays until Ctrl-C, SIGTERM or `--seconds`, or until the relay has sent all bots away.
pub(crate) fn run(args: BotArgs) -> Result<(), Failure> {
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
        Some(path) => {
            Some(Recording::start(relay::recording(path)?, BOTS_RECORDING, 0).map_err(Failure::failed)?)
        }
        None => None,
    };
    let config =
        FleetConfig { seed: Seed::new(args.seed), ..FleetConfig::new(target, usize::from(args.count)) };
    network::run(async {
        let counters = Arc::new(FleetCounters::default());
        let counting = counters.clone();
        let fleet = Fleet::start(config, recording, move |_, at, event| counting.note(at, &event)).await;
        let fleet = fleet.map_err(|error| not_admitted(&error, args.count))?;
        eprintln!("{} playing; Ctrl-C stops", if args.count == 1 { "a bot is" } else { "the bots are" });
        let timeout = async {
            match seconds {
                Some(seconds) => tokio::time::sleep(seconds).await,
                None => std::future::pending().await,
            }
        };
        let mut observer = FleetObserver::new(&fleet);
        let ended = tokio::select! {
            () = network::until_stopped() => Ok(()),
            () = timeout => Ok(()),
            reason = all_over(&fleet) => Err(Failure::failed(reason)),
            () = observe(&mut observer, &fleet) => Ok(()),
        };
        let summary = observer.summarize(&fleet, &counters).await;
        fleet.stop().await;
        if args.json {
            output::print_json(&json!(summary))?
        } else {
            output::print(&words(&summary))?
        }
        ended
    })
}

/// Looks at the bots again and again.
async fn observe(observer: &mut FleetObserver, fleet: &Fleet) {
    loop {
        tokio::time::sleep(SAMPLE_PERIOD).await;
        observer.sample(fleet).await;
    }
}

/// The summary in words.
fn words(summary: &FleetSummary) -> String {
    let FleetSummary {
        seconds, bots, seen, vectors_sent, vectors_received, bytes_sent, bytes_received, ..
    } = summary;
    let known = |value: Option<f64>, unit: &str| {
        value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.2} {unit}"))
    };
    let error = match (summary.error_mean, summary.error_worst) {
        (Some(mean), Some(worst)) => format!("{mean:.3} units on average, {worst:.3} for the worst off"),
        _ if *bots == 1 => "unknown: it takes a second bot to compare with (--count 2)".to_owned(),
        _ => "unknown: no bot has seen another".to_owned(),
    };
    format!(
        "played    {seconds:.1} s, {bots} {}\n\
         saw       {seen} entities of others at a time\n\
         delay     {} from making a vector to its arrival\n\
         error     {error}\n\
         clock     within {} of the session's\n\
         vectors   {vectors_sent} sent, {vectors_received} received\n\
         bytes     {bytes_sent} sent, {bytes_received} received\n",
        if *bots == 1 { "bot" } else { "bots" },
        known(summary.delay_ms, "ms"),
        known(summary.clock_error_max_ms, "ms"),
    )
}

/// The failure of a bot's first connection. If the token was refused, the next one needs a seat for each bot.
fn not_admitted(error: &ConnectError, count: u16) -> Failure {
    match error {
        ConnectError::Refused(reason) if reason.code == CloseCode::TokenRefused && count > 1 => {
            let advice = format!("for {count} bots issue it with `evenkeel token --seats {count}`");
            Failure::mistake(format!("{error}; {advice}"))
        }
        _ => network::not_connected(error),
    }
}

/// Prints changes of the bots' connections; returns the reason when the last bot was sent away for good.
async fn all_over(fleet: &Fleet) -> String {
    let mut printed = None;
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let statuses = fleet.statuses();
        if let Some(reason) = final_reason(&statuses) {
            return reason;
        }
        if let Some(line) = news(&mut printed, trouble(&statuses)) {
            eprintln!("{line}");
        }
    }
}

/// The line to print if the trouble has changed or ended since the last line.
fn news(printed: &mut Option<String>, trouble: Option<String>) -> Option<String> {
    if *printed == trouble {
        return None;
    }
    printed.clone_from(&trouble);
    Some(trouble.unwrap_or_else(|| "connected again".to_owned()))
}

/// The first bot's reason, if no bot will connect again.
fn final_reason(statuses: &[Status]) -> Option<String> {
    let reasons = statuses.iter().map(|status| match status {
        Status::Over(reason) => Some(reason.clone()),
        _ => None,
    });
    reasons.collect::<Option<Vec<_>>>()?.into_iter().next()
}

/// A line about bots that are not connected: first about those that reconnect, then about those that were sent away.
fn trouble(statuses: &[Status]) -> Option<String> {
    let reconnecting = statuses.iter().find_map(|status| match status {
        Status::Connecting(Some(reason)) => Some(format!("{reason}; trying again")),
        _ => None,
    });
    let over = || {
        statuses.iter().find_map(|status| match status {
            Status::Over(reason) => Some(format!("{reason}; the other bots go on")),
            _ => None,
        })
    };
    reconnecting.or_else(over)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(reason: &str) -> Status {
        Status::Over(reason.to_owned())
    }

    #[test]
    fn bots_that_reconnect_take_precedence_over_bots_that_are_gone() {
        let reconnecting = Status::Connecting(Some("silent".to_owned()));
        let connecting = Status::Connecting(None);
        let line = trouble(&[over("replaced"), connecting.clone()]);
        assert_eq!(line.as_deref(), Some("replaced; the other bots go on"));
        assert_eq!(trouble(&[over("replaced"), reconnecting]).as_deref(), Some("silent; trying again"));
        assert_eq!(trouble(&[connecting]), None);
    }

    #[test]
    fn trouble_and_its_end_are_printed_once_each() {
        let mut printed = None;
        let mut line = |trouble: Option<&str>| news(&mut printed, trouble.map(str::to_owned));
        for _ in 0..2 {
            assert_eq!(line(None), None);
            assert_eq!(line(Some("silent")).as_deref(), Some("silent"));
            assert_eq!(line(Some("silent")), None);
            assert_eq!(line(Some("gone")).as_deref(), Some("gone"));
            assert_eq!(line(None).as_deref(), Some("connected again"));
        }
    }

    #[test]
    fn the_reason_is_final_once_no_bot_is_left() {
        assert_eq!(final_reason(&[over("first"), over("second")]).as_deref(), Some("first"));
        assert_eq!(final_reason(&[over("first"), Status::Connecting(None)]), None);
        assert_eq!(final_reason(&[Status::Connecting(None), over("second")]), None);
    }
}

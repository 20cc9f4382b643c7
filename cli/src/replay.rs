//! `evenkeel replay`: feeds a recording to fresh machines and compares every byte that they transmit.

use std::path::PathBuf;

use evenkeel_core::clock::{FollowerClock, ServerClock};
use evenkeel_core::transcript::{ReplayError, Replayed, Transcript, replay};
use evenkeel_core::{Malformed, Reader};
use evenkeel_dr::{DrConfig, DrPeer, DrRelay};
use evenkeel_games::{Bot, BotConfig};
use evenkeel_lab::{arena, fleet};
use evenkeel_serve::{RELAY, RELAY_RECORDING, client, room_seed};
use serde_json::json;

use crate::failure::Failure;
use crate::output;

/// Arguments of `evenkeel replay`.
#[derive(clap::Args)]
#[command(after_help = "Exit status: 0 if every byte is the same, 1 if not, 2 if the file is no recording.")]
pub(crate) struct Args {
    /// What `--record` wrote.
    file: PathBuf,

    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// Replays it.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let named = |words: String| format!("{}: {words}", args.file.display());
    let bytes = std::fs::read(&args.file).map_err(|error| Failure::mistake(named(error.to_string())))?;
    let transcript = Transcript::open(&bytes)
        .map_err(|error| Failure::mistake(named(format!("this is no recording: {error}"))))?;
    let kind = String::from_utf8_lossy(transcript.config).into_owned();
    let done = feed(transcript).map_err(|error| match error {
        ReplayError::Damaged { .. } => Failure::mistake(named(error.to_string())),
        ReplayError::Diverged { .. } => Failure::failed(named(error.to_string())),
    })?;
    let Replayed { calls, transmits } = done;
    if args.json {
        return output::print_json(
            &json!({ "kind": kind, "calls": calls, "transmits": transmits, "same": true }),
        );
    }
    output::print(&format!("the same: {calls} calls, {transmits} messages, byte for byte ({kind})\n"))
}

fn feed(transcript: Transcript<'_>) -> Result<Replayed, ReplayError> {
    let read = |bytes: &[u8]| Reader::new(bytes).read::<DrConfig>();
    match transcript.config {
        RELAY_RECORDING => {
            replay(transcript, |_, config| Ok(DrRelay::with_clock(&read(config)?, ServerClock::default())))
        }
        arena::RECORDED => {
            let seed = transcript.seed;
            replay(transcript, |node, config| Ok(arena::room(&read(config)?, room_seed(seed, node))))
        }
        client::PLAYER_RECORDING => replay(transcript, |_, config| {
            Ok(DrPeer::<FollowerClock>::with_clock(&read(config)?, FollowerClock::new(RELAY)))
        }),
        fleet::RECORDED => replay(transcript, |_, config| {
            let config = Reader::new(config).read::<BotConfig>()?;
            Ok(Bot::<FollowerClock>::new(&config, FollowerClock::new(RELAY)))
        }),
        _ => Err(ReplayError::Damaged { calls: 0, reason: Malformed::Field }),
    }
}

//! `evenkeel replay`: replays a recording with fresh machines and compares every byte that they transmit.

use std::path::PathBuf;

use evenkeel_arena::fleet;
use evenkeel_core::clock::{FollowerClock, ServerClock};
use evenkeel_core::transcript::{ReplayError, Replayed, Transcript, TranscriptError, replay};
use evenkeel_core::{Malformed, Reader};
use evenkeel_dr::DrRelay;
use evenkeel_game::GameConfig;
use evenkeel_games::{Bot, BotConfig};
use evenkeel_net::files::read_regular;
use evenkeel_serve::{GAME_RECORDING, RELAY, RELAY_RECORDING, client, room_seed};
use serde_json::json;

use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  evenkeel relay --record session.evkt
  evenkeel replay session.evkt

Exit status:
  0    every byte is identical
  1    the replay diverges; the message says where
  2    the file is not a recording, or damaged or not complete; the message says how much of it is identical";

/// Arguments of `evenkeel replay`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReplayArgs {
    /// A file written by `--record`
    file: PathBuf,

    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let in_file = |words: String| format!("{}: {words}", args.file.display());
    let bytes = read_regular(&args.file, u64::MAX - 1)
        .map_err(|error| Failure::mistake(in_file(error.to_string())))?;
    let transcript =
        Transcript::open(&bytes).map_err(|error| Failure::mistake(in_file(error.to_string())))?;
    let kind = String::from_utf8_lossy(transcript.config).into_owned();
    if transcript.config == GAME_RECORDING {
        let words = "this relay ran a game of its own: replay it in the game's own program";
        return Err(Failure::mistake(in_file(words.to_owned())));
    }
    let done = feed(transcript).map_err(|error| match error {
        ReplayError::Damaged { .. } => Failure::mistake(in_file(error.to_string())),
        _ => Failure::failed(in_file(error.to_string())),
    })?;
    let Replayed { calls, transmits, is_complete } = done;
    if !is_complete {
        let words = format!(
            "not complete: it ends after {} bytes without its end mark, because who recorded it was killed, or the disk \
             was full; identical until then: {calls} calls",
            bytes.len()
        );
        return Err(Failure::mistake(in_file(words)));
    }
    if args.json {
        return output::print_json(
            &json!({ "kind": kind, "calls": calls, "transmits": transmits, "same": true }),
        );
    }
    output::print(&format!("identical: {calls} calls, {transmits} messages ({kind})\n"))
}

fn feed(transcript: Transcript<'_>) -> Result<Replayed, ReplayError> {
    let read = |bytes: &[u8]| Reader::new(bytes).read::<GameConfig>();
    match transcript.config {
        RELAY_RECORDING => {
            replay(transcript, |_, config| Ok(DrRelay::with_clock(&read(config)?.dr, ServerClock::default())))
        }
        evenkeel_arena::ARENA_RECORDING => {
            let seed = transcript.seed;
            replay(transcript, |node, config| {
                Ok(evenkeel_arena::make_room(&read(config)?, room_seed(seed, node)))
            })
        }
        client::PLAYER_RECORDING => {
            replay(transcript, |_, config| Ok(client::player_machine(&read(config)?)))
        }
        fleet::BOTS_RECORDING => replay(transcript, |_, config| {
            let config = Reader::new(config).read::<BotConfig>()?;
            Ok(Bot::<FollowerClock>::new(&config, FollowerClock::new(RELAY)))
        }),
        _ => {
            let reason = TranscriptError::Record { at: 0, reason: Malformed::Field };
            Err(ReplayError::Damaged { calls: 0, reason })
        }
    }
}

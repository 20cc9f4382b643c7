//! `evenkeel token`: issues tokens that let players into rooms.

use std::path::PathBuf;

use evenkeel_net::token::{Claims, IssuerKey, KeyFileError, Name, unix_seconds};

use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  evenkeel token --room arena --name ada                  for one player, for 12 hours
  evenkeel token --room arena --name bot --seats 8        for eight bots: bot-1 to bot-8
  evenkeel token --issuer --key lobby.key                 the public key, for a relay's `issuer`";

/// Arguments of `evenkeel token`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TokenArgs {
    /// The room that the token admits to
    #[arg(long, required_unless_present = "issuer")]
    room: Option<String>,

    /// The player's name
    #[arg(long, required_unless_present = "issuer")]
    name: Option<String>,

    /// The issuer's key; created if the file is missing
    #[arg(long, value_name = "FILE", default_value = "evenkeel.key")]
    key: PathBuf,

    /// Validity in hours
    #[arg(long, value_name = "H", default_value_t = 12.0, allow_negative_numbers = true)]
    hours: f64,

    /// Number of players that the token admits, as NAME-1, NAME-2, ...
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    seats: u16,

    /// Print the issuer's public key instead of a token
    #[arg(long, conflicts_with_all = ["room", "name"])]
    issuer: bool,
}

/// Prints the token.
pub(crate) fn run(args: &TokenArgs) -> Result<(), Failure> {
    let key = match IssuerKey::load(&args.key) {
        Err(KeyFileError::Missing { path }) => {
            let key = IssuerKey::generate();
            key.save(&path).map_err(Failure::mistake)?;
            eprintln!("created a new key: {}", path.display());
            key
        }
        key => key.map_err(Failure::mistake)?,
    };
    if args.issuer {
        return output::print(&format!("{}\n", key.id()));
    }
    if !(args.hours > 0.0 && args.hours <= 24.0 * 365.0) {
        return Err(Failure::mistake(format!(
            "--hours {}: expected more than 0 and at most a year",
            args.hours
        )));
    }
    let name = |flag: &str, text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default();
        Name::new(text).map_err(|error| Failure::mistake(format!("--{flag} {text}: {error}")))
    };
    let (room, name) = (name("room", &args.room)?, name("name", &args.name)?);
    let mut claims = Claims::issue(room, name, unix_seconds(), (args.hours * 3600.0).ceil() as u64);
    claims.seats = args.seats;
    if claims.player(Some(&claims.seats.to_string())).is_err() {
        let words = format!("--name {}: too long with the seat's suffix -{}", claims.name, claims.seats);
        return Err(Failure::mistake(words));
    }
    output::print(&format!("{}\n", key.sign(&claims)))
}

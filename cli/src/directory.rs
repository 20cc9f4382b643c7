//! `evenkeel directory`: players find rooms, relays register.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use comfy_table::{LineStyle, Table, TableStyle};
use evenkeel_directory::lan::{Reach, find_directory};
use evenkeel_directory::{
    Directory, DirectoryClient, DirectoryConfig, DirectoryError, Listing, PORT, StartError, ping,
};
use evenkeel_net::token::Name;
use serde_json::json;

use crate::failure::Failure;
use crate::{network, output};

const EXAMPLES: &str = "\
Examples:
  evenkeel directory                                    on this machine: open http://localhost:7900
  evenkeel directory --lan --listen 0.0.0.0:7900        for a local network, found without an address
  evenkeel directory --config directory.toml            with the settings of a file; docs/directory.md lists every key
  evenkeel directory list --lan                         the rooms of a directory on the local network, with round trips
  evenkeel directory join --at https://rooms.example --relay frankfurt --room arena --name ada
  evenkeel directory ping relay.example:7878            the round trip to any relay, without a token

A relay registers itself: a [directory] section in its settings, and `issuer` set to the directory's key.
Ctrl-C (or SIGTERM) stops the directory.";

const PINGS: u32 = 5;
/// How long an answer to a ping is waited for,
const PING_WAIT: Duration = Duration::from_millis(800);
/// and a directory on the local network.
const SEARCH: Duration = Duration::from_secs(3);
const FRAMELESS: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('-'));

/// Arguments of `evenkeel directory`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct DirectoryArgs {
    #[command(subcommand)]
    command: Option<DirectoryCommand>,

    /// Settings; arguments take precedence
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,

    /// Where to listen (TCP); may be repeated [default: 127.0.0.1:7900]
    #[arg(long, value_name = "ADDR")]
    listen: Vec<SocketAddr>,

    /// The issuer's key; created if the file is missing [default: evenkeel.key]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,

    /// Announce the directory on the local network, and let relays with private addresses register
    #[arg(long)]
    lan: bool,
}

#[derive(Subcommand)]
enum DirectoryCommand {
    /// List relays and rooms, with the round trip to each relay
    List {
        #[command(flatten)]
        at: At,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Ask for a token to join a room
    Join {
        #[command(flatten)]
        at: At,
        /// The relay
        #[arg(long)]
        relay: String,
        /// The room
        #[arg(long)]
        room: String,
        /// The name to play under
        #[arg(long)]
        name: String,
        /// A former token for this room and name, to have the name again
        #[arg(long, value_name = "TOKEN")]
        former: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Measure the round trip to a relay
    Ping {
        /// The relay (UDP)
        #[arg(value_name = "HOST:PORT")]
        relay: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Which directory is asked.
#[derive(clap::Args)]
struct At {
    /// The directory [default: this machine's]
    #[arg(long, value_name = "URL", conflicts_with = "lan")]
    at: Option<String>,

    /// Find a directory on the local network
    #[arg(long)]
    lan: bool,
}

impl At {
    async fn client(&self) -> Result<DirectoryClient, Failure> {
        let url = match (&self.at, self.lan) {
            (Some(url), _) => url.clone(),
            (None, false) => format!("http://127.0.0.1:{PORT}"),
            (None, true) => {
                let found = find_directory(SEARCH, Reach::Network).await.map_err(Failure::failed)?;
                let none = "no directory on the local network: start one with `evenkeel directory --lan`";
                found.ok_or_else(|| Failure::failed(none))?
            }
        };
        DirectoryClient::new(&url).map_err(Failure::mistake)
    }
}

/// Runs the command.
pub(crate) fn run(args: DirectoryArgs) -> Result<(), Failure> {
    match args.command {
        None => serve(args),
        Some(DirectoryCommand::List { at, json }) => network::run(list(at, json)),
        Some(DirectoryCommand::Join { at, relay, room, name, former, json }) => {
            network::run(join(at, [relay, room, name], former, json))
        }
        Some(DirectoryCommand::Ping { relay, json }) => network::run(measure(relay, json)),
    }
}

fn serve(args: DirectoryArgs) -> Result<(), Failure> {
    let mut config = match &args.config {
        Some(path) => DirectoryConfig::load(path).map_err(Failure::mistake)?,
        None => DirectoryConfig::default(),
    };
    if !args.listen.is_empty() {
        config.listen = args.listen;
    }
    config.key = args.key.unwrap_or(config.key);
    config.lan |= args.lan;
    network::run(async {
        let (has_secret, lan) = (config.secret.is_some(), config.lan);
        let directory = Directory::start(config).await.map_err(not_started)?;
        for address in directory.addresses() {
            eprintln!("page, API:  http://{address}");
        }
        eprintln!("relays need in their settings:  issuer = \"{}\"", directory.issuer());
        if !has_secret {
            let who = if lan { "private addresses" } else { "this machine" };
            eprintln!("relays may register from {who}; a `secret` lets others register");
        }
        network::until_stopped().await;
        eprintln!("stopping");
        Ok(())
    })
}

async fn list(at: At, as_json: bool) -> Result<(), Failure> {
    let listing = at.client().await?.list().await.map_err(refused)?;
    let mut round_trips = Vec::new();
    for relay in &listing.relays {
        round_trips.push(round_trip(&relay.address).await.unwrap_or(None));
    }
    if as_json {
        let relays = listing.relays.iter().zip(&round_trips);
        let relays = relays.map(|(relay, ms)| json!({ "relay": relay, "round_trip_ms": ms }));
        return output::print_json(&json!({ "relays": relays.collect::<Vec<_>>() }));
    }
    output::print(&table(&listing, &round_trips))
}

fn table(listing: &Listing, round_trips: &[Option<f64>]) -> String {
    if listing.relays.is_empty() {
        return "no relay has registered\n".to_owned();
    }
    let mut table = Table::new();
    table.load_style(FRAMELESS);
    table.set_header(["relay", "room", "players", "round trip", "address"]);
    for (relay, ms) in listing.relays.iter().zip(round_trips) {
        let ms = ms.map_or("no answer".to_owned(), |ms| format!("{ms:.1} ms"));
        for room in &relay.rooms {
            let players = format!("{}/{}", room.players, room.players_max);
            table.add_row([&relay.name, &room.name, &players, &ms, &relay.address]);
        }
        if relay.rooms.is_empty() || relay.open {
            let any = if relay.open { "(any new one)" } else { "(none)" };
            table.add_row([relay.name.as_str(), any, "", &ms, &relay.address]);
        }
    }
    format!("{table}\n")
}

async fn join(at: At, names: [String; 3], former: Option<String>, as_json: bool) -> Result<(), Failure> {
    let flags = ["--relay", "--room", "--name"];
    let mut parsed = Vec::new();
    for (flag, text) in flags.into_iter().zip(&names) {
        parsed.push(Name::new(text).map_err(|error| Failure::mistake(format!("{flag} {text}: {error}")))?);
    }
    let client = at.client().await?;
    let ticket = client.join(&parsed[0], &parsed[1], &parsed[2], former.as_deref()).await.map_err(refused)?;
    if as_json {
        return output::print_json(&json!(ticket));
    }
    let pins: String = ticket.certificate.iter().map(|hash| format!("certificate  {hash}\n")).collect();
    output::print(&format!("address      {}\ntoken        {}\n{pins}", ticket.url, ticket.token))
}

async fn measure(relay: String, as_json: bool) -> Result<(), Failure> {
    let found = tokio::net::lookup_host(&relay).await.ok().and_then(|mut found| found.next());
    let unknown =
        || Failure::mistake(format!("{relay}: not an address, and no such host; expected HOST:PORT"));
    let ping = ping(found.ok_or_else(unknown)?, PINGS, PING_WAIT).await.map_err(Failure::failed)?;
    let ms: Vec<f64> = ping.round_trips.iter().map(|time| time.as_secs_f64() * 1e3).collect();
    if as_json {
        output::print_json(&json!({ "relay": relay, "sent": ping.sent, "round_trips_ms": ms }))?;
    } else if let (Some(least), Some(median)) = (ms.first(), ping.median()) {
        let median = median.as_secs_f64() * 1e3;
        let (answered, sent) = (ms.len(), ping.sent);
        output::print(&format!(
            "{relay}: {least:.2} ms at least, {median:.2} ms usually, {answered} of {sent} answered\n"
        ))?;
    }
    match ms.is_empty() {
        true => Err(Failure::failed(format!("{relay} does not answer: is a relay running there?"))),
        false => Ok(()),
    }
}

/// The usual round trip to a relay in milliseconds, if it answers.
async fn round_trip(address: &str) -> std::io::Result<Option<f64>> {
    let Some(relay) = tokio::net::lookup_host(address).await?.next() else { return Ok(None) };
    let ping = ping(relay, PINGS, PING_WAIT).await?;
    Ok(ping.median().map(|median| median.as_secs_f64() * 1e3))
}

/// A mistake if the directory's words are about the request, otherwise a failure.
fn refused(error: DirectoryError) -> Failure {
    match error {
        DirectoryError::Refused { status: 400..=404, .. } | DirectoryError::NotAnAddress { .. } => {
            Failure::mistake(error)
        }
        other => Failure::failed(other),
    }
}

fn not_started(error: StartError) -> Failure {
    match error {
        StartError::Lan(_) => Failure::failed(error),
        other => Failure::mistake(other),
    }
}

//! `evenkeel relay`: runs a relay server.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evenkeel_directory::{Announcer, describe};
use evenkeel_serve::StartError;
use evenkeel_serve::{AnnounceConfig, RelayConfig, RelayServer};

use crate::failure::Failure;
use crate::network;

const EXAMPLES: &str = "\
Examples:
  evenkeel relay                           on this machine, with a self-signed certificate
  evenkeel relay --config relay.toml       with the settings of a file; docs/relay.md lists every key
  evenkeel relay --record session.evkt     record every call, for `evenkeel replay`

While it runs:
  curl http://127.0.0.1:7878/api/rooms/arena
  curl http://127.0.0.1:7878/metrics
Ctrl-C (or SIGTERM) notifies the players and stops the relay.";

/// Arguments of `evenkeel relay`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RelayServerArgs {
    /// Settings: rooms, tokens, certificate, limits, policy [default: see docs/relay.md]
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,

    /// Record every call and its time to a new file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// Runs until Ctrl-C or SIGTERM.
pub(crate) fn run(args: RelayServerArgs) -> Result<(), Failure> {
    let config = match &args.config {
        Some(path) => RelayConfig::load(path).map_err(Failure::mistake)?,
        None => {
            RelayConfig { keep_certificate: Some(PathBuf::from("evenkeel.pem")), ..RelayConfig::default() }
        }
    };
    let record = args.record.as_deref().map(recording).transpose()?;
    network::run(async {
        let key = config.token_key.clone();
        let own_key = config.issuer.is_none();
        let announce = config.directory.clone();
        let server = Arc::new(RelayServer::start(config, record).await.map_err(not_started)?);
        print_addresses(&server);
        let announcer = announce.map(|announce| announcer(&server, announce)).transpose()?;
        if own_key {
            eprintln!(
                "a token for a player:  evenkeel token --room arena --name ada --key {}",
                key.display()
            );
        }
        network::until_stopped().await;
        eprintln!("stopping: telling the players");
        if let Some(announcer) = announcer {
            announcer.stop().await;
        }
        let recorded = server.recording();
        server.stop().await;
        match recorded.and_then(|recording| recording.error()) {
            Some(error) => Err(Failure::failed(error)),
            None => Ok(()),
        }
    })
}

/// Lets players find the relay.
fn announcer(server: &Arc<RelayServer>, config: AnnounceConfig) -> Result<Announcer, Failure> {
    let at = config.url.clone().unwrap_or_else(|| "the one on the local network".to_owned());
    eprintln!("directory: {at}, as {}", config.name);
    let (relay, settings) = (server.clone(), config.clone());
    Announcer::start(config, move || describe(&relay, &settings)).map_err(Failure::failed)
}

fn print_addresses(server: &RelayServer) {
    for address in server.addresses() {
        eprintln!("players:  https://{address}");
    }
    for address in server.http_addresses() {
        eprintln!("API:      http://{address}");
    }
    for address in server.https_addresses() {
        eprintln!("pages:    https://{address}");
    }
    if let Some(hash) = server.hashes().first() {
        eprintln!("certificate (self-signed, valid for less than 14 days), SHA-256:  {hash}");
    }
}

fn not_started(error: StartError) -> Failure {
    match error {
        StartError::Thread(_) | StartError::Recording(_) => Failure::failed(error),
        other => Failure::mistake(other),
    }
}

/// Creates the file to record to.
pub(crate) fn recording(path: &Path) -> Result<Box<dyn Write + Send>, Failure> {
    let file = File::create_new(path).map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::AlreadyExists => "choose a name that is not taken",
            ErrorKind::NotFound => "does the folder exist?",
            _ => "choose another folder",
        };
        Failure::mistake(format!("--record {}: {error}; {advice}", path.display()))
    })?;
    Ok(Box::new(file))
}

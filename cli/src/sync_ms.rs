//! `evenkeel sync-ms`: proxies that put Sync-MS in front of an unmodified game.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use evenkeel_net::transport::tunnel::SharedKey;
use evenkeel_proxy::{
    ClientConfig, ClientTotals, KeyError, Notify, ServerConfig, ServerTotals, StartError, SyncClient,
    SyncServer, find_key,
};
use evenkeel_sync_ms::Order;

use crate::failure::Failure;
use crate::{network, output};

const EXAMPLES: &str = "\
Examples, on one machine:
  evenkeel sync-ms server --game 127.0.0.1:27960        beside the game server
  evenkeel sync-ms client --listen 127.0.0.1:27961      beside a player, whose game then connects to 127.0.0.1:27961

Over a network:
  evenkeel sync-ms key shared.key                       make a key; copy it to the players
  evenkeel sync-ms server --game 127.0.0.1:27960 --listen 0.0.0.0:7979 --key shared.key
  evenkeel sync-ms client --server game.example:7979 --key shared.key --listen 127.0.0.1:27960

docs/sync-ms.md explains what it does, and what it costs whom.";

const SERVER_EXAMPLES: &str = "\
Examples:
  evenkeel sync-ms server --game 127.0.0.1:27960
  evenkeel sync-ms server --game 127.0.0.1:27960 --page 127.0.0.1:8080          with a page and /metrics
  evenkeel sync-ms server --game 127.0.0.1:27960 --order max-wait --cap-ms 80   the paper's order, and less patience
  evenkeel sync-ms server --config sync.toml                                    docs/sync-ms.md lists every key

Ctrl-C (or SIGTERM) stops it. Exit status: 0 after that, 1 for a failure, 2 for a mistake in the arguments or a file.";

const CLIENT_EXAMPLES: &str = "\
Examples:
  evenkeel sync-ms client --listen 127.0.0.1:27961                              the server is on this machine
  evenkeel sync-ms client --server game.example:7979 --key shared.key --listen 127.0.0.1:27960
  evenkeel sync-ms client --listen 127.0.0.1:27961 --link-delay 20              a trial: 20 ms each way
  evenkeel sync-ms client --listen 127.0.0.1:27961 --link-delay 5,60            the first player near, the second far

Ctrl-C (or SIGTERM) stops it. Exit status: 0 after that, 1 for a failure, 2 for a mistake in the arguments or a file.";

/// Arguments of `evenkeel sync-ms`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SyncMsArgs {
    #[command(subcommand)]
    command: SyncMsCommand,
}

#[derive(Subcommand)]
enum SyncMsCommand {
    /// Run beside the game server
    Server(Box<ServerArgs>),
    /// Run beside one or more players
    Client(Box<ClientArgs>),
    /// Make a key for both sides
    Key {
        /// The new file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// A switch.
#[derive(Clone, Copy, clap::ValueEnum)]
enum OnOff {
    On,
    Off,
}

/// What both sides have in common.
#[derive(clap::Args)]
struct CommonArgs {
    /// Settings; arguments take precedence
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,

    /// The key that both sides share; on one machine it is made and found without asking
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,

    /// Forward this TCP port, too; may be repeated
    #[arg(long, value_name = "PORT")]
    tcp: Vec<u16>,

    /// Serve a page about the players, and /metrics, at this address
    #[arg(long, value_name = "ADDR")]
    page: Option<SocketAddr>,
}

#[derive(clap::Args)]
#[command(after_help = SERVER_EXAMPLES)]
struct ServerArgs {
    /// The game server (UDP)
    #[arg(long, value_name = "ADDR")]
    game: Option<String>,

    /// Where clients connect (UDP) [default: 127.0.0.1:7979]
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,

    /// In which order actions are served: reaction, max-wait, select-wait, toss-wait=..., none [default: reaction]
    #[arg(long, value_name = "ORDER")]
    order: Option<Order>,

    /// Whether everybody sees updates at the same time [default: on]
    #[arg(long, value_name = "on|off", hide_possible_values = true)]
    out: Option<OnOff>,

    /// The most that anybody is delayed for the others' sake, each way [default: 150]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    cap_ms: Option<f64>,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(clap::Args)]
#[command(after_help = CLIENT_EXAMPLES)]
struct ClientArgs {
    /// Where players' games connect (UDP) [default: 127.0.0.1:7980]
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,

    /// The server side [default: 127.0.0.1:7979]
    #[arg(long, value_name = "ADDR")]
    server: Option<String>,

    /// For trials: one-way delays that are added, each way; with several, the players get them in turn
    #[arg(long, value_name = "MS,...", value_delimiter = ',', allow_negative_numbers = true)]
    link_delay: Vec<f64>,

    /// For trials: the most that these delays vary up or down
    #[arg(long, value_name = "MS,...", value_delimiter = ',', allow_negative_numbers = true)]
    link_jitter: Vec<f64>,

    /// For trials: the percentage of datagrams that are lost
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    link_loss: Option<f64>,

    /// For trials: the seed of delays and losses
    #[arg(long, value_name = "N")]
    link_seed: Option<u64>,

    #[command(flatten)]
    common: CommonArgs,
}

/// Runs the command.
pub(crate) fn run(args: SyncMsArgs) -> Result<(), Failure> {
    match args.command {
        SyncMsCommand::Server(args) => serve(*args),
        SyncMsCommand::Client(args) => connect(*args),
        SyncMsCommand::Key { file } => {
            SharedKey::generate().save(&file).map_err(Failure::mistake)?;
            eprintln!("created {}: copy it to the other side, and keep it secret", file.display());
            Ok(())
        }
    }
}

fn serve(args: ServerArgs) -> Result<(), Failure> {
    let mut config = match &args.common.config {
        Some(path) => ServerConfig::load(path).map_err(Failure::mistake)?,
        None => ServerConfig::default(),
    };
    set(&mut config.game, args.game);
    set(&mut config.listen, args.listen);
    set(&mut config.order, args.order);
    set(&mut config.out, args.out.map(|out| matches!(out, OnOff::On)));
    set(&mut config.cap_ms, args.cap_ms);
    let CommonArgs { key, tcp, page, .. } = args.common;
    config.key = key.or(config.key);
    config.tcp.extend(tcp);
    config.page = page.or(config.page);
    config.check().map_err(Failure::mistake)?;
    let key = find_key(config.key.as_deref(), config.listen).map_err(no_key)?;
    network::run(async {
        let (order, out, game) = (config.order.clone(), config.out, config.game.clone());
        let server = SyncServer::start(config, &key, announcer()).await.map_err(not_started)?;
        eprintln!("clients:  {} (UDP), for the game at {game}", server.address());
        if let Some(page) = server.page() {
            eprintln!("page:     http://{page}");
        }
        eprintln!(
            "order:    {order}; updates {}",
            if out { "shown to everybody at once" } else { "not held" }
        );
        network::until_stopped().await;
        eprintln!("stopping");
        let report = server.report().await;
        server.stop().await;
        let ServerTotals { players, actions, late, behind, clamped, updates } = report.totals;
        output::print(&format!(
            "{players} players in {:.0} s: {actions} actions served ({behind} behind later ones, {late} too late for their \
             place, {clamped} tags clamped), {updates} updates sent\n",
            report.up_s,
        ))
    })
}

fn connect(args: ClientArgs) -> Result<(), Failure> {
    let mut config = match &args.common.config {
        Some(path) => ClientConfig::load(path).map_err(Failure::mistake)?,
        None => ClientConfig::default(),
    };
    set(&mut config.listen, args.listen);
    set(&mut config.server, args.server);
    if config.server.is_empty() {
        config.server = ServerConfig::default().listen.to_string();
    }
    set(&mut config.link.delay_ms, Some(args.link_delay).filter(|delays| !delays.is_empty()));
    set(&mut config.link.jitter_ms, Some(args.link_jitter).filter(|jitters| !jitters.is_empty()));
    set(&mut config.link.loss_percent, args.link_loss);
    set(&mut config.link.seed, args.link_seed);
    let CommonArgs { key, tcp, page, .. } = args.common;
    config.key = key.or(config.key);
    config.tcp.extend(tcp);
    config.page = page.or(config.page);
    config.check().map_err(Failure::mistake)?;
    network::run(async {
        let key = match &config.key {
            Some(file) => SharedKey::load(file).map_err(Failure::mistake)?,
            None => find_key(None, resolve(&config.server).await?).map_err(no_key)?,
        };
        let client = SyncClient::start(config, &key, announcer()).await.map_err(not_started)?;
        eprintln!("players:  {} (UDP): connect your game there", client.address());
        if let Some(page) = client.page() {
            eprintln!("page:     http://{page}");
        }
        network::until_stopped().await;
        eprintln!("stopping");
        let report = client.report().await;
        client.stop().await;
        let ClientTotals { players, actions, updates, late } = report.totals;
        output::print(&format!(
            "{players} players in {:.0} s: {actions} actions sent, {updates} updates shown ({late} later than for everybody \
             else)\n",
            report.up_s,
        ))
    })
}

fn set<T>(setting: &mut T, argument: Option<T>) {
    if let Some(argument) = argument {
        *setting = argument;
    }
}

async fn resolve(name: &str) -> Result<SocketAddr, Failure> {
    let found = tokio::net::lookup_host(name).await.ok().and_then(|mut addresses| addresses.next());
    let unknown = || StartError::UnknownHost { name: name.to_owned() };
    found.ok_or_else(|| Failure::mistake(unknown()))
}

fn announcer() -> Notify {
    Arc::new(|notice| eprintln!("{notice}"))
}

fn no_key(error: KeyError) -> Failure {
    Failure::mistake(error)
}

fn not_started(error: StartError) -> Failure {
    match error {
        StartError::Thread(_) => Failure::failed(error),
        other => Failure::mistake(other),
    }
}

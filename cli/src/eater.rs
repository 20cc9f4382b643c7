//! `evenkeel eater`: a game among peers without a server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use evenkeel_core::Span;
use evenkeel_eater::demo::{Demo, DemoConfig};
use evenkeel_eater::{
    EaterPeer, EaterPeerConfig, Page, Player, StartError, Summary, exponential_faults, soak,
};
use evenkeel_p2p::{Network, Relay, SessionId, Ticket};

use crate::failure::Failure;
use crate::{network, output};

const EXAMPLES: &str = "\
Examples:
  evenkeel eater demo --open                     four peers on this machine, one of them a cheater, and your page
  evenkeel eater host --open                     start a game; the ticket it prints lets friends in
  evenkeel eater join evenkeel-AQ...             join a friend's game
  evenkeel eater bots 3 --join evenkeel-AQ...    send three bots into it
  evenkeel eater host --relay https://relay.example.org    with a relay of your own, for peers behind firewalls

Ctrl-C says good-bye to the others and prints what was measured; --json prints it as JSON. docs/eater.md says more.";

/// Arguments of `evenkeel eater`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EaterArgs {
    #[command(subcommand)]
    command: EaterCommand,
}

#[derive(Subcommand)]
enum EaterCommand {
    /// Start a game and print its ticket
    #[command(
        after_help = "Examples:\n  evenkeel eater host --open\n  evenkeel eater host --name Ada --relay https://relay.example.org\n  evenkeel eater host --local --port 0 --json"
    )]
    Host(PeerArgs),
    /// Join a game with its ticket
    #[command(
        after_help = "Examples:\n  evenkeel eater join evenkeel-AQ... --open\n  evenkeel eater join evenkeel-AQ... --name Bob --key bob.key      come back as the same peer"
    )]
    Join {
        /// What the host's command printed
        #[arg(value_name = "TICKET")]
        ticket: Ticket,
        #[command(flatten)]
        peer: PeerArgs,
    },
    /// Run bots, each a peer of its own
    #[command(
        after_help = "Examples:\n  evenkeel eater bots 5                          a game of five bots; prints its ticket\n  evenkeel eater bots 3 --join evenkeel-AQ...    send three into a game\n  evenkeel eater bots 9 --local --delay 45 --loss 1"
    )]
    Bots {
        /// How many
        #[arg(value_name = "N", value_parser = clap::value_parser!(u16).range(1..=63))]
        count: u16,
        /// The ticket of the game [default: a new game]
        #[arg(long, value_name = "TICKET")]
        join: Option<Ticket>,
        #[command(flatten)]
        peer: PeerArgs,
    },
    /// Play on this machine with two bots and a cheater
    #[command(
        after_help = "Examples:\n  evenkeel eater demo --open\n  evenkeel eater demo --delay 100 --loss 2"
    )]
    Demo {
        #[command(flatten)]
        page: PageArgs,
        /// Mean one-way delay of the emulated links, in ms
        #[arg(long, value_name = "MS", default_value_t = 20.0, value_parser = delay)]
        delay: f64,
        /// Losses of the emulated links, in percent
        #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
        loss: f64,
        /// When Mallory, the cheater, joins, in seconds
        #[arg(long, value_name = "S", default_value_t = 15, value_parser = clap::value_parser!(u16).range(0..=3_600))]
        cheater: u16,
    },
    /// Measure processes of their own under emulated faults; one is killed and comes back
    #[command(
        after_help = "Examples:\n  evenkeel eater soak                            ten processes, five minutes\n  evenkeel eater soak --peers 4 --seconds 20 --json"
    )]
    Soak(EaterSoakArgs),
}

#[derive(clap::Args)]
struct PageArgs {
    /// The port of the page on 127.0.0.1 [default: 7881, or the next one that is free]
    #[arg(long, value_name = "P")]
    port: Option<u16>,

    /// Open the page in a browser
    #[arg(long)]
    open: bool,

    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct PeerArgs {
    #[command(flatten)]
    page: PageArgs,

    /// The player's name
    #[arg(long, value_name = "NAME", default_value = "player")]
    name: String,

    /// Let a bot play
    #[arg(long)]
    bot: bool,

    /// The file of this peer's key, made if it is missing; with it a peer that comes back is the same one
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,

    /// Only for peers on this machine
    #[arg(long, conflicts_with_all = ["bind", "relay"])]
    local: bool,

    /// The UDP address to bind; may be repeated [default: every address, any port]
    #[arg(long, value_name = "ADDR")]
    bind: Vec<SocketAddr>,

    /// Who helps peers behind firewalls: the URL of a relay of your own, `public`, or `none`
    #[arg(long, value_name = "URL|public|none", default_value = "none", value_parser = relay)]
    relay: Relay,

    /// Mean delay of an emulated link to each other peer, in ms
    #[arg(long, value_name = "MS", default_value_t = 0.0, value_parser = delay)]
    delay: f64,

    /// Losses of the emulated links, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percent)]
    loss: f64,
}

#[derive(clap::Args)]
struct EaterSoakArgs {
    /// The number of peers
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(3..=50))]
    peers: u16,
    /// How long they play before one is killed
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Mean one-way delay of the emulated links, in ms
    #[arg(long, value_name = "MS", default_value_t = 45.0, value_parser = delay)]
    delay: f64,
    /// Their losses, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    loss: f64,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// The first port that is tried for a page, and how many.
const PORTS: std::ops::Range<u16> = 7_881..7_899;

fn relay(text: &str) -> Result<Relay, String> {
    Ok(match text {
        "none" => Relay::None,
        "public" => Relay::Public,
        url if url.starts_with("https://") || url.starts_with("http://") => Relay::Own(url.to_owned()),
        _ => return Err("must be a URL like https://relay.example.org, `public` or `none`".to_owned()),
    })
}

fn delay(text: &str) -> Result<f64, String> {
    in_range(text, 1_000.0, "milliseconds from 0 to 1000")
}

fn percent(text: &str) -> Result<f64, String> {
    in_range(text, 90.0, "percent from 0 to 90")
}

fn in_range(text: &str, most: f64, what: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse().ok().filter(|number| (0.0..=most).contains(number));
    number.ok_or_else(|| format!("must be {what}"))
}

pub(crate) fn run(args: EaterArgs) -> Result<(), Failure> {
    match args.command {
        EaterCommand::Host(peer) => network::run(play(peer, None)),
        EaterCommand::Join { ticket, peer } => network::run(play(peer, Some(ticket))),
        EaterCommand::Bots { count, join, peer } => network::run(bots(count, join, peer)),
        EaterCommand::Demo { page, delay, loss, cheater } => network::run(demo(page, delay, loss, cheater)),
        EaterCommand::Soak(args) => network::run(soak_processes(args)),
    }
}

impl PeerArgs {
    fn config(&self, session: SessionId, name: String) -> EaterPeerConfig {
        let network = if self.local {
            Network::loopback()
        } else {
            Network { bind: self.bind.clone(), relay: self.relay.clone() }
        };
        EaterPeerConfig {
            network,
            key_file: self.key.clone(),
            faults: exponential_faults(Span::from_millis_f64(self.delay), self.loss / 100.0),
            ..EaterPeerConfig::new(session, name, if self.bot { Player::Bot } else { Player::Person })
        }
    }
}

/// Starts a peer with a page, at the first free port if none is given.
async fn start(mut config: EaterPeerConfig, page: &PageArgs) -> Result<EaterPeer, Failure> {
    let ports = page.port.map_or(PORTS, |port| port..port.saturating_add(1));
    let mut last = None;
    for port in ports {
        config.page = Page::At((Ipv4Addr::LOCALHOST, port).into());
        match EaterPeer::start(config.clone()).await {
            Err(error @ StartError::Page { .. }) => last = Some(error),
            other => return other.map_err(failed),
        }
    }
    Err(last.map_or_else(|| Failure::mistake("choose another --port"), failed))
}

fn failed(error: StartError) -> Failure {
    match error {
        StartError::Network(_) | StartError::Key(_) => Failure::mistake(error),
        StartError::Page { .. } => Failure::mistake(format!("{error} (--port)")),
        _ => Failure::failed(error),
    }
}

fn show(page: &PageArgs, peer: &EaterPeer) {
    if let Some(address) = peer.page() {
        let url = format!("http://localhost:{}", address.port());
        eprintln!("your page:  {url}      (Ctrl-C stops)");
        if page.open && !crate::arena::open(&url) {
            eprintln!("cannot open a browser: open {url} yourself");
        }
    }
}

async fn play(args: PeerArgs, ticket: Option<Ticket>) -> Result<(), Failure> {
    let session = ticket.as_ref().map_or_else(SessionId::random, |ticket| ticket.session);
    let peer = start(args.config(session, args.name.clone()), &args.page).await?;
    if let Some(ticket) = ticket {
        peer.join(&ticket).await.map_err(Failure::failed)?;
        eprintln!("joined");
    }
    show(&args.page, &peer);
    eprintln!("friends join with:  evenkeel eater join {}", peer.ticket());
    network::until_stopped().await;
    report(&[peer.stop().await], args.page.json)
}

async fn bots(count: u16, ticket: Option<Ticket>, args: PeerArgs) -> Result<(), Failure> {
    let session = ticket.as_ref().map_or_else(SessionId::random, |ticket| ticket.session);
    let mut peers: Vec<EaterPeer> = Vec::new();
    for number in 1..=count {
        let config = EaterPeerConfig {
            player: Player::Bot,
            key_file: args.key.as_ref().map(|path| path.with_extension(format!("{number}.key"))),
            ..args.config(session, format!("{} {number}", args.name))
        };
        let peer = match peers.is_empty() {
            true => start(config, &args.page).await?,
            false => EaterPeer::start(config).await.map_err(failed)?,
        };
        if let Some(host) = ticket.clone().or_else(|| peers.first().map(EaterPeer::ticket)) {
            peer.join(&host).await.map_err(Failure::failed)?;
        }
        peers.push(peer);
    }
    show(&args.page, &peers[0]);
    eprintln!("others join with:  evenkeel eater join {}", peers[0].ticket());
    network::until_stopped().await;
    let mut summaries = Vec::new();
    for peer in peers {
        summaries.push(peer.stop().await);
    }
    report(&summaries, args.page.json)
}

async fn demo(page: PageArgs, delay: f64, loss: f64, cheater: u16) -> Result<(), Failure> {
    let mut ports = page.port.map_or(PORTS, |port| port..port.saturating_add(1));
    let mut demo = loop {
        let Some(port) = ports.next() else {
            return Err(Failure::mistake("no free port: choose another --port"));
        };
        let at = Page::At((Ipv4Addr::LOCALHOST, port).into());
        let (delay, loss) = (Span::from_millis_f64(delay), loss / 100.0);
        match Demo::start(DemoConfig { page: at, delay, loss }).await {
            Err(StartError::Page { .. }) if !ports.is_empty() => {}
            other => break other.map_err(failed)?,
        }
    };
    eprintln!(
        "two bots play with you; Mallory, who tells you other moves than the bots, comes after {cheater} s"
    );
    show(&page, &demo.person);
    tokio::select! {
        () = network::until_stopped() => return report(&[demo.stop().await], page.json),
        () = tokio::time::sleep(Duration::from_secs(cheater.into())) => {}
    }
    demo.admit_cheater().await.map_err(failed)?;
    network::until_stopped().await;
    report(&[demo.stop().await], page.json)
}

fn report(summaries: &[Summary], json: bool) -> Result<(), Failure> {
    if json {
        let document = serde_json::to_value(summaries).map_err(Failure::failed)?;
        return output::print_json(&document);
    }
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::TableStyle::new());
    table.set_header([
        "peer",
        "stones",
        "moves shown",
        "playout ms",
        "age ms",
        "unused %",
        "up kbps",
        "caught",
    ]);
    let millis = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.0}"));
    for one in summaries {
        table.add_row([
            one.name.clone(),
            one.score.to_string(),
            one.played.to_string(),
            millis(one.playout_ms),
            millis(one.age_ms),
            one.unused_share().map_or_else(|| "-".to_owned(), |share| format!("{:.2}", share * 100.0)),
            format!("{:.0}", one.up_kbps()),
            one.caught.len().to_string(),
        ]);
    }
    output::print(&format!("{table}\n"))
}

async fn soak_processes(args: EaterSoakArgs) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(Failure::failed)?;
    let folder = std::env::temp_dir().join(format!("evenkeel-eater-{:016x}", evenkeel_net::random()));
    std::fs::create_dir(&folder)
        .map_err(|error| Failure::failed(format!("cannot create {}: {error}", folder.display())))?;
    let config = soak::SoakConfig {
        program,
        folder: folder.clone(),
        peers: usize::from(args.peers),
        play: Duration::from_secs(args.seconds),
        delay_ms: args.delay,
        loss_percent: args.loss,
    };
    let running = soak::run(&config, |what| eprintln!("{what}"));
    let outcome = tokio::select! {
        outcome = running => outcome.map_err(Failure::failed),
        () = network::until_stopped() => Err(Failure::Interrupted("stopped before the end".to_owned())),
    };
    let _ = std::fs::remove_dir_all(&folder);
    let report = outcome?;
    let document = serde_json::to_value(&report).map_err(Failure::failed)?;
    if args.json {
        output::print_json(&document)?;
    } else {
        let lines = document.as_object().into_iter().flatten();
        let text: String = lines.map(|(name, value)| format!("{name:<18} {value}\n")).collect();
        output::print(&text)?;
    }
    let failures = report.failures();
    if failures.is_empty() {
        return Ok(());
    }
    Err(Failure::Changed(format!("the soak FAILED: see {}", failures.join(", "))))
}

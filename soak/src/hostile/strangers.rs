//! Attackers without a token, or with one that they do not use. They know the port, and how a handshake begins.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use evenkeel_core::{Draws, Seed};
use evenkeel_net::transport::{ConnectError, Limits, connect};
use tokio::task::JoinSet;
use url::Url;
use web_transport_quinn::ClientBuilder;

use super::attack::Attack;
use super::forge::{mutate, noise};
use super::kind::AttackKind;

/// The number of captured handshake packets to replay.
const INITIALS: usize = 200;
const PACKET_MAX: usize = 1_200;
/// How often packets are sent.
const TURN: Duration = Duration::from_millis(10);
/// The number of source sockets; each is replaced from time to time.
const SOCKETS: usize = 8;
/// The number of connections that stall with a token.
const STALLED: usize = 32;
/// The number of connections that are held open without a token.
const HOLDING: usize = 16;
/// How soon the relay must close a connection that has no token or opens no stream: its handshake timeout, time for the
/// reason to be read, and a margin for a busy machine.
const CLOSED_WITHIN: Duration = Duration::from_secs(12);

pub(super) fn start(attack: &Arc<Attack>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(packets(attack.clone()));
    tasks.spawn(bad_tokens(attack.clone()));
    for _ in 0..STALLED {
        tasks.spawn(hold(attack.clone(), AttackKind::Stall));
    }
    for _ in 0..HOLDING {
        tasks.spawn(hold(attack.clone(), AttackKind::NoToken));
    }
    tasks
}

/// Sends packets at the rate at which the whole attack reaches its number of messages in time.
async fn packets(attack: Arc<Attack>) {
    let initials = initials().await;
    let sending = move || {
        let mut draws = Seed::new(11).draws();
        let mut sockets = Vec::new();
        while !attack.is_over() {
            let turn = Instant::now();
            let left = attack.until.saturating_duration_since(turn).max(TURN);
            let missing = attack.messages.saturating_sub(attack.total());
            let share = missing as f64 * TURN.as_secs_f64() / left.as_secs_f64();
            if sockets.len() < SOCKETS || draws.chance(0.05) {
                sockets.truncate(SOCKETS - 1);
                sockets.extend(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)));
            }
            for _ in 0..share.ceil() as u64 {
                if let Some(socket) = sockets.get(draws.below(sockets.len().max(1) as u64) as usize) {
                    packet(&attack, &mut draws, &initials, socket);
                }
            }
            std::thread::sleep(TURN.saturating_sub(turn.elapsed()));
        }
    };
    let _ = tokio::task::spawn_blocking(sending).await;
}

fn packet(attack: &Attack, draws: &mut Draws, initials: &[Vec<u8>], socket: &UdpSocket) {
    let index = draws.below(initials.len().max(1) as u64) as usize;
    let kind = match (draws.below(100), initials.get(index)) {
        (0..75, _) | (_, None) => AttackKind::Garbage,
        (75..97, _) => AttackKind::MutatedInitial,
        _ => AttackKind::HalfOpen,
    };
    let bytes = match (kind, initials.get(index)) {
        (AttackKind::MutatedInitial, Some(initial)) => {
            let mut bytes = initial.clone();
            mutate(draws, &mut bytes, 0);
            bytes
        }
        (AttackKind::HalfOpen, Some(initial)) => initial.clone(),
        _ => noise(draws, PACKET_MAX),
    };
    if socket.send_to(&bytes, attack.relay).is_ok() {
        attack.count(kind);
    }
}

/// Captures first packets of handshakes on a socket that never answers.
async fn initials() -> Vec<Vec<u8>> {
    let mut captured = Vec::new();
    let Ok(socket) = tokio::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await else { return captured };
    let Ok(address) = socket.local_addr() else { return captured };
    let Ok(url) = Url::parse(&format!("https://{address}/")) else { return captured };
    let Ok(client) = ClientBuilder::new().dangerous().with_no_certificate_verification() else {
        return captured;
    };
    let mut bytes = vec![0; 2_048];
    while captured.len() < INITIALS {
        let received = tokio::select! {
            _ = client.connect(url.clone()) => continue,
            received = tokio::time::timeout(Duration::from_secs(1), socket.recv(&mut bytes)) => received,
        };
        let Ok(Ok(length)) = received else { return captured };
        captured.push(bytes[..length].to_vec());
    }
    captured
}

/// Connects without a token, with nonsense, or with a signed token in which a byte was changed.
async fn bad_tokens(attack: Arc<Attack>) {
    let mut draws = Seed::new(12).draws();
    // With a seat, nothing but the token is wrong.
    let url = format!("{}?seat=1", attack.target.url);
    while !attack.is_over() {
        let token = match draws.below(4) {
            0 => None,
            1 => Some("nonsense".to_owned()),
            2 => Some("A".repeat(1 + draws.below(600) as usize)),
            _ => {
                let mut token = attack.member_token.clone().into_bytes();
                let at = draws.below(token.len() as u64) as usize;
                token[at] = if token[at] == b'A' { b'B' } else { b'A' };
                String::from_utf8(token).ok()
            }
        };
        let connected = connect(&url, token.as_deref(), &attack.target.trust, Limits::default()).await;
        attack.ends.admitted.add(u64::from(connected.is_ok()));
        // An attempt that the relay did not answer does not count.
        if matches!(connected, Ok(_) | Err(ConnectError::Refused(_))) {
            attack.count(AttackKind::BadToken);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Opens a session with or without a token, and does nothing until the relay closes it.
async fn hold(attack: Arc<Attack>, kind: AttackKind) {
    let Ok(client) = ClientBuilder::new().dangerous().with_no_certificate_verification() else { return };
    let Ok(mut url) = Url::parse(&attack.target.url) else { return };
    if kind == AttackKind::Stall {
        url.query_pairs_mut().append_pair("token", &attack.member_token).append_pair("seat", "1");
    }
    while !attack.is_over() {
        if let Ok(session) = client.connect(url.clone()).await {
            attack.count(kind);
            let closed = tokio::time::timeout(CLOSED_WITHIN, session.closed()).await;
            if !attack.is_over() {
                let end = if closed.is_ok() { &attack.ends.closed } else { &attack.ends.held };
                end.add(1);
            }
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

//! Attackers with a token: members of the honest players' room.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use evenkeel_core::{Reader, Seed};
use evenkeel_dr::message::{Frame, frames};
use evenkeel_net::transport::{CloseCode, Closed, Connection, Limits, RELIABLE_BYTES_MAX, connect};
use evenkeel_serve::Welcome;
use tokio::task::JoinSet;
use url::Url;
use web_transport_quinn::ClientBuilder;

use super::attack::Attack;
use super::forge::{ENTITIES_MAX, Forge, MemberView};
use super::kind::AttackKind;

/// The number of attacking members.
pub(super) const MEMBERS: u16 = 24;
/// The number of members that keep the honest players company before the attack.
const COMPANY: u16 = 4;
/// The name in their token; a member's name is this and its seat.
pub(super) const NAME: &str = "attacker";
/// A member's messages per second: within the allowance, so that the room sees them.
const RATE: u64 = 450;
/// The least share of valid vectors in what members with entities send: some 150 a second.
const VALID_SHARE: f64 = 1.0 / 3.0;
/// How often a member sends.
const TURN: Duration = Duration::from_millis(20);
/// The pause before a member comes back.
const PAUSE: Duration = Duration::from_millis(200);

/// The attack of the member on a seat.
pub(super) const fn kind(seat: u16) -> AttackKind {
    match seat {
        1..4 => AttackKind::RandomDatagram,
        4..8 => AttackKind::MutatedDatagram,
        8..10 => AttackKind::ValidVectors,
        10..12 => AttackKind::FalseVectors,
        12..13 => AttackKind::OutOfLimits,
        13..16 => AttackKind::FalseReports,
        16..18 => AttackKind::ShortLives,
        18..20 => AttackKind::Flood,
        20..22 => AttackKind::RandomReliable,
        22..24 => AttackKind::BrokenStream,
        _ => AttackKind::NeverReads,
    }
}

/// The number of entities of the member on a seat: the most for every other one.
const fn entities(seat: u16) -> usize {
    if seat.is_multiple_of(2) { ENTITIES_MAX } else { 32 }
}

pub(super) fn start(attack: &Arc<Attack>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for seat in 1..=MEMBERS {
        tasks.spawn(member(attack.clone(), seat, kind(seat)));
    }
    tasks
}

/// Starts harmless members: each sends one valid vector per turn.
pub(super) fn company(attack: &Arc<Attack>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for seat in 1..=COMPANY {
        tasks.spawn(member(attack.clone(), seat, AttackKind::ValidVectors));
    }
    tasks
}

/// Runs one member, which comes back whenever it is closed.
async fn member(attack: Arc<Attack>, seat: u16, kind: AttackKind) {
    let mut draws = Seed::new(21).child(u64::from(seat)).draws();
    let url = format!("{}?seat={seat}", attack.target.url);
    while !attack.is_over() {
        if matches!(kind, AttackKind::BrokenStream) {
            let _ = broken_stream(&attack, &url, draws.bits()).await;
        } else {
            let connected =
                connect(&url, Some(&attack.member_token), &attack.target.trust, Limits::default()).await;
            if let Ok(connection) = connected
                && let Ok(welcome) = Reader::new(connection.greeting()).read::<Welcome>()
            {
                attack.players().insert(welcome.player.0, kind);
                let forge = Forge::new(Seed::new(draws.bits()).draws(), welcome, entities(seat));
                assault(&attack, kind, connection, forge).await;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Attacks over one connection until it is closed.
async fn assault(attack: &Arc<Attack>, kind: AttackKind, connection: Connection, mut forge: Forge) {
    if kind == AttackKind::NeverReads {
        attack.count(kind);
        let closed = connection.closed().await;
        let too_slow = matches!(&closed, Closed::ByPeer(reason) if reason.code == CloseCode::TooSlow);
        if !attack.is_over() {
            let end = if too_slow { &attack.ends.too_slow } else { &attack.ends.not_too_slow };
            end.add(1);
        }
        return;
    }
    let view = Arc::new(Mutex::new(MemberView::default()));
    let mut reading = JoinSet::new();
    reading.spawn(read(attack.clone(), kind, connection.clone(), view.clone()));
    let mut introduced = !kind.has_entities();
    let vectors = if attack.harmless { 1 } else { 4 };
    let per_turn = match kind {
        _ if attack.harmless => 1,
        // Twenty times the allowance, and no more than this socket takes: what it drops was not sent.
        AttackKind::Flood => 200,
        AttackKind::ShortLives | AttackKind::RandomReliable => 2,
        _ => RATE * TURN.as_millis() as u64 / 1_000,
    };
    while !attack.is_over() && !connection.is_closed() {
        let stamp = lock(&view).stamp;
        forge.stamp = stamp.unwrap_or(forge.stamp);
        if let (false, Some(_)) = (introduced, stamp) {
            introduced = connection.send_reliable(forge.introductions()).is_ok();
        }
        for _ in 0..if introduced { per_turn } else { 0 } {
            // Valid vectors among the attacks keep the member's entities alive.
            let is_valid = kind.has_entities() && forge.draws.chance(VALID_SHARE);
            let as_kind = if is_valid { AttackKind::ValidVectors } else { kind };
            let count = if kind == AttackKind::ValidVectors { vectors } else { 1 };
            if send(as_kind, count, &connection, &mut forge, &mut lock(&view)) {
                attack.count(as_kind);
            }
        }
        let forged = std::mem::take(&mut forge.counts);
        let counters = attack.counters(kind);
        counters.vectors.add(forged.vectors);
        counters.reports.add(forged.reports);
        counters.settled.add(forged.settled);
        tokio::time::sleep(TURN).await;
    }
    reading.shutdown().await;
}

fn lock(view: &Mutex<MemberView>) -> MutexGuard<'_, MemberView> {
    view.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends one attack; returns whether the connection took it.
fn send(
    kind: AttackKind,
    vectors: u64,
    connection: &Connection,
    forge: &mut Forge,
    view: &mut MemberView,
) -> bool {
    let datagram = |bytes: Vec<u8>| {
        let length = bytes.len().min(connection.datagram_max());
        connection.send_datagram(Bytes::from(bytes).slice(..length)).is_ok()
    };
    match kind {
        AttackKind::RandomDatagram => datagram(forge.noise(400)),
        AttackKind::ValidVectors => datagram(forge.valid_vectors(vectors)),
        AttackKind::MutatedDatagram => {
            let bytes = match forge.draws.below(4) {
                0 => forge.valid_vectors(4),
                1 => forge.false_vectors(),
                2 => forge.out_of_limits(),
                _ => forge.reports(view),
            };
            datagram(forge.mutation(bytes))
        }
        AttackKind::FalseVectors if forge.draws.chance(0.02) => {
            connection.send_reliable(forge.short_lives()).is_ok()
        }
        AttackKind::FalseVectors => datagram(forge.false_vectors()),
        AttackKind::OutOfLimits => datagram(forge.out_of_limits()),
        AttackKind::FalseReports => datagram(forge.reports(view)),
        AttackKind::Flood => datagram(forge.noise(60)),
        AttackKind::RandomReliable if forge.draws.chance(0.5) => {
            connection.send_reliable(forge.noise(1_000)).is_ok()
        }
        AttackKind::RandomReliable => {
            let lives = forge.short_lives();
            connection.send_reliable(forge.mutation(lives)).is_ok()
        }
        _ => connection.send_reliable(forge.short_lives()).is_ok(),
    }
}

/// Reads everything that the relay sends.
async fn read(attack: Arc<Attack>, kind: AttackKind, connection: Connection, view: Arc<Mutex<MemberView>>) {
    let Some(mut reader) = connection.take_reader() else { return };
    let reliable = async {
        while let Ok(bytes) = reader.next().await {
            note(&attack, kind, &bytes, &view);
        }
    };
    let datagrams = async {
        while let Ok(bytes) = connection.read_datagram().await {
            note(&attack, kind, &bytes, &view);
        }
    };
    tokio::join!(reliable, datagrams);
}

/// Notes the session time, the vectors to acknowledge, and what the relay confirms.
fn note(attack: &Attack, kind: AttackKind, bytes: &[u8], view: &Mutex<MemberView>) {
    let Ok((header, frames)) = frames(bytes) else { return };
    let (mut view, counters) = (lock(view), attack.counters(kind));
    view.stamp = view.stamp.max(header.stamp);
    for frame in frames {
        match frame {
            Frame::Vector(vector) => {
                view.add_arrival(vector.entity, vector.seq, header.nonce);
                attack.passed_on[vector.entity.player().0 as usize].add(1);
            }
            Frame::Introduce(vector, _) => view.add_arrival(vector.entity, vector.seq, header.nonce),
            Frame::Recorded { .. } => counters.recorded.add(1),
            Frame::Confirm(confirm) => view.confirmed = view.confirmed.max(confirm.next),
            _ => {}
        }
    }
}

/// Does what the transport's own client never does: oversized and truncated messages, and excess streams.
async fn broken_stream(attack: &Arc<Attack>, url: &str, choice: u64) -> Option<()> {
    let client = ClientBuilder::new().dangerous().with_no_certificate_verification().ok()?;
    let mut url = Url::parse(url).ok()?;
    url.query_pairs_mut().append_pair("token", &attack.member_token);
    let limit = Duration::from_secs(5);
    let session = tokio::time::timeout(limit, client.connect(url)).await.ok()?.ok()?;
    let (mut writer, _reader) = tokio::time::timeout(limit, session.open_bi()).await.ok()?.ok()?;
    writer.write_all(b"EVK\x01").await.ok()?;
    let announced = match choice % 4 {
        0 => u32::MAX,
        1 => RELIABLE_BYTES_MAX as u32 + 1,
        _ => 1_000,
    };
    writer.write_all(&announced.to_le_bytes()).await.ok()?;
    writer.write_all(&[7; 500]).await.ok()?;
    attack.count(AttackKind::BrokenStream);
    let mut excess = Vec::new();
    for number in 0..64 {
        let pause = Duration::from_millis(20);
        if number % 2 == 0 {
            excess.push(tokio::time::timeout(pause, session.open_bi()).await.ok().map(drop));
        } else {
            excess.push(tokio::time::timeout(pause, session.open_uni()).await.ok().map(drop));
        }
        attack.count(AttackKind::BrokenStream);
    }
    if choice % 4 == 3 {
        let _ = writer.finish();
    }
    let _ = tokio::time::timeout(Duration::from_secs(2), session.closed()).await;
    Some(())
}

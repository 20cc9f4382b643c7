//! Attackers with a token: members of the room that the honest players are in.

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

use super::forge::{ENTITIES_MAX, Forge, Heard};
use super::{Attack, Kind, tally};

/// How many members attack.
pub(super) const MEMBERS: u16 = 24;
/// How many keep the honest players company before.
const COMPANY: u16 = 4;
/// The name of their token: the members are called by it and their seats.
pub(super) const NAME: &str = "attacker";
/// Messages of one member in a second: below what is allowed, so that they are looked at.
const RATE: u64 = 450;
/// The share of valid vectors among what members with entities send, at least: some 150 in a second.
const VALID_SHARE: f64 = 1.0 / 3.0;
const TURN: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_millis(200);

/// What the member on a seat does.
pub(super) const fn kind(seat: u16) -> Kind {
    match seat {
        1..4 => Kind::RandomDatagram,
        4..8 => Kind::MutatedDatagram,
        8..10 => Kind::Vectors,
        10..12 => Kind::Untrue,
        12..13 => Kind::Beyond,
        13..16 => Kind::Reports,
        16..18 => Kind::Births,
        18..20 => Kind::Flood,
        20..22 => Kind::RandomReliable,
        22..24 => Kind::BrokenStream,
        _ => Kind::NeverReads,
    }
}

/// How many entities it has: every other one as many as it may.
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

/// Members that do no harm: each sends a valid vector in every turn.
pub(super) fn company(attack: &Arc<Attack>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for seat in 1..=COMPANY {
        tasks.spawn(member(attack.clone(), seat, Kind::Vectors));
    }
    tasks
}

/// One member: comes back whenever it is thrown out.
async fn member(attack: Arc<Attack>, seat: u16, kind: Kind) {
    let mut draws = Seed::new(21).child(u64::from(seat)).draws();
    let url = format!("{}?seat={seat}", attack.target.url);
    while !attack.is_over() {
        if matches!(kind, Kind::BrokenStream) {
            let _ = broken_stream(&attack, &url, draws.bits()).await;
        } else {
            let came =
                connect(&url, Some(&attack.member_token), &attack.target.trust, Limits::default()).await;
            if let Ok(connection) = came
                && let Ok(welcome) = Reader::new(connection.greeting()).read::<Welcome>()
            {
                attack.players.lock().unwrap_or_else(PoisonError::into_inner).insert(welcome.player.0, kind);
                let forge = Forge::new(Seed::new(draws.bits()).draws(), welcome, entities(seat));
                assault(&attack, kind, connection, forge).await;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Attacks over one connection until it is closed.
async fn assault(attack: &Arc<Attack>, kind: Kind, connection: Connection, mut forge: Forge) {
    if kind == Kind::NeverReads {
        attack.count(kind, 1);
        let closed = connection.closed().await;
        let too_slow = matches!(&closed, Closed::ByPeer(reason) if reason.code == CloseCode::TooSlow);
        if !attack.is_over() {
            tally(if too_slow { &attack.ends.too_slow } else { &attack.ends.not_too_slow }, 1);
        }
        return;
    }
    let heard = Arc::new(Mutex::new(Heard::default()));
    let mut reading = JoinSet::new();
    reading.spawn(read(attack.clone(), kind, connection.clone(), heard.clone()));
    let mut introduced = !kind.has_entities();
    let vectors = if attack.harmless { 1 } else { 4 };
    let per_turn = match kind {
        _ if attack.harmless => 1,
        // Twenty times the allowance, and no more than the own socket takes: what it drops was not sent.
        Kind::Flood => 200,
        Kind::Births | Kind::RandomReliable => 2,
        _ => RATE * TURN.as_millis() as u64 / 1_000,
    };
    while !attack.is_over() && !connection.is_closed() {
        let stamp = lock(&heard).stamp;
        forge.stamp = stamp.unwrap_or(forge.stamp);
        if let (false, Some(_)) = (introduced, stamp) {
            introduced = connection.send_reliable(forge.introductions()).is_ok();
        }
        for _ in 0..if introduced { per_turn } else { 0 } {
            // Each has valid vectors among what else it sends: its entities live.
            let is_valid = kind.has_entities() && forge.draws.chance(VALID_SHARE);
            let as_kind = if is_valid { Kind::Vectors } else { kind };
            let count = if kind == Kind::Vectors { vectors } else { 1 };
            if send(as_kind, count, &connection, &mut forge, &mut lock(&heard)) {
                attack.count(as_kind, 1);
            }
        }
        let made = std::mem::take(&mut forge.made);
        let tallies = &attack.tallies[kind as usize];
        tally(&tallies.vectors, made.vectors);
        tally(&tallies.reports, made.reports);
        tally(&tallies.settled, made.settled);
        tokio::time::sleep(TURN).await;
    }
    reading.shutdown().await;
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn send(kind: Kind, vectors: u64, connection: &Connection, forge: &mut Forge, heard: &mut Heard) -> bool {
    let datagram = |bytes: Vec<u8>| {
        let length = bytes.len().min(connection.datagram_max());
        connection.send_datagram(Bytes::from(bytes).slice(..length)).is_ok()
    };
    match kind {
        Kind::RandomDatagram => datagram(forge.noise(400)),
        Kind::Vectors => datagram(forge.valid(vectors)),
        Kind::MutatedDatagram => {
            let bytes = match forge.draws.below(4) {
                0 => forge.valid(4),
                1 => forge.untrue(),
                2 => forge.beyond(),
                _ => forge.reports(heard),
            };
            datagram(forge.mutation(bytes))
        }
        Kind::Untrue if forge.draws.chance(0.02) => connection.send_reliable(forge.births()).is_ok(),
        Kind::Untrue => datagram(forge.untrue()),
        Kind::Beyond => datagram(forge.beyond()),
        Kind::Reports => datagram(forge.reports(heard)),
        Kind::Flood => datagram(forge.noise(60)),
        Kind::RandomReliable if forge.draws.chance(0.5) => {
            connection.send_reliable(forge.noise(1_000)).is_ok()
        }
        Kind::RandomReliable => {
            let births = forge.births();
            connection.send_reliable(forge.mutation(births)).is_ok()
        }
        _ => connection.send_reliable(forge.births()).is_ok(),
    }
}

/// Reads everything: the session's time, what there is to acknowledge, and what the relay took.
async fn read(attack: Arc<Attack>, kind: Kind, connection: Connection, heard: Arc<Mutex<Heard>>) {
    let Some(mut reader) = connection.take_reader() else { return };
    let reliable = async {
        while let Ok(bytes) = reader.next().await {
            hear(&attack, kind, &bytes, &heard);
        }
    };
    let datagrams = async {
        while let Ok(bytes) = connection.read_datagram().await {
            hear(&attack, kind, &bytes, &heard);
        }
    };
    tokio::join!(reliable, datagrams);
}

fn hear(attack: &Attack, kind: Kind, bytes: &[u8], heard: &Mutex<Heard>) {
    let Ok((header, frames)) = frames(bytes) else { return };
    let (mut heard, tallies) = (lock(heard), &attack.tallies[kind as usize]);
    heard.stamp = heard.stamp.max(header.stamp);
    for frame in frames {
        match frame {
            Frame::Vector(vector) => {
                heard.arrived(vector.entity, vector.seq, header.nonce);
                tally(&attack.passed_on[vector.entity.player().0 as usize], 1);
            }
            Frame::Introduce(vector, _) => heard.arrived(vector.entity, vector.seq, header.nonce),
            Frame::Recorded { .. } => tally(&tallies.recorded, 1),
            Frame::Confirm(confirm) => heard.confirmed = heard.confirmed.max(confirm.next),
            _ => {}
        }
    }
}

/// What the transport's own client would not do: too long and half messages, and streams in excess.
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
    attack.count(Kind::BrokenStream, 1);
    let mut excess = Vec::new();
    for number in 0..64 {
        let pause = Duration::from_millis(20);
        if number % 2 == 0 {
            excess.push(tokio::time::timeout(pause, session.open_bi()).await.ok().map(drop));
        } else {
            excess.push(tokio::time::timeout(pause, session.open_uni()).await.ok().map(drop));
        }
        attack.count(Kind::BrokenStream, 1);
    }
    if choice % 4 == 3 {
        let _ = writer.finish();
    }
    let _ = tokio::time::timeout(Duration::from_secs(2), session.closed()).await;
    Some(())
}

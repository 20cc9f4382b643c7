//! Attackers with a token: members of the room that the honest players are in.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use evenkeel_core::{Reader, Seed, SessionTime};
use evenkeel_dr::message::frames;
use evenkeel_net::Welcome;
use evenkeel_net::transport::{Connection, Limits, RELIABLE_BYTES_MAX, connect};
use tokio::task::JoinSet;
use url::Url;
use web_transport_quinn::ClientBuilder;

use super::forge::Forge;
use super::{Attack, Kind};

/// How many members attack.
pub(super) const MEMBERS: u16 = 24;
/// Messages of one member in a second: below what is allowed, so that they are looked at.
const RATE: u64 = 450;
const TURN: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_millis(200);

const fn kind(seat: u16) -> Kind {
    match seat {
        1..7 => Kind::RandomDatagram,
        7..13 => Kind::MutatedDatagram,
        13..16 => Kind::Lie,
        16..18 => Kind::Flood,
        18..20 => Kind::RandomReliable,
        20..22 => Kind::Births,
        22..24 => Kind::BrokenStream,
        _ => Kind::NeverReads,
    }
}

pub(super) fn start(attack: &Arc<Attack>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for seat in 1..=MEMBERS {
        tasks.spawn(member(attack.clone(), seat));
    }
    tasks
}

/// One member: comes back whenever it is thrown out.
async fn member(attack: Arc<Attack>, seat: u16) {
    let (kind, mut draws) = (kind(seat), Seed::new(21).child(u64::from(seat)).draws());
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
                attack
                    .players
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .insert(welcome.player.0);
                let forge = Forge::new(Seed::new(draws.bits()).draws(), welcome);
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
        let _ = tokio::time::timeout(Duration::from_secs(10), connection.closed()).await;
        return;
    }
    let stamp = Arc::new(AtomicI64::new(0));
    let mut reading = JoinSet::new();
    reading.spawn(read(connection.clone(), stamp.clone()));
    let per_turn = match kind {
        // Twenty times the allowance, and no more than the own socket takes: what it drops was not sent.
        Kind::Flood => 200,
        Kind::Births | Kind::RandomReliable => 2,
        _ => RATE * TURN.as_millis() as u64 / 1_000,
    };
    while !attack.is_over() && !connection.is_closed() {
        forge.stamp = SessionTime::from_nanos(stamp.load(Ordering::Relaxed));
        for _ in 0..per_turn {
            if send(kind, &connection, &mut forge) {
                attack.count(kind, 1);
            }
        }
        tokio::time::sleep(TURN).await;
    }
    reading.shutdown().await;
}

fn send(kind: Kind, connection: &Connection, forge: &mut Forge) -> bool {
    let datagram = |bytes: Vec<u8>| {
        let length = bytes.len().min(connection.datagram_max());
        connection.send_datagram(Bytes::from(bytes).slice(..length)).is_ok()
    };
    match kind {
        Kind::RandomDatagram => datagram(forge.noise(400)),
        Kind::MutatedDatagram => {
            let lie = forge.lie();
            datagram(forge.mutation(lie))
        }
        Kind::Lie => datagram(forge.lie()),
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

/// Reads everything, and the session's time from it.
async fn read(connection: Connection, stamp: Arc<AtomicI64>) {
    let Some(mut reader) = connection.take_reader() else { return };
    let reliable = async { while reader.next().await.is_ok() {} };
    let datagrams = async {
        while let Ok(bytes) = connection.read_datagram().await {
            if let Ok((header, _)) = frames(&bytes)
                && let Some(now) = header.stamp
            {
                stamp.store(now.as_nanos(), Ordering::Relaxed);
            }
        }
    };
    tokio::join!(reliable, datagrams);
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

//! The side towards the game: passes actions to it, and its updates to the machine.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use evenkeel_core::PeerId;
use evenkeel_net::crank::{Bucket, PeerCounters, Verdict};
use evenkeel_net::stamped::StampedSocket;
use evenkeel_net::transport::{CloseCode, Closed};
use evenkeel_sync_ms::{SmsCommand, SmsEvent};

use super::seats::Seats;
use super::{NODE, ServerCrank, is_done, why_left};
use crate::counters::{DatagramCounters, ServerCounters, add, count};
use crate::notice::{Notice, Notify};
use crate::udp::{self, DATAGRAM_MAX};

/// What stands between the machine and the game server.
pub(crate) struct GameSide {
    pub(crate) game: SocketAddr,
    pub(crate) counters: ServerCounters,
    pub(crate) notify: Notify,
    seats: Mutex<Seats>,
    is_unreachable: AtomicBool,
}

impl GameSide {
    pub(crate) fn new(game: SocketAddr, players_max: usize, notify: Notify) -> Self {
        Self {
            game,
            counters: ServerCounters::default(),
            notify,
            seats: Mutex::new(Seats::new(players_max)),
            is_unreachable: AtomicBool::new(false),
        }
    }

    pub(crate) fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles an event of the machine, on the crank's thread.
    pub(crate) fn on_event(&self, event: SmsEvent) {
        match event {
            SmsEvent::Action(action) => self.pass(action.from, &action.bytes),
            SmsEvent::Guaranteed { peer, is_guaranteed } => {
                let Some(from) = self.seats().get(peer).map(|seat| seat.from) else { return };
                (self.notify)(Notice::Guaranteed { player: peer.0, from, is_guaranteed });
            }
            SmsEvent::Stalled { .. } | SmsEvent::Clock(_) => {}
        }
    }

    /// Passes an action to the game.
    fn pass(&self, from: PeerId, bytes: &[u8]) {
        let Some(socket) = self.seats().get(from).map(|seat| seat.socket.clone()) else { return };
        let (sent, was_refused) = udp::send(&socket, bytes);
        let ServerCounters { game_sent, game_sent_bytes, game_send_failed, .. } = &self.counters;
        DatagramCounters { sent: game_sent, bytes: game_sent_bytes, failed: game_send_failed }.note(&sent);
        if was_refused {
            self.on_refused();
        }
    }

    fn on_refused(&self) {
        count(&self.counters.game_unreachable);
        if !self.is_unreachable.swap(true, Ordering::Relaxed) {
            (self.notify)(Notice::GameUnreachable { game: self.game });
        }
    }

    /// Handles the end of a tunnel, on the crank's thread.
    pub(crate) fn on_detached(&self, peer: PeerId, closed: &Closed, counters: &Arc<PeerCounters>) {
        if closed.code() == Some(CloseCode::Replaced) {
            return;
        }
        let mut seats = self.seats();
        let Some(seat) = seats.get_mut(peer) else { return };
        if !seat.attached.as_ref().is_some_and(|attached| Arc::ptr_eq(attached, counters)) {
            return;
        }
        seat.attached = None;
        seat.away_since = Some(Instant::now());
        if is_done(closed) {
            seats.remove(peer);
        }
        drop(seats);
        (self.notify)(Notice::PlayerLeft { player: peer.0, why: why_left(closed) });
    }

    pub(crate) fn forget_the_gone(&self, idle: Duration) {
        let mut seats = self.seats();
        for peer in seats.gone(idle) {
            seats.remove(peer);
        }
    }

    /// Reads what the game sends to a player, for as long as the player has its seat.
    pub(crate) async fn read(
        self: Arc<Self>,
        crank: ServerCrank,
        peer: PeerId,
        socket: UdpSocket,
        mut bucket: Bucket,
    ) {
        let socket = match StampedSocket::new(socket, crank.clock()) {
            Ok(socket) => socket,
            Err(error) => return tracing::error!(%error, "a player's socket cannot be read"),
        };
        let (counters, mut buffer) = (&self.counters, vec![0; DATAGRAM_MAX]);
        loop {
            let (bytes, at) = match socket.receive(&mut buffer).await {
                Ok((len, _, at)) => (&buffer[..len], at),
                // An answer to something sent before: the game server is not there.
                Err(_) => {
                    self.on_refused();
                    continue;
                }
            };
            count(&counters.game_received);
            add(&counters.game_received_bytes, bytes.len() as u64);
            self.is_unreachable.store(false, Ordering::Relaxed);
            if bucket.offer(at, bytes.len()) != Verdict::Pass {
                count(&counters.overloaded);
                continue;
            }
            if self.seats().get(peer).is_none_or(|seat| seat.attached.is_none()) {
                count(&counters.undeliverable);
                continue;
            }
            let update = SmsCommand::Update { to: Some(peer), reliable: false, bytes: bytes.to_vec() };
            if crank.command_at(NODE, at, update).is_err() {
                count(&counters.overloaded);
            }
        }
    }
}

//! Lets clients' proxies in: players get seats, and TCP connections are forwarded.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::{Malformed, PeerId, Reader};
use evenkeel_net::crank::{Attachment, Bucket};
use evenkeel_net::transport::tunnel::TunnelRequest;
use evenkeel_net::transport::{CloseCode, CloseReason, Connection};
use tokio::time::timeout;

use super::seats::{Seat, Seats};
use super::{Aborting, NODE, ServerState};
use crate::counters::{ServerCounters, count};
use crate::hello::{self, Hello, PlayerId};
use crate::notice::Notice;
use crate::{stream, udp};

/// How long a client may take to leave that has been told that it may come in.
const CHECK_MAX: Duration = Duration::from_secs(5);

/// Answers requests for tunnels.
#[derive(Clone)]
pub(crate) struct Admission(Arc<ServerState>);

impl Admission {
    pub(crate) const fn new(state: Arc<ServerState>) -> Self {
        Self(state)
    }

    fn counters(&self) -> &ServerCounters {
        &self.0.side.counters
    }

    pub(crate) async fn answer(self, request: TunnelRequest) {
        match Reader::new(request.hello()).read::<Hello>() {
            Ok(Hello::Check) => self.check(request).await,
            Ok(Hello::Player { id, port }) => self.seat(request, id, port).await,
            Ok(Hello::Stream { port }) => self.forward(request, port).await,
            Err(Malformed::Version { .. }) => self.refuse(request, CloseCode::VersionMismatch).await,
            Err(_) => self.refuse(request, CloseCode::Protocol).await,
        }
    }

    async fn refuse(&self, request: TunnelRequest, reason: impl Into<CloseReason>) {
        count(&self.counters().refused);
        request.refuse(reason).await;
    }

    /// Lets a client in that only wants to know that it may come in, and waits until it has gone.
    async fn check(&self, request: TunnelRequest) {
        let Ok(_slot) = self.0.slots.checks.try_acquire() else {
            return self.refuse(request, CloseCode::Full).await;
        };
        if let Ok(connection) = request.accept(b"").await
            && timeout(CHECK_MAX, connection.closed()).await.is_err()
        {
            connection.close(CloseCode::Done);
        }
    }

    /// Gives a player its seat, the former one if it was here before.
    async fn seat(&self, request: TunnelRequest, id: PlayerId, port: u16) {
        let from = request.remote_address();
        let taken = self.take_seat(&mut self.0.side.seats(), id, port, from);
        let port = match taken {
            Ok(port) => port,
            Err(reason) => return self.refuse(request, reason).await,
        };
        if let Ok(connection) = request.accept(&hello::bytes(&port)).await {
            self.attach(id, from, connection);
        }
    }

    /// Returns the port at which the game sees the player.
    fn take_seat(
        &self,
        seats: &mut Seats,
        id: PlayerId,
        port: u16,
        from: SocketAddr,
    ) -> Result<u16, CloseReason> {
        let failed = |error: std::io::Error| {
            CloseReason::new(CloseCode::Internal, format!("no socket towards the game: {error}"))
        };
        if let Some(seat) = seats.find(&id).and_then(|peer| seats.get(peer)) {
            return seat.socket.local_addr().map(|address| address.port()).map_err(failed);
        }
        let peer = seats.vacancy().ok_or(CloseCode::Full)?;
        let state = &self.0;
        let socket = udp::towards(state.side.game, port).map_err(failed)?;
        let reading = socket.try_clone().map_err(failed)?;
        let bucket = Bucket::new(state.config.allowance(), state.crank.clock().now());
        let reader = tokio::spawn(state.side.clone().read(state.crank.clone(), peer, reading, bucket));
        let port = socket.local_addr().map_err(failed)?.port();
        seats.insert(
            id,
            Seat {
                peer,
                from,
                socket: Arc::new(socket),
                attached: None,
                // Until it is attached.
                away_since: Some(std::time::Instant::now()),
                _reader: Aborting(reader.abort_handle()),
            },
        );
        Ok(port)
    }

    fn attach(&self, id: PlayerId, from: SocketAddr, connection: Connection) {
        let state = &self.0;
        // Under the lock, so that the end of the attachment is not handled before it is noted here.
        let mut seats = state.side.seats();
        let seat = seats.find(&id).and_then(|peer| seats.get_mut(peer));
        let Some(seat) = seat else { return connection.close(CloseCode::Full) };
        let allowance = Some(state.config.allowance());
        let attachment = Attachment { connection, emulation: None, allowance };
        let peer: PeerId = seat.peer;
        let Ok(counters) = state.crank.attach(NODE, peer, attachment) else { return };
        seat.attached = Some(counters);
        (seat.away_since, seat.from) = (None, from);
        drop(seats);
        count(&self.counters().admitted);
        (state.side.notify)(Notice::PlayerCame { player: peer.0, from });
    }

    /// Forwards a TCP connection.
    async fn forward(&self, request: TunnelRequest, port: u16) {
        let (counters, state) = (self.counters(), &self.0);
        if !state.config.tcp.contains(&port) {
            count(&counters.streams_refused);
            let message =
                format!("TCP port {port} is not forwarded: start the server side with --tcp {port}");
            return self.refuse(request, CloseReason::new(CloseCode::NotFound, message)).await;
        }
        // Streams take none of the players' places.
        let Ok(_slot) = state.slots.streams.try_acquire() else {
            count(&counters.streams_refused);
            return self.refuse(request, CloseCode::Full).await;
        };
        let tcp = match stream::dial(state.side.game, port, &counters.streams_refused).await {
            Ok(tcp) => tcp,
            Err(error) => {
                let message = format!("the game server's machine refused TCP port {port}: {error}");
                return self.refuse(request, CloseReason::new(CloseCode::NotFound, message)).await;
            }
        };
        if let Ok(tunnel) = request.accept_stream(b"").await {
            count(&counters.streams);
            stream::carry(tcp, tunnel, &counters.stream_bytes).await;
        }
    }
}

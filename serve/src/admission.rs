//! Admission of players: from a connection request with a token to a peer of its room's machine.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use evenkeel_core::Wire;
use evenkeel_net::crank::Attachment;
use evenkeel_net::token::{Name, TokenRefused, unix_seconds};
use evenkeel_net::transport::{CloseCode, CloseReason, Connection, Request};

use crate::game::{ServedRoom, room_seed};
use crate::rooms::Reservation;
use crate::state::RelayState;
use crate::welcome::Welcome;

impl<R: ServedRoom> RelayState<R> {
    /// Admits or refuses a client.
    pub(crate) async fn admit(self: Arc<Self>, request: Request) {
        match self.verify(&request) {
            Ok((room, name)) => self.admit_player(request, &room, &name).await,
            Err(reason) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                request.refuse(reason).await;
            }
        }
    }

    /// Verifies a request's token. Returns the room and the player's name.
    fn verify(&self, request: &Request) -> Result<(Name, Name), CloseReason> {
        let refuse = |refused: TokenRefused| CloseReason::new(CloseCode::TokenRefused, refused.to_string());
        let token = request.token().unwrap_or_default();
        let room = Some(request.path().trim_matches('/')).filter(|room| !room.is_empty());
        let claims = self.issuer.verify_for(room, &token, unix_seconds()).map_err(refuse)?;
        let name = claims.player(request.query("seat").as_deref()).map_err(refuse)?;
        Ok((claims.room, name))
    }

    async fn admit_player(&self, request: Request, room: &Name, name: &Name) {
        let reserved = self.rooms().reserve(room, name);
        let reservation = match reserved {
            Ok(reservation) => reservation,
            Err(reason) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                return request.refuse(reason).await;
            }
        };
        if !self.prepare(&reservation) {
            self.rooms().remove(reservation.node);
            return request.refuse(CloseCode::Internal).await;
        }
        let mut greeting = Vec::new();
        Welcome { player: reservation.peer, tick: reservation.config.dr.tick }.emit(&mut greeting);
        let Ok(connection) = request.accept(&greeting).await else {
            return self.rooms().cancel(reservation);
        };
        self.admitted.fetch_add(1, Ordering::Relaxed);
        self.attach(reservation, name, connection);
    }

    /// Adds the machine of a new room and removes that of a room closed for it. Returns false if the crank refuses.
    fn prepare(&self, reservation: &Reservation) -> bool {
        if let Some(closed) = reservation.closed {
            let crank = self.cranks.of(closed).clone();
            tokio::spawn(async move { crank.remove(closed, CloseCode::RoomClosed).await });
        }
        let machine = || (self.make_room)(&reservation.config, room_seed(self.game_seed, reservation.node.0));
        !reservation.is_new
            || self
                .cranks
                .of(reservation.node)
                .add_configured(reservation.node, machine(), &reservation.config)
                .is_ok()
    }

    /// Tells a room's machine the player's name and attaches its connection.
    fn attach(&self, reservation: Reservation, name: &Name, connection: Connection) {
        let allowance = Some(self.config.allowance());
        let attachment = Attachment { connection: connection.clone(), emulation: None, allowance };
        let (node, peer) = (reservation.node, reservation.peer);
        // The rooms stay locked, so that players join them in the order in which the crank attaches them and leave only
        // after they joined.
        let (mut rooms, crank) = (self.rooms(), self.cranks.of(node));
        let named = R::named(peer, name.as_str()).map_or(Ok(()), |named| crank.command(node, named));
        match named.and_then(|()| crank.attach(node, peer, attachment)) {
            Ok(counters) => rooms.confirm(reservation, counters),
            Err(_) => {
                rooms.cancel(reservation);
                connection.close(CloseCode::Internal);
            }
        }
    }
}

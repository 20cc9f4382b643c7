//! The state that a relay's tasks share.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_dr::{Budget, EntityId, PairWeight, PolicyKind, RelayCommand};
use evenkeel_net::certificate::CertificateHash;
use evenkeel_net::crank::CrankError;
use evenkeel_net::token::{IssuerId, Name};
use evenkeel_net::transport::ListenerHandle;
use evenkeel_sync_ms::{Order, SmsCommand};

use crate::config::RelayConfig;
use crate::cranks::Cranks;
use crate::game::{MakeRoom, ServedRoom};
use crate::report::RoomReport;
use crate::rooms::Rooms;
use crate::served_certificate::ServedCertificate;

/// The state that a relay's tasks share.
pub(crate) struct RelayState<R: ServedRoom> {
    pub(crate) config: RelayConfig,
    pub(crate) cranks: Cranks<R>,
    pub(crate) rooms: Arc<Mutex<Rooms>>,
    pub(crate) make_room: MakeRoom<R>,
    /// The seed that the rooms' game seeds derive from.
    pub(crate) game_seed: u64,
    pub(crate) issuer: IssuerId,
    pub(crate) listener: ListenerHandle,
    pub(crate) certificate: Mutex<ServedCertificate>,
    /// Players admitted so far.
    pub(crate) admitted: AtomicU64,
    /// Players refused so far.
    pub(crate) refused: AtomicU64,
}

impl<R: ServedRoom> RelayState<R> {
    pub(crate) fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn certificate(&self) -> MutexGuard<'_, ServedCertificate> {
        self.certificate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the hashes that clients may pin; none for a certificate from files.
    pub(crate) fn hashes(&self) -> Vec<CertificateHash> {
        self.certificate().hashes()
    }

    /// Reports on a room; `None` if there is no such room.
    pub(crate) async fn report(&self, name: &Name) -> Option<RoomReport> {
        let (node, config, verdict, players) = {
            let rooms = self.rooms();
            let room = rooms.get(name)?;
            (room.node, room.config.dr, room.watch.verdict, room.player_reports())
        };
        let report = move |machine: &mut R, now| RoomReport::of(machine, now, &config, verdict, players);
        self.cranks.of(node).with(node, report).await.ok()
    }

    /// Switches a room's policy. Returns false if there is no such room.
    pub(crate) fn switch(&self, name: &Name, policy: PolicyKind, budget: Budget) -> Result<bool, CrankError> {
        let mut rooms = self.rooms();
        let Some(node) = rooms.get(name).map(|room| room.node) else { return Ok(false) };
        self.cranks.of(node).command(node, RelayCommand::Switch { policy, budget }.into())?;
        rooms.set_policy(name, policy, budget);
        Ok(true)
    }

    /// Switches the order of actions in a room, and Sync-out. Returns false if there is no such room, or if it has no game.
    pub(crate) fn switch_order(&self, name: &Name, order: Order, sync_out: bool) -> Result<bool, CrankError> {
        let rooms = self.rooms();
        let Some(node) = rooms.get(name).map(|room| room.node) else { return Ok(false) };
        let Some(command) = R::sync_command(SmsCommand::Switch { order, sync_out }) else { return Ok(false) };
        self.cranks.of(node).command(node, command).map(|()| true)
    }

    /// Sets the weight of an entity's error at a player. Returns false if there is no such player, `None` if there is no
    /// such room.
    pub(crate) fn weigh(
        &self,
        name: &Name,
        entity: EntityId,
        player: &str,
        weight: PairWeight,
    ) -> Option<Result<bool, CrankError>> {
        let rooms = self.rooms();
        let room = rooms.get(name)?;
        let Some(receiver) = room.find_player(player) else { return Some(Ok(false)) };
        let command = RelayCommand::Weigh { entity, receiver, weight };
        Some(self.cranks.of(room.node).command(room.node, command.into()).map(|()| true))
    }
}

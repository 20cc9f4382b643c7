//! What a server asks of the machine of a room, whatever its protocol.

use evenkeel_core::{Endpoint, PeerId};

/// The machine of a room: any [`Endpoint`], with its own commands and events. A server brings players in and lets them go,
/// and leaves the rest to the machine.
pub trait Room: Endpoint {
    /// The peer that an event names as stalled: it does not read what must not be lost, so the server disconnects it.
    fn stalled(event: &Self::Event) -> Option<PeerId>;

    /// The command that tells the machine a player's name, before the player joins; `None` if it does not ask for names.
    fn named(player: PeerId, name: &str) -> Option<Self::Command> {
        let _ = (player, name);
        None
    }

    /// Counts that a game keeps of a player, by name.
    fn tallies(&self, player: PeerId) -> Vec<(&'static str, u64)> {
        let _ = player;
        Vec::new()
    }
}

//! Reaction: an action waits until every other player has promised to be later, by virtual sending times.
//!
//! The order needs neither synchronized clocks nor Sync-out. It costs no more waiting than that for the player whose way
//! there and back is longest, and less while that player has just promised something. A player that does not speak up in time
//! is not waited for.

use evenkeel_core::SessionTime;

use super::{ClientView, Head, Tag, WaitPolicy};

/// The order of reactions.
#[derive(Clone, Copy, Debug)]
pub struct Reaction;

impl WaitPolicy for Reaction {
    fn tag(&self) -> Tag {
        Tag::Virtual
    }

    fn until(&self, head: &Head, clients: &[ClientView]) -> SessionTime {
        // A player without a promise has not seen an update yet, so it has nothing to react to.
        let can_precede = |client: &&ClientView| {
            client.peer != head.from && client.promise.is_some_and(|promise| promise < head.at)
        };
        let longest = clients.iter().filter(can_precede).map(|client| client.lag).max();
        longest.map_or(SessionTime::MIN, |longest| head.at + longest)
    }
}

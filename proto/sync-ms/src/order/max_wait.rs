//! MaxWait (section 5.1): an action waits for the longest delay of all players.

use evenkeel_core::SessionTime;

use super::{ClientView, Head, Tag, WaitPolicy};

/// The paper's MaxWait.
#[derive(Clone, Copy, Debug)]
pub struct MaxWait;

impl WaitPolicy for MaxWait {
    fn tag(&self) -> Tag {
        Tag::Sent
    }

    fn until(&self, head: &Head, clients: &[ClientView]) -> SessionTime {
        let longest = clients.iter().filter_map(|client| client.up).max();
        longest.map_or(head.at, |longest| head.at + longest)
    }
}

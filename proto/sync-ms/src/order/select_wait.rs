//! SelectWait (section 5.2): an action waits only for players that can have acted before it.

use evenkeel_core::SessionTime;

use super::{ClientView, Head, Tag, WaitPolicy};

/// The paper's SelectWait. A player whose last known action was less than the time between its actions ago has sent no other
/// one since.
#[derive(Clone, Copy, Debug)]
pub struct SelectWait;

impl WaitPolicy for SelectWait {
    fn tag(&self) -> Tag {
        Tag::Sent
    }

    fn until(&self, head: &Head, clients: &[ClientView]) -> SessionTime {
        let can_precede = |client: &&ClientView| match (client.last_sent, client.gap) {
            (Some(last), Some(gap)) => last + gap <= head.at,
            _ => true,
        };
        let longest = clients.iter().filter(can_precede).filter_map(|client| client.up).max();
        longest.map_or(head.at, |longest| head.at + longest)
    }
}

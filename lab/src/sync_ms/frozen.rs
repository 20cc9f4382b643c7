//! A player whose machine is suspended for a while: nothing of it arrives.

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerId, delegate_endpoint};
use evenkeel_sync_ms::{Smc, SmcCommand, SmcEvent};

/// A module whose messages are dropped between two times.
#[derive(Debug)]
pub(crate) struct FrozenSmc {
    smc: Smc,
    during: (LocalTime, LocalTime),
}

impl FrozenSmc {
    pub(crate) const fn new(smc: Smc, during: (LocalTime, LocalTime)) -> Self {
        Self { smc, during }
    }
}

impl Endpoint for FrozenSmc {
    type Command = SmcCommand;
    type Event = SmcEvent;

    delegate_endpoint!(self.smc:
        handle_command, handle_message, handle_peer, handle_timeout, poll_event, poll_timeout);

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let (from, until) = self.during;
        loop {
            let message = self.smc.poll_transmit(now, bytes)?;
            if !(from..until).contains(&now) {
                return Some(message);
            }
        }
    }
}

//! A player with a modified client: its tags claim that it acted earlier than it did.
//!
//! It wraps the honest module and changes the bytes on their way out, as a cheat would. Both tags lie, the sending time and
//! the reaction, and so do the promises, since an action before its own promise would give the lie away.

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerId, Span, delegate_endpoint};
use evenkeel_sync_ms::message::{ActionFrame, Frame, Moment, SyncMessage, VERSION};
use evenkeel_sync_ms::{Smc, SmcCommand, SmcEvent};

/// A module whose tags are too early.
#[derive(Debug)]
pub(crate) struct LyingSmc {
    smc: Smc,
    early: Span,
}

impl LyingSmc {
    pub(crate) const fn new(smc: Smc, early: Span) -> Self {
        Self { smc, early }
    }

    /// Falsifies the tags of a message.
    fn falsify(&self, bytes: &mut Vec<u8>) {
        let Ok(message) = SyncMessage::parse(bytes) else { return };
        let header = message.header();
        let mut forged = Vec::new();
        header.emit(VERSION, &mut forged);
        let earlier = |moment: Moment| Moment { elapsed: moment.elapsed - self.early, ..moment };
        for frame in message {
            let frame = match frame {
                Frame::Action(action) => Frame::Action(ActionFrame {
                    reaction: action.reaction.map(earlier),
                    sent: action.sent.map(|sent| sent - self.early),
                    ..action
                }),
                Frame::Promise { next, moment } => Frame::Promise { next, moment: earlier(moment) },
                other => other,
            };
            frame.emit(header.stamp, &mut forged);
        }
        *bytes = forged;
    }
}

impl Endpoint for LyingSmc {
    type Command = SmcCommand;
    type Event = SmcEvent;

    delegate_endpoint!(self.smc:
        handle_command, handle_message, handle_peer, handle_timeout, poll_event, poll_timeout);

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let (to, channel) = self.smc.poll_transmit(now, bytes)?;
        if channel == Channel::Datagram {
            self.falsify(bytes);
        }
        Some((to, channel))
    }
}

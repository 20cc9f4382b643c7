//! A player with a modified client: its tags claim that it acted earlier than it did.
//!
//! It wraps the honest module and changes the bytes on their way out, as a cheat would. Both tags lie, the sending time and
//! the reaction, and so do the promises, since an action before its own promise would give the lie away. It may also answer
//! pings late or not at all, or promise anything.

use std::collections::BTreeMap;

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerId, Span, delegate_endpoint, earlier};
use evenkeel_sync_ms::message::{ActionFrame, Frame, Moment, SyncMessage, VERSION};
use evenkeel_sync_ms::{Smc, SmcCommand, SmcEvent};

/// What a liar does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SmcLie {
    /// How much earlier it claims to have acted.
    pub(crate) early: Span,
    /// How much farther ahead it promises.
    pub(crate) ahead: Span,
    pub(crate) answers: Answers,
}

/// How it answers pings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Answers {
    #[default]
    AtOnce,
    Never,
    /// One in so many is late by this.
    Late(u64, Span),
}

/// A module that lies.
#[derive(Debug)]
pub(crate) struct LyingSmc {
    smc: Smc,
    server: PeerId,
    lie: SmcLie,
    answered: u64,
    /// Answers that are held back.
    late: BTreeMap<(LocalTime, u64), Vec<u8>>,
}

impl LyingSmc {
    pub(crate) const fn new(smc: Smc, server: PeerId, lie: SmcLie) -> Self {
        Self { smc, server, lie, answered: 0, late: BTreeMap::new() }
    }

    /// Falsifies the tags of a message. Returns whether anything is left of it.
    fn falsify(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> bool {
        let Ok(message) = SyncMessage::parse(bytes) else { return true };
        let header = message.header();
        let mut forged = Vec::new();
        header.emit(VERSION, &mut forged);
        let (alone, SmcLie { early, ahead, .. }) = (forged.clone(), self.lie);
        let moved = |moment: Moment, by: Span| Moment { elapsed: moment.elapsed + by, ..moment };
        for frame in message {
            let frame = match frame {
                Frame::Action(action) => Frame::Action(ActionFrame {
                    reaction: action.reaction.map(|moment| moved(moment, -early)),
                    sent: action.sent.map(|sent| sent - early),
                    ..action
                }),
                Frame::Promise { next, moment } => {
                    Frame::Promise { next, moment: moved(moment, ahead - early) }
                }
                Frame::Pong(_) => match self.late_by() {
                    Some(late) if late <= Span::ZERO => frame,
                    Some(late) => {
                        let mut pong = alone.clone();
                        frame.emit(header.stamp, &mut pong);
                        self.late.insert((now + late, self.answered), pong);
                        continue;
                    }
                    None => continue,
                },
                other => other,
            };
            frame.emit(header.stamp, &mut forged);
        }
        *bytes = forged;
        bytes.len() > alone.len()
    }

    /// How late the next answer is, unless it is never sent.
    fn late_by(&mut self) -> Option<Span> {
        self.answered += 1;
        match self.lie.answers {
            Answers::Never => None,
            Answers::Late(one_in, late) if self.answered.is_multiple_of(one_in) => Some(late),
            Answers::AtOnce | Answers::Late(..) => Some(Span::ZERO),
        }
    }

    fn late_at(&self) -> Option<LocalTime> {
        self.late.first_key_value().map(|((at, _), _)| *at)
    }
}

impl Endpoint for LyingSmc {
    type Command = SmcCommand;
    type Event = SmcEvent;

    delegate_endpoint!(self.smc: handle_command, handle_message, handle_peer, handle_timeout, poll_event);

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        if self.late_at().is_some_and(|at| at <= now) {
            (_, *bytes) = self.late.pop_first()?;
            return Some((self.server, Channel::Datagram));
        }
        loop {
            let (to, channel) = self.smc.poll_transmit(now, bytes)?;
            if channel != Channel::Datagram || self.falsify(now, bytes) {
                return Some((to, channel));
            }
        }
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        earlier(self.smc.poll_timeout(), self.late_at())
    }
}

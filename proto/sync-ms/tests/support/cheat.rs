//! A modified client: it changes its packets on their way out.

use evenkeel_core::Span;
use evenkeel_sync_ms::message::{ActionFrame, Frame, Moment, SyncMessage, VERSION};

/// How it answers pings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Pongs {
    #[default]
    AtOnce,
    Never,
    /// One in so many is late by this.
    Late(u32, Span),
}

/// What it changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cheat {
    /// How much earlier it claims to have acted.
    pub(crate) early: Span,
    /// How much farther ahead it promises.
    pub(crate) ahead: Span,
    pub(crate) pongs: Pongs,
    /// Whether it sends nothing but actions.
    pub(crate) is_terse: bool,
    pub(crate) answered: u32,
}

impl Cheat {
    pub(crate) fn early(early: Span, pongs: Pongs) -> Self {
        Self { early, pongs, ..Self::default() }
    }

    /// The packets that leave in place of one, and how long each is held back.
    pub(crate) fn forge(&mut self, bytes: &[u8]) -> Vec<(Span, Vec<u8>)> {
        let message = SyncMessage::parse(bytes).expect("our own message");
        let header = message.header();
        let packet = |frames: &[Frame<'_>]| {
            let mut bytes = Vec::new();
            header.emit(VERSION, &mut bytes);
            frames.iter().for_each(|frame| frame.emit(header.stamp, &mut bytes));
            bytes
        };
        let moved = |moment: Moment, by: Span| Moment { elapsed: moment.elapsed + by, ..moment };
        let (mut rest, mut forged) = (Vec::new(), Vec::new());
        for frame in message {
            match frame {
                Frame::Pong(_) => {
                    self.answered += 1;
                    match self.pongs {
                        Pongs::Late(one_in, late) if self.answered.is_multiple_of(one_in) => {
                            forged.push((late, packet(&[frame])));
                        }
                        Pongs::Never => {}
                        _ => rest.push(frame),
                    }
                }
                Frame::Action(action) => rest.push(Frame::Action(ActionFrame {
                    reaction: action.reaction.map(|moment| moved(moment, -self.early)),
                    sent: action.sent.map(|sent| sent - self.early),
                    ..action
                })),
                Frame::Promise { next, moment } => {
                    rest.push(Frame::Promise { next, moment: moved(moment, self.ahead - self.early) });
                }
                other => rest.push(other),
            }
        }
        let acts = rest.iter().any(|frame| matches!(frame, Frame::Action(_)));
        if acts || !(rest.is_empty() || self.is_terse) {
            forged.push((Span::ZERO, packet(&rest)));
        }
        forged
    }
}

//! The wire format of Sync-MS. `docs/WIRE-SYNC-MS.md` specifies every byte.
//!
//! | frame | from → to | content |
//! | --- | --- | --- |
//! | update | SMS → SMC | an update, its number, and how long after its stamp everybody shows it |
//! | ping | SMS → SMC | a request to answer at once, and how often to be heard |
//! | action | SMC → SMS | an action, its number, and its tags: what it reacts to, and when it was sent |
//! | promise | SMC → SMS | the number and the earliest place in the order of the player's next action |
//! | heard | SMC → SMS | how long an update took |
//! | pong | SMC → SMS | the answer to a ping |
//! | clock | either way | half of an exchange of clock readings |
//!
//! They travel in datagrams, in the [envelope](evenkeel_session::envelope) that all protocols share; updates and actions that
//! must not be lost also travel on the reliable channel. A long payload is cut into [parts](Part), each in a frame of its
//! own. A client without a session time leaves out the stamp, and with it the sending times of its actions.

use evenkeel_core::{ClockFrame, Malformed, Reader, SessionTime, Span, Varint};
use evenkeel_session::envelope::{
    CLOCK, Header, TIME_MAX, emit_before, emit_clock, emit_span, emit_u32, parse_before, parse_span,
    parse_u32,
};
use evenkeel_session::{FrameFormat, Message};

/// The first byte of every message: the version of this format.
pub const VERSION: u8 = 0x21;

/// The longest action or update: what a UDP datagram holds.
pub const PAYLOAD_MAX: usize = 65_507;
/// The longest part of one in a frame.
pub const PART_LEN_MAX: usize = 32_768;
/// The most parts of an action or update.
pub const PARTS_MAX: u32 = 1_024;

const ACTION: u8 = 0x01;
const PROMISE: u8 = 0x02;
const HEARD: u8 = 0x03;
const PONG: u8 = 0x04;
const UPDATE: u8 = 0x10;
const PING: u8 = 0x11;

/// The largest action or update frame without its payload: a tag, flags, and the fields in front of the payload.
pub(crate) const OVERHEAD_MAX: usize = 1 + 1 + 5 + 2 * 2 + 5 + 10 + 10 + 3;

const HAS_REACTION: u8 = 1;
const HAS_SENT: u8 = 2;
const IS_PART: u8 = 4;

/// Which part of an action or update a frame holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Its number, from 0 on.
    pub index: u32,
    /// How many there are.
    pub count: u32,
}

impl Part {
    /// The only part of a short payload.
    pub const WHOLE: Self = Self { index: 0, count: 1 };
}

/// A moment as a client sees it: time since it showed an update. It needs no clock that others share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// The update.
    pub update: u32,
    /// The time since it was shown; negative for a moment before.
    pub elapsed: Span,
}

/// An action, with its tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActionFrame<'a> {
    /// Its number among the player's actions.
    pub seq: u32,
    /// When the player acted, relative to the update that it reacted to; absent before the first update.
    pub reaction: Option<Moment>,
    /// When it was sent; absent without a session time.
    pub sent: Option<SessionTime>,
    /// Which part of it this is.
    pub part: Part,
    /// The game's message, or that part of it.
    pub payload: &'a [u8],
}

/// An update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpdateFrame<'a> {
    /// Its number among all updates of the SMS.
    pub id: u32,
    /// When the SMS sent it.
    pub stamp: SessionTime,
    /// How long after that everybody shows it; zero for at once.
    pub hold: Span,
    /// Which part of it this is.
    pub part: Part,
    /// The game's message, or that part of it.
    pub payload: &'a [u8],
}

/// One frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// An action.
    Action(ActionFrame<'a>),
    /// The player's next action has this number, and is not before this.
    Promise {
        /// The next action's number.
        next: u32,
        /// Its earliest place.
        moment: Moment,
    },
    /// How long an update took, by the session's clock.
    Heard {
        /// The update.
        update: u32,
        /// Its delay; negative if the clocks disagree by more.
        delay: Span,
    },
    /// The answer to the ping in the message with this nonce.
    Pong(u32),
    /// An update.
    Update(UpdateFrame<'a>),
    /// A request to answer at once.
    Ping {
        /// The longest silence that the client may keep; zero for any.
        heartbeat: Span,
    },
    /// Half of an exchange of clock readings.
    Clock(ClockFrame),
}

impl Frame<'_> {
    /// Appends the frame to a message with this stamp. Without one, the sending time of an action is left out; an update
    /// needs one.
    pub fn emit(&self, stamp: Option<SessionTime>, bytes: &mut Vec<u8>) {
        match self {
            Self::Action(action) => emit_action(action, stamp, bytes),
            Self::Promise { next, moment } => {
                bytes.push(PROMISE);
                emit_u32(*next, bytes);
                emit_moment(moment, bytes);
            }
            Self::Heard { update, delay } => {
                bytes.push(HEARD);
                emit_u32(*update, bytes);
                Varint::signed(delay.as_nanos()).emit_long(bytes);
            }
            Self::Pong(nonce) => {
                bytes.push(PONG);
                bytes.extend_from_slice(&nonce.to_le_bytes());
            }
            Self::Update(update) => {
                bytes.push(UPDATE);
                bytes.push(part_flag(update.part));
                emit_u32(update.id, bytes);
                emit_part(update.part, bytes);
                emit_before(update.stamp, stamp.unwrap_or(update.stamp), bytes);
                emit_span(update.hold, bytes);
                emit_payload(update.payload, bytes);
            }
            Self::Ping { heartbeat } => {
                bytes.push(PING);
                emit_span(*heartbeat, bytes);
            }
            Self::Clock(frame) => emit_clock(frame, bytes),
        }
    }
}

fn emit_action(action: &ActionFrame<'_>, stamp: Option<SessionTime>, bytes: &mut Vec<u8>) {
    let sent = action.sent.zip(stamp);
    bytes.push(ACTION);
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let tags = flag(action.reaction.is_some(), HAS_REACTION) | flag(sent.is_some(), HAS_SENT);
    bytes.push(tags | part_flag(action.part));
    emit_u32(action.seq, bytes);
    emit_part(action.part, bytes);
    if let Some(moment) = &action.reaction {
        emit_moment(moment, bytes);
    }
    if let Some((sent, stamp)) = sent {
        emit_before(sent, stamp, bytes);
    }
    emit_payload(action.payload, bytes);
}

fn part_flag(part: Part) -> u8 {
    if part == Part::WHOLE { 0 } else { IS_PART }
}

fn emit_part(part: Part, bytes: &mut Vec<u8>) {
    if part != Part::WHOLE {
        emit_u32(part.index, bytes);
        emit_u32(part.count, bytes);
    }
}

fn parse_part(flags: u8, reader: &mut Reader<'_>) -> Result<Part, Malformed> {
    if flags & IS_PART == 0 {
        return Ok(Part::WHOLE);
    }
    let part = Part { index: parse_u32(reader)?, count: parse_u32(reader)? };
    let is_sane = (2..=PARTS_MAX).contains(&part.count) && part.index < part.count;
    if is_sane { Ok(part) } else { Err(Malformed::Field) }
}

fn emit_moment(moment: &Moment, bytes: &mut Vec<u8>) {
    emit_u32(moment.update, bytes);
    Varint::signed(moment.elapsed.as_nanos()).emit_long(bytes);
}

fn parse_moment(reader: &mut Reader<'_>) -> Result<Moment, Malformed> {
    Ok(Moment { update: parse_u32(reader)?, elapsed: parse_signed(reader)? })
}

/// Reads a span whose size is sane, so that arithmetic on it never overflows.
fn parse_signed(reader: &mut Reader<'_>) -> Result<Span, Malformed> {
    let nanos = Varint::parse_long(reader)?.to_signed();
    if (-TIME_MAX..=TIME_MAX).contains(&nanos) { Ok(Span::from_nanos(nanos)) } else { Err(Malformed::Field) }
}

fn emit_payload(payload: &[u8], bytes: &mut Vec<u8>) {
    emit_u32(payload.len() as u32, bytes);
    bytes.extend_from_slice(payload);
}

fn parse_payload<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let len = parse_u32(reader)? as usize;
    if len > PART_LEN_MAX {
        return Err(Malformed::Field);
    }
    reader.take(len)
}

impl<'a> FrameFormat<'a> for Frame<'a> {
    const FORMAT: u8 = VERSION;

    #[inline]
    fn parse_into(
        header: &Header,
        reader: &mut Reader<'a>,
        slot: &mut Option<Self>,
    ) -> Result<(), Malformed> {
        let frame = match reader.read::<u8>()? {
            CLOCK => Frame::Clock(reader.read()?),
            ACTION => Frame::Action(parse_action(header, reader)?),
            PROMISE => Frame::Promise { next: parse_u32(reader)?, moment: parse_moment(reader)? },
            HEARD => Frame::Heard { update: parse_u32(reader)?, delay: parse_signed(reader)? },
            PONG => Frame::Pong(reader.read()?),
            UPDATE => Frame::Update(parse_update(header, reader)?),
            PING => Frame::Ping { heartbeat: parse_sane_span(reader)? },
            other => return Err(Malformed::UnknownTag(other)),
        };
        *slot = Some(frame);
        Ok(())
    }
}

fn parse_action<'a>(header: &Header, reader: &mut Reader<'a>) -> Result<ActionFrame<'a>, Malformed> {
    let flags = parse_flags(HAS_REACTION | HAS_SENT | IS_PART, reader)?;
    let (seq, part) = (parse_u32(reader)?, parse_part(flags, reader)?);
    let reaction = if flags & HAS_REACTION != 0 { Some(parse_moment(reader)?) } else { None };
    let sent = match header.stamp {
        Some(stamp) if flags & HAS_SENT != 0 => Some(parse_before(stamp, reader)?),
        None if flags & HAS_SENT != 0 => return Err(Malformed::Field),
        _ => None,
    };
    Ok(ActionFrame { seq, reaction, sent, part, payload: parse_payload(reader)? })
}

fn parse_update<'a>(header: &Header, reader: &mut Reader<'a>) -> Result<UpdateFrame<'a>, Malformed> {
    let flags = parse_flags(IS_PART, reader)?;
    let (id, part) = (parse_u32(reader)?, parse_part(flags, reader)?);
    let stamp = parse_before(header.stamp.ok_or(Malformed::Field)?, reader)?;
    let hold = parse_sane_span(reader)?;
    Ok(UpdateFrame { id, stamp, hold, part, payload: parse_payload(reader)? })
}

fn parse_flags(known: u8, reader: &mut Reader<'_>) -> Result<u8, Malformed> {
    let flags = reader.read::<u8>()?;
    if flags & !known == 0 { Ok(flags) } else { Err(Malformed::Field) }
}

fn parse_sane_span(reader: &mut Reader<'_>) -> Result<Span, Malformed> {
    let span = parse_span(reader)?;
    if span.as_nanos() <= TIME_MAX { Ok(span) } else { Err(Malformed::Field) }
}

/// A message of this protocol.
pub type SyncMessage<'a> = Message<'a, Frame<'a>>;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(bytes: &[u8]) -> Result<Vec<Frame<'_>>, Malformed> {
        Ok(SyncMessage::parse(bytes)?.collect())
    }

    fn message(stamp: Option<SessionTime>, frames: &[Frame<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Header { nonce: 7, stamp }.emit(VERSION, &mut bytes);
        frames.iter().for_each(|frame| frame.emit(stamp, &mut bytes));
        bytes
    }

    proptest! {
        #[test]
        fn frames_survive_the_wire(
            seq: u32, update: u32, elapsed in -TIME_MAX..=TIME_MAX, delay in -TIME_MAX..=TIME_MAX, nonce: u32,
            hold in 0..=TIME_MAX, back in 0..1_000_000_000_i64, count in 2..=PARTS_MAX, payload in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let stamp = SessionTime::from_nanos(5_000_000_000);
            let before = stamp - Span::from_nanos(back);
            let moment = Moment { update, elapsed: Span::from_nanos(elapsed) };
            let (hold, part) = (Span::from_nanos(hold), Part { index: count - 1, count });
            let action = ActionFrame {
                seq, reaction: Some(moment), sent: Some(before), part: Part::WHOLE, payload: &payload,
            };
            let whole = UpdateFrame { id: update, stamp: before, hold, part: Part::WHOLE, payload: &payload };
            let frames = [
                Frame::Action(action),
                Frame::Action(ActionFrame { reaction: None, sent: None, part, ..action }),
                Frame::Promise { next: seq, moment },
                Frame::Heard { update, delay: Span::from_nanos(delay) },
                Frame::Pong(nonce),
                Frame::Update(whole),
                Frame::Update(UpdateFrame { part, ..whole }),
                Frame::Ping { heartbeat: hold },
            ];
            let bytes = message(Some(stamp), &frames);
            prop_assert_eq!(parsed(&bytes), Ok(frames.to_vec()));
            for cut in 0..bytes.len() {
                let _ = parsed(&bytes[..cut]);
            }
        }

        #[test]
        fn garbage_never_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(first) = bytes.first_mut() {
                *first = VERSION;
            }
            let _ = parsed(&bytes);
        }
    }

    #[test]
    fn a_client_without_a_clock_leaves_out_the_sending_time() {
        let sent = Some(SessionTime::from_nanos(1));
        let action = ActionFrame { seq: 3, reaction: None, sent, part: Part::WHOLE, payload: b"go" };
        let bytes = message(None, &[Frame::Action(action)]);
        assert_eq!(parsed(&bytes), Ok(vec![Frame::Action(ActionFrame { sent: None, ..action })]));
    }

    #[test]
    fn an_overlong_payload_is_refused() {
        let payload = vec![0; PART_LEN_MAX + 1];
        let action = ActionFrame { seq: 0, reaction: None, sent: None, part: Part::WHOLE, payload: &payload };
        assert_eq!(parsed(&message(None, &[Frame::Action(action)])), Err(Malformed::Field));
    }
}

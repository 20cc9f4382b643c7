//! Datagrams: an update of one slot, a clock frame, or both. `docs/WIRE-NEO.md` describes every byte.

use evenkeel_core::{ClockFrame, Malformed, Reader, Varint, Wire};

use crate::config::{MOVE_LEN_MAX, PEERS_MAX};
use crate::crypto::{Commitment, Nonce, SignatureBytes};
use crate::proof::EARLIER_MAX;

/// The first byte of every message: the version of this format.
pub const VERSION: u8 = 0x31;

const HAS_UPDATE: u8 = 1;
const HAS_SIGNATURE: u8 = 2;
const HAS_CLOCK: u8 = 4;
const HAS_ECHOES: u8 = 8;
const WISH_SHIFT: u8 = 4;

/// The most vote blocks and the most openings of an update.
const PARTS_MAX: usize = 15;
/// The greatest distance of a vote block or an opening from its update, in slots.
const LAG_MAX: u8 = 63;

/// The most peers that share an echo.
pub(crate) const ECHO_GROUP_MAX: usize = 32;

/// How many peers share an echo: few enough that a commitment that is still missing does not hold up many votes.
pub(crate) const fn echo_group(seats: usize) -> usize {
    match seats {
        0..=24 => 8,
        25..=40 => 16,
        _ => ECHO_GROUP_MAX,
    }
}

/// The votes for one earlier slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VoteBlock<'a> {
    /// How many slots before the update.
    pub(crate) lag: u8,
    /// A bit for each seat of the sender's roster: its commitment came in time.
    pub(crate) bitmap: &'a [u8],
    /// The echo of each group's commitments, two bytes each; empty if there are none.
    pub(crate) echoes: &'a [u8],
}

impl VoteBlock<'_> {
    pub(crate) fn is_set(&self, seat: usize) -> bool {
        self.bitmap.get(seat / 8).is_some_and(|byte| byte >> (seat % 8) & 1 == 1)
    }

    pub(crate) fn echo(&self, group: usize) -> Option<u16> {
        let bytes = self.echoes.get(2 * group..2 * group + 2)?;
        Some(u16::from_le_bytes([bytes[0], bytes[1]]))
    }
}

/// The opening of an earlier commitment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Opening<'a> {
    /// How many slots before the update.
    pub(crate) lag: u8,
    pub(crate) nonce: Nonce,
    pub(crate) bytes: &'a [u8],
}

/// An update: what a peer says once per slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Update<'a> {
    /// The slot. On the wire only its lower 16 bits: the receiver [completes](complete_slot) it.
    pub(crate) slot: u64,
    pub(crate) commitment: Commitment,
    /// The version of the roster that the votes go by.
    pub(crate) roster: u8,
    /// How many seats that roster has.
    pub(crate) seats: u8,
    /// The tempo that its sender wishes for.
    pub(crate) wish: u8,
    pub(crate) votes: Vec<VoteBlock<'a>>,
    pub(crate) openings: Vec<Opening<'a>>,
    /// The signature of this commitment, and of the one so many slots before unless that is 0.
    pub(crate) signature: Option<(u8, SignatureBytes)>,
}

/// A datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Datagram<'a> {
    pub(crate) update: Option<Update<'a>>,
    pub(crate) clock: Option<ClockFrame>,
}

/// Writes a datagram. The update has been [emitted](emit_update) before, once for all receivers.
pub(crate) fn emit_datagram(update: Option<&[u8]>, clock: Option<&ClockFrame>, bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.push(VERSION);
    let clock_flag = if clock.is_some() { HAS_CLOCK } else { 0 };
    match update.and_then(<[u8]>::split_first) {
        Some((flags, rest)) => {
            bytes.push(flags | clock_flag);
            bytes.extend_from_slice(rest);
        }
        None => bytes.push(clock_flag),
    }
    if let Some(frame) = clock {
        frame.emit(bytes);
    }
}

/// Appends an update, beginning with its flags.
pub(crate) fn emit_update(update: &Update<'_>, bytes: &mut Vec<u8>) {
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let has_echoes = update.votes.iter().any(|block| !block.echoes.is_empty());
    let flags = HAS_UPDATE | flag(update.signature.is_some(), HAS_SIGNATURE) | flag(has_echoes, HAS_ECHOES);
    bytes.push(flags | update.wish << WISH_SHIFT);
    (update.slot as u16).emit(bytes);
    update.commitment.emit(bytes);
    bytes.push((update.votes.len() as u8) << 4 | update.openings.len() as u8);
    if !update.votes.is_empty() {
        bytes.extend_from_slice(&[update.roster, update.seats]);
    }
    for block in &update.votes {
        bytes.push(block.lag);
        bytes.extend_from_slice(block.bitmap);
        bytes.extend_from_slice(block.echoes);
    }
    for opening in &update.openings {
        bytes.push(opening.lag);
        bytes.extend_from_slice(&opening.nonce);
        Varint(opening.bytes.len() as u64).emit(bytes);
        bytes.extend_from_slice(opening.bytes);
    }
    if let Some((earlier, signature)) = &update.signature {
        bytes.push(*earlier);
        signature.emit(bytes);
    }
}

impl<'a> Datagram<'a> {
    /// Reads a whole datagram.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let found = reader.read::<u8>()?;
        if found != VERSION {
            return Err(Malformed::Version { found, supported: VERSION });
        }
        let flags = reader.read::<u8>()?;
        let update = if flags & HAS_UPDATE != 0 {
            Some(parse_update(flags, &mut reader)?)
        } else if flags & !HAS_CLOCK == 0 {
            None
        } else {
            return Err(Malformed::Field);
        };
        let clock = if flags & HAS_CLOCK != 0 { Some(reader.read()?) } else { None };
        reader.finish()?;
        Ok(Self { update, clock })
    }
}

/// The slot nearest to this one whose lower 16 bits are those that came: at 50 ms a slot, they repeat every 54 minutes.
pub(crate) const fn complete_slot(low: u64, near: u64) -> u64 {
    let ahead = (low as u16).wrapping_sub(near as u16) as i16;
    near.saturating_add_signed(ahead as i64)
}

fn parse_lag(reader: &mut Reader<'_>) -> Result<u8, Malformed> {
    let lag = reader.read::<u8>()?;
    if lag > 0 && lag <= LAG_MAX { Ok(lag) } else { Err(Malformed::Field) }
}

fn parse_update<'a>(flags: u8, reader: &mut Reader<'a>) -> Result<Update<'a>, Malformed> {
    let slot = u64::from(reader.read::<u16>()?);
    let commitment = reader.read()?;
    let parts = reader.read::<u8>()?;
    let (vote_count, opening_count) = (usize::from(parts >> 4), usize::from(parts & 0xf));
    let (roster, seats) = if vote_count > 0 { (reader.read()?, reader.read::<u8>()?) } else { (0, 0) };
    if usize::from(seats) > PEERS_MAX {
        return Err(Malformed::Field);
    }
    let has_echoes = flags & HAS_ECHOES != 0;
    let seat_count = usize::from(seats);
    let echo_len = if has_echoes { 2 * seat_count.div_ceil(echo_group(seat_count)) } else { 0 };
    if has_echoes && echo_len * vote_count == 0 {
        return Err(Malformed::Field);
    }
    let mut votes = Vec::with_capacity(vote_count);
    for _ in 0..vote_count {
        let lag = parse_lag(reader)?;
        let bitmap = reader.take(seat_count.div_ceil(8))?;
        if (seat_count..8 * bitmap.len()).any(|seat| bitmap[seat / 8] >> (seat % 8) & 1 == 1) {
            return Err(Malformed::Field);
        }
        votes.push(VoteBlock { lag, bitmap, echoes: reader.take(echo_len)? });
    }
    let mut openings = Vec::with_capacity(opening_count);
    for _ in 0..opening_count {
        let (lag, nonce) = (parse_lag(reader)?, *reader.take_array()?);
        let len = reader.read::<Varint>()?.0;
        if len > MOVE_LEN_MAX as u64 {
            return Err(Malformed::Field);
        }
        openings.push(Opening { lag, nonce, bytes: reader.take(len as usize)? });
    }
    let signature = if flags & HAS_SIGNATURE != 0 {
        let earlier = reader.read::<u8>()?;
        if earlier > EARLIER_MAX {
            return Err(Malformed::Field);
        }
        Some((earlier, reader.read()?))
    } else {
        None
    };
    let wish = flags >> WISH_SHIFT;
    Ok(Update { slot, commitment, roster, seats, wish, votes, openings, signature })
}

/// Keeps the parts of an update within what the format can count.
pub(crate) const fn parts_max(count: usize) -> usize {
    if count > PARTS_MAX { PARTS_MAX } else { count }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::{LocalTime, SessionTime, Span};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn datagrams_survive_the_wire(
            slot in 0..=u64::from(u16::MAX), commitment: [u8; 32], roster: u8, seats in 1..=64u8, wish in 0..16u8, nonce: [u8; 8],
            bits: u64, payload in prop::collection::vec(any::<u8>(), 0..MOVE_LEN_MAX), earlier in 0..=EARLIER_MAX,
            is_accountable: bool, has_clock: bool,
        ) {
            let seat_count = usize::from(seats);
            let mask = if seats == 64 { u64::MAX } else { (1 << seats) - 1 };
            let bitmap = &(bits & mask).to_le_bytes()[..seat_count.div_ceil(8)];
            let echoes = vec![7; if is_accountable { 2 * seat_count.div_ceil(echo_group(seat_count)) } else { 0 }];
            let votes = vec![VoteBlock { lag: 1, bitmap, echoes: &echoes }, VoteBlock { lag: 3, bitmap, echoes: &echoes }];
            let openings = vec![Opening { lag: 4, nonce, bytes: &payload }];
            let signature = is_accountable.then_some((earlier, SignatureBytes([3; 64])));
            let commitment = Commitment(commitment);
            let update = Update { slot, commitment, roster, seats, wish, votes, openings, signature };
            let frame = ClockFrame::Echo {
                probe: LocalTime::from_nanos(5), arrived: SessionTime::from_nanos(9), held: Span::from_nanos(2),
            };
            let clock = has_clock.then_some(frame);
            let (mut body, mut bytes) = (Vec::new(), Vec::new());
            emit_update(&update, &mut body);
            emit_datagram(Some(&body), clock.as_ref(), &mut bytes);
            prop_assert_eq!(Datagram::parse(&bytes), Ok(Datagram { update: Some(update), clock }));
            for cut in 0..bytes.len() {
                prop_assert!(Datagram::parse(&bytes[..cut]).is_err());
            }
        }

        #[test]
        fn slots_are_completed(near in 40_000u64..1 << 60, ahead in -30_000i64..30_000) {
            let slot = near.saturating_add_signed(ahead);
            prop_assert_eq!(complete_slot(slot & 0xffff, near), slot);
        }

        #[test]
        fn garbage_never_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(first) = bytes.first_mut() {
                *first = VERSION;
            }
            let _ = Datagram::parse(&bytes);
        }
    }
}

//! The envelope of every message: a header, then frames until its end.
//!
//! The first byte names the protocol and the version of its format. Frames hold times relative to the header's stamp, which
//! makes most of them short. A message is checked as a whole before any of it is acted on, so a rejected one leaves no
//! trace.

use evenkeel_core::{ClockFrame, Malformed, Reader, SessionTime, Span, Varint, Wire};

/// The size of a header.
pub const HEADER_LEN: usize = 1 + 4 + 8;
/// The largest clock frame.
pub const CLOCK_LEN_MAX: usize = 1 + 1 + 8 + 8 + 10;
/// The tag of a clock frame, in every protocol.
pub const CLOCK: u8 = 0x40;
/// The first byte of a [game's message](crate::game), where messages of protocols name their format. No format has this
/// number.
pub const GAME: u8 = 0x47;

/// Whether a message that begins with one byte is of the same kind as those that begin with the other: of the same protocol,
/// in whatever version, or of a game. The higher half of a first byte is the protocol (0 dead reckoning, 2 Sync-MS, 4 games, 5
/// objects), the lower half its version.
#[must_use]
pub const fn is_same_kind(one: u8, other: u8) -> bool {
    one >> 4 == other >> 4
}

/// Whether a message that begins with this byte is of another protocol than that of `format`, known or not, or of a game. Machines reject
/// such messages as unexpected, not as a version that they do not know.
#[must_use]
pub const fn is_foreign(first: u8, format: u8) -> bool {
    !is_same_kind(first, format)
}

/// Session times from outside lie within this many nanoseconds of the origin (36 years), so that arithmetic on them never
/// overflows.
pub const TIME_MAX: i64 = 1 << 60;

/// Stands for "no session time".
const NO_STAMP: i64 = i64::MIN;

/// The beginning of every message, behind its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// An unpredictable number. Acknowledgments repeat it, so they can be late but never early.
    pub nonce: u32,
    /// The sender's session time when it began the message; `None` while it has none. Only clock frames do without.
    pub stamp: Option<SessionTime>,
}

impl Header {
    /// Appends the header of a message in this format.
    pub fn emit(&self, format: u8, bytes: &mut Vec<u8>) {
        let mut all = [format; HEADER_LEN];
        let stamp = self.stamp.map_or(NO_STAMP, SessionTime::as_nanos);
        all[1..5].copy_from_slice(&self.nonce.to_le_bytes());
        all[5..].copy_from_slice(&stamp.to_le_bytes());
        bytes.extend_from_slice(&all);
    }

    fn parse(format: u8, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let found = reader.read::<u8>()?;
        if found != format {
            return Err(Malformed::Version { found, supported: format });
        }
        let nonce = reader.read()?;
        let stamp = match reader.read()? {
            NO_STAMP => None,
            nanos => Some(checked_time(SessionTime::from_nanos(nanos))?),
        };
        Ok(Self { nonce, stamp })
    }
}

/// Whether a session time from outside is within [`TIME_MAX`].
#[must_use]
pub const fn is_sane_time(at: SessionTime) -> bool {
    -TIME_MAX <= at.as_nanos() && at.as_nanos() <= TIME_MAX
}

fn checked_time(at: SessionTime) -> Result<SessionTime, Malformed> {
    if is_sane_time(at) { Ok(at) } else { Err(Malformed::Field) }
}

/// Appends a time as its distance before the stamp.
#[inline]
pub fn emit_before(at: SessionTime, stamp: SessionTime, bytes: &mut Vec<u8>) {
    Varint::signed((stamp - at).as_nanos()).emit_long(bytes);
}

/// Reads a time that is relative to the stamp.
///
/// # Errors
/// [`Malformed`] if it is not a sane time.
#[inline]
pub fn parse_before(stamp: SessionTime, reader: &mut Reader<'_>) -> Result<SessionTime, Malformed> {
    let nanos =
        stamp.as_nanos().checked_sub(Varint::parse_long(reader)?.to_signed()).ok_or(Malformed::Field)?;
    checked_time(SessionTime::from_nanos(nanos))
}

/// Appends a number of at most 32 bits.
#[inline]
pub fn emit_u32(value: u32, bytes: &mut Vec<u8>) {
    Varint(u64::from(value)).emit(bytes);
}

/// Reads a number of at most 32 bits.
///
/// # Errors
/// [`Malformed`] if it is larger, or cut off.
#[inline]
pub fn parse_u32(reader: &mut Reader<'_>) -> Result<u32, Malformed> {
    u32::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)
}

/// Appends a span of time; a negative one as zero.
#[inline]
pub fn emit_span(span: Span, bytes: &mut Vec<u8>) {
    Varint(span.as_nanos().max(0) as u64).emit(bytes);
}

/// Reads a span of time, which is not negative.
///
/// # Errors
/// [`Malformed`] if it is too large, or cut off.
#[inline]
pub fn parse_span(reader: &mut Reader<'_>) -> Result<Span, Malformed> {
    i64::try_from(reader.read::<Varint>()?.0).map(Span::from_nanos).map_err(|_| Malformed::Field)
}

/// Appends a clock frame.
pub fn emit_clock(frame: &ClockFrame, bytes: &mut Vec<u8>) {
    bytes.push(CLOCK);
    frame.emit(bytes);
}

/// The frames of one protocol.
pub trait FrameFormat<'a>: Sized {
    /// The first byte of its messages.
    const FORMAT: u8;

    /// Reads the next frame into `slot`. Writing it in place copies only what a frame of that kind takes.
    ///
    /// # Errors
    /// [`Malformed`] if it is not a frame of this format.
    fn parse_into(header: &Header, reader: &mut Reader<'a>, slot: &mut Option<Self>)
    -> Result<(), Malformed>;
}

/// Frames that are kept from the check, so that they are not parsed twice. Most messages have no more.
const KEPT: usize = 2;

/// A message whose frames are read one after the other.
#[derive(Clone, Debug)]
pub struct Message<'a, F> {
    header: Header,
    kept: [Option<F>; KEPT],
    taken: usize,
    rest: Reader<'a>,
}

impl<'a, F: FrameFormat<'a>> Message<'a, F> {
    /// A message that must be [checked](Self::check) before anything of it is read.
    #[inline]
    #[must_use]
    pub fn unchecked(bytes: &'a [u8]) -> Self {
        let header = Header { nonce: 0, stamp: None };
        Self { header, kept: core::array::from_fn(|_| None), taken: 0, rest: Reader::new(bytes) }
    }

    /// Checks a whole message.
    ///
    /// # Errors
    /// [`Malformed`] if any of it is not of this format.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut message = Self::unchecked(bytes);
        message.check(|_| Ok::<_, Malformed>(()))?;
        Ok(message)
    }

    /// Checks the whole message once, and every frame of it by `is_welcome`.
    ///
    /// # Errors
    /// The first frame's that is malformed or unwelcome.
    #[inline]
    pub fn check<E: From<Malformed>>(
        &mut self,
        mut is_welcome: impl FnMut(&F) -> Result<(), E>,
    ) -> Result<(), E> {
        self.header = Header::parse(F::FORMAT, &mut self.rest)?;
        for slot in &mut self.kept {
            if self.rest.is_empty() {
                return Ok(());
            }
            F::parse_into(&self.header, &mut self.rest, slot)?;
            slot.as_ref().map_or(Ok(()), &mut is_welcome)?;
        }
        let (mut reader, mut slot) = (self.rest.clone(), None);
        while !reader.is_empty() {
            F::parse_into(&self.header, &mut reader, &mut slot)?;
            slot.as_ref().map_or(Ok(()), &mut is_welcome)?;
        }
        Ok(())
    }

    /// Its header.
    #[must_use]
    pub const fn header(&self) -> Header {
        self.header
    }

    /// Visits all frames in order, in place: cheaper than iterating.
    #[inline]
    pub fn each(&mut self, mut on_frame: impl FnMut(&F)) {
        self.kept.iter().flatten().for_each(&mut on_frame);
        let mut slot = None;
        while !self.rest.is_empty() && F::parse_into(&self.header, &mut self.rest, &mut slot).is_ok() {
            slot.iter().for_each(&mut on_frame);
        }
    }
}

impl<'a, F: FrameFormat<'a>> Iterator for Message<'a, F> {
    type Item = F;

    fn next(&mut self) -> Option<F> {
        if let Some(slot) = self.kept.get_mut(self.taken) {
            self.taken += 1;
            return slot.take();
        }
        let mut frame = None;
        if !self.rest.is_empty() {
            F::parse_into(&self.header, &mut self.rest, &mut frame).ok()?;
        }
        frame
    }
}

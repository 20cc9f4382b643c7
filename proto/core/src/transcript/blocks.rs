//! The blocks that a transcript is stored in, so that damage is found and located: each has a checksum, and an empty one marks the
//! end.
//!
//! A block is the length of its records (32 bits), the records, and a CRC-32 of its number and its records.

use super::TranscriptError;

/// Bytes of a block besides its records.
const FRAME: usize = 8;

/// The tables of CRC-32 (reflected, 0xedb88320) for eight bytes at a time.
const TABLES: [[u32; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1));
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before: u32 = tables[table - 1][byte];
            tables[table][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
};

fn crc32(mut crc: u32, bytes: &[u8]) -> u32 {
    let (eights, rest) = bytes.as_chunks::<8>();
    for eight in eights {
        let [a, b, c, d, e, f, g, h] = *eight;
        let low = crc ^ u32::from_le_bytes([a, b, c, d]);
        let at = |table: usize, byte: u32| TABLES[table][(byte & 0xff) as usize];
        crc = at(7, low) ^ at(6, low >> 8) ^ at(5, low >> 16) ^ at(4, low >> 24);
        crc ^= at(3, e.into()) ^ at(2, f.into()) ^ at(1, g.into()) ^ at(0, h.into());
    }
    rest.iter().fold(crc, |crc, byte| (crc >> 8) ^ TABLES[0][((crc ^ u32::from(*byte)) & 0xff) as usize])
}

fn checksum(number: u32, records: &[u8]) -> u32 {
    !crc32(crc32(u32::MAX, &number.to_le_bytes()), records)
}

/// Appends the block with this number.
pub(super) fn emit(number: u32, records: &[u8], bytes: &mut Vec<u8>) {
    let len = u32::try_from(records.len()).expect("a block is below 4 GiB");
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(records);
    bytes.extend_from_slice(&checksum(number, records).to_le_bytes());
}

/// Reads blocks one after the other.
#[derive(Clone, Debug)]
pub(super) struct Blocks<'a> {
    rest: &'a [u8],
    /// Where the next block begins, and its number.
    at: u64,
    number: u32,
    has_ended: bool,
}

impl<'a> Blocks<'a> {
    /// The blocks in these bytes, which begin this far into the transcript.
    pub(super) const fn new(rest: &'a [u8], at: u64) -> Self {
        Self { rest, at, number: 0, has_ended: false }
    }

    /// Whether the end mark has been read.
    pub(super) const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Where the next block begins.
    pub(super) const fn at(&self) -> u64 {
        self.at
    }

    /// The records of the next block; `None` at the end, marked or not.
    pub(super) fn next(&mut self) -> Result<Option<&'a [u8]>, TranscriptError> {
        let at = self.at;
        if self.has_ended && !self.rest.is_empty() {
            return Err(TranscriptError::AfterEnd { at });
        }
        if self.rest.is_empty() {
            return Ok(None);
        }
        let cut_off = TranscriptError::CutOff { at };
        let (len, after) = self.rest.split_first_chunk::<4>().ok_or(cut_off)?;
        let len = u32::from_le_bytes(*len) as usize;
        let (records, after) = after.split_at_checked(len).ok_or(cut_off)?;
        let (sum, after) = after.split_first_chunk::<4>().ok_or(cut_off)?;
        if u32::from_le_bytes(*sum) != checksum(self.number, records) {
            return Err(TranscriptError::Checksum { at });
        }
        (self.rest, self.at) = (after, at + (FRAME + len) as u64);
        self.number = self.number.wrapping_add(1);
        self.has_ended = records.is_empty();
        if self.has_ended { self.next() } else { Ok(Some(records)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_crc_32() {
        assert_eq!(!crc32(u32::MAX, b"123456789"), 0xcbf4_3926);
        assert_eq!(!crc32(u32::MAX, b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
    }

    #[test]
    fn blocks_that_are_missing_or_in_another_order_are_found() {
        let block = |number, records: &[u8]| {
            let mut bytes = Vec::new();
            emit(number, records, &mut bytes);
            bytes
        };
        let read = |blocks: &[&[u8]]| {
            let bytes = blocks.concat();
            let mut blocks = Blocks::new(&bytes, 0);
            while let Some(_records) = blocks.next()? {}
            Ok(blocks.has_ended())
        };
        let (one, two, end) = (block(0, b"one"), block(1, b"two"), block(2, b""));
        assert_eq!(read(&[&one, &two, &end]), Ok(true));
        assert_eq!(read(&[&one, &two]), Ok(false));
        assert_eq!(read(&[&two, &one, &end]), Err(TranscriptError::Checksum { at: 0 }));
        assert_eq!(read(&[&one, &end]), Err(TranscriptError::Checksum { at: 11 }));
        assert_eq!(read(&[&one, &two, &end, &end]), Err(TranscriptError::AfterEnd { at: 30 }));
    }
}

//! A few bytes that are put together on the stack and then appended at one go: to append each number by itself would ask each
//! time whether there is room.

use crate::wire::Varint;

/// At most `ROOM` bytes, of which the last eight may not be in use.
#[derive(Clone, Copy, Debug)]
pub struct Scratch<const ROOM: usize> {
    bytes: [u8; ROOM],
    len: usize,
}

impl<const ROOM: usize> Default for Scratch<ROOM> {
    #[inline]
    fn default() -> Self {
        Self { bytes: [0; ROOM], len: 0 }
    }
}

impl<const ROOM: usize> Scratch<ROOM> {
    /// How many bytes there are.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds the first bytes of a little-endian word.
    ///
    /// # Panics
    /// If fewer than eight bytes are left.
    #[inline]
    pub fn push(&mut self, word: u64, len: usize) {
        let place = self.bytes[self.len..].first_chunk_mut().expect("room for a word");
        *place = word.to_le_bytes();
        self.len += len;
    }

    /// Adds bytes.
    ///
    /// # Panics
    /// If fewer are left.
    #[inline]
    pub fn push_array<const LEN: usize>(&mut self, bytes: &[u8; LEN]) {
        *self.bytes[self.len..].first_chunk_mut().expect("room for all") = *bytes;
        self.len += LEN;
    }

    /// Adds a number in as few bytes as it needs.
    ///
    /// # Panics
    /// If fewer than sixteen bytes are left.
    #[inline]
    pub fn push_varint(&mut self, number: Varint) {
        match number.word() {
            Some((word, len)) => self.push(word, len),
            None => self.push_large(number),
        }
    }

    #[cold]
    fn push_large(&mut self, Varint(number): Varint) {
        let mut rest = number;
        while rest >= 0x80 {
            self.push(rest | 0x80, 1);
            rest >>= 7;
        }
        self.push(rest, 1);
    }

    /// Appends it to bytes.
    #[inline]
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        // All of it, in use or not: a copy of a known length needs no call.
        let end = bytes.len() + self.len;
        bytes.extend_from_slice(&self.bytes);
        bytes.truncate(end);
    }

    /// Appends it to bytes, and is empty then.
    #[inline]
    pub fn drain_to(&mut self, bytes: &mut Vec<u8>) {
        if !self.is_empty() {
            self.append_to(bytes);
            self.len = 0;
        }
    }
}

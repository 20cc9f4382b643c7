//! A small buffer on the stack, to append several numbers to a `Vec` with a single capacity check.

use crate::wire::Varint;

/// A buffer of `ROOM` bytes. Pushes need eight free bytes even if they use fewer.
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
    /// Returns the number of bytes in use.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether no byte is in use.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds the first `len` bytes of a little-endian word.
    ///
    /// # Panics
    /// If fewer than eight bytes are free.
    #[inline]
    pub fn push(&mut self, word: u64, len: usize) {
        let place = self.bytes[self.len..].first_chunk_mut().expect("room for a word");
        *place = word.to_le_bytes();
        self.len += len;
    }

    /// Adds bytes.
    ///
    /// # Panics
    /// If they do not fit.
    #[inline]
    pub fn push_array<const LEN: usize>(&mut self, bytes: &[u8; LEN]) {
        *self.bytes[self.len..].first_chunk_mut().expect("room for the bytes") = *bytes;
        self.len += LEN;
    }

    /// Adds a varint.
    ///
    /// # Panics
    /// If fewer than sixteen bytes are free.
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

    /// Appends the bytes in use to `bytes`.
    #[inline]
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        // Copies the whole buffer and truncates: a copy of constant length needs no call.
        let end = bytes.len() + self.len;
        bytes.extend_from_slice(&self.bytes);
        bytes.truncate(end);
    }

    /// Moves the bytes in use to the end of `bytes`.
    #[inline]
    pub fn drain_to(&mut self, bytes: &mut Vec<u8>) {
        if !self.is_empty() {
            self.append_to(bytes);
            self.len = 0;
        }
    }
}

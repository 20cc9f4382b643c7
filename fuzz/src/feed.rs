//! Decisions read from the fuzzer's bytes.

use evenkeel_core::{Span, Vec3};

/// A cursor over the fuzzer's bytes. Past their end it reads zeros.
#[derive(Clone, Debug)]
pub struct Feed<'a> {
    bytes: &'a [u8],
}

impl<'a> Feed<'a> {
    /// Creates a feed at the beginning of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether all bytes have been read.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// The next bytes, at most `len_max`.
    pub fn slice(&mut self, len_max: usize) -> &'a [u8] {
        let (head, rest) = self.bytes.split_at(len_max.min(self.bytes.len()));
        self.bytes = rest;
        head
    }

    /// A number below `end`, which is at most 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    /// One of the items, of which there are at most 256.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// True once in `n`, and never past the end.
    pub fn once_in(&mut self, n: u8) -> bool {
        self.byte() % n == n - 1
    }

    /// A signed 16-bit number.
    pub fn short(&mut self) -> i16 {
        i16::from_le_bytes([self.byte(), self.byte()])
    }

    /// A number of any size, usually small.
    pub fn long(&mut self) -> i64 {
        let size = self.byte();
        match size {
            0..128 => i64::from(self.short()),
            128..192 => i64::from(self.short()) << (size - 128),
            192..224 => i64::MAX - i64::from(self.byte()),
            _ => i64::MIN + i64::from(self.byte()),
        }
    }

    /// A number that is not negative, usually below 8.
    pub fn small(&mut self) -> u32 {
        match self.byte() {
            255 => u32::MAX - u32::from(self.byte()),
            254 => self.long() as u32,
            byte => u32::from(byte % 8),
        }
    }

    /// A span of any size, possibly negative.
    pub fn span(&mut self) -> Span {
        Span::from_nanos(self.long())
    }

    /// From 0 to 255 ms.
    pub fn millis(&mut self) -> Span {
        Span::from_millis(i64::from(self.byte()))
    }

    /// A number as games have them, and rarely an extreme one.
    pub fn number(&mut self) -> f64 {
        const EXTREMES: [f64; 10] = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e300,
            1e9,
            -1e9,
            1e-300,
            -0.0,
            999_999_999.9,
            5e-324,
        ];
        match self.byte() {
            255 => self.pick(&EXTREMES),
            254 => self.long() as f64,
            byte => f64::from(byte as i8) * 0.5,
        }
    }

    /// A vector of such numbers.
    pub fn vec3(&mut self) -> Vec3 {
        Vec3::new(self.number(), self.number(), self.number())
    }
}

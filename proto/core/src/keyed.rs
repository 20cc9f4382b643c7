//! A keyed hash of two words: SipHash-2-4 (Aumasson and Bernstein, 2012).
//!
//! Message nonces are made with it. Draws from a [`Seed`](crate::Seed) would not do: after a few of them an
//! attacker can compute the rest.

/// A secret key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u64; 2]);

impl Key {
    /// Makes a key of two words.
    #[must_use]
    pub const fn new(low: u64, high: u64) -> Self {
        Self([low, high])
    }

    /// Returns the hash of a pair of words.
    #[must_use]
    pub const fn hash(&self, first: u64, second: u64) -> u64 {
        self.begin(first).hash(second)
    }

    /// Absorbs the first word, for hashing several pairs that share it.
    #[must_use]
    pub const fn begin(&self, first: u64) -> HalfHashed {
        let [low, high] = self.0;
        let state = [
            low ^ 0x736f_6d65_7073_6575,
            high ^ 0x646f_7261_6e64_6f6d,
            low ^ 0x6c79_6765_6e65_7261,
            high ^ 0x7465_6462_7974_6573,
        ];
        HalfHashed(absorb(state, first))
    }
}

/// The state after absorbing the first of two words. As secret as the key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HalfHashed([u64; 4]);

impl HalfHashed {
    /// Returns the hash of the pair that ends with this word.
    #[must_use]
    #[inline]
    pub const fn hash(&self, second: u64) -> u64 {
        let length = 16 << 56;
        let mut v = absorb(absorb(self.0, second), length);
        v[2] ^= 0xff;
        v = round(round(round(round(v))));
        v[0] ^ v[1] ^ v[2] ^ v[3]
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl core::fmt::Debug for HalfHashed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("HalfHashed(..)")
    }
}

#[inline]
const fn absorb(mut v: [u64; 4], word: u64) -> [u64; 4] {
    v[3] ^= word;
    v = round(round(v));
    v[0] ^= word;
    v
}

#[inline]
const fn round([mut a, mut b, mut c, mut d]: [u64; 4]) -> [u64; 4] {
    a = a.wrapping_add(b);
    c = c.wrapping_add(d);
    b = b.rotate_left(13) ^ a;
    d = d.rotate_left(16) ^ c;
    a = a.rotate_left(32);
    c = c.wrapping_add(b);
    a = a.wrapping_add(d);
    b = b.rotate_left(17) ^ c;
    d = d.rotate_left(21) ^ a;
    c = c.rotate_left(32);
    [a, b, c, d]
}

//! Numbers that nobody can foresee who does not know the key: SipHash-2-4 (Aumasson and Bernstein, 2012) of two words.
//!
//! The nonces of messages are made with it. [`Seed`](crate::Seed) draws would not do: whoever has seen a few of them can
//! compute the rest.

/// A secret key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u64; 2]);

impl Key {
    /// The key of these two words.
    #[must_use]
    pub const fn new(low: u64, high: u64) -> Self {
        Self([low, high])
    }

    /// The number that belongs to a pair of words.
    #[must_use]
    pub const fn hash(&self, first: u64, second: u64) -> u64 {
        let [low, high] = self.0;
        let mut v = [
            low ^ 0x736f_6d65_7073_6575,
            high ^ 0x646f_7261_6e64_6f6d,
            low ^ 0x6c79_6765_6e65_7261,
            high ^ 0x7465_6462_7974_6573,
        ];
        let length = 16 << 56;
        let words = [first, second, length];
        let mut i = 0;
        while i < words.len() {
            v[3] ^= words[i];
            v = round(round(v));
            v[0] ^= words[i];
            i += 1;
        }
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

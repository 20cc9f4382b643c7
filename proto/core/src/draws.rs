//! Seeded random numbers, bit for bit the same on every platform.
//!
//! A [`Seed`] is a key and a [`Draws`] is the stream it determines. Streams share no state, which is what
//! common random numbers need: the fate of a packet comes from the key (run, link, sending time) and does not
//! depend on other traffic. The generator is SplitMix64 (Steele, Lea and Flood, 2014).
//!
//! The distributions are implemented here because platform logarithms and sines differ in the last bit, and a
//! crate that selects its mathematics by feature flag could change the numbers.

/// The key of a random stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seed(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Seed {
    /// Returns the key for a number.
    #[must_use]
    #[inline]
    pub const fn new(number: u64) -> Self {
        Self(mix(number ^ GOLDEN))
    }

    /// Derives a key; different labels give unrelated streams.
    #[must_use]
    #[inline]
    pub const fn child(self, label: u64) -> Self {
        Self(mix(self.0.wrapping_add(mix(label.wrapping_mul(GOLDEN) ^ 0xd1b5_4a32_d192_ed03))))
    }

    /// Restores the key whose [`number`](Self::number) this is.
    #[must_use]
    #[inline]
    pub const fn from_key(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number that represents this key.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Starts this key's stream.
    #[must_use]
    #[inline]
    pub const fn draws(self) -> Draws {
        Draws { state: self.0 }
    }
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Skips one number and returns a stream that starts with it, so that the number is computed only if
    /// needed.
    #[inline]
    #[must_use]
    pub const fn defer(&mut self) -> Self {
        let skipped = Self { state: self.state };
        self.state = self.state.wrapping_add(GOLDEN);
        skipped
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [low, high).
    #[inline]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform integer below `bound`, which must not be 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        // The bias of this reduction is below `bound` / 2^64.
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// True with the given probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Exponential with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// Extreme value (Gumbel, of maxima) with the given mean and standard deviation.
    #[inline]
    pub fn extreme_value(&mut self, mean: f64, sd: f64) -> f64 {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let scale = sd * 6.0_f64.sqrt() / core::f64::consts::PI;
        mean - scale * (EULER + libm::log(self.exponential(1.0).max(f64::MIN_POSITIVE)))
    }

    /// Normal with mean 0 and standard deviation 1.
    ///
    /// Uses Box and Muller's method and discards the second value, so that the position is a stream's only
    /// state.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        radius * libm::cos(2.0 * core::f64::consts::PI * self.unit())
    }

    /// Gamma with a positive shape and scale (Marsaglia and Tsang's method).
    #[inline]
    pub fn gamma(&mut self, shape: f64, scale: f64) -> f64 {
        if shape < 1.0 {
            let boost = libm::pow(1.0 - self.unit(), 1.0 / shape);
            return self.gamma(shape + 1.0, scale) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let t = 1.0 + c * x;
            if t <= 0.0 {
                continue;
            }
            let v = t * t * t;
            let u = 1.0 - self.unit();
            if libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
                return d * v * scale;
            }
        }
    }
}

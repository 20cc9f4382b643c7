//! Exponential backoff, so that retransmissions do not keep an overloaded peer overloaded.

use crate::time::Span;

/// Exponential backoff for retransmissions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    doublings: u32,
}

impl Backoff {
    /// Limit on the number of doublings.
    const DOUBLINGS_MAX: u32 = 5;
    /// Upper bound of a doubled wait.
    const WAIT_MAX: Span = Span::from_secs(2);

    /// Returns the current wait, where `usual` is the wait without any backoff.
    #[must_use]
    pub fn after(&self, usual: Span) -> Span {
        usual.times(1 << self.doublings).min(Self::WAIT_MAX.max(usual))
    }

    /// Doubles the next wait: a retransmission was sent.
    pub fn repeated(&mut self) {
        self.doublings = (self.doublings + 1).min(Self::DOUBLINGS_MAX);
    }

    /// Resets the wait: an answer arrived.
    pub const fn answered(&mut self) {
        self.doublings = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_a_limit_and_an_answer_resets_it() {
        let usual = Span::from_millis(100);
        let mut backoff = Backoff::default();
        let waits: Vec<Span> = (0..7)
            .map(|_| {
                let wait = backoff.after(usual);
                backoff.repeated();
                wait
            })
            .collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 2000, 2000].map(Span::from_millis));
        assert_eq!(backoff.after(Span::from_secs(3)), Span::from_secs(3));
        backoff.answered();
        assert_eq!(backoff.after(usual), usual);
    }
}

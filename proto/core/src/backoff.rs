//! How long to wait before something is said again: longer each time that it brought nothing, so that an overloaded
//! peer is not kept so by repetitions.

use crate::time::Span;

/// A waiting time that doubles.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    doublings: u32,
}

impl Backoff {
    /// No more doublings than this.
    const DOUBLINGS_MAX: u32 = 5;
    /// A doubled waiting time is at most this.
    const WAIT_MAX: Span = Span::from_secs(2);

    /// The waiting time that is so long when everything goes well.
    #[must_use]
    pub fn after(&self, usual: Span) -> Span {
        usual.times(1 << self.doublings).min(Self::WAIT_MAX.max(usual))
    }

    /// It was said again.
    pub fn repeated(&mut self) {
        self.doublings = (self.doublings + 1).min(Self::DOUBLINGS_MAX);
    }

    /// An answer came.
    pub const fn answered(&mut self) {
        self.doublings = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_a_limit_and_starts_over() {
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

//! Which of the last numbers have come: duplicates are told from late arrivals.

/// Words of the window.
const WORDS: usize = 16;
/// Numbers behind the newest that are remembered.
const WINDOW: u32 = WORDS as u32 * 64;

/// The numbers received, as a ring of bits around the newest.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SeqWindow {
    newest: Option<u32>,
    received: [u64; WORDS],
}

const fn place(seq: u32) -> (usize, u64) {
    let bit = seq % WINDOW;
    ((bit / 64) as usize, 1 << (bit % 64))
}

impl SeqWindow {
    /// Whether the number has come, or is too old to tell.
    pub(crate) fn has(&self, seq: u32) -> bool {
        let Some(newest) = self.newest else { return false };
        if seq > newest {
            return false;
        }
        let (word, bit) = place(seq);
        newest - seq >= WINDOW || self.received[word] & bit != 0
    }

    /// Notes a number. Returns whether it is new; one that is too old to tell is not.
    pub(crate) fn note(&mut self, seq: u32) -> bool {
        if self.has(seq) {
            return false;
        }
        if self.newest.is_none_or(|newest| seq > newest) {
            self.advance(seq);
        }
        let (word, bit) = place(seq);
        self.received[word] |= bit;
        true
    }

    /// Makes room for a newer number.
    fn advance(&mut self, seq: u32) {
        let from = self.newest.replace(seq).map_or(seq, |newest| newest + 1);
        if seq - from >= WINDOW {
            self.received = [0; WORDS];
            return;
        }
        for skipped in from..=seq {
            let (word, bit) = place(skipped);
            self.received[word] &= !bit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_new_once() {
        let mut window = SeqWindow::default();
        assert!([5, 7, 6, 4].into_iter().all(|seq| window.note(seq)));
        assert!([5, 7, 6, 4].into_iter().all(|seq| !window.note(seq)));
        assert!(window.note(2_000) && window.note(2_000 - WINDOW + 1) && !window.note(2_000 - WINDOW));
        assert!(!window.has(1_999) && window.has(2_000) && !window.has(2_001));
        assert!(window.note(u32::MAX) && !window.note(2_000));
    }

    #[test]
    fn agrees_with_a_set() {
        let (mut window, mut set) = (SeqWindow::default(), std::collections::BTreeSet::new());
        let mut draws = evenkeel_core::Seed::new(3).draws();
        let mut newest = 0;
        for _ in 0..50_000 {
            newest += draws.below(3) as u32 * draws.below(200) as u32;
            let seq = newest.saturating_sub(draws.below(900) as u32);
            assert_eq!(window.note(seq), set.insert(seq), "{seq} with {newest}");
            newest = newest.max(seq);
            set.retain(|seen| newest - seen < WINDOW);
        }
    }
}

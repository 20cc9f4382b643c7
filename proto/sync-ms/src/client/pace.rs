//! How fast a player acts, and how evenly updates reach it: what promises rest on.

use evenkeel_core::{LocalTime, SessionTime, Span};

use crate::quantile::RecentSpans;

/// Gaps between actions that are remembered.
const GAPS: usize = 256;
/// Gaps before which nothing is promised beyond the present.
const GAPS_MIN: usize = 8;
/// Gaps that are few.
const GAPS_FEW: i64 = 16;
/// The part of the gaps that is longer than the short ones.
const GAPS_ABOVE: f64 = 0.9;
/// Updates whose delays are compared.
const SHOWN: usize = 64;

/// The gaps between a player's last actions, and the delays of the last updates.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    acted: Option<LocalTime>,
    gaps: RecentSpans,
    seen: usize,
    /// A gap that none will be shorter than.
    soonest: Span,
    /// Delays of the last updates, up to a constant: the clocks need not agree.
    shown: RecentSpans,
    latest: Span,
}

impl Default for Pace {
    fn default() -> Self {
        let (gaps, shown) = (RecentSpans::new(GAPS), RecentSpans::new(SHOWN));
        Self { acted: None, gaps, seen: 0, soonest: Span::ZERO, shown, latest: Span::MAX }
    }
}

impl Pace {
    /// Notes an action.
    pub(super) fn acted(&mut self, now: LocalTime) {
        if let Some(before) = self.acted.replace(now) {
            let gap = now - before;
            self.gaps.push(gap);
            self.seen += 1;
            self.soonest = self.soonest.min(gap);
            if self.gaps.is_due() {
                self.soonest = self.below_all();
            }
        }
    }

    /// Sooner or later a gap is shorter than all that are remembered: by about as much as the shortest tenth of them spreads,
    /// and by more while few are known.
    fn below_all(&self) -> Span {
        let (Some(least), Some(short)) = (self.gaps.least(), self.gaps.high(GAPS_ABOVE)) else {
            return Span::ZERO;
        };
        let spread = (short - least).times(3).part(5);
        (least - spread - spread.times(GAPS_FEW).part(self.seen as i64)).max(Span::ZERO)
    }

    /// The earliest time of the next action, by those before it.
    pub(super) fn next_action(&self) -> Option<LocalTime> {
        (self.seen >= GAPS_MIN).then_some(self.acted? + self.soonest)
    }

    /// Notes that an update was shown.
    pub(super) fn shown(&mut self, stamp: SessionTime, at: LocalTime) {
        self.shown.push(offset(stamp, at));
        self.latest = self.shown.largest().unwrap_or(Span::ZERO);
    }

    /// How much longer the slowest of the last updates took than this one.
    pub(super) fn excess(&self, stamp: SessionTime, at: LocalTime) -> Span {
        (self.latest - offset(stamp, at)).max(Span::ZERO)
    }
}

fn offset(stamp: SessionTime, at: LocalTime) -> Span {
    Span::from_nanos(evenkeel_core::time::sub_saturating(at.as_nanos(), stamp.as_nanos()))
}

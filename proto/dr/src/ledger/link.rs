//! The receivers of a sender, by their places: whatever is kept for each receiver can be a plain array.

use std::collections::BTreeMap;

use evenkeel_core::{PeerId, SessionTime, Span};

use super::account::{Account, Outlook};
use super::evidence::Evidence;
use crate::history::History;
use crate::placement::Placement;

/// Who has been sent so many vectors and has reported none, though that would have had so much more time than usual, is silent.
const SILENT: (u32, Span) = (4, Span::from_secs(8));
/// What is usual if it has never reported anything.
const USUAL: Span = Span::from_secs(2);
/// Who was silent, or has not told the truth, is doubted for so much longer: what it reports first may be of that time.
const PROBATION: Span = Span::from_secs(1);
/// Whether reports are true is remembered of about so many of them.
const REMEMBERED: f64 = 16.0;
/// If a smaller part of them is, none is believed.
const TRUE_MIN: f64 = 0.5;

/// What the sender knows of one receiver.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(super) peer: PeerId,
    pub(super) evidence: Evidence,
    /// Every arrival up to here has been reported.
    pub(super) known_until: SessionTime,
    /// Settled error over all lives, those that are over included.
    pub(super) settled: f64,
    /// DR vectors sent, introductions not counted.
    pub(super) sent: u64,
    /// Reports that could not be true: of arrivals before the sending or after now, or without the nonce.
    pub(super) clamped: u64,
    /// What part of its reports could be true, lately.
    truth: f64,
    /// How many vectors it has been sent without reporting any, and since when.
    unanswered: (u32, SessionTime),
    /// It is doubted at least until then.
    doubted: SessionTime,
}

impl Link {
    fn new(peer: PeerId) -> Self {
        Self {
            peer,
            evidence: Evidence::default(),
            known_until: SessionTime::MIN,
            settled: 0.0,
            sent: 0,
            clamped: 0,
            truth: 1.0,
            unanswered: (0, SessionTime::MIN),
            doubted: SessionTime::MIN,
        }
    }

    /// A vector leaves for it.
    pub(super) fn ask(&mut self, now: SessionTime) {
        let (count, since) = self.unanswered;
        self.unanswered = (count.saturating_add(1), if count == 0 { now } else { since });
    }

    /// It reports an arrival; whether that could be true.
    pub(super) fn hear(&mut self, is_true: bool, now: SessionTime) {
        self.clamped += u64::from(!is_true);
        self.truth += (f64::from(u8::from(is_true)) - self.truth) / REMEMBERED;
        if self.truth < TRUE_MIN || self.is_silent(now) {
            self.doubted = now + PROBATION;
        }
        if is_true {
            self.unanswered.0 = 0;
        }
    }

    fn is_silent(&self, now: SessionTime) -> bool {
        let (count, since) = self.unanswered;
        if count < SILENT.0 {
            return false;
        }
        let lost_after = self.evidence.lost_after();
        now - since > SILENT.1 + if lost_after < Span::MAX { lost_after } else { USUAL }
    }

    /// Whether its reports tell how it fares: it is not silent, and what it reports can be true.
    pub(crate) fn is_credible(&self, now: SessionTime) -> bool {
        now >= self.doubted && !self.is_silent(now)
    }

    /// Who.
    pub(crate) const fn peer(&self) -> PeerId {
        self.peer
    }

    /// Settles an account of this receiver as far as is known.
    pub(super) fn settle(
        &mut self,
        account: &mut Account,
        history: &History,
        now: SessionTime,
        placement: Placement,
    ) {
        let before = account.settled_error();
        account.settle(history, &self.outlook(now, placement));
        self.settled += account.settled_error() - before;
    }

    pub(crate) fn outlook(&self, now: SessionTime, placement: Placement) -> Outlook {
        Outlook {
            now,
            under_way: self.evidence.claimed().mean(),
            delay: self.evidence.delay(),
            lost_after: self.evidence.lost_after(),
            known_until: self.known_until,
            placement,
            assumed: None,
            is_credible: self.is_credible(now),
            is_cut: self.evidence.is_cut(),
        }
    }
}

/// All receivers. A place is used again when its receiver has gone.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    rows: Vec<Option<Link>>,
    places: BTreeMap<PeerId, u32>,
    free: Vec<u32>,
}

impl Links {
    pub(super) fn place(&self, peer: PeerId) -> Option<u32> {
        self.places.get(&peer).copied()
    }

    pub(super) fn get(&self, peer: PeerId) -> Option<&Link> {
        self.place(peer).map(|place| self.at(place))
    }

    pub(super) fn at(&self, place: u32) -> &Link {
        self.rows[place as usize].as_ref().expect("an account's receiver is here")
    }

    pub(super) fn at_mut(&mut self, place: u32) -> &mut Link {
        self.rows[place as usize].as_mut().expect("an account's receiver is here")
    }

    /// A receiver comes, if it is not here.
    pub(super) fn join(&mut self, peer: PeerId) {
        if self.places.contains_key(&peer) {
            return;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            u32::try_from(self.rows.len() - 1).expect("fewer than 2^32 receivers")
        });
        self.rows[place as usize] = Some(Link::new(peer));
        self.places.insert(peer, place);
    }

    /// A receiver goes. Gives its place.
    pub(super) fn leave(&mut self, peer: PeerId) -> Option<u32> {
        let place = self.places.remove(&peer)?;
        self.rows[place as usize] = None;
        self.free.push(place);
        Some(place)
    }

    /// Every place, with who is there.
    pub(super) fn rows(&self) -> &[Option<Link>] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> SessionTime {
        SessionTime::from_nanos(0) + Span::from_millis(millis)
    }

    #[test]
    fn who_is_sent_much_and_reports_nothing_is_doubted_until_a_while_after_it_answers() {
        let mut link = Link::new(PeerId(1));
        (0..3).for_each(|n| link.ask(at(n)));
        assert!(link.is_credible(at(60_000)), "three may be lost");
        link.ask(at(60_000));
        assert!(!link.is_credible(at(60_001)));
        link.hear(true, at(61_000));
        assert!(!link.is_credible(at(61_500)));
        assert!(link.is_credible(at(62_000)));
        (0..9).for_each(|n| link.ask(at(62_000 + n)));
        assert!(link.is_credible(at(72_000)), "they may be under way");
        assert!(!link.is_credible(at(72_001)));
    }

    #[test]
    fn whose_reports_are_mostly_untrue_is_doubted() {
        let tell = |one_in: i64, lies: i64| {
            let mut link = Link::new(PeerId(1));
            (0..200).for_each(|n| link.hear(n % one_in >= lies, at(n * 10)));
            link
        };
        assert!(tell(8, 2).is_credible(at(2_000)));
        let mut liar = tell(8, 6);
        assert!(!liar.is_credible(at(2_000)));
        assert_eq!(liar.clamped, 150);
        (0..40).for_each(|n| liar.hear(true, at(2_000 + n * 10)));
        assert!(liar.is_credible(at(4_000)));
    }
}

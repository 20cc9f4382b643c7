//! The receivers of a sender, indexed by place, so that per-receiver data can live in plain arrays.

use evenkeel_core::{PeerId, SessionTime, Span};

use super::account::{AccountMut, Outlook};
use super::evidence::{Compensation, Evidence};
use super::pairs::Pairs;
use super::sent_messages::SentMessages;
use crate::receiver::placement::Placement;
use evenkeel_session::PeerMap;

/// A receiver is silent if it was sent at least this many vectors and has reported none or too few for this long past its
/// usual delay.
const SILENT: (u32, Span) = (4, Span::from_secs(8));
/// The share of vectors sent within about `ANSWERS_REMEMBERED` seconds that must be reported. A connection that loses more is
/// unplayable anyway.
const ANSWERED_MIN: f64 = 0.5;
const ANSWERS_REMEMBERED: f64 = 8.0;
/// The usual delay assumed of a receiver that has never reported.
const USUAL: Span = Span::from_secs(2);
/// How long a receiver is doubted after it was silent or untruthful: its first reports may still be about that time.
const PROBATION: Span = Span::from_secs(1);
/// The number of reports over which truthfulness is averaged.
const REMEMBERED: f64 = 16.0;
/// The share of true reports below which none is believed.
const TRUE_MIN: f64 = 0.5;

/// The number of vectors sent since something went wrong, and when it did.
#[derive(Clone, Copy, Debug)]
struct Shortfall(u32, SessionTime);

impl Shortfall {
    const NONE: Self = Self(0, SessionTime::MIN);

    fn grow(&mut self, now: SessionTime) {
        let Self(count, since) = *self;
        *self = Self(count.saturating_add(1), if count == 0 { now } else { since });
    }

    #[inline]
    fn lasts(&self, now: SessionTime, usual: impl FnOnce() -> Span) -> bool {
        self.0 >= SILENT.0 && now - self.1 > SILENT.1 + usual()
    }
}

/// How many vectors a receiver was sent lately, and how many of them it has reported.
#[derive(Clone, Debug)]
struct AnswerRate {
    asked: f64,
    answered: f64,
    at: SessionTime,
    none: Shortfall,
    few: Shortfall,
}

impl AnswerRate {
    const NONE: Self =
        Self { asked: 0.0, answered: 0.0, at: SessionTime::MIN, none: Shortfall::NONE, few: Shortfall::NONE };

    fn fade(&mut self, now: SessionTime) {
        if now <= self.at {
            return; // One message carries many reports.
        }
        let past = (now - self.at).as_secs_f64();
        let left = ANSWERS_REMEMBERED / (ANSWERS_REMEMBERED + past);
        (self.asked, self.answered, self.at) = (self.asked * left, self.answered * left, now);
    }

    fn are_few(&self) -> bool {
        self.answered < ANSWERED_MIN * self.asked
    }

    fn ask(&mut self, now: SessionTime) {
        self.fade(now);
        self.asked += 1.0;
        self.none.grow(now);
        if self.are_few() {
            self.few.grow(now);
        }
    }

    fn hear(&mut self, now: SessionTime) {
        self.fade(now);
        self.answered = (self.answered + 1.0).min(self.asked);
        self.none = Shortfall::NONE;
        if !self.are_few() {
            self.few = Shortfall::NONE;
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(super) peer: PeerId,
    /// Unlike the place, never reused; never 0.
    pub(super) id: u32,
    pub(super) messages: SentMessages,
    pub(super) evidence: Evidence,
    /// The last delay sample: send time and claimed arrival.
    sampled: (SessionTime, SessionTime),
    /// Every arrival up to here has been reported.
    pub(super) known_until: SessionTime,
    /// The settled error over all lives, including ended ones.
    pub(super) settled: f64,
    /// DR vectors sent, not counting introductions.
    pub(super) sent: u64,
    /// Reports that could not be true: they claim an arrival before the send or in the future, or lack the right nonce.
    pub(super) clamped: u64,
    /// Reports whose arrival was moved to the nearest time that can be true, however little.
    pub(super) moved: u64,
    /// The share of recent reports that could be true.
    truth: f64,
    answers: AnswerRate,
    doubted: SessionTime,
}

impl Link {
    fn new(peer: PeerId, id: u32) -> Self {
        Self {
            peer,
            id,
            messages: SentMessages::default(),
            evidence: Evidence::default(),
            sampled: (SessionTime::MAX, SessionTime::MAX),
            known_until: SessionTime::MIN,
            settled: 0.0,
            sent: 0,
            clamped: 0,
            moved: 0,
            truth: 1.0,
            answers: AnswerRate::NONE,
            doubted: SessionTime::MIN,
        }
    }

    pub(super) fn ask(&mut self, now: SessionTime) {
        self.answers.ask(now);
    }

    /// Counts the report of an arrival, which could be true or not.
    pub(super) fn hear(&mut self, is_true: bool, now: SessionTime) {
        self.clamped += u64::from(!is_true);
        self.truth += (f64::from(u8::from(is_true)) - self.truth) / REMEMBERED;
        if self.truth < TRUE_MIN || self.is_silent(now) {
            self.doubted = now + PROBATION;
        }
        if is_true {
            self.answers.hear(now);
        }
    }

    /// Takes the report of an arrival at `at`, clamped to the nearest time that can be true.
    #[inline]
    pub(super) fn hear_of(
        &mut self,
        sent: Option<SessionTime>,
        at: SessionTime,
        now: SessionTime,
        compensation: Option<Compensation>,
    ) {
        if sent.is_some_and(|sent| (sent, at) == self.sampled) && at == self.known_until {
            // Another vector of the message sampled last: it counts towards credibility only.
            return self.hear(true, now);
        }
        let (return_min, tolerance) = (self.evidence.return_min, self.evidence.tolerance);
        let least = compensation.map_or(Span::ZERO, |_| return_min);
        let mut arrived = at.min(now - least).max(self.known_until);
        arrived = sent.map_or(arrived, |sent| arrived.max(sent.min(now)));
        let is_true = (arrived - at).abs() <= tolerance;
        self.moved += u64::from(arrived != at);
        if sent.is_some() || !is_true {
            self.hear(is_true, now);
        }
        self.known_until = arrived;
        if let Some(sent) = sent.filter(|sent| (*sent, at) != self.sampled) {
            self.sampled = (sent, at);
            self.evidence.sample(sent, arrived, now, compensation);
        }
    }

    #[inline]
    fn is_silent(&self, now: SessionTime) -> bool {
        let usual = || Some(self.evidence.lost_after()).filter(|span| *span < Span::MAX).unwrap_or(USUAL);
        self.answers.none.lasts(now, usual) || self.answers.few.lasts(now, usual)
    }

    pub(crate) fn is_credible(&self, now: SessionTime) -> bool {
        now >= self.doubted && !self.is_silent(now)
    }

    pub(crate) const fn peer(&self) -> PeerId {
        self.peer
    }

    pub(crate) const fn messages(&self) -> &SentMessages {
        &self.messages
    }

    /// Changes one of the receiver's accounts, updates the view that policies have of it, and adds newly settled error to the
    /// receiver's total.
    pub(super) fn keep<T>(
        &mut self,
        pairs: &mut Pairs,
        place: u32,
        act: impl FnOnce(&mut AccountMut<'_>) -> T,
    ) -> T {
        let mut account = AccountMut::new(pairs, &mut self.messages, place);
        let before = account.read().settled_error();
        let done = act(&mut account);
        self.settled += account.read().settled_error() - before;
        account.show();
        done
    }

    pub(crate) fn outlook(&self, now: SessionTime, placement: Placement) -> Outlook {
        let (is_credible, is_cut) = (self.is_credible(now), self.evidence.is_cut);
        Outlook { is_credible, is_cut, ..self.outlook_if_credible(now, placement) }
    }

    /// The outlook if the receiver's reports are believed. The ledger settles by it, whether they are or not.
    pub(super) fn outlook_if_credible(&self, now: SessionTime, placement: Placement) -> Outlook {
        Outlook {
            now,
            under_way: self.evidence.claimed.mean(),
            delay: self.evidence.compensated,
            lost_after: self.evidence.lost_after(),
            known_until: self.known_until,
            placement,
            assumed: None,
            is_credible: true,
            is_cut: false,
        }
    }
}

/// All receivers. The place of a receiver that has left is reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// Indexed by place; `None` if empty.
    pub(super) rows: Vec<Option<Link>>,
    places: PeerMap<u32>,
    free: Vec<u32>,
    joined: u32,
}

impl Links {
    pub(super) fn place(&self, peer: PeerId) -> Option<u32> {
        self.places.get(peer).copied()
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

    pub(super) fn join(&mut self, peer: PeerId) {
        if self.places.contains(peer) {
            return;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            u32::try_from(self.rows.len() - 1).expect("fewer than 2^32 receivers")
        });
        self.joined = self.joined.wrapping_add(1).max(1);
        self.rows[place as usize] = Some(Link::new(peer, self.joined));
        self.places.insert(peer, place);
    }

    /// Removes a receiver, and returns its place.
    pub(super) fn leave(&mut self, peer: PeerId) -> Option<u32> {
        let place = self.places.remove(peer)?;
        self.rows[place as usize] = None;
        self.free.push(place);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> SessionTime {
        SessionTime::from_nanos(0) + Span::from_millis(millis)
    }

    #[test]
    fn silent_receiver_is_doubted_until_probation_ends() {
        let mut link = Link::new(PeerId(1), 1);
        (0..3).for_each(|n| link.ask(at(n)));
        assert!(link.is_credible(at(60_000)), "three vectors may be lost");
        link.ask(at(60_000));
        assert!(!link.is_credible(at(60_001)));
        link.hear(true, at(61_000));
        assert!(!link.is_credible(at(61_500)));
        assert!(link.is_credible(at(62_000)));
        (0..9).for_each(|n| link.ask(at(62_000 + n)));
        assert!(link.is_credible(at(72_000)), "the vectors may still be in flight");
        assert!(!link.is_credible(at(72_010)));
    }

    #[test]
    fn vectors_sent_at_one_instant_are_one_delay_sample() {
        let mut links = [1, 20].map(|_| Link::new(PeerId(1), 1));
        let mut draws = evenkeel_core::Seed::new(2).draws();
        for message in 0..200 {
            let (sent, delay) = (1_000 + 50 * message, 100 + draws.below(40) as i64);
            for (link, count) in links.iter_mut().zip([1, 20]) {
                (0..count).for_each(|_| link.ask(at(sent)));
                let (arrived, now) = (at(sent + delay), at(sent + 2 * delay));
                (0..count).for_each(|_| link.hear_of(Some(at(sent)), arrived, now, None));
            }
        }
        let [one, many] = links.map(|link| (link.evidence.compensated, link.evidence.lost_after()));
        assert_eq!(one, many);
        assert!(one.1 > Span::from_millis(260), "the timeout covers the slowest, too: {one:?}");
    }

    /// Simulates a receiver that is sent a vector every `millis` and reports those selected by `reports` 400 ms later.
    fn play(millis: i64, reports: impl Fn(i64) -> bool) -> (Link, SessionTime) {
        let mut link = Link::new(PeerId(1), 1);
        for now in 0..60_000 {
            if now % millis == 0 {
                link.ask(at(now));
            }
            let sent = now - 400;
            if sent >= 0 && sent % millis == 0 && reports(sent / millis) {
                link.hear(true, at(now));
            }
        }
        (link, at(60_000))
    }

    #[test]
    fn sparse_reports_are_doubted_but_packet_loss_is_not() {
        for millis in [20, 100, 1_000] {
            let (link, now) = play(millis, |number| number % 10 == 0);
            assert!(!link.is_credible(now), "one in ten, one each {millis} ms");
            let (link, now) = play(millis, |number| number % 10 < 7);
            assert!(link.is_credible(now), "seven in ten, one each {millis} ms");
        }
        // A receiver that withheld most reports for a while recovers.
        let (link, now) = play(100, |number| number > 400 || number % 10 == 0);
        assert!(link.is_credible(now));
    }

    #[test]
    fn mostly_untrue_reports_are_doubted() {
        let with_lies = |one_in: i64, lies: i64| {
            let mut link = Link::new(PeerId(1), 1);
            (0..200).for_each(|n| link.hear(n % one_in >= lies, at(n * 10)));
            link
        };
        assert!(with_lies(8, 2).is_credible(at(2_000)));
        let mut liar = with_lies(8, 6);
        assert!(!liar.is_credible(at(2_000)));
        assert_eq!(liar.clamped, 150);
        (0..40).for_each(|n| liar.hear(true, at(2_000 + n * 10)));
        assert!(liar.is_credible(at(4_000)));
    }
}

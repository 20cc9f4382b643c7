//! Estimates stay cheap and accurate, and settled errors exact, under late, missing and repeated reports.

use evenkeel_core::Vec3;

use super::estimate::NEAR;
use super::*;
use crate::ledger::Slot;
use crate::ledger::growth::Growth;
use crate::motion::vector::{MotionKind, MotionState};

const STEP: Span = Span::from_millis(10);
const DELAY: Span = Span::from_millis(40);

fn at(step: u32) -> SessionTime {
    SessionTime::default() + STEP.times(i64::from(step))
}

/// One account, without the rest of a ledger.
#[derive(Default)]
struct SingleAccount {
    pairs: Pairs,
    messages: SentMessages,
}

impl SingleAccount {
    fn new() -> Self {
        let mut single = Self::default();
        single.pairs.open(0, 1);
        single
    }

    fn read(&self) -> Account<'_> {
        Account::new(&self.pairs, &self.messages, 0)
    }

    fn write(&mut self) -> AccountMut<'_> {
        AccountMut::new(&mut self.pairs, &mut self.messages, 0)
    }

    /// Settles as far as is known, including any arrival just reported.
    fn settle(&mut self, history: &ExportedPath, outlook: &Outlook, reported: Option<Arrived>) {
        let mut account = self.write();
        let mut growth = Growth::default();
        account.settle(history, outlook, reported, &mut growth);
        growth.owe(Slot { track: 0, link: 0 });
        growth.pay(|_, error| account.add_settled(error));
        account.presume(history, outlook);
        account.show();
    }

    fn open(&mut self, history: &ExportedPath, outlook: &Outlook, dispatch: Dispatch, nonce: u32) {
        let mut account = self.write();
        account.open(history, outlook, dispatch, nonce);
        account.show();
    }

    /// Takes the report of an arrival.
    fn arrived(&mut self, history: &ExportedPath, outlook: &Outlook, seq: DrSeq, at: SessionTime) {
        if self.write().take(seq, seq.0).is_ok_and(|sent| sent.is_some()) {
            self.settle(history, outlook, Some((seq, at)));
        }
    }
}

/// A vector of a turning tank that changes its speed at every step.
fn vector(step: u32) -> DrVector {
    let t = f64::from(step) * STEP.as_secs_f64();
    let speed = 10.0 + f64::from(step % 7);
    let state = MotionState {
        position: Vec3::xy(3.0 * t, f64::from(step % 5)),
        velocity: Vec3::xy(speed, 0.0),
        turn_rate: 0.7,
        ..MotionState::default()
    };
    DrVector::generate(at(step), &state, MotionKind::Circular)
}

fn outlook(step: u32, known_until: SessionTime) -> Outlook {
    let lost_after = Span::from_secs(1);
    let placement = Placement::Global;
    let now = at(step);
    Outlook {
        now,
        under_way: DELAY,
        delay: DELAY,
        lost_after,
        known_until,
        placement,
        assumed: None,
        is_credible: true,
        is_cut: false,
    }
}

/// A relay's account of a receiver that reports the first arrival and then stays silent for `steps` steps.
fn silent(steps: u32) -> (SingleAccount, ExportedPath, Outlook) {
    let mut account = SingleAccount::new();
    let mut history = ExportedPath::new(DrSeq(0), vector(0), false);
    let known_until = at(0) + DELAY;
    account.open(&history, &outlook(0, at(0)), Dispatch { sent: at(0), seq: DrSeq(0) }, 0);
    account.arrived(&history, &outlook(0, known_until), DrSeq(0), known_until);
    for step in 1..=steps {
        history.record(DrSeq(step), vector(step));
        account.settle(&history, &outlook(step, known_until), None);
        account.open(
            &history,
            &outlook(step, known_until),
            Dispatch { sent: at(step), seq: DrSeq(step) },
            step,
        );
    }
    let last = outlook(steps, known_until);
    account.settle(&history, &last, None);
    (account, history, last)
}

#[test]
fn silent_receiver_estimate_starts_near_now() {
    let (account, history, outlook) = silent(480);
    let settled = account.read().first_arrival(&history, &outlook, outlook.now).expect("there was a report");
    assert!(account.read().settled().is_none(), "vectors sent before its arrival may have arrived first");
    let presumed = account.read().presumed().expect("much is unsettled").cursor;
    assert!(presumed.at >= outlook.now - STEP.times(NEAR as i64), "{:?}", presumed.at);

    let whole =
        account.read().walk(settled, &history, &outlook, Flight::Estimated, outlook.now, Cursor::estimate_to);
    let near = account.read().estimated(&history, &outlook, Flight::Estimated, outlook.now).unwrap();
    assert_eq!((near.at, near.placed, near.exported), (whole.at, whole.placed, whole.exported));
    assert!((near.error - whole.error).abs() < 1e-3 * whole.error, "{} {}", near.error, whole.error);
    assert!(whole.error > 1.0, "the estimate is not trivial");
}

#[test]
fn late_reports_replace_the_presumed_error() {
    let (mut account, history, mut outlook) = silent(480);
    outlook.now += DELAY + DELAY;
    outlook.known_until = outlook.now;
    for step in 1..=480 {
        account.arrived(&history, &outlook, DrSeq(step), at(step) + DELAY + DELAY);
    }
    assert!(account.read().presumed().is_none());
    let (error, until) = account.read().settled().unwrap();
    let truth = (1..=480).map(|step| placed_late(step, until)).sum::<f64>();
    assert!((error - truth).abs() < 1e-9 * truth, "{error} {truth}");
}

/// The error between an export and the next, if every vector arrives eight steps late.
fn placed_late(step: u32, until: SessionTime) -> f64 {
    let shown = vector(step.saturating_sub(8));
    crate::export_error(&vector(step), &shown, at(step).max(at(0) + DELAY), at(step + 1).min(until))
}

/// The estimated error, the error walked from the settled one, and the settled error itself, if every eighth vector arrives and
/// is reported `lag` steps after it was sent, and the others are lost.
fn always_late(lag: u32) -> (f64, f64, f64) {
    let mut account = SingleAccount::new();
    let mut history = ExportedPath::new(DrSeq(0), vector(0), false);
    account.open(&history, &outlook(0, at(0)), Dispatch { sent: at(0), seq: DrSeq(0) }, 0);
    account.arrived(&history, &outlook(0, at(0) + DELAY), DrSeq(0), at(0) + DELAY);
    let mut last = outlook(0, at(0) + DELAY);
    for step in 1..=4_000 {
        history.record(DrSeq(step), vector(step));
        last.now = at(step);
        if step > lag && (step - lag).is_multiple_of(8) {
            let seq = step - lag;
            last.known_until = at(seq) + DELAY;
            account.arrived(&history, &last, DrSeq(seq), last.known_until);
        }
        account.settle(&history, &last, None);
        account.open(&history, &last, Dispatch { sent: at(step), seq: DrSeq(step) }, step);
        history.keep_shown(&account.read().shows().into_iter().collect::<Vec<_>>());
        history.trim(account.read().needs(&history));
    }
    let walked = account.read().last_word(&history, &last, last.now).expect("there were reports").error;
    let estimated = account.read().estimated(&history, &last, Flight::Estimated, last.now).unwrap().error;
    (estimated, walked, account.read().settled().unwrap().0)
}

#[test]
fn always_late_reports_still_settle() {
    for lag in [20, 50, 70, 100, 300] {
        let (estimated, walked, settled) = always_late(lag);
        assert!((estimated - walked).abs() < 0.02 * walked, "{lag}: {estimated} {walked} {settled}");
        assert!(estimated >= 0.99 * settled, "{lag}: {estimated} {walked} {settled}");
        assert!(walked > settled && settled > 10.0, "{lag}: {estimated} {walked} {settled}");
    }
}

/// A linear vector from another position at every step.
fn straight(step: u32) -> DrVector {
    let state = MotionState {
        position: Vec3::xy(f64::from(step % 11), f64::from(step % 5)),
        velocity: Vec3::xy(f64::from(step % 7), 1.0),
        ..MotionState::default()
    };
    DrVector::generate(at(step), &state, MotionKind::Linear)
}

/// The error up to a time, computed directly from the vectors exported and arrived at each instant.
fn truth(history: &ExportedPath, arrived: &[Arrived], until: SessionTime) -> f64 {
    let path = history.path();
    let ats = arrived.iter().map(|(_, at)| *at);
    let first = ats.clone().min().expect("something has arrived");
    let mut times: Vec<SessionTime> =
        path.iter().map(|segment| segment.vector.generated).chain(ats).collect();
    times.retain(|at| (first..until).contains(at));
    times.push(until);
    times.sort();
    let error = |from: SessionTime, to: SessionTime| {
        let exported = path.iter().rfind(|segment| segment.vector.generated <= from)?;
        let shown = arrived.iter().filter(|(_, at)| *at <= from).map(|(seq, _)| *seq).max()?;
        Some(crate::export_error(&exported.vector, history.vector(shown)?, from, to))
    };
    times.windows(2).map(|ends| error(ends[0], ends[1]).expect("something is shown")).sum()
}

/// Settles random traffic and asserts that the settled error is exact. For the last half second of every five, the session's
/// clock is set back by `set_back` steps. Returns how many reports had to wait.
fn settle_random_traffic(set_back: u32) -> u32 {
    let clock = |step: u32| step - if step % 500 >= 450 { set_back } else { 0 };
    let mut draws = evenkeel_core::Seed::new(4).draws();
    let mut account = SingleAccount::new();
    let mut history = ExportedPath::new(DrSeq(0), straight(0), true);
    let mut on_the_way = vec![(Dispatch { sent: at(0), seq: DrSeq(0) }, 0, 3)];
    let (mut arrived, mut known_until, mut waited) = (Vec::new(), at(0), 0);
    account.open(&history, &outlook(0, at(0)), Dispatch { sent: at(0), seq: DrSeq(0) }, 0);
    for step in 1..6_000 {
        if step % 500 == 0 {
            let numbers = account.messages.renumber();
            account.pairs.renumber(0, &numbers);
        }
        if draws.chance(0.3) {
            history.record(DrSeq(history.newest().0.0 + 1), straight(step));
        }
        if draws.chance(0.15) {
            let dispatch = Dispatch { sent: at(clock(step)), seq: history.newest().0 };
            account.open(&history, &outlook(clock(step), known_until), dispatch, step);
            on_the_way.push((dispatch, step, step + 2 + draws.below(9) as u32));
        }
        let is_here = |(_, _, arrives): &(Dispatch, u32, u32)| *arrives <= step;
        for (Dispatch { sent, seq }, nonce, arrives) in on_the_way.extract_if(.., |flying| is_here(flying)) {
            known_until = known_until.max(at(arrives - 1));
            arrived.push((seq, known_until));
            let taken = account.write().take(seq, nonce);
            assert!(matches!(taken, Ok(Some(at)) if at == sent), "{taken:?}");
            account.settle(&history, &outlook(clock(step), known_until), Some((seq, known_until)));
            waited += u32::from(account.read().next_arrival().is_some());
        }
    }
    let (error, until) = account.read().settled().expect("there were reports");
    let truth = truth(&history, &arrived, until);
    assert!(truth > 10.0 && until > at(5_900 - set_back), "{truth} {until:?}");
    assert!((error - truth).abs() < 1e-9 * truth, "{error} {truth}");
    waited
}

#[test]
fn settled_error_is_exact_when_the_clock_is_set_back() {
    let [usually, waited] = [0, 40].map(settle_random_traffic);
    assert!(
        usually > 100 && waited > usually + 20,
        "reports wait until the clock has caught up: {waited} {usually}"
    );
}

#[test]
fn repeated_vector_keeps_first_and_recent_dispatches() {
    let mut account = SingleAccount::new();
    let history = ExportedPath::new(DrSeq(0), straight(0), true);
    let second = 100;
    let steps = (0..600 * second).step_by(3 * second as usize);
    for step in steps.clone() {
        let dispatch = Dispatch { sent: at(step), seq: DrSeq(0) };
        account.open(&history, &outlook(step, at(0)), dispatch, step);
        if account.messages.is_crowded() {
            let numbers = account.messages.renumber();
            account.pairs.renumber(0, &numbers);
        }
        assert!(account.read().in_flight_count() <= 8, "{}", account.read().in_flight_count());
        assert!(account.messages.len() <= 160, "{}", account.messages.len());
    }
    let mut is_known = |step| matches!(account.write().take(DrSeq(0), step), Ok(Some(_)));
    let known: Vec<u32> = steps.filter(|step| is_known(*step)).collect();
    assert_eq!(known, [0, 582, 585, 588, 591, 594, 597].map(|seconds| second * seconds));
}

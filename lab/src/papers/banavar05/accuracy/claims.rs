//! The thesis' claims about figure 2.2, and about the errors before and after a vector arrives.

use evenkeel_games::{LENGTH, WIDTH};

use super::placement_runs::{PlacementRuns, export_error, export_error_after};
use crate::claims::{Claim, Verdict};
use crate::papers::banavar05::SOURCE;
use crate::papers::bars::{A_FEW, CLOSE_TO_ZERO, MOST, MUCH, QUITE_OFTEN};
use crate::papers::cells::{Ratio, in_words};
use crate::papers::judgement::{Judgement, Test};
use crate::papers::view::Claims;

const RECEIVERS: [usize; 3] = [0, 1, 2];

/// Returns the claims about figure 2.2, from the runs that are drawn and from runs with realistic clocks.
pub(super) fn claims(measured: &[PlacementRuns], by_session_clocks: &[PlacementRuns]) -> Vec<Claim> {
    let [linear, circular, random] = measured else { return Vec::new() };
    let claims = Claims::about(SOURCE, "fig2.2", "2.3");
    let claims = add_smaller(claims, measured, linear);
    let claims = add_random(claims, measured, random);
    let claims = add_rates(claims, linear, circular, random);
    let claims = add_peaks(claims, linear, circular, random);
    let claims = add_after(claims, measured, by_session_clocks);
    let claims = add_before(claims, measured);
    add_hits(add_local(claims, measured), random).all()
}

/// Adds the claim about local clocks alone.
fn add_local(claims: Claims, measured: &[PlacementRuns]) -> Claims {
    let ratio = |motion: &PlacementRuns| motion.distance_ratio(0);
    claims.at("abstract").add(
        "With local clocks the inaccuracy is substantial even if the delay is low, and increases with it.",
        format!(
            "mean local error at 100 / 300 / 800 ms, in units: {}; at 100 ms it is {} times that with global clocks for linear / \
             circular / random motion (substantial: at least {MUCH} times)",
            by_motion(measured, |motion, receiver| Ratio::mean(&motion.local_errors(receiver)).in_words(2)),
            each(measured, |motion| ratio(motion).in_words(1))
        ),
        Test::all(measured.iter().map(|motion| rises(|receiver| motion.local_errors(receiver))))
            .and(Test::all(measured.iter().map(|motion| Test::above(ratio(motion), MUCH)))),
        Verdict::Holds,
    )
}

/// Adds the claim about shots.
fn add_hits(claims: Claims, random: &PlacementRuns) -> Claims {
    let gained = RECEIVERS.map(|receiver| random.hits_gained(receiver));
    let percent = |which: usize| {
        let shares = RECEIVERS.map(|receiver| random.hits(receiver)[which].times(100.0));
        in_words(&shares, 0)
    };
    let is_better = Test::all(gained.map(|one| Test::above(one, 1.0)));
    let [low, middle, high] = gained;
    let rises = Test::above(middle.over(low), 1.0);
    claims.at("2.3.1").add(
        "The hit rate is better with the global clock, particularly if the delay is high.",
        format!(
            "measured with players in the thesis, computed here: a shot aimed exactly at where a tank in random motion is seen arrives \
             at once and hits if the tank's centre is within half its width of that point. At 100 / 300 / 800 ms {} % hit with local and \
             {} % with global clocks, {} times as many (particularly: the factor rises with the delay; read: from 100 ms to 300 ms. At \
             800 ms the copy placed by the global clock is far off, too)",
            percent(0),
            percent(1),
            in_words(&gained, 2)
        ),
        Judgement::read(
            is_better.and(rises).and(Test::above(high.over(middle), 1.0)),
            is_better.and(rises),
        ),
        Verdict::Differs,
    )
}

/// Formats a figure of each motion at 100, 300 and 800 ms.
fn by_motion(measured: &[PlacementRuns], figure: impl Fn(&PlacementRuns, usize) -> String) -> String {
    let words = |motion: &PlacementRuns| {
        let figures = RECEIVERS.map(|receiver| figure(motion, receiver));
        format!("{} {}", motion.name, figures.join(" / "))
    };
    measured.iter().map(words).collect::<Vec<_>>().join("; ")
}

/// Tests that a value rises with the delay: that each receiver's, relative to the next farther one's, is below 1.
fn rises(by_receiver: impl Fn(usize) -> Vec<f64>) -> Test {
    let steps = RECEIVERS.windows(2).map(|pair| {
        let pairs = by_receiver(pair[0]).into_iter().zip(by_receiver(pair[1]));
        Test::below(Ratio::of(&pairs.collect::<Vec<_>>()), 1.0)
    });
    Test::all(steps)
}

fn add_smaller(claims: Claims, measured: &[PlacementRuns], linear: &PlacementRuns) -> Claims {
    let ratio = |motion: &PlacementRuns, receiver| motion.distance_ratio(receiver);
    let is_smaller = |motion: &PlacementRuns| {
        Test::all(RECEIVERS.map(|receiver| Test::above(ratio(motion, receiver), MUCH)))
    };
    let local_max = linear.local_max(1);
    // The thesis says "two tank units"; a tank is 6.0 units long and 2.8 wide.
    let (lengths, widths) = (local_max / LENGTH, local_max / WIDTH);
    let global_share = Ratio { value: 1.0, error: 0.0 }.over(ratio(linear, 1));
    let is_close = Test::below(global_share, CLOSE_TO_ZERO);
    claims
        .add(
            "In all cases the global error is much smaller than the local error.",
            format!(
                "mean local / global at 100 / 300 / 800 ms: {} (much smaller: at most half)",
                by_motion(measured, |motion, receiver| ratio(motion, receiver).in_words(1))
            ),
            Test::all(measured.iter().map(is_smaller)),
            Verdict::Holds,
        )
        .add(
            "At 300 ms in linear motion the local error reaches two tank units, and the global error is close to zero.",
            format!(
                "local at most {local_max:.2} units: {lengths:.2} tank lengths or {widths:.2} widths; global {} % of \
                 local on average. Top speed x 300 ms is 7.5 units, so it holds only if a tank unit is the tank's width (close to zero: \
                 below {:.0} %)",
                global_share.times(100.0).in_words(1),
                100.0 * CLOSE_TO_ZERO
            ),
            Judgement::read(
                Test::fact(lengths >= 2.0).and(is_close),
                Test::fact(widths >= 2.0).and(is_close),
            ),
            Verdict::Differs,
        )
}

fn add_random(claims: Claims, measured: &[PlacementRuns], random: &PlacementRuns) -> Claims {
    let worse = random.global_worse(1);
    claims
        .add(
            "In random motion there are a few instances in which the global error is the larger one.",
            format!(
                "at 300 ms in {} % of the samples (a few: above 0, below {:.0} %)",
                worse.share.times(100.0).in_words(1),
                100.0 * A_FEW
            ),
            Test::above(worse.share, 0.0).and(Test::below(worse.share, A_FEW)),
            Verdict::Holds,
        )
        .add(
            "The global error increases with the delay.",
            format!(
                "mean global error at 100 / 300 / 800 ms, in units: {}",
                by_motion(measured, |motion, receiver| Ratio::mean(&motion.global_errors(receiver))
                    .in_words(2))
            ),
            Test::all(measured.iter().map(|motion| rises(|receiver| motion.global_errors(receiver)))),
            Verdict::Holds,
        )
}

fn add_rates(
    claims: Claims,
    linear: &PlacementRuns,
    circular: &PlacementRuns,
    random: &PlacementRuns,
) -> Claims {
    let rates = [linear, circular, random].map(PlacementRuns::triggers_per_second);
    let worse = random.global_worse(1);
    let again = random.returns_to_zero(0);
    let percent = |share: Ratio, decimals| share.times(100.0).in_words(decimals);
    claims
        .add(
            "Linear and circular motion generate few DR vectors, random motion many.",
            format!(
                "DR vectors per second: linear / circular / random {} (many: more than {MUCH} times as many)",
                in_words(&rates, 2)
            ),
            Test::all([0, 1].map(|few| Test::above(rates[2].over(rates[few]), MUCH))),
            Verdict::Holds,
        )
        .add(
            "In random motion the global error comes down to zero quite often when the delay is low.",
            format!(
                "at 100 ms {} times a second; it is zero for {} % of the time, at 300 and 800 ms for {} and {} % (zero: \
                 within the threshold; quite often: once a second)",
                again.in_words(2),
                percent(random.zero_share(0), 1),
                percent(random.zero_share(1), 1),
                percent(random.zero_share(2), 1)
            ),
            Test::above(again, QUITE_OFTEN),
            Verdict::Holds,
        )
        .add(
            "The global error is the larger one when a moving tank stops.",
            format!(
                "at 300 ms the tank has stood still within the last 300 ms at {} % of the samples at which the global error is larger, \
                 and at {} % of all samples (when: at more than half; reversing counts as standing still, too)",
                percent(worse.stopped, 0),
                percent(worse.stopped_always, 0)
            ),
            Test::above(worse.stopped, MOST).and(Test::above(worse.stopped.over(worse.stopped_always), 1.0)),
            Verdict::Holds,
        )
}

fn add_peaks(
    claims: Claims,
    linear: &PlacementRuns,
    circular: &PlacementRuns,
    random: &PlacementRuns,
) -> Claims {
    let zero = |motion: &PlacementRuns| RECEIVERS.map(|receiver| motion.zero_share(receiver).times(100.0));
    let peaks = |motion: &PlacementRuns| RECEIVERS.map(|receiver| Ratio::mean(&motion.peaks(receiver)));
    let mostly_zero =
        |motion: &PlacementRuns| Test::all(zero(motion).map(|share| Test::above(share, 100.0 * MOST)));
    let peaks_rise = |motion: &PlacementRuns| rises(|receiver| motion.peaks(receiver));
    claims
        .add(
            "In linear motion the global error is zero most of the time.",
            format!(
                "at 100 / 300 / 800 ms for {} % of the time (zero: within the threshold, because the exported path itself may be off by \
                 that)",
                in_words(&zero(linear), 0)
            ),
            mostly_zero(linear),
            Verdict::Holds,
        )
        .add(
            "The peaks of the global error in linear motion increase with the delay.",
            format!(
                "the highest peak of a run, on average, at 100 / 300 / 800 ms: {} units",
                in_words(&peaks(linear), 2)
            ),
            peaks_rise(linear),
            Verdict::Holds,
        )
        .add(
            "Circular motion is like linear motion, with circular vectors.",
            format!(
                "zero for {} % of the time, peaks of {} units; random motion: {} %, {} units (like: mostly zero, with peaks that rise)",
                in_words(&zero(circular), 0),
                in_words(&peaks(circular), 2),
                in_words(&zero(random), 0),
                in_words(&peaks(random), 2)
            ),
            mostly_zero(circular).and(peaks_rise(circular)),
            Verdict::Holds,
        )
}

/// Formats a figure of each motion.
fn each(measured: &[PlacementRuns], figure: impl Fn(&PlacementRuns) -> String) -> String {
    measured.iter().map(figure).collect::<Vec<_>>().join(" / ")
}

fn add_after(claims: Claims, measured: &[PlacementRuns], by_session_clocks: &[PlacementRuns]) -> Claims {
    let of = |which: usize| move |motion: &PlacementRuns| format!("{:.1}", motion.export_errors()[which].1);
    let exact = measured.iter().all(|motion| motion.export_errors()[1].1 == 0.0);
    let exact_by_session = by_session_clocks.iter().all(|motion| motion.export_errors()[1].1 == 0.0);
    // The error that remains, relative to that with local clocks.
    let left: Vec<Ratio> = by_session_clocks.iter().map(PlacementRuns::after_ratio).collect();
    claims.at("2.1, 2.2 and 2.4").add(
        "With synchronized clocks there is no export error after a vector has arrived.",
        format!(
            "after export error in 120 s, linear / circular / random, all receivers: {} units·s if clocks agree exactly, by \
             construction: the same vector at the same time gives the same position. With the session clocks of players (off by up to an \
             hour and 60 ppm, 20 ms of jitter on the way up) {} units·s in 60 s; that is {} of the error with local clocks, {} (none: \
             less than {:.0} %)",
            each(measured, of(1)),
            each(by_session_clocks, of(1)),
            left.iter().map(|one| format!("{} %", one.times(100.0).in_words(2))).collect::<Vec<_>>().join(" / "),
            each(by_session_clocks, of(0)),
            100.0 * CLOSE_TO_ZERO
        ),
        Judgement::read(
            Test::fact(exact_by_session),
            Test::all(left.iter().map(|one| Test::below(*one, CLOSE_TO_ZERO))).and(Test::fact(exact)),
        ),
        Verdict::Differs,
    )
}

fn add_before(claims: Claims, measured: &[PlacementRuns]) -> Claims {
    let reduced = |ratio: fn(&PlacementRuns) -> Ratio| {
        (
            each(measured, |motion| ratio(motion).in_words(1)),
            Test::all(measured.iter().map(|motion| Test::above(ratio(motion), MUCH))),
        )
    };
    let (whole, whole_is_reduced) = reduced(|motion| motion.ratio(export_error));
    let (early, early_is_reduced) =
        reduced(|motion| motion.ratio(|run| export_error(run) - export_error_after(run)));
    let unavoidable = measured.iter().all(|motion| motion.export_errors()[1].0 > 0.0);
    claims
        .at("2.2")
        .add(
            "Before a vector arrives there is an export error even with synchronized clocks; overall the export error is significantly \
             reduced.",
            format!(
                "before export error, linear / circular / random: {} units·s; the whole export error with local clocks is {whole} times \
                 that with global clocks (significantly: at least {MUCH} times)",
                each(measured, |motion| format!("{:.1}", motion.export_errors()[1].0))
            ),
            Test::fact(unavoidable).and(whole_is_reduced),
            Verdict::Holds,
        )
        .at("3.1")
        .add(
            "The export error before a vector arrives is significantly reduced, too.",
            format!(
                "with local clocks it is {early} times that with global clocks, linear / circular / random (significantly: at least \
                 {MUCH} times)"
            ),
            early_is_reduced,
            Verdict::Holds,
        )
}

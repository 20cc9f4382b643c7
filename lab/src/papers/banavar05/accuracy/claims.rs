//! What the thesis says of figure 2.2, and of the errors before and after a vector arrives.

use evenkeel_games::{LENGTH, WIDTH};

use super::measured::{Measured, after, all};
use crate::claims::{Claim, Verdict};
use crate::papers::banavar05::SOURCE;
use crate::papers::cells::{Ratio, in_words};
use crate::papers::view::Claims;

const RECEIVERS: [usize; 3] = [0, 1, 2];
/// "Much smaller" and "significantly reduced": at most half.
const MUCH: f64 = 2.0;

/// The claims of figure 2.2.
pub(super) fn claims(measured: &[Measured]) -> Vec<Claim> {
    let [linear, circular, random] = measured else { return Vec::new() };
    let claims = Claims::about(SOURCE, "fig2.2", "2.3");
    let claims = say_smaller(claims, measured, linear);
    let claims = say_random(claims, measured, random);
    let claims = say_rates(claims, linear, circular, random);
    let claims = say_peaks(claims, linear, circular, random);
    say_before_and_after(claims, measured).all()
}

/// A figure at 100, 300 and 800 ms of each motion, in words.
fn by_motion(measured: &[Measured], figure: impl Fn(&Measured, usize) -> String) -> String {
    let words = |motion: &Measured| {
        let figures = RECEIVERS.map(|receiver| figure(motion, receiver));
        format!("{} {}", motion.name, figures.join(" / "))
    };
    measured.iter().map(words).collect::<Vec<_>>().join("; ")
}

fn say_smaller(claims: Claims, measured: &[Measured], linear: &Measured) -> Claims {
    let ratio = |motion: &Measured, receiver| motion.distance_ratio(receiver);
    let is_smaller = |motion: &Measured| RECEIVERS.iter().all(|one| ratio(motion, *one).value >= MUCH);
    let local_max = linear.local_max(1);
    // The thesis speaks of two tank units; a tank is 6.0 long and 2.8 wide.
    let (lengths, widths) = (local_max / LENGTH, local_max / WIDTH);
    let global_share = 1.0 / ratio(linear, 1).value;
    claims
        .say(
            "In all cases the global error is much smaller than the local error.",
            format!(
                "mean local / global at 100 / 300 / 800 ms: {} (much smaller: at most half)",
                by_motion(measured, |motion, receiver| ratio(motion, receiver).in_words(1))
            ),
            Verdict::of(measured.iter().all(is_smaller)),
            Verdict::Holds,
        )
        .say(
            "At 300 ms in linear motion the local error reaches two tank units, the global one is close to zero.",
            format!(
                "local at most {local_max:.2} units: {lengths:.2} tank lengths or {widths:.2} widths; global {:.1} % of \
                 local on average. Top speed x 300 ms is 7.5 units, so it holds only if a tank unit is its width (close to zero: below 5 %)",
                100.0 * global_share
            ),
            Verdict::read(lengths >= 2.0 && global_share < 0.05, widths >= 2.0 && global_share < 0.05),
            Verdict::Differs,
        )
}

fn say_random(claims: Claims, measured: &[Measured], random: &Measured) -> Claims {
    let worse = random.global_worse(1);
    let error = |motion: &Measured, receiver| motion.distances(receiver)[1];
    let grows =
        |motion: &Measured| error(motion, 0) < error(motion, 1) && error(motion, 1) < error(motion, 2);
    claims
        .say(
            "In random motion there are a few instances in which the global error is the larger one.",
            format!("at 300 ms in {:.1} % of the samples (a few: above 0, below 15 %)", 100.0 * worse.share),
            Verdict::of(worse.share > 0.0 && worse.share < 0.15),
            Verdict::Holds,
        )
        .say(
            "As the delay increases, so does the global error.",
            format!(
                "mean global error at 100 / 300 / 800 ms, in units: {}",
                by_motion(measured, |motion, receiver| format!("{:.2}", error(motion, receiver)))
            ),
            Verdict::of(measured.iter().all(grows)),
            Verdict::Holds,
        )
}

fn say_rates(claims: Claims, linear: &Measured, circular: &Measured, random: &Measured) -> Claims {
    let rates = [linear, circular, random].map(Measured::triggers_per_second);
    let worse = random.global_worse(1);
    let again = random.zero_again(0);
    claims
        .say(
            "Linear and circular motion make few DR vectors, random motion many.",
            format!(
                "DR vectors per second: linear {:.2}, circular {:.2}, random {:.2} (many: more than twice as many)",
                rates[0], rates[1], rates[2]
            ),
            Verdict::of(rates[2] > 2.0 * rates[0].max(rates[1])),
            Verdict::Holds,
        )
        .say(
            "In random motion the global error comes down to zero quite often when the delay is low.",
            format!(
                "at 100 ms {again:.2} times a second; it is zero for {:.1} % of the time, at 300 and 800 ms for {:.1} and {:.1} % (zero: \
                 within the threshold; quite often: once a second)",
                100.0 * random.zero(0),
                100.0 * random.zero(1),
                100.0 * random.zero(2)
            ),
            Verdict::of(again >= 1.0),
            Verdict::Holds,
        )
        .say(
            "The global error is the larger one when a moving tank stops.",
            format!(
                "at 300 ms the tank has stood within the last 300 ms at {:.0} % of the samples at which it is the larger one, and at {:.0} % of all \
                 samples (when: at more than half; to turn back is to stand, too)",
                100.0 * worse.stopped,
                100.0 * worse.stopped_always
            ),
            Verdict::of(worse.stopped > 0.5 && worse.stopped > worse.stopped_always),
            Verdict::Holds,
        )
}

fn say_peaks(claims: Claims, linear: &Measured, circular: &Measured, random: &Measured) -> Claims {
    let zero = |motion: &Measured| RECEIVERS.map(|receiver| 100.0 * motion.zero(receiver));
    let peaks = |motion: &Measured| RECEIVERS.map(|receiver| motion.peak(receiver));
    let zero_in_words = |motion: &Measured| zero(motion).map(|share| format!("{share:.0}")).join(" / ");
    let mostly_zero = |motion: &Measured| zero(motion).iter().all(|share| *share > 50.0);
    let rises = |motion: &Measured| peaks(motion).windows(2).all(|pair| pair[0] < pair[1]);
    claims
        .say(
            "In linear motion the global error is zero most of the time.",
            format!(
                "at 100 / 300 / 800 ms for {} % of the time (zero: within the threshold, by which the exported path itself may be off)",
                zero_in_words(linear)
            ),
            Verdict::of(mostly_zero(linear)),
            Verdict::Holds,
        )
        .say(
            "As the delay increases, so do the peaks of the global error in linear motion.",
            format!(
                "the highest of a run, on average, at 100 / 300 / 800 ms: {} units",
                in_words(&peaks(linear))
            ),
            Verdict::of(rises(linear)),
            Verdict::Holds,
        )
        .say(
            "Circular motion is like linear motion, with circular vectors.",
            format!(
                "zero for {} % of the time, peaks of {} units; random motion: {} %, {} units (like: mostly zero, with peaks that rise)",
                zero_in_words(circular),
                in_words(&peaks(circular)),
                zero_in_words(random),
                in_words(&peaks(random))
            ),
            Verdict::of(mostly_zero(circular) && rises(circular)),
            Verdict::Holds,
        )
}

fn say_before_and_after(claims: Claims, measured: &[Measured]) -> Claims {
    let parts = |which: usize, part: fn((f64, f64)) -> f64| {
        let words = measured.iter().map(|motion| format!("{:.1}", part(motion.export_errors()[which])));
        words.collect::<Vec<_>>().join(" / ")
    };
    let (before, behind) = (|(before, _): (f64, f64)| before, |(_, after): (f64, f64)| after);
    let reduced = |ratio: fn(&Measured) -> Ratio| {
        let words: Vec<_> = measured.iter().map(|motion| ratio(motion).in_words(1)).collect();
        (words.join(" / "), measured.iter().all(|motion| ratio(motion).value >= MUCH))
    };
    let (whole, whole_is_reduced) = reduced(|motion| motion.ratio(all));
    let (early, early_is_reduced) = reduced(|motion| motion.ratio(|run| all(run) - after(run)));
    let exact = measured.iter().all(|motion| motion.export_errors()[1].1 == 0.0);
    let unavoidable = measured.iter().all(|motion| motion.export_errors()[1].0 > 0.0);
    claims
        .at("2.1, 2.2 and 2.4")
        .say(
            "With synchronized clocks there is no export error after a vector has arrived.",
            format!(
                "after export error in 120 s, linear / circular / random, all receivers: {} units·s; with local clocks {}",
                parts(1, behind),
                parts(0, behind)
            ),
            Verdict::of(exact),
            Verdict::Holds,
        )
        .at("2.2")
        .say(
            "Before it arrives there is, with synchronized clocks too; in all the export error is significantly reduced.",
            format!(
                "before export error, linear / circular / random: {} units·s; the whole with local clocks is {whole} times that with \
                 global ones (significantly: at least twice)",
                parts(1, before)
            ),
            Verdict::of(unavoidable && whole_is_reduced),
            Verdict::Holds,
        )
        .at("3.1")
        .say(
            "The export error before a vector arrives is significantly reduced, too.",
            format!(
                "with local clocks it is {early} times that with global ones, linear / circular / random (significantly: at least twice)"
            ),
            Verdict::of(early_is_reduced),
            Verdict::Holds,
        )
}

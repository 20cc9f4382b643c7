//! Judges the relay and the honest players after an attack.

use std::time::Duration;

use super::honest::Observations;
use crate::judge::{costs, memory, on_time};
use crate::load::Sample;
use crate::{Check, Verdict};

/// The honest players' error may exceed the control's by this share, and by [`STANDARD_ERRORS`]: a minute's mean varies by
/// a few per cent, because deadlines fall differently.
const ERROR_GROWTH_MAX: f64 = 0.10;
/// Allowed noise, in standard errors of both means.
const STANDARD_ERRORS: f64 = 3.0;
/// The share of the attack that is warm-up for the relay's memory. The state of each of 4,000 pairs of players takes
/// minutes to reach its final size.
const WARM_UP_SHARE: f64 = 0.2;

/// How long the relay's memory is watched after the warm-up before it is judged: until then it still grows to that size.
const MEMORY_JUDGED_AFTER: Duration = Duration::from_secs(120);

/// Counters of the relay that are shown, but not judged.
const FIGURES: [(&str, &str); 8] = [
    ("messages rejected", "rejected_total"),
    ("datagrams above the allowance", "over_allowance_total"),
    ("closed for flooding", "flooding_total"),
    ("closed for reading too slowly", "too_slow_total"),
    ("datagrams dropped, queue full", "queue_full_total"),
    ("datagrams crowded out", "room_crowded_out_total"),
    ("players admitted", "players_admitted_total"),
    ("players refused", "players_refused_total"),
];

/// Whether the relay survived the attack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Survival {
    /// Whether its process is running.
    pub(super) is_running: bool,
    /// Panics on its standard error.
    pub(super) panics: usize,
}

/// Judges survival, memory, and what the honest players saw beside what they saw in the control.
pub(super) fn judge(
    control: &Observations,
    attacked: &Observations,
    samples: &[Sample],
    survival: Survival,
) -> Verdict {
    let Survival { is_running, panics } = survival;
    let (first, last) = (&samples[0], &samples[samples.len() - 1]);
    let failed = last.metrics.sum("room_panics_total");
    let state = if is_running { "it is running" } else { "it is gone" };
    let warm = ((samples.len() as f64 * WARM_UP_SHARE) as usize + 1).min(samples.len() - 1);
    let Observations { looks, unseen, broken, foreign, entities_max, windows } = attacked;
    let checks = vec![
        Check::new(
            "the relay keeps running and nothing in it panics",
            is_running && panics == 0 && failed == 0.0,
            format!("{state}; {panics} panics on standard error, {failed:.0} rooms failed"),
        ),
        settled_memory(&samples[warm..]),
        error(control, attacked),
        Check::new(
            "the honest players stay connected and see each other",
            *broken == 0 && *unseen == 0 && !windows.is_empty(),
            format!("{broken} times disconnected; unseen at {unseen} of {looks} looks"),
        ),
        Check::new(
            "no entity is shown under a name that is not its owner's",
            *foreign == 0 && *looks > 0,
            format!("{foreign} such at {looks} looks; up to {entities_max} entities shown"),
        ),
    ];
    let mut figures =
        vec![("the relay's deadlines".to_owned(), on_time(&first.metrics, &last.metrics).measured)];
    figures.extend(costs(first, last));
    figures.extend(FIGURES.map(|(label, name)| {
        (label.to_owned(), format!("{:.0}", last.metrics.growth(&first.metrics, name)))
    }));
    Verdict { title: String::new(), checks, figures, stopped_early: false }
}

/// Checks that memory is flat, if the attack was long enough.
fn settled_memory(samples: &[Sample]) -> Check {
    let check = memory(samples);
    let watched = samples.last().map_or(Duration::ZERO, |last| last.at.saturating_sub(samples[0].at));
    if check.passed || watched >= MEMORY_JUDGED_AFTER {
        return check;
    }
    let least = MEMORY_JUDGED_AFTER.as_secs();
    Check {
        passed: true,
        measured: format!("{}; too short to judge, which takes {least} s", check.measured),
        ..check
    }
}

/// Checks that the honest players' error is what it was without the attack.
fn error(control: &Observations, attacked: &Observations) -> Check {
    let ((before, before_error), (after, after_error)) = (control.mean(), attacked.mean());
    let noise = STANDARD_ERRORS * (before_error * before_error + after_error * after_error).sqrt();
    let most = before * (1.0 + ERROR_GROWTH_MAX) + noise;
    let what = format!(
        "the honest players' error grows by at most {:.0} % and {STANDARD_ERRORS:.0} standard errors",
        100.0 * ERROR_GROWTH_MAX
    );
    let measured = format!(
        "{after:.4} +- {after_error:.4} units under attack, {before:.4} +- {before_error:.4} without; {most:.4} allowed"
    );
    Check::new(what, after <= most && !attacked.windows.is_empty(), measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_passes_and_a_larger_error_fails() {
        let observed =
            |windows: &[f64]| Observations { windows: windows.to_vec(), ..Observations::default() };
        let control = observed(&[1.0, 1.1, 0.9, 1.0]);
        assert!(error(&control, &observed(&[1.05, 1.0, 1.1, 0.95])).passed);
        assert!(!error(&control, &observed(&[1.9, 2.0, 2.1, 2.0])).passed);
        assert!(!error(&control, &Observations::default()).passed, "nothing was observed");
    }
}

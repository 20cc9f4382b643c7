//! What the papers' words mean in numbers: one bar for each word, for all claims of all papers.

/// "Much", "many", "far", "significantly", "considerably", "multi-fold", "dramatically": at least this many times as much, or at most
/// its inverse.
pub(crate) const MUCH: f64 = 2.0;
/// "The same", "almost the same", "comparable", "as well", "as many", "as accurate", "stands for", "towards": within
/// this share.
pub(crate) const SAME: f64 = 0.10;
/// "A little higher": by at most this share.
pub(crate) const A_LITTLE: f64 = 0.25;
/// "Negligible": at most this share of the figure it is compared with.
pub(crate) const NEGLIGIBLE: f64 = 0.10;
/// "Close to", of shares of actions: within this many percentage points.
pub(crate) const CLOSE_POINTS: f64 = 5.0;
/// "Close to zero", "no error", "almost no": less than this share of the figure it is compared with.
pub(crate) const CLOSE_TO_ZERO: f64 = 0.05;
/// "A few": more than none, and less than this share.
pub(crate) const A_FEW: f64 = 0.15;
/// "Most", "when", "is what raises it": more than this share.
pub(crate) const MOST: f64 = 0.5;
/// A theorem must hold at this share of the triggers.
pub(crate) const NEARLY_ALL: f64 = 0.9;
/// "Grows": the last third is at least this many times the first.
pub(crate) const GROWS: f64 = 1.2;
/// "Continually", "flip-flop": this often per minute.
pub(crate) const CONTINUALLY: f64 = 2.0;
/// "Quite often": this often per second.
pub(crate) const QUITE_OFTEN: f64 = 1.0;
/// "Equal": a spread of up to this share of the mean is rounding. Holding times are whole nanoseconds and distances
/// are up to a hundred units, so sums agree to about 1e-7 units·s.
pub(crate) const EQUAL: f64 = 1e-8;

/// Returns the words and what they mean.
#[must_use]
pub fn table() -> Vec<(&'static str, String)> {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    vec![
        (
            "lower, higher, less, more, better",
            "below or above, by any amount; too close to call if by less than two standard errors".to_owned(),
        ),
        (
            "much, many, far, significantly, considerably, multi-fold, dramatically",
            format!("at least {MUCH:.0} times as much, or at most {} of it", percent(1.0 / MUCH)),
        ),
        ("marginal", format!("less than {MUCH:.0} times as good")),
        ("moderately", format!("higher, but less than {MUCH:.0} times as high")),
        ("a little, slightly longer", format!("higher, by at most {}", percent(A_LITTLE))),
        (
            "the same, almost the same, comparable, as well, as many, as accurate, stands for, towards",
            format!("within {} of the reference", percent(SAME)),
        ),
        ("negligible", format!("at most {} of the figure it is compared with", percent(NEGLIGIBLE))),
        (
            "close to, slightly more, of shares of actions",
            format!("within {CLOSE_POINTS:.0} percentage points"),
        ),
        (
            "close to zero, none, almost no",
            format!("less than {} of the figure it is compared with", percent(CLOSE_TO_ZERO)),
        ),
        ("equal (theorem 4.1)", format!("the spread is at most {EQUAL:.0e} of the mean: rounding")),
        ("a theorem holds", format!("at more than {} of the triggers", percent(NEARLY_ALL))),
        ("a few", format!("more than none, less than {}", percent(A_FEW))),
        ("most; when; is what causes it", format!("more than {}", percent(MOST))),
        ("grows", format!("the last third of a run adds at least {GROWS:.1} times as much as the first")),
        ("continually, flip-flop", format!("more than {CONTINUALLY:.0} times a minute, sampled every 3 s")),
        ("quite often", format!("more than {QUITE_OFTEN:.0} time a second")),
        (
            "zero global error",
            "within the threshold, because the exported path itself may be off by that".to_owned(),
        ),
        ("always, sometimes, generally", "with every seed, with at least one, on average".to_owned()),
    ]
}

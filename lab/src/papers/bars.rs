//! What the papers' words mean in numbers: one bar for each word, the same for all claims of all papers.

/// "Much", "many", "far", "significantly", "considerably", "multi-fold": so many times as much, or as little.
pub(crate) const MUCH: f64 = 2.0;
/// "The same", "almost the same", "comparable", "as well", "as many", "as accurate", "stands for", "towards": within this
/// share.
pub(crate) const SAME: f64 = 0.10;
/// "A little higher": by at most this share.
pub(crate) const A_LITTLE: f64 = 0.25;
/// "Negligible": at most this share of what it is beside.
pub(crate) const NEGLIGIBLE: f64 = 0.10;
/// "Close to zero", "no error": less than this share of what it is compared with.
pub(crate) const CLOSE_TO_ZERO: f64 = 0.05;
/// "A few": more than none, and less than this share.
pub(crate) const A_FEW: f64 = 0.15;
/// "Most", "when", "is what raises it": more than this share.
pub(crate) const MOST: f64 = 0.5;
/// What a theorem says must be so at this share of the triggers.
pub(crate) const NEARLY_ALL: f64 = 0.9;
/// "Grows": the last third is so many times the first, or more.
pub(crate) const GROWS: f64 = 1.2;
/// "Continually", "flip-flop": so often in a minute.
pub(crate) const CONTINUALLY: f64 = 2.0;
/// "Quite often": so often in a second.
pub(crate) const QUITE_OFTEN: f64 = 1.0;
/// "Equal": sums that differ by this share of their mean differ by rounding. Holding times are whole nanoseconds and
/// distances up to a hundred units, so sums agree to about 1e-7 units·s.
pub(crate) const EQUAL: f64 = 1e-8;

/// The words, and what they mean.
#[must_use]
pub fn table() -> Vec<(&'static str, String)> {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    vec![
        (
            "lower, higher, less, more, better",
            "below or above, by whatever it is; too close to call if by less than two standard errors"
                .to_owned(),
        ),
        (
            "much, many, far, significantly, considerably, multi-fold",
            format!("at least {MUCH:.0} times as much, or at most {} of it", percent(1.0 / MUCH)),
        ),
        ("moderately", format!("higher, but less than {MUCH:.0} times as high")),
        ("a little", format!("higher, by at most {}", percent(A_LITTLE))),
        (
            "the same, almost the same, comparable, as well, as many, as accurate, stands for, towards",
            format!("within {} of what it is measured by", percent(SAME)),
        ),
        ("negligible", format!("at most {} of what it is beside", percent(NEGLIGIBLE))),
        ("close to zero, none", format!("less than {} of what it is compared with", percent(CLOSE_TO_ZERO))),
        ("equal (theorem 4.1)", format!("the spread is at most {EQUAL:.0e} of the mean: rounding")),
        ("a theorem holds", format!("at more than {} of the triggers", percent(NEARLY_ALL))),
        ("a few", format!("more than none, less than {}", percent(A_FEW))),
        ("most; when; is what causes it", format!("more than {}", percent(MOST))),
        ("grows", format!("the last third of a run adds at least {GROWS:.1} times what the first adds")),
        ("continually, flip-flop", format!("more than {CONTINUALLY:.0} times a minute, looked at every 3 s")),
        ("quite often", format!("more than {QUITE_OFTEN:.0} time a second")),
        (
            "zero global error",
            "within the threshold, by which the exported path itself may be off".to_owned(),
        ),
        ("always, sometimes, generally", "with every seed, with at least one, on average".to_owned()),
    ]
}

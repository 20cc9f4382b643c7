//! Faults as text, for command lines and settings.
//!
//! | fault | text |
//! | --- | --- |
//! | delay | `40` (ms) |
//! | jitter | `5` or `uniform:5` (the largest deviation, ms), `normal:5`, `gamma:5` (standard deviation), `exponential:5` (mean of an addition), `lognormal:5,0.8` (its median, and the standard deviation of its logarithm), `trace:FILE.csv`, `none` |
//! | loss | `2` (%), `bursts:9.5,0.5,0,60` (mean seconds of good and bad times, loss in each in %), `none` |
//! | duplicates | `1` (%) |
//! | reordering | `2,30` (% of datagrams, held back by ms) |
//! | rate | `100000,20000` (bytes per second, bytes that may wait) |
//! | steps | `10:80,20:40` (from second 10 on the delay is 80 ms, ...) |
//!
//! Percentages may end in `%`.

use std::path::Path;

use evenkeel_core::Span;
use evenkeel_link::trace::{self, DELAY_MAX_MS, TIME_MAX_S};
use evenkeel_link::{DelayStep, Jitter, Loss, RateLimit, Reorder, TrueTime};

/// The largest file of recorded delays.
const TRACE_BYTES_MAX: u64 = 64 << 20;

const DELAY: &str = "a delay is 0 to 60000 ms";
const SHARE: &str = "a percentage is 0 to 100";
const JITTER: &str =
    "a jitter is 5, uniform:5, normal:5, gamma:5, exponential:5, lognormal:5,0.8, trace:FILE or none (ms)";
const LOSS: &str = "a loss is 2, bursts:GOOD_S,BAD_S,GOOD_%,BAD_% or none (percent)";
const REORDER: &str = "reordering is PERCENT,MS: which share is held back, and for how long";
const RATE: &str = "a rate is BYTES_PER_SECOND,QUEUE_BYTES";
const STEPS: &str = "steps are SECOND:MS,SECOND:MS,... in order of time";

/// Parses a delay in milliseconds.
///
/// # Errors
/// What a delay is.
pub fn delay(text: &str) -> Result<Span, String> {
    number(text.trim_end_matches("ms"), 0.0, DELAY_MAX_MS).map(Span::from_millis_f64).ok_or(DELAY.to_owned())
}

/// Parses a percentage; returns the share.
///
/// # Errors
/// What a percentage is.
pub fn share(text: &str) -> Result<f64, String> {
    number(text.trim_end_matches('%'), 0.0, 100.0).map(|percent| percent / 100.0).ok_or(SHARE.to_owned())
}

/// Parses a jitter; reads the file of a trace.
///
/// # Errors
/// What a jitter is, or what is wrong with the file.
pub fn jitter(text: &str) -> Result<Jitter, String> {
    let (kind, value) = text.split_once(':').unwrap_or(("uniform", text));
    if text == "none" {
        return Ok(Jitter::Constant);
    }
    let ms = || delay(value).map_err(|_| JITTER.to_owned());
    Ok(match kind {
        "uniform" => Jitter::Uniform { half_width: ms()? },
        "normal" => Jitter::Normal { sd: ms()? },
        "gamma" => Jitter::Gamma { sd: ms()? },
        "exponential" => Jitter::Exponential { mean: ms()? },
        "lognormal" => {
            let [median, sigma] = numbers(value).ok_or(JITTER)?;
            let fits = (0.0..=DELAY_MAX_MS).contains(&median) && (0.0..=5.0).contains(&sigma);
            let median = Span::from_millis_f64(if fits { median } else { return Err(JITTER.to_owned()) });
            Jitter::LogNormal { median, sigma }
        }
        "trace" => Jitter::Trace(read_trace(Path::new(value))?),
        _ => return Err(JITTER.to_owned()),
    })
}

/// Parses a loss.
///
/// # Errors
/// What a loss is.
pub fn loss(text: &str) -> Result<Loss, String> {
    if text == "none" {
        return Ok(Loss::None);
    }
    let Some(bursts) = text.strip_prefix("bursts:") else {
        let probability = share(text).map_err(|_| LOSS.to_owned())?;
        return Ok(if probability == 0.0 { Loss::None } else { Loss::Independent { probability } });
    };
    let [good_s, bad_s, loss_good, loss_bad] = numbers(bursts).ok_or(LOSS)?;
    let fits = |seconds: f64| (0.001..=TIME_MAX_S).contains(&seconds);
    if !(fits(good_s) && fits(bad_s)) {
        return Err("the mean length of good and bad times is 0.001 to 86400 s".to_owned());
    }
    let (good_mean, bad_mean) = (Span::from_secs_f64(good_s), Span::from_secs_f64(bad_s));
    let law = Loss::GilbertElliott {
        good_mean,
        bad_mean,
        loss_good: loss_good / 100.0,
        loss_bad: loss_bad / 100.0,
    };
    law.validate().map(|()| law).map_err(|_| LOSS.to_owned())
}

/// Parses reordering.
///
/// # Errors
/// What it is.
pub fn reorder(text: &str) -> Result<Reorder, String> {
    let (percent, extra) = text.split_once(',').ok_or(REORDER)?;
    Ok(Reorder { share: share(percent).map_err(|_| REORDER)?, extra: delay(extra).map_err(|_| REORDER)? })
}

/// Parses a rate limit.
///
/// # Errors
/// What it is.
pub fn rate(text: &str) -> Result<RateLimit, String> {
    let [bytes_per_s, queue_max_bytes] = numbers(text).ok_or(RATE)?;
    let limit = RateLimit { bytes_per_s, queue_max_bytes };
    limit.validate().map(|()| limit).map_err(|_| RATE.to_owned())
}

/// Parses lasting changes of the delay.
///
/// # Errors
/// What they are.
pub fn steps(text: &str) -> Result<Vec<DelayStep>, String> {
    let mut steps: Vec<DelayStep> = Vec::new();
    for step in text.split(',') {
        let (at, to) = step.split_once(':').ok_or(STEPS)?;
        let at = number(at.trim_end_matches('s'), 0.0, TIME_MAX_S).ok_or(STEPS)?;
        let at = TrueTime::default() + Span::from_secs_f64(at);
        if steps.last().is_some_and(|before| before.at >= at) {
            return Err(STEPS.to_owned());
        }
        steps.push(DelayStep { at, delay: delay(to).map_err(|_| STEPS)? });
    }
    Ok(steps)
}

fn read_trace(path: &Path) -> Result<Vec<(Span, Span)>, String> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let metadata = std::fs::metadata(path).map_err(|error| named(&error))?;
    if !metadata.is_file() || metadata.len() > TRACE_BYTES_MAX {
        return Err(named(&"not a file of at most 64 MiB"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
    trace::parse(&text).map_err(|error| named(&error))
}

fn number(text: &str, min: f64, max: f64) -> Option<f64> {
    text.trim().parse().ok().filter(|number| (min..=max).contains(number))
}

fn numbers<const N: usize>(text: &str) -> Option<[f64; N]> {
    let parsed = text.split(',').map(|part| number(part.trim_end_matches('%'), 0.0, f64::MAX));
    parsed.collect::<Option<Vec<f64>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_law_has_a_text() {
        let ms = Span::from_millis;
        assert_eq!(delay("40"), Ok(ms(40)));
        assert_eq!(delay("1.5ms"), Ok(Span::from_millis_f64(1.5)));
        assert_eq!(jitter("5"), Ok(Jitter::Uniform { half_width: ms(5) }));
        assert_eq!(jitter("normal:5"), Ok(Jitter::Normal { sd: ms(5) }));
        assert_eq!(jitter("gamma:5"), Ok(Jitter::Gamma { sd: ms(5) }));
        assert_eq!(jitter("exponential:5"), Ok(Jitter::Exponential { mean: ms(5) }));
        assert_eq!(jitter("lognormal:5,0.8"), Ok(Jitter::LogNormal { median: ms(5), sigma: 0.8 }));
        assert_eq!(jitter("none"), Ok(Jitter::Constant));
        assert_eq!(loss("2%"), Ok(Loss::Independent { probability: 0.02 }));
        let (good_mean, bad_mean) = (Span::from_millis(9_500), ms(500));
        let bursts = Loss::GilbertElliott { good_mean, bad_mean, loss_good: 0.0, loss_bad: 0.6 };
        assert_eq!(loss("bursts:9.5,0.5,0,60"), Ok(bursts));
        assert_eq!(reorder("2%,30"), Ok(Reorder { share: 0.02, extra: ms(30) }));
        assert_eq!(rate("100000,20000"), Ok(RateLimit { bytes_per_s: 1e5, queue_max_bytes: 2e4 }));
        let at = |s: i64| TrueTime::default() + Span::from_millis(1_000 * s);
        let expected = vec![DelayStep { at: at(10), delay: ms(80) }, DelayStep { at: at(20), delay: ms(40) }];
        assert_eq!(steps("10:80,20:40"), Ok(expected));
    }

    #[test]
    fn a_trace_is_read_from_its_file() {
        let path = std::env::temp_dir().join(format!("evenkeel-trace-{}.csv", std::process::id()));
        std::fs::write(&path, "t_s,delay_ms\n0,5\n1,20\n").expect("written");
        let rows =
            vec![(Span::ZERO, Span::from_millis(5)), (Span::from_millis(1_000), Span::from_millis(20))];
        assert_eq!(jitter(&format!("trace:{}", path.display())), Ok(Jitter::Trace(rows)));
        std::fs::remove_file(&path).expect("removed");
        assert!(jitter("trace:/no/such/file.csv").expect_err("missing").starts_with("/no/such/file.csv: "));
    }

    #[test]
    fn other_texts_are_refused_with_what_is_right() {
        for text in ["", "-1", "nan", "60001", "forty"] {
            assert_eq!(delay(text), Err(DELAY.to_owned()), "{text}");
        }
        for text in ["", "uniform", "gauss:5", "lognormal:5", "lognormal:5,9", "lognormal:5,0.8,1"] {
            assert_eq!(jitter(text), Err(JITTER.to_owned()), "{text}");
        }
        for text in ["", "101", "-1%", "bursts:1,1,0", "bursts:1,1,0,101"] {
            assert_eq!(loss(text), Err(LOSS.to_owned()), "{text}");
        }
        assert!(loss("bursts:0,1,0,1").is_err());
        for text in ["", "5", "5,", "101,3"] {
            assert_eq!(reorder(text), Err(REORDER.to_owned()), "{text}");
        }
        for text in ["", "1000", "0,0", "inf,1", "1,2,3"] {
            assert_eq!(rate(text), Err(RATE.to_owned()), "{text}");
        }
        for text in ["", "1", "2:3,1:4", "1:-4"] {
            assert_eq!(steps(text), Err(STEPS.to_owned()), "{text}");
        }
    }
}

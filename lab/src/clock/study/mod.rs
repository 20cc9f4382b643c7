//! The session clock's study: ours and the usual filters on the same exchanges, looked at from outside.
//!
//! The setting: ten probes a second, 20 ms each way, jitter on the way up only, 30 ppm of skew.
//! What an error of the clock means for players is measured with the machines that serve them.

mod export;
mod export_jitter;
mod export_skew;
mod export_step;
mod export_sweep;
mod step;
mod sweep;

use evenkeel_core::Span;
use evenkeel_core::clock::Hull;
use evenkeel_link::{ClockFaults, DelayLaw, Jitter, LinkFaults};

use super::filters::{Averaging, Filter, LeastRoundTrip, Simpson};
use super::run::{ClockSample, ClockSetting, run};
use crate::papers::{Group, Paper, Work};

/// The study, listed beside the papers.
pub(crate) const STUDY: Paper = Paper {
    key: "clock",
    title: "The session clock against the usual filters, by true time",
    source: "Evenkeel's own study",
    readings: &[],
    first_seed: 1,
    is_long: false,
    groups: &[
        Group {
            figures: &[("jitter", "Error of the clock against jitter on one of the ways")],
            work: Work::Own {
                jobs: |setup| FILTERS.len() * sweep::JITTERS_MS.len() * setup.runs,
                run: sweep::jitter,
            },
        },
        Group {
            figures: &[("skew", "Error of the clock against a wrong rate of it")],
            work: Work::Own {
                jobs: |setup| FILTERS.len() * sweep::SKEWS_PPM.len() * setup.runs,
                run: sweep::skew,
            },
        },
        Group {
            figures: &[("step", "Error of the clock after a step of it")],
            work: Work::Own { jobs: |setup| FILTERS.len() * setup.runs, run: step::run_step },
        },
        Group {
            figures: &[(
                "export-jitter",
                "Error of placement by the clock against jitter on one of the ways",
            )],
            work: Work::Own {
                jobs: |setup| export_sweep::jobs(setup, &sweep::JITTERS_MS),
                run: export_jitter::run_export_jitter,
            },
        },
        Group {
            figures: &[("export-skew", "Error of placement by the clock against wrong rates of the clocks")],
            work: Work::Own {
                jobs: |setup| export_sweep::jobs(setup, &sweep::SKEWS_PPM),
                run: export_skew::run_export_skew,
            },
        },
        Group {
            figures: &[("export-step", "Error of placement after a step of a receiver's clock")],
            work: Work::Own { jobs: |setup| FILTERS.len() * setup.runs, run: export_step::run_export_step },
        },
    ],
};

const SOURCE: &str = "Evenkeel: session clock";

const FILTERS: [Filter; 4] = Filter::ALL;

impl Filter {
    /// Runs a setting with this filter.
    fn run(
        self,
        setting: &ClockSetting,
        seed: u64,
        every: Span,
        duration: Span,
        look: impl FnMut(ClockSample),
    ) {
        match self {
            Self::Averaging => run::<Averaging>(setting, seed, every, duration, look),
            Self::Simpson => run::<Simpson>(setting, seed, every, duration, look),
            Self::LeastRoundTrip => run::<LeastRoundTrip>(setting, seed, every, duration, look),
            Self::Hull => run::<Hull>(setting, seed, every, duration, look),
        }
    }
}

/// The setting with another jitter or skew.
fn setting(jitter_ms: f64, skew_ppm: f64) -> ClockSetting {
    let base = Span::from_millis(20);
    let jitter = Jitter::Exponential { mean: Span::from_millis_f64(jitter_ms) };
    ClockSetting {
        up: LinkFaults { delay: DelayLaw { base, jitter }, ..LinkFaults::default() },
        down: LinkFaults::constant(base),
        follower: ClockFaults { offset: Span::from_secs(-5), skew_ppm, ..ClockFaults::default() },
        ..ClockSetting::default()
    }
}

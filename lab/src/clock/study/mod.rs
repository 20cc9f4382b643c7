//! The study of the session clock: our filter and common ones on the same exchanges, compared with the true time.
//!
//! The setting: ten probes a second, 20 ms each way, jitter on the way up only, 30 ppm of skew. The `export_*` figures
//! measure what a clock's error costs players.

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
use crate::papers::{FigureGroup, Paper, PaperKind, Work};

/// The study, listed with the papers.
pub(crate) const STUDY: Paper = Paper {
    key: "clock",
    title: "The session clock compared with common filters",
    source: "Evenkeel's own study",
    kind: PaperKind::Study,
    readings: &[],
    first_seed: 1,
    is_long: false,
    groups: &[
        FigureGroup {
            figures: &[("jitter", "Clock error against one-way jitter")],
            work: Work::Own {
                jobs: |setup| FILTERS.len() * sweep::JITTERS_MS.len() * setup.runs,
                run: sweep::jitter,
            },
        },
        FigureGroup {
            figures: &[("skew", "Clock error against skew")],
            work: Work::Own {
                jobs: |setup| FILTERS.len() * sweep::SKEWS_PPM.len() * setup.runs,
                run: sweep::skew,
            },
        },
        FigureGroup {
            figures: &[("step", "Clock error after a step")],
            work: Work::Own { jobs: |setup| FILTERS.len() * setup.runs, run: step::run_step },
        },
        FigureGroup {
            figures: &[("export-jitter", "Placement error against one-way jitter")],
            work: Work::Own {
                jobs: |setup| export_sweep::jobs(setup, &sweep::JITTERS_MS),
                run: export_jitter::run_export_jitter,
            },
        },
        FigureGroup {
            figures: &[("export-skew", "Placement error against skew")],
            work: Work::Own {
                jobs: |setup| export_sweep::jobs(setup, &sweep::SKEWS_PPM),
                run: export_skew::run_export_skew,
            },
        },
        FigureGroup {
            figures: &[("export-step", "Placement error after a step of a receiver's clock")],
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
        on_sample: impl FnMut(ClockSample),
    ) {
        match self {
            Self::Averaging => run::<Averaging>(setting, seed, every, duration, on_sample),
            Self::Simpson => run::<Simpson>(setting, seed, every, duration, on_sample),
            Self::LeastRoundTrip => run::<LeastRoundTrip>(setting, seed, every, duration, on_sample),
            Self::Hull => run::<Hull>(setting, seed, every, duration, on_sample),
        }
    }
}

/// The study's setting with this jitter and skew.
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

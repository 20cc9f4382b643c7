//! Counts the frames that a page draws and misses, from the browser's timestamps, and what an empty page
//! reaches.
//!
//! A headless Chromium without a GPU requests a frame every 1/60 s by its own clock. A frame that falls due
//! while the previous one is still being drawn is skipped, and the next one comes a whole number of periods
//! later, so missed frames can be counted. On a busy machine the browser itself misses some, too; an empty
//! page next to the same arena shows how many.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::cdp::Cdp;
use crate::page::Page;

/// How long an empty page is measured, and how long it settles before.
const EMPTY_PAGE_TIME: Duration = Duration::from_secs(30);
const SETTLE_TIME: Duration = Duration::from_secs(3);

/// Counts frames, and gaps of at least one and a half frame periods.
const COUNT: &str = "globalThis.soak = { at: null, drawn: 0, missed: 0, longest: 0 }; \
    requestAnimationFrame(function count(at) { \
      const gap = soak.at === null ? 0 : at - soak.at; \
      soak.missed += Math.max(0, Math.round(gap * 60 / 1000) - 1); \
      soak.longest = Math.max(soak.longest, gap); \
      soak.at = at; \
      soak.drawn += 1; \
      requestAnimationFrame(count); })";

/// Reads the count and resets the longest gap.
const READ: &str = "(() => { const read = { ...soak }; soak.longest = 0; return read; })()";

/// Count of frames up to some frame.
#[derive(Clone, Copy)]
pub(crate) struct FrameCount {
    /// When the last frame was due, in seconds of the page's clock.
    pub(crate) at: f64,
    pub(crate) drawn: f64,
    pub(crate) missed: f64,
    /// Longest gap since the last reading, in milliseconds.
    pub(crate) longest: f64,
}

impl FrameCount {
    /// Starts counting.
    pub(crate) fn begin(page: &Page<'_>) -> Result<()> {
        page.eval(COUNT)?;
        page.wait("the page draws", "soak.drawn > 1")?;
        Ok(())
    }

    pub(crate) fn read(page: &Page<'_>) -> Result<Self> {
        let read: Value = page.eval(READ)?;
        let figure = |name: &str| read[name].as_f64().with_context(|| format!("no {name}"));
        let at = figure("at")? / 1000.0;
        Ok(Self { at, drawn: figure("drawn")?, missed: figure("missed")?, longest: figure("longest")? })
    }
}

/// Frames over a period.
#[derive(Clone, Copy, Default)]
pub(crate) struct FrameStats {
    pub(crate) seconds: f64,
    pub(crate) drawn: f64,
    pub(crate) missed: f64,
    /// Longest gap in milliseconds.
    pub(crate) longest: f64,
}

impl FrameStats {
    /// Adds the frames between two counts.
    pub(crate) fn add(&mut self, from: &FrameCount, to: &FrameCount) {
        self.seconds += to.at - from.at;
        self.drawn += to.drawn - from.drawn;
        self.missed += to.missed - from.missed;
        self.longest = self.longest.max(to.longest);
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.drawn / self.seconds
    }

    pub(crate) fn missed_per_minute(&self) -> f64 {
        60.0 * self.missed / self.seconds
    }
}

/// Measures a page that draws nothing, in this browser and under the machine's current load.
pub(crate) fn measure_empty_page(cdp: &Cdp) -> Result<FrameStats> {
    let page = Page::open(cdp, "data:text/html,<title>empty</title>")?;
    FrameCount::begin(&page)?;
    thread::sleep(SETTLE_TIME);
    let from = FrameCount::read(&page)?;
    thread::sleep(EMPTY_PAGE_TIME);
    let mut frames = FrameStats::default();
    frames.add(&from, &FrameCount::read(&page)?);
    page.close()?;
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_those_between_two_counts() {
        let count = |at, drawn, missed, longest| FrameCount { at, drawn, missed, longest };
        let mut frames = FrameStats::default();
        // The time between the second count and the third is left out.
        frames.add(&count(10.0, 600.0, 7.0, 90.0), &count(20.0, 1199.0, 8.0, 33.3));
        frames.add(&count(25.0, 1400.0, 60.0, 400.0), &count(45.0, 2598.0, 62.0, 16.7));
        assert_eq!((frames.seconds, frames.drawn, frames.missed, frames.longest), (30.0, 1797.0, 3.0, 33.3));
        assert!((frames.per_second() - 59.9).abs() < 1e-9);
        assert!((frames.missed_per_minute() - 6.0).abs() < 1e-9);
    }
}

//! Which frames a page draws and which it misses, by the times that the browser gives them; and what a page that draws nothing reaches.
//!
//! A headless Chromium without a graphics processor asks for a frame each 1/60 s, by a clock of its own. A frame whose turn comes while
//! the last one is not done yet is left out, and the next one is a whole number of turns later: so what is missed can be counted. Not all of
//! that is the page's doing: on a machine that is busy the browser itself comes too late. An empty page beside the same arena tells how often.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::cdp::Cdp;
use crate::page::Page;

/// An empty page is looked at for so long, after it had so long to settle.
const EMPTY: Duration = Duration::from_secs(30);
const SETTLED: Duration = Duration::from_secs(3);

/// Counts frames and gaps of one and a half of them or more, beside whatever the page does.
const COUNT: &str = "globalThis.soak = { at: null, drawn: 0, missed: 0, longest: 0 }; \
    requestAnimationFrame(function count(at) { \
      const gap = soak.at === null ? 0 : at - soak.at; \
      soak.missed += Math.max(0, Math.round(gap * 60 / 1000) - 1); \
      soak.longest = Math.max(soak.longest, gap); \
      soak.at = at; \
      soak.drawn += 1; \
      requestAnimationFrame(count); })";

/// What was counted; the longest gap since this was asked last.
const READ: &str = "(() => { const read = { ...soak }; soak.longest = 0; return read; })()";

/// What was counted up to some frame.
#[derive(Clone, Copy)]
pub(crate) struct Count {
    /// When the last frame was due, in seconds by the page's clock.
    pub(crate) at: f64,
    pub(crate) drawn: f64,
    pub(crate) missed: f64,
    /// The longest gap since the count was read last, in milliseconds.
    pub(crate) longest: f64,
}

impl Count {
    /// Begins to count.
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

/// Frames over some time.
#[derive(Clone, Copy, Default)]
pub(crate) struct Frames {
    pub(crate) seconds: f64,
    pub(crate) drawn: f64,
    pub(crate) missed: f64,
    /// The longest gap, in milliseconds.
    pub(crate) longest: f64,
}

impl Frames {
    /// Adds what there was between two counts.
    pub(crate) fn add(&mut self, from: &Count, to: &Count) {
        self.seconds += to.at - from.at;
        self.drawn += to.drawn - from.drawn;
        self.missed += to.missed - from.missed;
        self.longest = self.longest.max(to.longest);
    }

    pub(crate) fn each_second(&self) -> f64 {
        self.drawn / self.seconds
    }

    pub(crate) fn missed_each_minute(&self) -> f64 {
        60.0 * self.missed / self.seconds
    }
}

/// What a page that draws nothing reaches, in this browser and on this machine as it is now.
pub(crate) fn of_an_empty_page(cdp: &Cdp) -> Result<Frames> {
    let page = Page::open(cdp, "data:text/html,<title>empty</title>")?;
    Count::begin(&page)?;
    thread::sleep(SETTLED);
    let from = Count::read(&page)?;
    thread::sleep(EMPTY);
    let mut frames = Frames::default();
    frames.add(&from, &Count::read(&page)?);
    page.close()?;
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_those_between_two_counts() {
        let count = |at, drawn, missed, longest| Count { at, drawn, missed, longest };
        let mut frames = Frames::default();
        // What lies between the second count and the third does not count.
        frames.add(&count(10.0, 600.0, 7.0, 90.0), &count(20.0, 1199.0, 8.0, 33.3));
        frames.add(&count(25.0, 1400.0, 60.0, 400.0), &count(45.0, 2598.0, 62.0, 16.7));
        assert_eq!((frames.seconds, frames.drawn, frames.missed, frames.longest), (30.0, 1797.0, 3.0, 33.3));
        assert!((frames.each_second() - 59.9).abs() < 1e-9);
        assert!((frames.missed_each_minute() - 6.0).abs() < 1e-9);
    }
}

//! Tests of the checks themselves: a page that does everything wrong.

use anyhow::{Result, ensure};

use crate::Test;
use crate::accessibility;
use crate::fixture::Fixture;

pub(super) const TESTS: &[Test] = &[
    Test {
        name: "guards: complaints and requests of pages and workers are detected",
        run: detects_complaints,
    },
    Test { name: "guards: faint text and unnamed controls are detected", run: detects_inaccessible_parts },
];

/// What the page and its worker do.
const COMPLAINTS: [&str; 3] = ["a warning of the page", "an error of the worker", "thrown by the page"];
const FOREIGN_REQUESTS: [&str; 2] = ["http://elsewhere.invalid/page", "http://elsewhere.invalid/worker"];

fn detects_complaints(fixture: &Fixture<'_>) -> Result<()> {
    let page = fixture.open_file("web/test/guards.html")?;
    fixture.wait("everything that the page and its worker do is logged", || {
        page.eval("0")?;
        let is_seen = fixture.cdp().with_log(|log| {
            let (complaints, foreign_requests) =
                (log.complaints.join("\n"), log.foreign_requests().collect::<Vec<_>>());
            COMPLAINTS.iter().all(|words| complaints.contains(words))
                && FOREIGN_REQUESTS.iter().all(|url| foreign_requests.contains(url))
        });
        Ok(is_seen.then_some(()))
    })?;
    let log = fixture.cdp().take_log();
    ensure!(
        !log.complaints.iter().any(|words| words.contains("nothing to say")),
        "a log message is not a complaint"
    );
    ensure!(fixture.check(&log).is_err(), "a test with this page would pass");
    forget(fixture)
}

fn detects_inaccessible_parts(fixture: &Fixture<'_>) -> Result<()> {
    let page = fixture.open_file("web/test/guards.html")?;
    let found = accessibility::failures_of(fixture, &page)?.join("\n");
    for part in [
        "<p#faint> \"too faint\" has a contrast of 2.85, less than 4.5",
        "<p#half>",
        "<p#dark>",
        "<p#on-pale>",
        "<p#on-pale-picture>",
        "<button#bare> stands out by",
        "<input#faint-slider> stands out by",
        "a button has no name",
        "does not declare its language",
        "has no title",
        "px wide, the window",
    ] {
        ensure!(found.contains(part), "`{part}` is not among the problems:\n{found}");
    }
    for part in ["#large", "#off", "#on-deep", "#under-pale", "#on-deep-picture", "#clear-slider"] {
        ensure!(!found.contains(part), "`{part}` is fine, but was reported:\n{found}");
    }
    ensure!(accessibility::check(fixture, &page).is_err(), "a test with this page would pass");
    forget(fixture)
}

/// Forgets what the faulty page did, and opens a page without faults for the final checks.
fn forget(fixture: &Fixture<'_>) -> Result<()> {
    fixture.close_pages()?;
    fixture.cdp().take_log();
    fixture.open_file("web/test/player.html")?;
    Ok(())
}

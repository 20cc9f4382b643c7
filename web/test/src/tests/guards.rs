//! Whether the tests would notice: a page that does everything that no page may do.

use anyhow::{Result, ensure};

use crate::Test;
use crate::accessible;
use crate::stage::Stage;

pub(super) const TESTS: &[Test] = &[
    Test { name: "guards: complaints and requests of pages and workers are seen", run: sees_mischief },
    Test { name: "guards: faint text and nameless controls are seen", run: sees_faint_and_nameless },
];

/// What the page and its worker do.
const COMPLAINTS: [&str; 3] = ["a warning of the page", "an error of the worker", "thrown by the page"];
const STRAYS: [&str; 2] = ["http://elsewhere.invalid/page", "http://elsewhere.invalid/worker"];

fn sees_mischief(stage: &Stage<'_>) -> Result<()> {
    let page = stage.open_file("web/test/guards.html")?;
    stage.wait("everything that the page and its worker do is seen", || {
        page.eval("0")?;
        let is_seen = stage.cdp().witness(|witness| {
            let (complaints, strays) = (witness.complaints.join("\n"), witness.strays().collect::<Vec<_>>());
            COMPLAINTS.iter().all(|words| complaints.contains(words))
                && STRAYS.iter().all(|url| strays.contains(url))
        });
        Ok(is_seen.then_some(()))
    })?;
    let witness = stage.cdp().take_witness();
    ensure!(
        !witness.complaints.iter().any(|words| words.contains("nothing to say")),
        "a log is no complaint"
    );
    ensure!(stage.judge(&witness).is_err(), "a test with this page would pass");
    forget(stage)
}

fn sees_faint_and_nameless(stage: &Stage<'_>) -> Result<()> {
    let page = stage.open_file("web/test/guards.html")?;
    let found = accessible::failures_of(stage, &page)?.join("\n");
    for part in [
        "<p#faint> \"too faint\" has a contrast of 2.85, less than 4.5",
        "<p#half>",
        "<p#dark>",
        "<p#on-pale>",
        "<p#on-pale-picture>",
        "<button#bare> stands out by",
        "<input#faint-slider> stands out by",
        "a button has no name",
        "does not say its language",
        "has no title",
        "px wide, the window",
    ] {
        ensure!(found.contains(part), "`{part}` is not among what was found:\n{found}");
    }
    for part in ["#large", "#off", "#on-deep", "#under-pale", "#on-deep-picture", "#clear-slider"] {
        ensure!(!found.contains(part), "`{part}` is all right, but:\n{found}");
    }
    ensure!(accessible::check(stage, &page).is_err(), "a test with this page would pass");
    forget(stage)
}

/// What a page of these tests did is what it should do: at the end a page without fault is looked at.
fn forget(stage: &Stage<'_>) -> Result<()> {
    stage.close_pages()?;
    stage.cdp().take_witness();
    stage.open_file("web/test/player.html")?;
    Ok(())
}

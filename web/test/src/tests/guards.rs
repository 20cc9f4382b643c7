//! Whether the tests would notice: a page that does everything that no page may do.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

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

const SEEN_MAX: Duration = Duration::from_secs(60);

fn sees_mischief(stage: &Stage<'_>) -> Result<()> {
    let page = stage.open_file("web/test/guards.html")?;
    let deadline = Instant::now() + SEEN_MAX;
    let missed = || {
        stage.cdp().witness(|witness| {
            let complaints = witness.complaints.join("\n");
            let strays: Vec<&str> = witness.strays().collect();
            let words = COMPLAINTS.into_iter().filter(|words| !complaints.contains(words));
            words.chain(STRAYS.into_iter().filter(|url| !strays.contains(url))).collect::<Vec<_>>()
        })
    };
    while !missed().is_empty() {
        if Instant::now() > deadline {
            bail!("not seen: {:?}", missed());
        }
        thread::sleep(Duration::from_millis(20));
        page.eval("0")?;
    }
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
        "<button#bare> stands out by",
        "a button has no name",
        "does not say its language",
        "has no title",
        "px wide, the window",
    ] {
        ensure!(found.contains(part), "`{part}` is not among what was found:\n{found}");
    }
    for part in ["#large", "#off"] {
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

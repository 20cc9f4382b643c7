//! The client's unit tests, run in the browser.

use anyhow::{Result, ensure};

use crate::Test;
use crate::fixture::Fixture;

pub(super) const TESTS: &[Test] =
    &[Test { name: "unit: the client's own tests pass in the browser", run: pass }];

fn pass(fixture: &Fixture<'_>) -> Result<()> {
    let page = fixture.open_file("web/test/index.html")?;
    let verdict = page.wait("all tests have run", "document.title !== 'running' && document.title")?;
    let summary = page.eval("document.getElementById('summary').textContent")?;
    let summary = summary.as_str().unwrap_or_default();
    ensure!(verdict == "passed", "{summary}");
    println!("        {summary}");
    Ok(())
}

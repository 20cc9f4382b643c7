//! The page of `evenkeel eater demo`: a person's keys move the eater, and the cheater is shown with its proof.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::Test;
use crate::accessibility;
use crate::fixture::Fixture;
use crate::http;
use crate::page::Page;
use crate::relay::{Program, free_address};

pub(super) const TESTS: &[Test] =
    &[Test { name: "eater: keys move the eater, and the cheater is shown with its proof", run: is_played }];

/// The own eater's place, in pixels.
const PLACE: &str =
    "fetch('/api/eater/board').then((answer) => answer.json()).then(({ eaters }) => eaters[0].slice(1, 3))";

/// A way that is open for more than a cell from where the own eater is, the key for it, and the place.
const OPEN_WAY: &str = "(async () => { \
    const { columns, cell, open } = await (await fetch('/api/eater/maze')).json(); \
    const [, x, y] = (await (await fetch('/api/eater/board')).json()).eaters[0]; \
    const [column, row] = [Math.floor(x / cell), Math.floor(y / cell)]; \
    const at = (x, y) => open[y * columns + x] ?? 0; \
    if (at(column, row) & 1) return ['ArrowRight', 0, 1, x, y]; \
    if (at(column, row) & 2) return ['ArrowDown', 1, 1, x, y]; \
    if (column > 0 && at(column - 1, row) & 1) return ['ArrowLeft', 0, -1, x, y]; \
    return ['ArrowUp', 1, -1, x, y]; })()";

fn is_played(fixture: &Fixture<'_>) -> Result<()> {
    let address = free_address()?;
    let port = address.port().to_string();
    let words = ["eater", "demo", "--port", &port, "--delay", "10", "--cheater", "30"];
    let program = Program::start(fixture.harness.evenkeel, &fixture.folder, &words)?;
    program.wait_until_ready(address)?;
    let page = fixture.open(&format!("http://localhost:{port}/"))?;
    page.wait(
        "all three play",
        "document.getElementById('state-text').textContent === 'playing with 2 others'",
    )?;
    page.wait("moves are shown", "Number(document.getElementById('playout').textContent) > 0")?;
    keys_move_the_eater(&page)?;
    shows_the_cheater(&page)?;
    let picture = page.screenshot()?;
    fs::write(fixture.folder.join("eater.png"), &picture)?;
    if let Some(folder) = std::env::var_os("EVENKEEL_PICTURES") {
        for (scheme, size) in [("light", [1280, 900]), ("dark", [1280, 900]), ("light", [360, 740])] {
            page.emulate(scheme, size)?;
            page.eval("new Promise((resolve) => setTimeout(resolve, 600))")?;
            let name = format!("eater-{scheme}-{}.png", size[0]);
            fs::write(std::path::Path::new(&folder).join(name), page.screenshot()?)?;
        }
    }
    accessibility::check(fixture, &page)?;
    // A page from elsewhere can neither steer nor read the ticket.
    let head = format!("Host: {address}\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n");
    let refused = http::request(address, &format!("GET /api/eater HTTP/1.1\r\n{head}"));
    ensure!(
        refused.is_err() || refused.is_ok_and(|answer| !answer.contains("evenkeel-")),
        "the ticket leaks"
    );
    Ok(())
}

/// Presses the key of an open way, and sees the own eater go there; the bot no longer plays.
fn keys_move_the_eater(page: &Page<'_>) -> Result<()> {
    let way = page.eval(OPEN_WAY)?;
    let key = way[0].as_str().context("no way is open")?;
    page.tap(key)?;
    let (axis, sign) = (&way[1], &way[2]);
    let from = if *axis == 0 { &way[3] } else { &way[4] };
    page.wait(
        "the eater goes where the key says",
        &format!("{PLACE}.then((place) => (place[{axis}] - {from}) * {sign} >= 12)"),
    )?;
    page.wait("the person plays", "!document.getElementById('automate').disabled")?;
    // Against a wall it stands still: no bot moves it.
    page.wait(
        "the eater stops at a wall",
        &format!("{PLACE}.then(async (one) => {{ await new Promise((r) => setTimeout(r, 500)); const other = await {PLACE}; \
                  return one[0] === other[0] && one[1] === other[1]; }})"),
    )?;
    page.click("#automate")?;
    page.wait("a bot plays again", "document.getElementById('automate').disabled")?;
    Ok(())
}

fn shows_the_cheater(page: &Page<'_>) -> Result<()> {
    let banner = page.wait(
        "the cheater is named",
        "!document.getElementById('banner').hidden && document.getElementById('banner-text').textContent",
    )?;
    ensure!(banner == "Mallory was caught cheating and is out of the game", "{banner}");
    page.wait("its signatures are valid", "document.querySelector('#cases .valid') !== null")?;
    page.eval("document.querySelector('#cases details').open = true")?;
    let statements =
        page.eval("[...document.querySelectorAll('#cases dd')].map((each) => each.textContent)")?;
    let statements = statements.as_array().context("no statements")?;
    let is_signed = |each: &&Value| each.as_str().is_some_and(|text| text.len() == "signature ".len() + 128);
    let signatures: Vec<&Value> = statements.iter().filter(is_signed).collect();
    ensure!(signatures.len() == 2 && signatures[0] != signatures[1], "{statements:?}");
    let bytes = page.eval(
        "fetch(document.querySelector('#cases a').href).then((answer) => answer.arrayBuffer()).then((proof) => proof.byteLength)",
    )?;
    ensure!(bytes.as_u64().is_some_and(|bytes| bytes > 160), "the proof has {bytes} bytes");
    page.wait(
        "the table marks it",
        "[...document.querySelectorAll('#players tr')].some((row) => row.textContent.includes('Mallory') && row.textContent.includes('caught'))",
    )?;
    page.wait(
        "the others play on",
        "document.getElementById('state-text').textContent === 'playing with 2 others'",
    )?;
    Ok(())
}

//! The arena's page as a player uses it: real relay, real bots, real keys.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::Test;
use crate::accessibility;
use crate::fixture::Fixture;
use crate::page::Page;
use crate::tests::arena_controls::STEADY_TIME;
use crate::tests::live::UNREACHABLE;

pub(super) const TESTS: &[Test] = &[
    Test { name: "arena: the page plays over WebTransport, and bots move on it", run: plays },
    Test { name: "arena: a spectator sees the bots move without joining", run: watches },
    Test { name: "arena: keys drive and fire, as seen at the relay and on another page", run: drives },
    Test {
        name: "arena: the page says when the relay was killed, and resumes without a reload",
        run: comes_back,
    },
    Test { name: "arena: the page survives a tiny window", run: survives_tiny_window },
    Test { name: "arena: the page is accessible while it plays", run: is_accessible },
];

/// What the browser logs when the page's requests fail.
const UNANSWERED: &str = "Failed to load resource: net::ERR_";

const BOTS: u32 = 4;

/// Longer than the error window of the page's curve, in milliseconds: from then on it shows comparisons.
const COMPARED: u32 = 12_000;

/// Number of other players' tanks that have moved since they were first seen.
const MOVERS: &str = "(() => { globalThis.firsts ??= new Map(); const others = arena.tanks.filter(({ player }) => player !== arena.player); \
    for (const tank of others) if (!firsts.has(tank.player)) firsts.set(tank.player, tank); \
    return others.filter(({ player, x, y }) => Math.hypot(x - firsts.get(player).x, y - firsts.get(player).y) > 1).length; })()";

/// Text shown over the field, if any.
const OVERLAY_TEXT: &str =
    "document.getElementById('veil').checkVisibility() && document.getElementById('veil').innerText.trim()";

/// Bounds of the tooltip, and whether all of its text and all of it is on the screen.
const TIP: &str = "(() => { const tip = document.getElementById('tip'); const { left, top, right, bottom } = tip.getBoundingClientRect(); \
    const isFull = tip.scrollWidth <= tip.clientWidth && tip.scrollHeight <= tip.clientHeight; \
    const isWhole = isFull && left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight; \
    return { left, top, right, bottom, width: tip.scrollWidth, height: tip.scrollHeight, isWhole }; })()";

fn plays(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&[])?;
    let page = fixture.open(&arena.page())?;
    is_playing(&page)?;
    fixture.expect_request(&arena.transport())?;
    let clock = "/^\\d/.test(document.querySelector('[data-figure=clock] b').textContent)";
    page.wait("the page shows the accuracy of its clock", clock)?;
    bots_move(&page)?;
    let score = format!("document.querySelectorAll('#score li').length === {}", BOTS + 1);
    page.wait("everyone is on the scoreboard", &score)?;
    Ok(())
}

fn watches(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&[])?;
    let page = fixture.open(&format!("{}?watch", arena.page()))?;
    page.wait("the page is watching", "arena.state === 'watching' && arena.now !== null")?;
    bots_move(&page)?;
    let players = page.eval("arena.figures.players.length")?;
    ensure!(
        players == BOTS && page.eval("arena.player")?.is_null(),
        "somebody has joined: {players} players"
    );
    Ok(())
}

fn drives(fixture: &Fixture<'_>) -> Result<()> {
    // Nothing else moves, and nobody is hit.
    let arena = fixture.arena(&["--bots", "0"])?;
    let (driver, viewer) = (fixture.open(&arena.page())?, fixture.open(&arena.page())?);
    for page in [&driver, &viewer] {
        is_playing(page)?;
    }
    let player = driver.eval("arena.player")?.as_u64().context("the player has no number")?;
    let place = |page: &Page<'_>| -> Result<Option<[f64; 2]>> {
        let found =
            format!("arena.tanks.filter((tank) => tank.player === {player}).map(({{ x, y }}) => [x, y])[0]");
        Ok(point(&page.eval(&found)?))
    };
    let start = fixture.wait("the other page shows the tank where it stands", || {
        let (own, other) = (place(&driver)?, place(&viewer)?);
        Ok(own.filter(|own| other.is_some_and(|other| distance(*own, other) < 0.1)))
    })?;
    let vector = arena.tank(player)?.context("the relay does not know the tank")?;
    ensure!(speed(&vector) < 0.01, "the tank moves though no key was pressed: {vector}");

    driver.press("ArrowUp")?;
    fixture.wait("the tank moves at the relay", || {
        let vector = arena.tank(player)?.context("the relay does not know the tank")?;
        let at = point(&vector["position"]).context("a vector has no position")?;
        Ok((distance(at, start) > 3.0 && speed(&vector) > 1.0).then_some(()))
    })?;
    fixture.wait("the tank moves on the other page", || {
        Ok(place(&viewer)?.filter(|at| distance(*at, start) > 3.0))
    })?;
    driver.release("ArrowUp")?;
    fixture.wait("the tank stands in the same place on both pages", || {
        let vector = arena.tank(player)?.context("the relay does not know the tank")?;
        let (own, other) = (place(&driver)?, place(&viewer)?);
        let is_alike = own.zip(other).is_some_and(|(own, other)| distance(own, other) < 0.1);
        Ok((speed(&vector) < 0.01 && is_alike).then_some(()))
    })?;

    driver.press(" ")?;
    fixture.wait("the relay sees a shot", || arena.shot(player))?;
    driver.release(" ")
}

fn comes_back(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&[])?;
    let page = fixture.open(&arena.page())?;
    is_playing(&page)?;
    bots_move(&page)?;
    page.eval("globalThis.isSamePage = true")?;

    fixture.expect(UNREACHABLE);
    fixture.expect(UNANSWERED);
    arena.kill();
    let text = page.wait("a message appears over the field", OVERLAY_TEXT)?;
    ensure!(
        text.as_str().is_some_and(|text| text.contains("relay")),
        "it does not mention the relay: {text}"
    );
    let pill =
        "['connection lost', 'relay gone'].includes(document.getElementById('state-words').textContent)";
    page.wait("the page's header says it, too", pill)?;
    accessibility::check(fixture, &page)?;

    arena.restart()?;
    is_playing(&page)?;
    page.eval("firsts.clear()")?;
    bots_move(&page)?;
    ensure!(page.eval("isSamePage")? == true, "the page was reloaded");
    let player = page.eval("arena.player")?.as_u64().context("the player has no number")?;
    fixture.wait("the relay knows the player's tank", || arena.tank(player))?;
    Ok(())
}

/// Like after every test, the console must be empty.
fn survives_tiny_window(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&[])?;
    let page = fixture.open(&arena.page())?;
    is_playing(&page)?;
    for size in [[40, 40], [10, 10], [1, 1], [1280, 1], [1280, 900]] {
        page.emulate("light", size)?;
        let count = page.eval("arena.curve.length")?;
        page.wait("the page keeps running", &format!("arena.curve.length >= {count} + 4"))?;
    }
    page.eval("globalThis.firsts?.clear()")?;
    bots_move(&page)
}

fn is_accessible(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&["--policy", "base"])?;
    let page = fixture.open(&arena.page())?;
    is_playing(&page)?;
    bots_move(&page)?;
    accessibility::check(fixture, &page)?;

    // Comparisons are shown in colours of their own.
    page.wait("a baseline without us is known", &format!("{STEADY_TIME} >= {COMPARED}"))?;
    page.click("#switch label:has([value=even])")?;
    page.wait("the table shows who pays", "document.querySelector('#pays .good, #pays .pay') !== null")?;
    page.click(".tabs label:has([value=total])")?;
    accessibility::check(fixture, &page)?;
    tooltips_fit(fixture, &page)?;
    is_playing(&page)
}

/// Checks that every tooltip is fully visible, on a desktop and on a phone.
fn tooltips_fit(fixture: &Fixture<'_>, page: &Page<'_>) -> Result<()> {
    for size in [[1280, 900], [360, 740]] {
        page.emulate("light", size)?;
        let words = page.eval(
            "[...document.querySelectorAll('[data-term]')].filter((word) => word.checkVisibility()).map(({ dataset }) => dataset.term)",
        )?;
        let words: Vec<&str> = words.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        ensure!(words.len() >= 9, "only these words have tooltips: {words:?}");
        for word in &words {
            // An open tooltip may cover the next word.
            page.tap("Escape")?;
            page.eval(&format!(
                "(async () => {{ const word = document.querySelector('[data-term={word}]'); \
                 word.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
                 for (let frames = 0; frames < 2; frames += 1) await new Promise(requestAnimationFrame); }})()"
            ))?;
            page.click(&format!("[data-term={word}]"))?;
            let is_open = format!(
                "document.querySelector('[data-term={word}][aria-describedby=tip]') && \
                 document.getElementById('tip').checkVisibility()"
            );
            page.wait("the tooltip opens", &is_open)?;
            let place = page.eval(TIP)?;
            let link = "fetch(document.querySelector('#tip a').href).then(({ ok }) => ok)";
            ensure!(page.eval(link)? == true, "the link of {word} leads nowhere");
            ensure!(place["isWhole"] == true, "at {} px the tooltip of {word} is cut off: {place}", size[0]);
        }
        let found = accessibility::failures_of(fixture, page)?;
        ensure!(found.is_empty(), "tooltips have accessibility problems:\n{}", found.join("\n"));
    }
    page.tap("Escape")?;
    page.emulate("light", [1280, 900])
}

/// Waits until a page's player has a tank and nothing covers the field.
pub(super) fn is_playing(page: &Page<'_>) -> Result<()> {
    page.wait(
        "the player plays",
        "arena.state === 'playing' && document.getElementById('state-words').textContent === 'playing'",
    )?;
    page.wait("nothing covers the field", "document.getElementById('veil').hidden")?;
    page.wait("the player has a tank", "arena.tanks.some(({ player }) => player === arena.player)")?;
    Ok(())
}

/// Waits until a page has shown all bots moving.
fn bots_move(page: &Page<'_>) -> Result<()> {
    page.wait("the bots move", &format!("{MOVERS} >= {BOTS}"))?;
    Ok(())
}

fn point(value: &Value) -> Option<[f64; 2]> {
    Some([value[0].as_f64()?, value[1].as_f64()?])
}

fn distance(one: [f64; 2], other: [f64; 2]) -> f64 {
    (one[0] - other[0]).hypot(one[1] - other[1])
}

/// Speed by a vector.
fn speed(vector: &Value) -> f64 {
    point(&vector["velocity"]).map_or(f64::NAN, |velocity| distance(velocity, [0.0, 0.0]))
}

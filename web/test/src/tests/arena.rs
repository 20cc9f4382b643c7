//! The arena's page as a player uses it: real relay, real bots, real keys.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::Test;
use crate::accessible;
use crate::page::Page;
use crate::stage::Stage;
use crate::tests::arena_controls::STEADY;
use crate::tests::live::UNREACHABLE;

pub(super) const TESTS: &[Test] = &[
    Test { name: "arena: the page plays over WebTransport, and bots move on it", run: plays },
    Test { name: "arena: who only watches sees the bots move, and joins nothing", run: watches },
    Test { name: "arena: keys drive and fire, at the relay and on another player's page too", run: drives },
    Test {
        name: "arena: a relay that was killed is told in words, and played in again without loading the page anew",
        run: comes_back,
    },
    Test { name: "arena: a window may be tiny for a while", run: may_be_tiny },
    Test { name: "arena: everybody can read and use the page while it plays", run: is_for_everybody },
];

/// What the browser itself writes when the page's questions are not answered.
const UNANSWERED: &str = "Failed to load resource: net::ERR_";

const BOTS: u32 = 4;

/// Longer than the page's errors look back for the curve, in milliseconds: from then on it compares.
const COMPARED: u32 = 12_000;

/// How many of the others' tanks are at another place than where they were seen first.
const MOVERS: &str = "(() => { globalThis.firsts ??= new Map(); const others = arena.tanks.filter(({ player }) => player !== arena.player); \
    for (const tank of others) if (!firsts.has(tank.player)) firsts.set(tank.player, tank); \
    return others.filter(({ player, x, y }) => Math.hypot(x - firsts.get(player).x, y - firsts.get(player).y) > 1).length; })()";

/// What is said over the field, if something is.
const SAID: &str =
    "document.getElementById('veil').checkVisibility() && document.getElementById('veil').innerText.trim()";

/// Where an explanation is, and whether all of it is in its box and the box on the screen.
const TIP: &str = "(() => { const tip = document.getElementById('tip'); const { left, top, right, bottom } = tip.getBoundingClientRect(); \
    const isFull = tip.scrollWidth <= tip.clientWidth && tip.scrollHeight <= tip.clientHeight; \
    const isWhole = isFull && left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight; \
    return { left, top, right, bottom, width: tip.scrollWidth, height: tip.scrollHeight, isWhole }; })()";

fn plays(stage: &Stage<'_>) -> Result<()> {
    let arena = stage.arena(&[])?;
    let page = stage.open(&arena.page())?;
    is_playing(&page)?;
    stage.saw_request(&arena.transport())?;
    let clock = "/^±\\d/.test(document.querySelector('[data-figure=clock] b').textContent)";
    page.wait("the page says how well the clock is known", clock)?;
    bots_move(&page)?;
    let score = format!("document.querySelectorAll('#score li').length === {}", BOTS + 1);
    page.wait("everybody is in the score", &score)?;
    Ok(())
}

fn watches(stage: &Stage<'_>) -> Result<()> {
    let arena = stage.arena(&[])?;
    let page = stage.open(&format!("{}?watch", arena.page()))?;
    page.wait("the page watches", "arena.state === 'watching' && arena.now !== null")?;
    bots_move(&page)?;
    let players = page.eval("arena.figures.players.length")?;
    ensure!(players == BOTS && page.eval("arena.player")?.is_null(), "somebody has joined: {players}");
    Ok(())
}

fn drives(stage: &Stage<'_>) -> Result<()> {
    // Nobody else moves, and nobody is hit.
    let arena = stage.arena(&["--bots", "0"])?;
    let (driver, viewer) = (stage.open(&arena.page())?, stage.open(&arena.page())?);
    for page in [&driver, &viewer] {
        is_playing(page)?;
    }
    let player = driver.eval("arena.player")?.as_u64().context("the player has no number")?;
    let place = |page: &Page<'_>| -> Result<Option<[f64; 2]>> {
        let found =
            format!("arena.tanks.filter((tank) => tank.player === {player}).map(({{ x, y }}) => [x, y])[0]");
        Ok(point(&page.eval(&found)?))
    };
    let start = stage.wait("the other page shows the tank where it stands", || {
        let (own, other) = (place(&driver)?, place(&viewer)?);
        Ok(own.filter(|own| other.is_some_and(|other| distance(*own, other) < 0.1)))
    })?;
    let told = arena.tank(player)?.context("the relay does not know the tank")?;
    ensure!(speed(&told) < 0.01, "the tank moves though no key was pressed: {told}");

    driver.press("ArrowUp")?;
    stage.wait("the tank moves at the relay", || {
        let told = arena.tank(player)?.context("the relay does not know the tank")?;
        let at = point(&told["position"]).context("a vector has no position")?;
        Ok((distance(at, start) > 3.0 && speed(&told) > 1.0).then_some(()))
    })?;
    stage.wait("the tank moves on the other page", || {
        Ok(place(&viewer)?.filter(|at| distance(*at, start) > 3.0))
    })?;
    driver.release("ArrowUp")?;
    stage.wait("the tank stands, at one and the same place on both pages", || {
        let told = arena.tank(player)?.context("the relay does not know the tank")?;
        let (own, other) = (place(&driver)?, place(&viewer)?);
        let is_alike = own.zip(other).is_some_and(|(own, other)| distance(own, other) < 0.1);
        Ok((speed(&told) < 0.01 && is_alike).then_some(()))
    })?;

    driver.press(" ")?;
    stage.wait("a shot is seen at the relay", || arena.shot(player))?;
    driver.release(" ")
}

fn comes_back(stage: &Stage<'_>) -> Result<()> {
    let arena = stage.arena(&[])?;
    let page = stage.open(&arena.page())?;
    is_playing(&page)?;
    bots_move(&page)?;
    page.eval("globalThis.isSamePage = true")?;

    stage.expect(UNREACHABLE);
    stage.expect(UNANSWERED);
    arena.kill();
    let said = page.wait("something is said over the field", SAID)?;
    ensure!(
        said.as_str().is_some_and(|said| said.contains("relay")),
        "it does not speak of the relay: {said}"
    );
    let pill =
        "['connection lost', 'relay gone'].includes(document.getElementById('state-words').textContent)";
    page.wait("the head of the page says it too", pill)?;
    accessible::check(stage, &page)?;

    arena.restart()?;
    is_playing(&page)?;
    page.eval("firsts.clear()")?;
    bots_move(&page)?;
    ensure!(page.eval("isSamePage")? == true, "the page was loaded anew");
    let player = page.eval("arena.player")?.as_u64().context("the player has no number")?;
    stage.wait("the relay knows the player's tank", || arena.tank(player))?;
    Ok(())
}

/// Its console stays silent, as every test's does.
fn may_be_tiny(stage: &Stage<'_>) -> Result<()> {
    let arena = stage.arena(&[])?;
    let page = stage.open(&arena.page())?;
    is_playing(&page)?;
    for size in [[40, 40], [10, 10], [1, 1], [1280, 1], [1280, 900]] {
        page.show_as("light", size)?;
        let count = page.eval("arena.curve.length")?;
        page.wait("the page goes on", &format!("arena.curve.length >= {count} + 4"))?;
    }
    page.eval("globalThis.firsts?.clear()")?;
    bots_move(&page)
}

fn is_for_everybody(stage: &Stage<'_>) -> Result<()> {
    let arena = stage.arena(&["--policy", "base"])?;
    let page = stage.open(&arena.page())?;
    is_playing(&page)?;
    bots_move(&page)?;
    accessible::check(stage, &page)?;

    // With something to compare with, figures are in other colours.
    page.wait("it is known how it is without us", &format!("{STEADY} >= {COMPARED}"))?;
    page.click("#switch label:has([value=even])")?;
    page.wait("who pays is told", "document.querySelector('#pays .good, #pays .pay') !== null")?;
    page.click(".tabs label:has([value=total])")?;
    accessible::check(stage, &page)?;
    explains(stage, &page)?;
    is_playing(&page)
}

/// Every word that has an exact term behind it is explained where it can be read as a whole, on a desk and on a phone.
fn explains(stage: &Stage<'_>, page: &Page<'_>) -> Result<()> {
    let words =
        page.eval("[...document.querySelectorAll('[data-term]')].map(({ dataset }) => dataset.term)")?;
    let words: Vec<&str> = words.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    ensure!(words.len() >= 9, "only these words are explained: {words:?}");
    for size in [[1280, 900], [360, 740]] {
        page.show_as("light", size)?;
        for word in &words {
            // What is scrolled takes its explanation away, a picture later.
            page.eval(&format!(
                "(async () => {{ const word = document.querySelector('[data-term={word}]'); \
                 word.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
                 for (let pictures = 0; pictures < 2; pictures += 1) await new Promise(requestAnimationFrame); }})()"
            ))?;
            page.click(&format!("[data-term={word}]"))?;
            let is_open = format!(
                "document.querySelector('[data-term={word}][aria-describedby=tip]') && \
                 document.getElementById('tip').checkVisibility()"
            );
            page.wait("the word is explained", &is_open)?;
            let place = page.eval(TIP)?;
            ensure!(place["isWhole"] == true, "at {} px {word} is explained at {place}", size[0]);
        }
        let found = accessible::failures_of(stage, page)?;
        ensure!(found.is_empty(), "not everybody can read what is explained:\n{}", found.join("\n"));
    }
    page.strike("Escape")?;
    page.show_as("light", [1280, 900])
}

/// Waits until a page's player has a tank, and nothing lies over the field.
pub(super) fn is_playing(page: &Page<'_>) -> Result<()> {
    page.wait(
        "the player plays",
        "arena.state === 'playing' && document.getElementById('state-words').textContent === 'playing'",
    )?;
    page.wait("nothing is said over the field", "document.getElementById('veil').hidden")?;
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

/// How fast somebody is, by a vector.
fn speed(vector: &Value) -> f64 {
    point(&vector["velocity"]).map_or(f64::NAN, |velocity| distance(velocity, [0.0, 0.0]))
}

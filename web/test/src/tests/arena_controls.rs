//! What the arena's page lets people set, and the figures and curves that follow.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::Test;
use crate::arena::Arena;
use crate::page::Page;
use crate::stage::Stage;
use crate::tests::arena::is_playing;

pub(super) const TESTS: &[Test] = &[
    Test { name: "arena: the curves grow, and their values change", run: curves_move },
    Test {
        name: "arena: everything is reached by keys: a slider puts a bot farther away, the switch is turned",
        run: keys_set,
    },
    Test {
        name: "arena: who clicked on something goes on driving; by keys it is pressed",
        run: goes_on_driving,
    },
    Test {
        name: "arena: the switch turned with the pointer turns the policy, and even draws the errors together",
        run: even_draws_together,
    },
];

/// Everybody's delays, of which the errors come.
const DELAYS: &str = "200,80,20,5";

/// How far the curves reach to the left: from the picture, so many pixels from its right edge. Lines of players have strong colours;
/// what is on is written above them, in such colours too.
const REACH: &str = "(() => { const chart = document.getElementById('chart'); const { width, height } = chart; \
    const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true }); copy.drawImage(chart, 0, 0); \
    const { data } = copy.getImageData(0, 0, width, height); const top = Math.ceil(24 * height / chart.clientHeight); \
    const isStrong = (x, y) => { const [red, green, blue, alpha] = data.subarray(4 * (y * width + x)); \
      return alpha > 200 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60; }; \
    for (let x = 0; x < width; x += 1) for (let y = top; y < height; y += 1) if (isStrong(x, y)) return width - x; \
    return 0; })()";

/// The last values of the curves.
const VALUES: &str = "Object.values(arena.curve.at(-1).values).map(({ error }) => error)";

/// The page's figure of the spread, as it is written.
const SPREAD: &str = "Number(document.querySelector('[data-figure=spread] b').textContent)";

/// Who decides, by the curves; and what the switch shows.
const LAST: &str = "arena.choices.at(-1)?.choice";
const CHECKED: &str = "document.querySelector('#switch input:checked')";
/// For how long, in milliseconds, the curves have shown the same players under the same policy.
pub(super) const STEADY: &str = "(() => { const { curve } = arena; const names = ({ values }) => Object.keys(values).join(); \
    const since = curve.findLastIndex((sample) => names(sample) !== names(curve.at(-1))) + 1; \
    return curve.at(-1).t - Math.max(curve[since].t, arena.choices.at(-1).t); })()";

/// Errors are judged over so long, in milliseconds, at least.
const WINDOW: u32 = 20_000;

/// Even levels out within a minute and a half; a machine that stalls throws it back.
const EVEN_MAX: Duration = Duration::from_secs(240);

fn curves_move(stage: &Stage<'_>) -> Result<()> {
    let arena = stage.arena(&["--delays", DELAYS])?;
    let page = stage.open(&arena.page())?;
    is_playing(&page)?;
    page.wait(
        "everybody has an error",
        &format!("{VALUES}.length === 5 && {VALUES}.every((error) => error > 0)"),
    )?;
    page.wait("the curves are drawn", &format!("{REACH} > 0"))?;
    let (reach, values) = (page.eval(REACH)?, page.eval(VALUES)?);
    let count = page.eval("arena.curve.length")?;
    page.wait("the curves grow", &format!("{REACH} >= {reach} + 12"))?;
    page.wait(
        "everybody's value has changed",
        &format!("{VALUES}.every((error, place) => error !== {values}[place])"),
    )?;
    page.wait("what is kept grows", &format!("arena.curve.length >= {count} + 8"))?;
    Ok(())
}

fn keys_set(stage: &Stage<'_>) -> Result<()> {
    let arena = stage.arena(&["--delays", DELAYS, "--policy", "base"])?;
    let page = stage.open(&arena.page())?;
    is_playing(&page)?;
    let delay = || -> Result<Option<f64>> { Ok(arena.player("Cy")?.and_then(|cy| cy["delay_ms"].as_f64())) };
    let before = stage.wait("the relay has the bot's delay", delay)?;
    ensure!((before - 20.0).abs() < 1e-9, "it should be 20 ms at first, not {before}");
    page.tab_to("[aria-label='delay of Cy in milliseconds']")?;
    for _ in 0..7 {
        page.strike("ArrowRight")?;
    }
    let shown = page.eval("Number(document.activeElement.value)")?.as_f64();
    ensure!(shown == Some(before + 7.0), "the slider is at {shown:?}");
    stage.wait("the relay has the new delay", || Ok(delay()?.filter(|now| *now == before + 7.0)))?;
    page.strike("Home")?;
    stage.wait("the bot is near", || Ok(delay()?.filter(|now| *now == 0.0)))?;

    page.strike("Tab")?;
    page.tab_to("#switch input")?;
    page.strike("ArrowRight")?;
    is_turned(stage, &arena, &page, "papers")?;

    // So does whoever runs the relay, to something that the switch does not have, and back.
    set_policy(&page, "base")?;
    page.wait(
        "the page shows that no position of the switch is on",
        &format!("!{CHECKED} && {LAST} === 'base'"),
    )?;
    set_policy(&page, "base-1/3")?;
    is_turned(stage, &arena, &page, "base")
}

/// Sets the room's policy as whoever runs the relay does.
fn set_policy(page: &Page<'_>, policy: &str) -> Result<()> {
    let headers = "{ 'content-type': 'application/json' }";
    let body = format!("JSON.stringify({{ policy: '{policy}' }})");
    let post = format!("{{ method: 'POST', headers: {headers}, body: {body} }}");
    let is_taken = page.eval(&format!("fetch('/api/rooms/arena/policy', {post}).then(({{ ok }}) => ok)"))?;
    ensure!(is_taken == true, "the relay does not take {policy}");
    Ok(())
}

fn goes_on_driving(stage: &Stage<'_>) -> Result<()> {
    // Nobody is hit.
    let arena = stage.arena(&["--bots", "0"])?;
    let page = stage.open(&arena.page())?;
    is_playing(&page)?;
    let player = page.eval("arena.player")?.as_u64().context("the player has no number")?;
    page.wait("there is a name to click on", "document.querySelector('#pays button.who')")?;
    for control in ["#pays button.who", "#lens-on", "[data-term=mean]", ".tabs label:has([value=total])"] {
        page.click(control)?;
        page.wait("the field has the focus", "document.activeElement.id === 'field'")?;
        page.press(" ")?;
        stage.wait("a shot is seen at the relay", || arena.shot(player))?;
        page.release(" ")?;
        stage.wait("it is over", || Ok(arena.shot(player)?.is_none().then_some(())))?;
    }
    let is_on = page.eval("document.getElementById('lens-on').checked")?;
    ensure!(is_on == false, "the key has turned the lens on again");

    page.tab_to("#lens-on")?;
    page.strike(" ")?;
    page.wait("the lens is turned on by a key", "document.getElementById('lens-on').checked")?;
    let focused = page.eval("document.activeElement.id")?;
    ensure!(focused == "lens-on", "the focus has gone to {focused}");
    Ok(())
}

fn even_draws_together(stage: &Stage<'_>) -> Result<()> {
    let arena = stage.arena(&["--delays", DELAYS, "--policy", "base"])?;
    let page = stage.open(&arena.page())?;
    is_playing(&page)?;
    page.wait("the figures tell of enough time without us", &format!("{STEADY} >= {WINDOW}"))?;
    let base = page.eval(SPREAD)?.as_f64().context("the spread is no number")?;
    ensure!(base > 0.05, "without us there is hardly any spread: {base}");

    page.click("#switch label:has([value=even])")?;
    is_turned(stage, &arena, &page, "even")?;
    let is_even = format!("{STEADY} >= {WINDOW} && {SPREAD} < {base} / 2 && [{SPREAD}]");
    let even = page.wait_within(EVEN_MAX, "the spread is less than half of what it was", &is_even)?;
    let words = page.eval("document.querySelector('[data-figure=spread] .against').textContent")?;
    ensure!(
        words.as_str().is_some_and(|words| words.starts_with('\u{2212}')),
        "it does not say that it is less: {words}"
    );
    println!(
        "        spread {base} without us, {} with even ({})",
        even[0],
        words.as_str().unwrap_or_default()
    );
    Ok(())
}

/// Waits until the relay has another policy, and the page shows the switch in that position.
fn is_turned(stage: &Stage<'_>, arena: &Arena<'_>, page: &Page<'_>, choice: &str) -> Result<()> {
    stage.wait("the switch is turned at the relay", || {
        Ok((arena.figures()?["choice"] == choice).then_some(()))
    })?;
    page.wait("the page shows it", &format!("{LAST} === '{choice}' && {CHECKED}?.value === '{choice}'"))?;
    Ok(())
}

//! The controls of the arena's page, and the figures and curves that respond to them.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::Test;
use crate::arena::Arena;
use crate::fixture::Fixture;
use crate::page::Page;
use crate::tests::arena::is_playing;

pub(super) const TESTS: &[Test] = &[
    Test { name: "arena: the curves grow and their values change", run: curves_move },
    Test {
        name: "arena: everything is reached by keys: a slider moves a bot farther away, the policy is switched",
        run: keyboard_reaches_controls,
    },
    Test {
        name: "arena: after a click on a control the keys still drive; a control focused by keyboard keeps them",
        run: keys_keep_driving,
    },
    Test {
        name: "arena: the switch changes the policy, and even draws the errors together",
        run: even_draws_together,
    },
];

/// The bots' delays, which cause the errors.
const DELAYS: &str = "200,80,20,5";

/// Reach of the curves to the left, in pixels from the chart's right edge. Lines of players have saturated
/// colours; the strip above them does, too, and is skipped.
const REACH: &str = "(() => { const chart = document.getElementById('chart'); const { width, height } = chart; \
    const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true }); copy.drawImage(chart, 0, 0); \
    const { data } = copy.getImageData(0, 0, width, height); const top = Math.ceil(24 * height / chart.clientHeight); \
    const isStrong = (x, y) => { const [red, green, blue, alpha] = data.subarray(4 * (y * width + x)); \
      return alpha > 200 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60; }; \
    for (let x = 0; x < width; x += 1) for (let y = top; y < height; y += 1) if (isStrong(x, y)) return width - x; \
    return 0; })()";

/// Latest values of the curves.
const VALUES: &str = "Object.values(arena.curve.at(-1).values).map(({ error }) => error)";

/// The spread as displayed.
const SPREAD: &str = "Number(document.querySelector('[data-figure=spread] b').textContent)";

/// Latest policy by the curves, and the selected position of the switch.
const LAST_CHOICE: &str = "arena.choices.at(-1)?.choice";
const CHECKED: &str = "document.querySelector('#switch input:checked')";
/// How long, in milliseconds, the curves have shown the same players under the same policy.
pub(super) const STEADY_TIME: &str = "(() => { const { curve } = arena; const names = ({ values }) => Object.keys(values).join(); \
    const since = curve.findLastIndex((sample) => names(sample) !== names(curve.at(-1))) + 1; \
    return curve.at(-1).t - Math.max(curve[since].t, arena.choices.at(-1).t); })()";

/// Least time over which errors are judged, in milliseconds.
const WINDOW: u32 = 20_000;

/// Even levels out within a minute and a half; stalls of the machine delay it.
const EVEN_MAX: Duration = Duration::from_secs(240);

fn curves_move(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&["--delays", DELAYS])?;
    let page = fixture.open(&arena.page())?;
    is_playing(&page)?;
    page.wait(
        "everyone has an error",
        &format!("{VALUES}.length === 5 && {VALUES}.every((error) => error > 0)"),
    )?;
    page.wait("the curves are drawn", &format!("{REACH} > 0"))?;
    let (reach, values) = (page.eval(REACH)?, page.eval(VALUES)?);
    let count = page.eval("arena.curve.length")?;
    page.wait("the curves grow", &format!("{REACH} >= {reach} + 12"))?;
    page.wait(
        "every value has changed",
        &format!("{VALUES}.every((error, place) => error !== {values}[place])"),
    )?;
    page.wait("the history grows", &format!("arena.curve.length >= {count} + 8"))?;
    Ok(())
}

fn keyboard_reaches_controls(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&["--delays", DELAYS, "--policy", "base"])?;
    let page = fixture.open(&arena.page())?;
    is_playing(&page)?;
    let delay = || -> Result<Option<f64>> { Ok(arena.player("Cy")?.and_then(|cy| cy["delay_ms"].as_f64())) };
    let before = fixture.wait("the relay has the bot's delay", delay)?;
    ensure!((before - 20.0).abs() < 1e-9, "it should be 20 ms at first, not {before}");
    page.tab_to("[aria-label='delay of Cy in milliseconds']")?;
    for _ in 0..7 {
        page.tap("ArrowRight")?;
    }
    let shown = page.eval("Number(document.activeElement.value)")?.as_f64();
    ensure!(shown == Some(before + 7.0), "the slider is at {shown:?}");
    fixture.wait("the relay has the new delay", || Ok(delay()?.filter(|now| *now == before + 7.0)))?;
    page.tap("Home")?;
    fixture.wait("the bot is near", || Ok(delay()?.filter(|now| *now == 0.0)))?;

    page.tap("Tab")?;
    page.tab_to("#switch input")?;
    page.tap("ArrowRight")?;
    is_switched(fixture, &arena, &page, "papers")?;

    // The operator can also set a policy that is not on the switch, and then what is.
    set(&page, "policy", "{ policy: 'base' }")?;
    page.wait(
        "the page shows that no position of the switch is selected",
        &format!("!{CHECKED} && {LAST_CHOICE} === 'base'"),
    )?;
    let figures = arena.figures()?;
    let baseline = figures["choices"][0]["set"]["policy"].as_str().context("the switch has no baseline")?;
    set(&page, "policy", &format!("{{ policy: '{baseline}' }}"))?;
    set(&page, "order", "{ order: 'none', sync_out: false }")?;
    is_switched(fixture, &arena, &page, "base")
}

/// Changes the room as an operator does.
fn set(page: &Page<'_>, what: &str, settings: &str) -> Result<()> {
    let headers = "{ 'content-type': 'application/json' }";
    let post = format!("{{ method: 'POST', headers: {headers}, body: JSON.stringify({settings}) }}");
    let is_taken = page.eval(&format!("fetch('/api/rooms/arena/{what}', {post}).then(({{ ok }}) => ok)"))?;
    ensure!(is_taken == true, "the relay rejects {settings}");
    Ok(())
}

fn keys_keep_driving(fixture: &Fixture<'_>) -> Result<()> {
    // Nobody is hit.
    let arena = fixture.arena(&["--bots", "0"])?;
    let page = fixture.open(&arena.page())?;
    is_playing(&page)?;
    let player = page.eval("arena.player")?.as_u64().context("the player has no number")?;
    page.wait("there is a name to click on", "document.querySelector('#pays button.who')")?;
    for control in ["#pays button.who", "[data-term=mean]", ".tabs label:has([value=total])"] {
        page.click(control)?;
        page.wait("the field has the focus", "document.activeElement.id === 'field'")?;
        page.press(" ")?;
        fixture.wait("the relay sees a shot", || arena.shot(player))?;
        page.release(" ")?;
        fixture.wait("the shot ends", || Ok(arena.shot(player)?.is_none().then_some(())))?;
    }
    page.tab_to("[name=kind]")?;
    page.tap("ArrowLeft")?;
    page.wait("a key changes the curve", "document.querySelector('[name=kind][value=error]').checked")?;
    let focused = page.eval("document.activeElement.name")?;
    ensure!(focused == "kind", "the focus has moved to {focused}");
    Ok(())
}

fn even_draws_together(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&["--delays", DELAYS, "--policy", "base"])?;
    let page = fixture.open(&arena.page())?;
    is_playing(&page)?;
    page.wait("the figures cover enough time without us", &format!("{STEADY_TIME} >= {WINDOW}"))?;
    let base = page.eval(SPREAD)?.as_f64().context("the spread is no number")?;
    ensure!(base > 0.05, "without us there is hardly any spread: {base}");

    page.click("#switch label:has([value=even])")?;
    is_switched(fixture, &arena, &page, "even")?;
    let is_even = format!("{STEADY_TIME} >= {WINDOW} && {SPREAD} < {base} / 2 && [{SPREAD}]");
    let even = page.wait_within(EVEN_MAX, "the spread is less than half of what it was", &is_even)?;
    let words = page.eval("document.querySelector('[data-figure=spread] .against').textContent")?;
    ensure!(
        words.as_str().is_some_and(|words| words.starts_with('\u{2212}')),
        "it does not show a decrease: {words}"
    );
    println!(
        "        spread {base} without us, {} with even ({})",
        even[0],
        words.as_str().unwrap_or_default()
    );
    Ok(())
}

/// Waits until the relay has another policy and the page shows it on the switch.
fn is_switched(fixture: &Fixture<'_>, arena: &Arena<'_>, page: &Page<'_>, choice: &str) -> Result<()> {
    fixture
        .wait("the relay has the new policy", || Ok((arena.figures()?["choice"] == choice).then_some(())))?;
    page.wait(
        "the page shows it",
        &format!("{LAST_CHOICE} === '{choice}' && {CHECKED}?.value === '{choice}'"),
    )?;
    Ok(())
}

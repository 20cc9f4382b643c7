//! What the arena's page shows by itself: it starts without us, compares two players' views, and invites to switch.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::Test;
use crate::fixture::Fixture;
use crate::page::Page;
use crate::tests::arena::is_playing;
use crate::tests::arena_controls::STEADY_TIME;

pub(super) const TESTS: &[Test] = &[
    Test { name: "arena: it starts without us, and invites to switch once and not again", run: invites },
    Test {
        name: "arena: a far and a near player's views differ before the switch, and hardly after it",
        run: views_draw_together,
    },
    Test { name: "arena: a dismissed invitation does not come back", run: dismisses },
    Test { name: "arena: views, switch and sliders are in view at 1280 x 800", run: fits },
];

/// Whether the invitation is shown.
const INVITED: &str = "document.getElementById('invitation').checkVisibility()";
/// Whether the switch is at *without us*.
const WITHOUT_US: &str = "(document.querySelector('#switch input:checked')?.value === 'base')";
/// The page promises the invitation after some ten seconds with errors.
const INVITED_AFTER_MIN: Duration = Duration::from_secs(9);

/// Averages, over twenty seconds of frames, the distances that both views draw between where the tanks of the other
/// players are seen and where they really are. A view without tanks counts as none.
const DRAWN: &str = "(async () => { const sums = { far: [0, 0], near: [0, 0] }; \
    for (const end = performance.now() + 20000; performance.now() < end;) { \
      await new Promise(requestAnimationFrame); \
      if (arena.sights === null) continue; \
      const viewers = [arena.sights.far.viewer, arena.sights.near.viewer]; \
      for (const name of ['far', 'near']) for (const { player, seen, real } of arena.sights[name].tanks) { \
        if (viewers.includes(player)) continue; \
        sums[name][0] += Math.hypot(seen[0] - real[0], seen[1] - real[1]); sums[name][1] += 1; } } \
    return Object.fromEntries(Object.entries(sums).map(([name, [sum, count]]) => [name, count > 600 ? sum / count : null])); })()";

/// Whether the two canvases show something, and not the same.
const PICTURES_DIFFER: &str = "(() => { const [far, near] = [...document.querySelectorAll('#sights canvas')].map((canvas) => canvas.toDataURL()); \
    return far.length > 2000 && near.length > 2000 && far !== near; })()";

/// What reaches below the window or past its sides.
const OUT_OF_VIEW: &str = "[...document.querySelectorAll('#switch, #scene, #sights canvas, #chart, #pays input, #verdicts, #shares tr')].filter((each) => { \
    const { left, top, right, bottom, width } = each.getBoundingClientRect(); \
    return width === 0 || left < 0 || top < 0 || right > innerWidth || bottom > innerHeight; }).map((each) => each.id || each.ariaLabel || each.tagName)";

/// *Even* needs this long until the views show what it does.
const EVEN_STEADY: u32 = 45_000;
const EVEN_MAX: Duration = Duration::from_secs(240);

fn invites(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&[])?;
    let page = fixture.open(&arena.page())?;
    is_playing(&page)?;
    let started = Instant::now();
    page.wait("the switch is at without us", WITHOUT_US)?;
    ensure!(page.eval(INVITED)? == false, "the page invites before it has shown anything");
    page.wait("the page invites to switch", INVITED)?;
    ensure!(started.elapsed() > INVITED_AFTER_MIN, "after {:?} already", started.elapsed());
    let words = page.eval("document.getElementById('invitation-words').textContent")?;
    let words = words.as_str().unwrap_or_default();
    ensure!(words.contains("Ada") && words.contains("you"), "it does not say who sees how much: {words}");
    page.click("#invitation-accept")?;
    fixture.wait("the relay shares evenly", || Ok((arena.figures()?["choice"] == "even").then_some(())))?;
    page.wait("the switch shows it", "document.querySelector('#switch input:checked')?.value === 'even'")?;
    ensure!(page.eval(INVITED)? == false, "the invitation stays after the switch");
    page.click("#switch label:has([value=base])")?;
    stays_away(&page)
}

fn dismisses(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&[])?;
    let page = fixture.open(&arena.page())?;
    is_playing(&page)?;
    page.wait("the page invites to switch", INVITED)?;
    page.tab_to("#invitation-dismiss")?;
    page.tap(" ")?;
    page.wait("it is gone", &format!("!{INVITED}"))?;
    ensure!(arena.figures()?["choice"] == "base", "dismissing it has switched the policy");
    // Not even after a reload.
    page.visit(&arena.page())?;
    is_playing(&page)?;
    stays_away(&page)
}

/// Checks that no invitation is shown although it would be due.
fn stays_away(page: &Page<'_>) -> Result<()> {
    page.wait(
        "there are errors without us for long enough",
        &format!("{WITHOUT_US} && {STEADY_TIME} > 14000"),
    )?;
    ensure!(page.eval(INVITED)? == false, "the invitation has come back");
    Ok(())
}

fn views_draw_together(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&["--delays", "200,80,20,5"])?;
    let page = fixture.open(&arena.page())?;
    is_playing(&page)?;
    page.wait(
        "both views show the same tank",
        "arena.sights?.far.tanks.length > 0 && arena.sights.near.tanks.length > 0",
    )?;
    page.wait(
        "Ada and this page are compared",
        "arena.sights?.far.name === 'Ada' && arena.sights.near.name === 'you'",
    )?;
    page.wait("there are errors without us", &format!("{WITHOUT_US} && {STEADY_TIME} > 10000"))?;
    page.wait("the views differ", PICTURES_DIFFER)?;
    let (far, near) = drawn(&page)?;
    // Half a tank is easily seen.
    ensure!(far > 3.0 && far > 1.3 * near, "without us Ada is {far} off, and this page {near}");

    page.click("#switch label:has([value=even])")?;
    page.wait_within(
        EVEN_MAX,
        "even has settled",
        &format!("!{WITHOUT_US} && {STEADY_TIME} > {EVEN_STEADY}"),
    )?;
    let (far_even, near_even) = drawn(&page)?;
    println!(
        "        far {far:.2}, near {near:.2} without us; far {far_even:.2}, near {near_even:.2} with even"
    );
    ensure!(
        (far_even - near_even).abs() < 0.5 * (far - near),
        "with even Ada is {far_even} off, and this page {near_even}; before, {far} and {near}"
    );
    Ok(())
}

/// What the far and the near view draw, in units.
fn drawn(page: &Page<'_>) -> Result<(f64, f64)> {
    let drawn: Value = page.eval(DRAWN)?;
    let of =
        |name: &str| drawn[name].as_f64().with_context(|| format!("the {name} view showed hardly any tank"));
    Ok((of("far")?, of("near")?))
}

fn fits(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&[])?;
    let page = fixture.open(&arena.page())?;
    is_playing(&page)?;
    page.emulate("light", [1280, 800])?;
    page.wait("there is a slider for each player", "document.querySelectorAll('#pays input').length === 5")?;
    page.wait("the page invites to switch", INVITED)?;
    let hidden = page.eval(OUT_OF_VIEW)?;
    ensure!(hidden == serde_json::json!([]), "not in view: {hidden}");
    let scrolls = page.eval("document.documentElement.scrollWidth > innerWidth")?;
    ensure!(scrolls == false, "the page is wider than the window");
    Ok(())
}

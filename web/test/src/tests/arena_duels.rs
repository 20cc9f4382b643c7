//! The quick draws on the arena's page: seen, switched, and won with the space bar.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::Test;
use crate::fixture::Fixture;
use crate::page::Page;
use crate::tests::arena::is_playing;

pub(super) const TESTS: &[Test] = &[
    Test {
        name: "arena: a duel lights the beacon and appears in the feed, for spectators too",
        run: is_seen,
    },
    Test { name: "arena: the switch changes who wins: the far bot gets what it earns", run: switch_decides },
    Test { name: "arena: the space bar wins a duel, but not before the beacon is lit", run: space_bar_wins },
];

/// Duels after which shares are compared. Of so many, a bot that is as fast as the other wins some.
const DUELS: u32 = 12;
/// A duel takes four seconds.
const DUELS_MAX: Duration = Duration::from_secs(240);
/// Attempts to win a duel.
const ATTEMPTS: usize = 12;

/// Resolves when the beacon has been lit for as long as the fastest people take.
const LIT: &str = "(async () => { while (arena.light !== 'fire') await new Promise(requestAnimationFrame); \
    await new Promise((resolve) => setTimeout(resolve, 110)); return true; })()";

/// The share that the table shows in this column for the first player.
fn share(page: &Page<'_>, column: u32) -> Result<f64> {
    let cell = format!("document.querySelector('#shares tr td:nth-of-type({column})').textContent");
    let text = page.eval(&cell)?;
    let digits =
        text.as_str().and_then(|text| text.split('\u{202f}').next()).context("the table has no share")?;
    digits.parse().with_context(|| format!("{text} is no share"))
}

fn is_seen(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&["--bots", "2"])?;
    let (player, spectator) =
        (fixture.open(&arena.page())?, fixture.open(&format!("{}?watch", arena.page()))?);
    is_playing(&player)?;
    for page in [&player, &spectator] {
        page.wait("the beacon gets ready", "arena.light === 'ready'")?;
        page.wait("the beacon is lit", "arena.light === 'fire'")?;
        page.wait("the call says so", "document.getElementById('call').textContent.includes('Fire!')")?;
        page.wait("it goes out", "arena.light === 'off'")?;
        let verdict = "/ (fired|won) ?/.test(document.querySelector('#verdicts li')?.textContent)";
        page.wait("the feed says who won", verdict)?;
    }
    let rows = player.eval("document.querySelectorAll('#shares tr').length")?;
    ensure!(rows == 3, "the table of duels has {rows} rows");
    Ok(())
}

fn switch_decides(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&["--bots", "2", "--delays", "200,5"])?;
    let page = fixture.open(&format!("{}?watch", arena.page()))?;
    let enough = format!("arena.figures?.duels.count >= {DUELS} && arena.figures.choice");
    page.wait_within(DUELS_MAX, "there were some duels without us", &enough)?;
    let [won, without, earned] = [share(&page, 2)?, share(&page, 3)?, share(&page, 4)?];
    ensure!(won == 0.0 && without == 0.0 && earned > 0.0, "without us Ada has {won} % and earned {earned} %");
    let unfair = page.eval("document.querySelector('#verdicts .unfair') !== null")?;
    ensure!(unfair == true, "the feed shows no wrong winner");

    page.click("#switch label:has([value=even])")?;
    page.wait(
        "the switch starts the count anew",
        "arena.figures.choice === 'even' && arena.figures.duels.count < 3",
    )?;
    page.wait_within(DUELS_MAX, "there were some duels with even", &enough)?;
    let [won, without, earned] = [share(&page, 2)?, share(&page, 3)?, share(&page, 4)?];
    println!("        the far bot won {won} % and earned {earned} %; without us {without} %");
    ensure!(won > 0.0 && without == 0.0, "Ada has {won} %; without us {without} %");
    // One duel may have been decided by a shot that came too late.
    ensure!((won - earned).abs() <= 100.0 / f64::from(DUELS) + 1.0, "Ada has {won} % and earned {earned} %");
    let fair =
        page.wait("the feed shows whom it helped", "document.querySelector('#verdicts .fair')?.textContent")?;
    ensure!(fair.as_str().is_some_and(|fair| fair.contains("by arrival")), "{fair}");
    Ok(())
}

fn space_bar_wins(fixture: &Fixture<'_>) -> Result<()> {
    let arena = fixture.arena(&["--bots", "2", "--delays", "80,5", "--policy", "even"])?;
    let page = fixture.open(&arena.page())?;
    is_playing(&page)?;
    let player = page.eval("arena.player")?;

    page.wait("the beacon gets ready", "arena.light === 'ready'")?;
    page.tap(" ")?;
    let call = "document.getElementById('call').textContent";
    page.wait("the page says that this was too early", &format!("{call}.startsWith('Too early')"))?;
    let newest = "arena.figures.duels.recent[0]";
    let before = page.eval(&format!("{newest}?.number ?? 0"))?;
    let duel = page.wait("that duel ends", &format!("{newest}?.number > {before} && {newest}"))?;
    ensure!(shot_of(&duel, &player).is_none(), "a shot before the beacon was lit counts: {duel}");

    for _ in 0..ATTEMPTS {
        page.eval(LIT)?;
        page.tap(" ")?;
        page.wait(
            "the page shows how fast that was",
            &format!("{call}.startsWith('Fired after') || arena.light === 'off'"),
        )?;
        let number = duel_number(&page)?;
        let duel = page.wait("the duel ends", &format!("{newest}.number > {number} && {newest}"))?;
        let shot = shot_of(&duel, &player).with_context(|| format!("the shot does not count: {duel}"))?;
        let reaction = shot["reaction_ms"].as_f64().context("a shot has no reaction")?;
        ensure!((100.0..1_000.0).contains(&reaction), "it took {reaction} ms");
        if duel["winner"] == player {
            page.wait(
                "the feed says so",
                "document.querySelector('#verdicts li').textContent.includes('you')",
            )?;
            return Ok(());
        }
    }
    anyhow::bail!("the player did not win any of {ATTEMPTS} duels")
}

/// The number of the last duel that is over.
fn duel_number(page: &Page<'_>) -> Result<u64> {
    page.eval("arena.figures.duels.recent[0]?.number ?? 0")?.as_u64().context("a duel has no number")
}

fn shot_of(duel: &Value, player: &Value) -> Option<Value> {
    duel["shots"].as_array()?.iter().find(|shot| shot["player"] == *player).cloned()
}

//! The client in rooms of real relays.

use anyhow::{Result, ensure};
use serde_json::json;

use crate::Test;
use crate::fixture::Fixture;
use crate::page::Page;

pub(super) const TESTS: &[Test] = &[
    Test {
        name: "live: a copy is where its owner is, even while the owner's page is silent",
        run: copies_are_true,
    },
    Test {
        name: "live: bots move, pages see each other, and both resume after the relay was killed",
        run: comes_back,
    },
    Test { name: "live: a rejected player is told why", run: refused },
    Test {
        name: "live: a game message reaches the relay, and a room without a game only counts it",
        run: sends_game_messages,
    },
];

/// What the browser logs when a relay cannot be reached.
pub(super) const UNREACHABLE: &str = "Failed to establish a connection";

/// The final state, once the session is over.
const OVER: &str = "player.session.state.status === 'over' && player.session.state";

const BOTS: u32 = 4;

fn copies_are_true(fixture: &Fixture<'_>) -> Result<()> {
    let relay = fixture.relay()?;
    let page = fixture.open_file(&format!("web/test/live.html?{}", relay.invitation("web", 2)?))?;
    let verdict = page.wait("both have played", "document.title !== 'running' && document.title")?;
    let summary = page.eval("document.getElementById('summary').textContent")?;
    ensure!(verdict == "passed", "{}", summary.as_str().unwrap_or_default());
    fixture.expect_request("https://127.0.0.1:")
}

fn comes_back(fixture: &Fixture<'_>) -> Result<()> {
    let mut relay = fixture.relay()?;
    let _bots = relay.bots(BOTS)?;
    let invitation = relay.invitation("web", 2)?;
    let open = |seat| fixture.open_file(&format!("web/test/player.html?{invitation}&seat={seat}"));
    let (first, second) = (open(1)?, open(2)?);
    for page in [&first, &second] {
        is_playing(page)?;
    }
    see_each_other(&first, &second)?;
    let others = BOTS + 1;
    let movers =
        format!("Object.values(player.distances.all).filter((distance) => distance > 1).length >= {others}");
    first.wait("the bots and the other page are seen to move", &movers)?;
    ensure!(relay.player("web-1")?.is_some(), "the relay does not know the first page's player");

    fixture.expect(UNREACHABLE);
    relay.kill();
    for page in [&first, &second] {
        let lost = "player.session.state.status === 'lost' && player.session.state.words";
        page.wait("the player is told that the relay is gone", lost)?;
        page.wait("no copies are shown without a relay", "player.session.copies().length === 0")?;
    }
    relay.restart()?;
    for page in [&first, &second] {
        is_playing(page)?;
    }
    see_each_other(&first, &second)
}

/// Waits until a page's player knows the session time, within its certified bounds.
fn is_playing(page: &Page<'_>) -> Result<()> {
    page.wait("the player plays", "player.session.state.status === 'playing'")?;
    let clock = "(() => { const interval = player.session.interval(); const now = player.session.now(); \
                 return interval !== null && interval[0] <= now && now <= interval[1]; })()";
    page.wait("the clock is fixed", clock)?;
    Ok(())
}

/// Waits until each of two pages shows the other's entity where it is.
fn see_each_other(first: &Page<'_>, second: &Page<'_>) -> Result<()> {
    for (owner, viewer) in [(first, second), (second, first)] {
        let player = owner.eval("player.session.state.player")?;
        let is_true = format!(
            "(() => {{ const error = player.error({player}); return error !== null && error < 0.2; }})()"
        );
        viewer.wait("the other page's entity is shown where it is", &is_true)?;
    }
    Ok(())
}

fn refused(fixture: &Fixture<'_>) -> Result<()> {
    let relay = fixture.relay()?;
    let invitation = relay.invitation("ada", 1)?;
    let (place, _) = invitation.split_once("&token=").unwrap_or_default();
    let page = fixture.open_file(&format!("web/test/player.html?{place}&token=none"))?;
    let state = page.wait("it is over", OVER)?;
    ensure!(
        state["code"] == 3 && state["words"].as_str().is_some_and(|words| words.contains("token")),
        "{state}"
    );

    fixture.expect(UNREACHABLE);
    let (before, after) = invitation.split_once("hash=").unwrap_or_default();
    let wrong = format!("{before}hash={}{}", "0".repeat(64), &after[64..]);
    let page = fixture.open_file(&format!("web/test/player.html?{wrong}"))?;
    let state = page.wait("it is over", OVER)?;
    ensure!(state["words"].as_str().is_some_and(|words| words.contains("certificate")), "{state}");
    Ok(())
}

fn sends_game_messages(fixture: &Fixture<'_>) -> Result<()> {
    let relay = fixture.relay()?;
    let page = fixture.open_file(&format!("web/test/player.html?{}", relay.invitation("ada", 1)?))?;
    is_playing(&page)?;
    let wrong = "['G', Uint8Array.of(1), new Uint8Array(70_000).fill(0x47)].map((bytes) => { \
                 try { player.session.send(bytes); } catch (error) { return error.name; } })";
    let thrown = page.eval(wrong)?;
    ensure!(thrown == json!(["RangeError", "RangeError", "RangeError"]), "{thrown}");
    page.eval("player.session.send(Uint8Array.of(0x47, 1, 2))")?;
    fixture.wait("the relay has counted it", || {
        Ok(relay.player("ada")?.filter(|ada| ada["rejected"] == 1).map(|_| ()))
    })?;
    is_playing(&page)
}

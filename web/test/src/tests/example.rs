//! The example of `docs/browser.md`, as a user would run it.

use anyhow::Result;

use crate::Test;
use crate::accessibility;
use crate::fixture::Fixture;
use crate::page::Page;
use crate::tests::live::UNREACHABLE;

pub(super) const TESTS: &[Test] = &[
    Test { name: "example: a key moves the tank on both pages", run: drives },
    Test {
        name: "example: the page says when the relay is gone, and when it is back",
        run: reports_relay_loss,
    },
];

/// Mean position of the squares of one kind in the field, if any. The own one is black, all others are
/// coloured.
const PLACE: &str = "((isOwn) => { const field = document.getElementById('field'); \
    const copy = new OffscreenCanvas(600, 600).getContext('2d', { willReadFrequently: true }); copy.drawImage(field, 0, 0); \
    const { data } = copy.getImageData(0, 0, 600, 600); let [count, x, y] = [0, 0, 0]; \
    for (let at = 0; at < data.length; at += 4) { if (data[at + 3] < 128) continue; \
      const isBlack = data[at] + data[at + 1] + data[at + 2] === 0; if (isBlack !== isOwn) continue; \
      count += 1; x += (at / 4) % 600; y += Math.floor(at / 2400); } \
    return count > 0 ? [x / count, y / count] : []; })";

fn drives(fixture: &Fixture<'_>) -> Result<()> {
    let relay = fixture.relay()?;
    let open = |name| fixture.open_file(&format!("web/example/index.html?{}", relay.invitation(name, 1)?));
    let (driver, viewer) = (open("ada")?, open("bob")?);
    for page in [&driver, &viewer] {
        says(page, "playing")?;
    }
    // Both start in the middle.
    moves(&viewer, "ArrowDown", [(&viewer, true), (&driver, false)])?;
    moves(&driver, "ArrowUp", [(&driver, true), (&viewer, false)])?;
    accessibility::check(fixture, &driver)
}

/// Holds a key down until a square has left the middle of the field on these pages: the own one, or another
/// player's.
fn moves(page: &Page<'_>, key: &str, seen: [(&Page<'_>, bool); 2]) -> Result<()> {
    page.press(key)?;
    for (page, is_own) in seen {
        let gone = format!("{PLACE}({is_own}).some((place) => Math.abs(place - 300) > 20)");
        page.wait("the square moves", &gone)?;
    }
    page.release(key)
}

fn reports_relay_loss(fixture: &Fixture<'_>) -> Result<()> {
    let mut relay = fixture.relay()?;
    let page = fixture.open_file(&format!("web/example/index.html?{}", relay.invitation("ada", 1)?))?;
    says(&page, "playing")?;
    fixture.expect(UNREACHABLE);
    relay.kill();
    says(&page, "lost: ")?;
    relay.restart()?;
    says(&page, "playing")
}

fn says(page: &Page<'_>, words: &str) -> Result<()> {
    let expression = format!("document.getElementById('state').textContent.startsWith('{words}')");
    page.wait(&format!("the page says `{words}`"), &expression)?;
    Ok(())
}

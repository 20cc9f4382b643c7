//! The example of `docs/browser.md`, as somebody would use it.

use anyhow::Result;

use crate::Test;
use crate::accessible;
use crate::page::Page;
use crate::stage::Stage;
use crate::tests::live::UNREACHABLE;

pub(super) const TESTS: &[Test] = &[
    Test { name: "example: a key moves the tank, also on another page", run: drives },
    Test { name: "example: a relay that is gone is told, and that it is back", run: tells },
];

/// Where the squares of one kind are in the field: the mean of their places, or none. Black is one's own, everything else is others'.
const PLACE: &str = "((isOwn) => { const field = document.getElementById('field'); \
    const copy = new OffscreenCanvas(600, 600).getContext('2d', { willReadFrequently: true }); copy.drawImage(field, 0, 0); \
    const { data } = copy.getImageData(0, 0, 600, 600); let [count, x, y] = [0, 0, 0]; \
    for (let at = 0; at < data.length; at += 4) { if (data[at + 3] < 128) continue; \
      const isBlack = data[at] + data[at + 1] + data[at + 2] === 0; if (isBlack !== isOwn) continue; \
      count += 1; x += (at / 4) % 600; y += Math.floor(at / 2400); } \
    return count > 0 ? [x / count, y / count] : []; })";

fn drives(stage: &Stage<'_>) -> Result<()> {
    let relay = stage.relay()?;
    let open = |name| stage.open_file(&format!("web/example/index.html?{}", relay.invitation(name, 1)?));
    let (driver, viewer) = (open("ada")?, open("bob")?);
    for page in [&driver, &viewer] {
        says(page, "playing")?;
    }
    // Both begin in the middle.
    moves(&viewer, "ArrowDown", [(&viewer, true), (&driver, false)])?;
    moves(&driver, "ArrowUp", [(&driver, true), (&viewer, false)])?;
    accessible::check(stage, &driver)
}

/// Holds a key down until a square has left the middle of the field on these pages: its owner's, and others'.
fn moves(page: &Page<'_>, key: &str, seen: [(&Page<'_>, bool); 2]) -> Result<()> {
    page.press(key)?;
    for (page, is_own) in seen {
        let gone = format!("{PLACE}({is_own}).some((place) => Math.abs(place - 300) > 20)");
        page.wait("the square moves", &gone)?;
    }
    page.release(key)
}

fn tells(stage: &Stage<'_>) -> Result<()> {
    let mut relay = stage.relay()?;
    let page = stage.open_file(&format!("web/example/index.html?{}", relay.invitation("ada", 1)?))?;
    says(&page, "playing")?;
    stage.expect(UNREACHABLE);
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

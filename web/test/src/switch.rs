//! `cargo xtask soak arena --switch`: what the page's switch does. A while without us, then *even*; of both there is a picture.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::chromium::Chromium;
use crate::http;
use crate::page::Page;
use crate::relay::{Program, free_address};
use crate::soak::{Check, Figures, KEYS_CHANGE, Keys};

/// One-way delays of the bots, in milliseconds.
const DELAYS: &str = "200,80,20,5";
/// So long it is played without us before it is looked at, and so long with *even*.
const BEFORE: Duration = Duration::from_secs(60);
const AFTER: Duration = Duration::from_secs(90);
/// What the page shows is taken from so much time.
const LOOKED_AT: Duration = Duration::from_secs(30);
/// With *even* so much of the spread may be left.
const LEFT_MAX: f64 = 0.05;
/// All of the page is to be seen, and as finely as people have it.
const SCREEN: ([u32; 2], f64) = ([1280, 1060], 1.5);

/// What held, and figures that are not judged.
pub(crate) fn run(evenkeel: &Path, folder: &Path) -> Result<(Vec<Check>, Figures)> {
    let address = free_address()?;
    let port = address.port().to_string();
    let arguments = ["arena", "--bots", "4", "--delays", DELAYS, "--port", &port, "--policy", "base"];
    let arena = Program::start(evenkeel, folder, &arguments)?;
    arena.answers(address)?;
    let chromium = Chromium::start()?;
    let page = Page::open(&chromium.cdp, &format!("http://{address}/"))?;
    page.show_finely("light", SCREEN.0, SCREEN.1)?;
    page.wait("the page plays", "document.body.dataset.state === 'playing'")?;
    let mut keys = Keys::new();
    play(&page, &mut keys, BEFORE)?;
    let base = look(&page, &mut keys, address, &folder.join("arena-base"))?;
    page.click("#switch label:has([value=even])")?;
    play(&page, &mut keys, AFTER)?;
    let even = look(&page, &mut keys, address, &folder.join("arena-even"))?;
    let complaints = chromium.cdp.take_witness().complaints;
    let checks = vec![
        Check {
            what: format!(
                "after {} s even shows at most {:.0} % of the spread",
                AFTER.as_secs(),
                100.0 * LEFT_MAX
            ),
            passed: Some(even.spread <= LEFT_MAX * base.spread),
            measured: format!(
                "{:.4} without us, {:.4} with it: {:.1} % ({})",
                base.spread,
                even.spread,
                100.0 * even.spread / base.spread,
                even.apart()
            ),
        },
        Check {
            what: "the console is empty".to_owned(),
            passed: Some(complaints.is_empty()),
            measured: complaints.first().map_or("nothing".to_owned(), Clone::clone),
        },
    ];
    let figures = vec![("mean error without us", base.mean), ("mean error with even", even.mean)];
    Ok((checks, figures))
}

/// Drives about for so long.
fn play(page: &Page<'_>, keys: &mut Keys, length: Duration) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < length {
        keys.change(page)?;
        thread::sleep(KEYS_CHANGE);
    }
    Ok(())
}

/// What the page shows, on the average over some time.
struct Shown {
    spread: f64,
    mean: f64,
    /// Everybody's error, by name.
    errors: BTreeMap<String, f64>,
}

impl Shown {
    /// By how much everybody is above the mean, in words.
    fn apart(&self) -> String {
        let each = self.errors.iter().map(|(name, error)| format!("{name} {:+.4}", error - self.mean));
        each.collect::<Vec<_>>().join(", ")
    }
}

/// Drives on, and gives what the page shows meanwhile. Keeps pictures of it, and the figures behind each.
fn look(page: &Page<'_>, keys: &mut Keys, address: SocketAddr, kept: &Path) -> Result<Shown> {
    let start = Instant::now();
    let mut shown = Shown { spread: 0.0, mean: 0.0, errors: BTreeMap::new() };
    let mut count = 0;
    while start.elapsed() < LOOKED_AT {
        keys.change(page)?;
        thread::sleep(KEYS_CHANGE);
        let figures = http::get(address, "/api/arena")?;
        let told =
            |of: &Value, name: &str| of[name].as_f64().with_context(|| format!("the arena tells no {name}"));
        shown.spread += told(&figures, "spread")?;
        shown.mean += told(&figures, "mean")?;
        for player in figures["players"].as_array().context("the arena tells no players")? {
            let name = player["name"].as_str().context("a player has no name")?.to_owned();
            *shown.errors.entry(name).or_default() += told(player, "error")?;
        }
        fs::write(kept.with_extension(format!("{count}.png")), page.picture()?)?;
        fs::write(kept.with_extension(format!("{count}.json")), figures.to_string())?;
        count += 1;
    }
    let count = f64::from(count);
    (shown.spread, shown.mean) = (shown.spread / count, shown.mean / count);
    shown.errors.values_mut().for_each(|error| *error /= count);
    Ok(shown)
}

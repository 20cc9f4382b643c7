//! `cargo xtask soak arena --switch`: tests the page's policy switch. First without us, then *even*; keeps
//! screenshots of both.

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
use crate::soak::{Check, Figures, KEYS_INTERVAL, RandomKeys};

/// One-way delays of the bots, in milliseconds.
const DELAYS: &str = "200,80,20,5";
/// How long each policy is played before it is measured.
const BASE_TIME: Duration = Duration::from_secs(60);
const EVEN_TIME: Duration = Duration::from_secs(90);
/// How long each policy is measured.
const MEASURE_TIME: Duration = Duration::from_secs(30);
/// Share of the spread that may remain with *even*.
const SPREAD_LEFT_MAX: f64 = 0.05;
/// Large enough to show the whole page, at a common pixel ratio.
const SCREEN_SIZE: ([u32; 2], f64) = ([1280, 830], 1.5);

/// Returns the requirements, and figures that are not judged.
pub(crate) fn run(evenkeel: &Path, folder: &Path) -> Result<(Vec<Check>, Figures)> {
    let address = free_address()?;
    let port = address.port().to_string();
    let arguments = ["arena", "--bots", "4", "--delays", DELAYS, "--port", &port, "--policy", "base"];
    let arena = Program::start(evenkeel, folder, &arguments)?;
    arena.wait_until_ready(address)?;
    let chromium = Chromium::start()?;
    let page = Page::open(&chromium.cdp, &format!("http://{address}/"))?;
    page.emulate_with_ratio("light", SCREEN_SIZE.0, SCREEN_SIZE.1)?;
    page.wait("the page plays", "document.body.dataset.state === 'playing'")?;
    let mut keys = RandomKeys::new();
    drive_around(&page, &mut keys, BASE_TIME)?;
    let base = measure(&page, &mut keys, address, &folder.join("arena-base"))?;
    page.click("#switch label:has([value=even])")?;
    drive_around(&page, &mut keys, EVEN_TIME)?;
    let even = measure(&page, &mut keys, address, &folder.join("arena-even"))?;
    let complaints = chromium.cdp.take_log().complaints;
    let checks = vec![
        Check {
            what: format!(
                "after {} s even leaves at most {:.0} % of the spread",
                EVEN_TIME.as_secs(),
                100.0 * SPREAD_LEFT_MAX
            ),
            passed: Some(even.spread <= SPREAD_LEFT_MAX * base.spread),
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

/// Drives around for a while.
fn drive_around(page: &Page<'_>, keys: &mut RandomKeys, length: Duration) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < length {
        keys.change(page)?;
        thread::sleep(KEYS_INTERVAL);
    }
    Ok(())
}

/// Figures averaged over a period.
struct AverageFigures {
    spread: f64,
    mean: f64,
    /// Each player's error, by name.
    errors: BTreeMap<String, f64>,
}

impl AverageFigures {
    /// Describes how far each player's error is from the mean.
    fn apart(&self) -> String {
        let each = self.errors.iter().map(|(name, error)| format!("{name} {:+.4}", error - self.mean));
        each.collect::<Vec<_>>().join(", ")
    }
}

/// Drives on and averages the figures. Keeps screenshots, and the figures behind each.
fn measure(
    page: &Page<'_>,
    keys: &mut RandomKeys,
    address: SocketAddr,
    kept: &Path,
) -> Result<AverageFigures> {
    let start = Instant::now();
    let mut shown = AverageFigures { spread: 0.0, mean: 0.0, errors: BTreeMap::new() };
    let mut count = 0;
    while start.elapsed() < MEASURE_TIME {
        keys.change(page)?;
        thread::sleep(KEYS_INTERVAL);
        let figures = http::get(address, "/api/arena")?;
        let figure =
            |of: &Value, name: &str| of[name].as_f64().with_context(|| format!("the figures have no {name}"));
        shown.spread += figure(&figures, "spread")?;
        shown.mean += figure(&figures, "mean")?;
        for player in figures["players"].as_array().context("the figures have no players")? {
            let name = player["name"].as_str().context("a player has no name")?.to_owned();
            *shown.errors.entry(name).or_default() += figure(player, "error")?;
        }
        fs::write(kept.with_extension(format!("{count}.png")), page.screenshot()?)?;
        fs::write(kept.with_extension(format!("{count}.json")), figures.to_string())?;
        count += 1;
    }
    let count = f64::from(count);
    (shown.spread, shown.mean) = (shown.spread / count, shown.mean / count);
    shown.errors.values_mut().for_each(|error| *error /= count);
    Ok(shown)
}

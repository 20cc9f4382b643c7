//! `cargo xtask soak arena --switch`: what the page's switch does. A while without us, then *even*; of both there is a picture.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

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
const SCREEN: [u32; 2] = [1280, 1000];

/// What held, and figures that are not judged.
pub(crate) fn run(evenkeel: &Path, folder: &Path) -> Result<(Vec<Check>, Figures)> {
    let address = free_address()?;
    let port = address.port().to_string();
    let arguments = ["arena", "--bots", "4", "--delays", DELAYS, "--port", &port, "--policy", "base"];
    let arena = Program::start(evenkeel, folder, &arguments)?;
    arena.answers(address)?;
    let chromium = Chromium::start()?;
    let page = Page::open(&chromium.cdp, &format!("http://{address}/"))?;
    page.show_as("light", SCREEN)?;
    page.wait("the page plays", "document.body.dataset.state === 'playing'")?;
    let mut keys = Keys::new();
    play(&page, &mut keys, BEFORE)?;
    let [base, base_mean] = look(&page, &mut keys, address, &folder.join("arena-base"))?;
    page.click("#switch label:has([value=even])")?;
    play(&page, &mut keys, AFTER)?;
    let [even, even_mean] = look(&page, &mut keys, address, &folder.join("arena-even"))?;
    let complaints = chromium.cdp.take_witness().complaints;
    let checks = vec![
        Check {
            what: format!(
                "after {} s even shows at most {:.0} % of the spread",
                AFTER.as_secs(),
                100.0 * LEFT_MAX
            ),
            passed: Some(even <= LEFT_MAX * base),
            measured: format!("{base:.4} without us, {even:.4} with it: {:.1} %", 100.0 * even / base),
        },
        Check {
            what: "the console is empty".to_owned(),
            passed: Some(complaints.is_empty()),
            measured: complaints.first().map_or("nothing".to_owned(), Clone::clone),
        },
    ];
    let figures = vec![("mean error without us", base_mean), ("mean error with even", even_mean)];
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

/// Drives on, and gives the mean of the spread and of the mean error that the page shows meanwhile. Takes pictures.
fn look(page: &Page<'_>, keys: &mut Keys, address: SocketAddr, pictures: &Path) -> Result<[f64; 2]> {
    let start = Instant::now();
    let (mut sums, mut count) = ([0.0; 2], 0);
    while start.elapsed() < LOOKED_AT {
        keys.change(page)?;
        thread::sleep(KEYS_CHANGE);
        let figures = http::get(address, "/api/arena")?;
        for (sum, name) in sums.iter_mut().zip(["spread", "mean"]) {
            *sum += figures[name].as_f64().with_context(|| format!("the arena tells no {name}"))?;
        }
        fs::write(pictures.with_extension(format!("{count}.png")), page.picture()?)?;
        count += 1;
    }
    Ok(sums.map(|sum| sum / f64::from(count)))
}

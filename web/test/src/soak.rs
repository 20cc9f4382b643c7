//! `cargo xtask soak arena`: runs an arena and a browser that plays in it, for a long time. Neither may leak
//! memory, their clocks must agree, and the cost of a frame is measured.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::chromium::Chromium;
use crate::frames::{self, FrameCount, FrameStats};
use crate::http;
use crate::page::Page;
use crate::relay::{Program, free_address};
use crate::switch;

const USAGE: &str = "usage: cargo xtask soak arena [--minutes M] [--bots N] [--policy P] [--json]\n       cargo xtask soak arena --switch [--json]";

/// Share of the time that is left out: caches fill, scripts are recompiled, and freed memory is not returned
/// at once.
const WARM_SHARE: f64 = 0.5;
/// Memory is not judged before, since the page's curve fills up with two minutes of errors.
const FILL_TIME: Duration = Duration::from_secs(140);
/// Samples needed to judge a trend.
const SAMPLES_MIN: usize = 5;
/// How often the player presses other keys.
pub(crate) const KEYS_INTERVAL: Duration = Duration::from_millis(1500);
/// Interval of samples.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(30);
/// How much memory may grow, by its trend and at the end.
const GROWTH_MAX: f64 = 0.05;
/// Allowed difference of the page's time from the relay's, beyond what the request's round trip explains, in
/// milliseconds.
const CLOCK_DIFFERENCE_MAX: f64 = 1.0;

/// Compares clocks: the relay's time minus the page's, and half the duration of the request, in milliseconds,
/// for the quickest of several requests.
const COMPARE_CLOCKS: &str = "(async () => { \
    let best = null; \
    for (let question = 0; question < 8; question += 1) { \
      const before = arena.now; \
      const { now } = await (await fetch('/api/arena/watch')).json(); \
      const after = arena.now; \
      if (before === null || after === null || now === null) continue; \
      const half = (after - before) / 2e6; \
      if (!best || half < best.half) best = { half, apart: Number(now) / 1e6 - (before + after) / 2e6 }; \
    } \
    return best; })()";

/// Options of a soak.
struct SoakOptions {
    minutes: f64,
    bots: u16,
    policy: String,
    is_json: bool,
    /// Only test the policy switch.
    is_switch: bool,
}

impl SoakOptions {
    fn parse(words: &[String]) -> Result<Self> {
        let policy = "even".to_owned();
        let mut options = Self { minutes: 120.0, bots: 8, policy, is_json: false, is_switch: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value\n{USAGE}"));
            match word.as_str() {
                "--minutes" => options.minutes = value()?.parse().context("--minutes must be a number")?,
                "--bots" => options.bots = value()?.parse().context("--bots must be a number up to 64")?,
                "--policy" => options.policy.clone_from(value()?),
                "--json" => options.is_json = true,
                "--switch" => options.is_switch = true,
                _ => bail!("unknown option `{word}`\n{USAGE}"),
            }
        }
        if !(0.5..=100_000.0).contains(&options.minutes) {
            bail!("--minutes must be between 0.5 and 100000");
        }
        Ok(options)
    }
}

/// One sample.
struct Sample {
    /// Memory of the arena's process and of the page's, in MiB.
    arena: f64,
    renderer: f64,
    /// Heap of the page's scripts and of its workers' after garbage collection, in MiB.
    heap: f64,
    workers: f64,
    nodes: f64,
    /// Relay's clock minus the page's in ms, and the uncertainty of that.
    apart: f64,
    uncertain: f64,
    /// The page's usage before and after sampling, which itself costs frames that must not count.
    before: PageUsage,
    after: PageUsage,
}

/// What the page has used so far.
#[derive(Clone, Copy)]
struct PageUsage {
    /// Seconds since the soak started.
    at: f64,
    frames: FrameCount,
    /// Time that its main thread was busy, and of that in scripts, in seconds.
    busy: f64,
    script: f64,
}

/// Figures that are reported but not judged, by name.
pub(crate) type Figures = Vec<(&'static str, f64)>;

/// A requirement, and what was measured.
pub(crate) struct Check {
    pub(crate) what: String,
    /// None: too few samples to tell.
    pub(crate) passed: Option<bool>,
    pub(crate) measured: String,
}

/// Runs the soak and prints the results. Returns whether all requirements held.
pub(crate) fn run(evenkeel: &Path, root: &Path, words: &[String]) -> Result<bool> {
    let options = SoakOptions::parse(words)?;
    let folder = root.join("target/browser/soak-arena");
    fs::create_dir_all(&folder)?;
    if options.is_switch {
        let (checks, figures) = switch::run(evenkeel, &folder)?;
        print("four bots and a browser, without us and then even", options.is_json, &[], &checks, &figures);
        return Ok(all_hold(&checks));
    }
    let address = free_address()?;
    let (bots, port) = (options.bots.to_string(), address.port().to_string());
    let arena = ["arena", "--bots", &bots, "--port", &port, "--policy", &options.policy];
    let arena = Program::start(evenkeel, &folder, &arena)?;
    arena.wait_until_ready(address)?;
    let chromium = Chromium::start()?;
    let empty = frames::measure_empty_page(&chromium.cdp)?;
    let page = Page::open(&chromium.cdp, &format!("http://{address}/"))?;
    page.wait("the page plays", "document.body.dataset.state === 'playing'")?;
    // The browser would buffer all network events.
    page.call("Network.disable", json!({}))?;
    page.call("Performance.enable", json!({}))?;
    FrameCount::begin(&page)?;
    let soak = Soak { arena: &arena, chromium: &chromium, page: &page, started: Instant::now() };
    let samples = soak.drive_around(Duration::from_secs_f64(60.0 * options.minutes))?;
    let complaints = chromium.cdp.take_log().complaints;
    let end = http::get(address, "/api/arena")?;
    let checks = judge(&samples, &complaints);
    let figures = figures(&samples, &empty, &end, address)?;
    fs::write(folder.join("end.png"), page.screenshot()?)?;
    let title =
        format!("{} bots and a browser, {} minutes, {}", options.bots, options.minutes, options.policy);
    print(&title, options.is_json, &samples, &checks, &figures);
    Ok(all_hold(&checks))
}

fn all_hold(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.passed != Some(false))
}

struct Soak<'a> {
    arena: &'a Program,
    chromium: &'a Chromium,
    page: &'a Page<'a>,
    started: Instant,
}

impl Soak<'_> {
    /// Plays, taking samples from time to time.
    fn drive_around(&self, length: Duration) -> Result<Vec<Sample>> {
        let warm = length.mul_f64(WARM_SHARE);
        let (mut samples, mut next, mut keys) = (Vec::new(), warm, RandomKeys::new());
        while self.started.elapsed() < length || samples.len() < 2 {
            keys.change(self.page)?;
            thread::sleep(KEYS_INTERVAL);
            if self.started.elapsed() >= next {
                next += SAMPLE_INTERVAL.min((length - warm) / 4);
                let sample = self.sample()?;
                eprintln!("{}", describe(&sample));
                samples.push(sample);
            }
        }
        Ok(samples)
    }

    fn sample(&self) -> Result<Sample> {
        let (before, _) = self.usage()?;
        let compared = self.page.wait("the page's clock is compared with the relay's", COMPARE_CLOCKS)?;
        let figure = |name: &str| compared[name].as_f64().with_context(|| format!("no {name}"));
        let (apart, uncertain) = (figure("apart")?, figure("half")?);
        let heap = heap_size(|method| self.page.call(method, json!({})))?;
        let cdp = &self.chromium.cdp;
        let of_worker = |session: &String| heap_size(|method| cdp.call(Some(session), method, json!({})));
        let workers: f64 = cdp.workers().iter().map(of_worker).sum::<Result<f64>>()?;
        let arena = self.arena.process_id().and_then(anonymous_memory).context("the arena has ended")?;
        let renderer = self.renderer()?;
        // After garbage collection, so that unreachable nodes do not count.
        let (after, nodes) = self.usage()?;
        Ok(Sample { arena, renderer, heap, workers, nodes, apart, uncertain, before, after })
    }

    /// Returns the page's usage, and its number of nodes.
    fn usage(&self) -> Result<(PageUsage, f64)> {
        let frames = FrameCount::read(self.page)?;
        let metrics = self.page.call("Performance.getMetrics", json!({}))?;
        let at = self.started.elapsed().as_secs_f64();
        let metric = |name: &str| {
            let all = metrics["metrics"].as_array().into_iter().flatten();
            let mut found = all.filter(|metric| metric["name"] == name);
            found.next().and_then(|metric| metric["value"].as_f64()).with_context(|| format!("no {name}"))
        };
        let usage =
            PageUsage { at, frames, busy: metric("TaskDuration")?, script: metric("ScriptDuration")? };
        Ok((usage, metric("Nodes")?))
    }

    /// Memory of the page's process, the largest of the browser's renderers.
    fn renderer(&self) -> Result<f64> {
        let all = self.chromium.cdp.call(None, "SystemInfo.getProcessInfo", json!({}))?;
        let all = all["processInfo"].as_array().context("the browser reports no processes")?;
        let renderers = all.iter().filter(|process| process["type"] == "renderer");
        let memories =
            renderers.filter_map(|process| anonymous_memory(u32::try_from(process["id"].as_u64()?).ok()?));
        memories.reduce(f64::max).context("the browser has no renderer")
    }
}

/// Returns the heap's size in MiB after garbage collection.
fn heap_size(call: impl Fn(&str) -> Result<Value>) -> Result<f64> {
    call("HeapProfiler.collectGarbage")?;
    let heap = call("Runtime.getHeapUsage")?;
    Ok(heap["usedSize"].as_f64().context("the browser reports no heap")? / MIB)
}

const MIB: f64 = 1024.0 * 1024.0;

/// Returns a process's anonymous memory in MiB.
fn anonymous_memory(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// Presses pseudo-random keys.
pub(crate) struct RandomKeys {
    held: Vec<&'static str>,
    chance: Lcg,
}

impl RandomKeys {
    pub(crate) const fn new() -> Self {
        Self { held: Vec::new(), chance: Lcg(1) }
    }

    /// Releases the held keys and presses others.
    pub(crate) fn change(&mut self, page: &Page<'_>) -> Result<()> {
        for key in self.held.drain(..) {
            page.release(key)?;
        }
        for (key, share) in [("ArrowUp", 0.8), ("ArrowLeft", 0.3), ("ArrowRight", 0.3), (" ", 0.5)] {
            if self.chance.unit() < share {
                page.press(key)?;
                self.held.push(key);
            }
        }
        Ok(())
    }
}

/// Pseudo-random numbers, reproducible.
struct Lcg(u64);

impl Lcg {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn judge(samples: &[Sample], complaints: &[String]) -> Vec<Check> {
    let unfilled = samples.iter().take_while(|sample| sample.before.at < FILL_TIME.as_secs_f64()).count();
    let filled = &samples[unfilled..];
    let mut checks = vec![
        check_growth("the arena's memory in MiB", filled, |sample| sample.arena),
        check_growth("the memory of the page's process in MiB", filled, |sample| sample.renderer),
        check_growth("heap of the page's scripts in MiB", filled, |sample| sample.heap),
        check_growth("heap of its workers' scripts in MiB", filled, |sample| sample.workers),
        check_growth("the number of the page's nodes", filled, |sample| sample.nodes),
    ];
    let beyond = |sample: &Sample| (sample.apart.abs() - sample.uncertain).max(0.0);
    let worst = samples.iter().map(beyond).fold(0.0, f64::max);
    let (first, last) = (&samples[0], &samples[samples.len() - 1]);
    checks.push(Check {
        what: format!("the page's clock is within {CLOCK_DIFFERENCE_MAX} ms of the relay's"),
        passed: Some(worst <= CLOCK_DIFFERENCE_MAX),
        measured: format!(
            "{:+.2} ms at first, {:+.2} ms at last, each ± {:.2}; at worst {worst:.2} ms more than the request explains",
            first.apart, last.apart, last.uncertain
        ),
    });
    checks.push(Check {
        what: "the console is empty".to_owned(),
        passed: Some(complaints.is_empty()),
        measured: complaints.first().map_or("nothing".to_owned(), Clone::clone),
    });
    checks
}

/// Checks that something does not grow, by its trend and from the first third of the samples to the last.
fn check_growth(what: &str, samples: &[Sample], of: impl Fn(&Sample) -> f64) -> Check {
    let what = format!("{what} grows by at most {:.0} %", 100.0 * GROWTH_MAX);
    if samples.len() < SAMPLES_MIN {
        let measured = format!(
            "{} samples after the first {} s, {SAMPLES_MIN} are needed: play for 5 minutes or more",
            samples.len(),
            FILL_TIME.as_secs()
        );
        return Check { what, passed: None, measured };
    }
    let points: Vec<(f64, f64)> = samples.iter().map(|sample| (sample.before.at, of(sample))).collect();
    let mean = |points: &[(f64, f64)]| points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
    let third = points.len().div_ceil(3);
    let (early, late) = (mean(&points[..third]), mean(&points[points.len() - third..]));
    let trend = slope(&points) * (points[points.len() - 1].0 - points[0].0);
    let grown = [(late - early) / early, trend / early];
    Check {
        what,
        passed: Some(grown.iter().all(|grown| *grown <= GROWTH_MAX)),
        measured: format!(
            "{early:.1} in the first third, {late:.1} in the last: {:+.1} %; trend {:+.1} %",
            100.0 * grown[0],
            100.0 * grown[1]
        ),
    }
}

/// Slope of the least-squares line.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let variance: f64 = points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum();
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

/// Collects the figures that are not judged.
fn figures(samples: &[Sample], empty: &FrameStats, end: &Value, address: SocketAddr) -> Result<Figures> {
    let between = |of: fn(&PageUsage) -> f64| -> f64 {
        samples.windows(2).map(|looks| of(&looks[1].before) - of(&looks[0].after)).sum()
    };
    let mut frames = FrameStats::default();
    for looks in samples.windows(2) {
        frames.add(&looks[0].after.frames, &looks[1].before.frames);
    }
    let room = http::get(address, "/api/rooms/arena")?;
    let players = room["players"].as_array().context("the room has no players")?.len();
    let each = end["players"].as_array().into_iter().flatten();
    let fouls = each.filter_map(|player| player["fouls"].as_f64()).sum();
    Ok(vec![
        ("players", players as f64),
        ("frames a second", frames.per_second()),
        ("frames missed a minute", frames.missed_per_minute()),
        ("the longest time from frame to frame, in ms", frames.longest),
        ("frames a second of an empty page, before", empty.per_second()),
        ("frames that it missed a minute", empty.missed_per_minute()),
        ("the longest time from frame to frame there, in ms", empty.longest),
        (
            "the page's share of a frame of 1/60 s, in % (its main thread)",
            6000.0 * between(|usage| usage.busy) / frames.drawn,
        ),
        ("of which scripts, in %", 6000.0 * between(|usage| usage.script) / frames.drawn),
        ("spread of the errors", end["spread"].as_f64().unwrap_or(f64::NAN)),
        ("mean error", end["mean"].as_f64().unwrap_or(f64::NAN)),
        ("shots that did not count", fouls),
    ])
}

fn describe(sample: &Sample) -> String {
    format!(
        "{:>6.0} s  arena {:.1} MiB  page {:.1} MiB, scripts {:.2} + {:.2} MiB, {} nodes  clocks {:+.2} ± {:.2} ms",
        sample.before.at,
        sample.arena,
        sample.renderer,
        sample.heap,
        sample.workers,
        sample.nodes,
        sample.apart,
        sample.uncertain
    )
}

fn print(title: &str, is_json: bool, samples: &[Sample], checks: &[Check], figures: &[(&str, f64)]) {
    if is_json {
        let checks = checks
            .iter()
            .map(|check| json!({ "what": check.what, "passed": check.passed, "measured": check.measured }));
        let figures: serde_json::Map<String, Value> =
            figures.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let looks: Vec<String> = samples.iter().map(describe).collect();
        let checks: Vec<Value> = checks.collect();
        println!("{}", json!({ "title": title, "checks": checks, "figures": figures, "looks": looks }));
        return;
    }
    println!("{title}");
    for Check { what, passed, measured } in checks {
        let verdict = passed.map_or("unsure", |passed| if passed { "passed" } else { "FAILED" });
        println!("  {verdict}  {what}: {measured}");
    }
    for (name, value) in figures {
        println!("          {name}: {value:.3}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(heap: impl Fn(f64) -> f64, apart: f64) -> Vec<Sample> {
        let sample = |index: u32| {
            let at = FILL_TIME.as_secs_f64() + f64::from(index);
            let (arena, renderer, nodes, uncertain) = (70.0, 90.0, 300.0, 0.5);
            let frames = FrameCount { at, drawn: at, missed: 0.0, longest: 17.0 };
            let usage = PageUsage { at, frames, busy: at, script: at };
            let (heap, workers, before, after) = (heap(f64::from(index)), 2.0, usage, usage);
            Sample { arena, renderer, heap, workers, nodes, apart, uncertain, before, after }
        };
        (0..30).map(sample).collect()
    }

    fn passed(samples: &[Sample], complaints: &[String]) -> bool {
        all_hold(&judge(samples, complaints))
    }

    #[test]
    fn growth_clock_difference_and_complaints_fail() {
        assert!(passed(&samples(|at| 5.0 + 0.1 * (at % 3.0), 1.4), &[]));
        assert!(!passed(&samples(|at| 5.0 + 0.02 * at, 0.0), &[]));
        assert!(!passed(&samples(|_| 5.0, -1.6), &[]));
        assert!(!passed(&samples(|_| 5.0, 0.0), &["a word".to_owned()]));
    }

    #[test]
    fn samples_before_the_fill_time_are_not_judged() {
        let mut early = samples(|at| 5.0 + at, 0.0);
        for sample in &mut early {
            sample.before.at -= 29.5;
        }
        assert!(judge(&early, &[]).iter().take(5).all(|check| check.passed.is_none()));
        // A few early samples do no harm if enough others remain.
        let mut some = samples(|at| if at < 10.0 { at } else { 10.0 }, 0.0);
        for sample in &mut some {
            sample.before.at -= 10.0;
        }
        assert!(judge(&some, &[]).iter().all(|check| check.passed == Some(true)));
    }

    #[test]
    fn options_are_parsed() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let options = SoakOptions::parse(&words("--bots 31 --minutes 1.5 --json")).expect("valid options");
        assert_eq!((options.bots, options.minutes, options.is_json), (31, 1.5, true));
        for wrong in ["--minutes", "--minutes 0", "--bots many", "--what"] {
            assert!(SoakOptions::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }
}

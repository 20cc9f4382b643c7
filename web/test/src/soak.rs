//! `cargo xtask soak arena`: an arena and a browser that plays in it, for as long as one likes. Neither may grow, nor may their
//! clocks part; and what a frame of the page costs.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::chromium::Chromium;
use crate::frames::{self, Count, Frames};
use crate::http;
use crate::page::Page;
use crate::relay::{Program, free_address};
use crate::switch;

const USAGE: &str = "usage: cargo xtask soak arena [--minutes M] [--bots N] [--policy P] [--json]\n       cargo xtask soak arena --switch [--json]";

/// What is measured in this part of the time is left out: caches fill, scripts are compiled again and again, and
/// what was freed is not given back at once.
const WARM_SHARE: f64 = 0.5;
/// Nor is memory judged before so much time has passed: the page's curve holds two minutes of everybody's errors, and fills until then.
const FILLED: Duration = Duration::from_secs(140);
/// Fewer looks tell no trend.
const JUDGED_MIN: usize = 5;
/// The player presses other keys this often.
pub(crate) const KEYS_CHANGE: Duration = Duration::from_millis(1500);
/// So often it is looked at everything.
const LOOK: Duration = Duration::from_secs(30);
/// Memory may grow by so much, by its trend and at the end.
const GROWTH_MAX: f64 = 0.05;
/// The page's time and the relay's may differ by so much, beyond what the question's own way explains, in milliseconds.
const APART_MAX: f64 = 1.0;

/// The relay's time minus the page's, and half of what the question took, in milliseconds: of the quickest of some questions.
const COMPARE: &str = "(async () => { \
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

/// What to soak, and how long.
struct Plan {
    minutes: f64,
    bots: u16,
    policy: String,
    is_json: bool,
    /// Only what the switch does.
    is_switch: bool,
}

impl Plan {
    fn parse(words: &[String]) -> Result<Self> {
        let policy = "even".to_owned();
        let mut plan = Self { minutes: 120.0, bots: 8, policy, is_json: false, is_switch: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value\n{USAGE}"));
            match word.as_str() {
                "--minutes" => plan.minutes = value()?.parse().context("--minutes is a number")?,
                "--bots" => plan.bots = value()?.parse().context("--bots is a number up to 64")?,
                "--policy" => plan.policy.clone_from(value()?),
                "--json" => plan.is_json = true,
                "--switch" => plan.is_switch = true,
                _ => bail!("`{word}` is not known\n{USAGE}"),
            }
        }
        if !(0.5..=100_000.0).contains(&plan.minutes) {
            bail!("--minutes is at least 0.5");
        }
        Ok(plan)
    }
}

/// What one look has seen.
struct Sample {
    /// Memory of the arena's process, and of the page's, in MiB.
    arena: f64,
    renderer: f64,
    /// What the page's scripts and those of its workers hold after everything unreachable was freed, in MiB.
    heap: f64,
    workers: f64,
    nodes: f64,
    /// The relay's clock minus the page's in ms, and how uncertain that is.
    apart: f64,
    uncertain: f64,
    /// What the page had spent when the look began, and when it was over: a look costs frames itself, and those don't count.
    before: Spent,
    after: Spent,
}

/// What the page has spent so far.
#[derive(Clone, Copy)]
struct Spent {
    /// Seconds since the soak's beginning.
    at: f64,
    frames: Count,
    /// Time in which its main thread was busy, in seconds; and in scripts.
    busy: f64,
    script: f64,
}

/// What is not judged, by name.
pub(crate) type Figures = Vec<(&'static str, f64)>;

/// Whether something held, and what was measured.
pub(crate) struct Check {
    pub(crate) what: String,
    /// None: too little was seen to say so.
    pub(crate) passed: Option<bool>,
    pub(crate) measured: String,
}

/// Runs the soak and prints what it has shown. Gives whether everything held.
pub(crate) fn run(evenkeel: &Path, root: &Path, words: &[String]) -> Result<bool> {
    let plan = Plan::parse(words)?;
    let folder = root.join("target/browser/soak-arena");
    fs::create_dir_all(&folder)?;
    if plan.is_switch {
        let (checks, figures) = switch::run(evenkeel, &folder)?;
        print("four bots and a browser, without us and then even", plan.is_json, &[], &checks, &figures);
        return Ok(held_all(&checks));
    }
    let address = free_address()?;
    let (bots, port) = (plan.bots.to_string(), address.port().to_string());
    let arena = ["arena", "--bots", &bots, "--port", &port, "--policy", &plan.policy];
    let arena = Program::start(evenkeel, &folder, &arena)?;
    arena.answers(address)?;
    let chromium = Chromium::start()?;
    let empty = frames::of_an_empty_page(&chromium.cdp)?;
    let page = Page::open(&chromium.cdp, &format!("http://{address}/"))?;
    page.wait("the page plays", "document.body.dataset.state === 'playing'")?;
    // The browser keeps what it has loaded for whoever asks; here nobody does.
    page.call("Network.disable", json!({}))?;
    page.call("Performance.enable", json!({}))?;
    Count::begin(&page)?;
    let soak = Soak { arena: &arena, chromium: &chromium, page: &page, started: Instant::now() };
    let samples = soak.play(Duration::from_secs_f64(60.0 * plan.minutes))?;
    let complaints = chromium.cdp.take_witness().complaints;
    let end = http::get(address, "/api/arena")?;
    let checks = judge(&samples, &complaints);
    let figures = figures(&samples, &empty, &end, address)?;
    fs::write(folder.join("end.png"), page.picture()?)?;
    let title = format!("{} bots and a browser, {} minutes, {}", plan.bots, plan.minutes, plan.policy);
    print(&title, plan.is_json, &samples, &checks, &figures);
    Ok(held_all(&checks))
}

fn held_all(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.passed != Some(false))
}

struct Soak<'a> {
    arena: &'a Program,
    chromium: &'a Chromium,
    page: &'a Page<'a>,
    started: Instant,
}

impl Soak<'_> {
    /// Plays, and looks from time to time.
    fn play(&self, length: Duration) -> Result<Vec<Sample>> {
        let warm = length.mul_f64(WARM_SHARE);
        let (mut samples, mut next, mut keys) = (Vec::new(), warm, Keys::new());
        while self.started.elapsed() < length || samples.len() < 2 {
            keys.change(self.page)?;
            thread::sleep(KEYS_CHANGE);
            if self.started.elapsed() >= next {
                next += LOOK.min((length - warm) / 4);
                let sample = self.look()?;
                eprintln!("{}", line(&sample));
                samples.push(sample);
            }
        }
        Ok(samples)
    }

    fn look(&self) -> Result<Sample> {
        let (before, _) = self.spent()?;
        let compared = self.page.wait("the page's clock is compared with the relay's", COMPARE)?;
        let figure = |name: &str| compared[name].as_f64().with_context(|| format!("no {name}"));
        let (apart, uncertain) = (figure("apart")?, figure("half")?);
        let heap = held(|method| self.page.call(method, json!({})))?;
        let cdp = &self.chromium.cdp;
        let of_worker = |session: &String| held(|method| cdp.call(Some(session), method, json!({})));
        let workers: f64 = cdp.workers().iter().map(of_worker).sum::<Result<f64>>()?;
        let arena = self.arena.process().and_then(memory).context("the arena has ended")?;
        let renderer = self.renderer()?;
        // After the garbage is gone, or those nodes would count that nothing refers to any more.
        let (after, nodes) = self.spent()?;
        Ok(Sample { arena, renderer, heap, workers, nodes, apart, uncertain, before, after })
    }

    /// What the page has spent, and how many nodes it has.
    fn spent(&self) -> Result<(Spent, f64)> {
        let frames = Count::read(self.page)?;
        let metrics = self.page.call("Performance.getMetrics", json!({}))?;
        let at = self.started.elapsed().as_secs_f64();
        let metric = |name: &str| {
            let all = metrics["metrics"].as_array().into_iter().flatten();
            let mut found = all.filter(|metric| metric["name"] == name);
            found.next().and_then(|metric| metric["value"].as_f64()).with_context(|| format!("no {name}"))
        };
        let spent = Spent { at, frames, busy: metric("TaskDuration")?, script: metric("ScriptDuration")? };
        Ok((spent, metric("Nodes")?))
    }

    /// Memory of the page's process, which is the largest of the browser's renderers.
    fn renderer(&self) -> Result<f64> {
        let all = self.chromium.cdp.call(None, "SystemInfo.getProcessInfo", json!({}))?;
        let all = all["processInfo"].as_array().context("the browser tells no processes")?;
        let renderers = all.iter().filter(|process| process["type"] == "renderer");
        let memories = renderers.filter_map(|process| memory(u32::try_from(process["id"].as_u64()?).ok()?));
        memories.reduce(f64::max).context("the browser has no renderer")
    }
}

/// What scripts hold, in MiB, after everything unreachable was freed.
fn held(call: impl Fn(&str) -> Result<Value>) -> Result<f64> {
    call("HeapProfiler.collectGarbage")?;
    let heap = call("Runtime.getHeapUsage")?;
    Ok(heap["usedSize"].as_f64().context("the browser tells no heap")? / MIB)
}

const MIB: f64 = 1024.0 * 1024.0;

/// What a process has of its own, in MiB.
fn memory(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// What a player presses, as if by chance.
pub(crate) struct Keys {
    held: Vec<&'static str>,
    chance: Chance,
}

impl Keys {
    pub(crate) const fn new() -> Self {
        Self { held: Vec::new(), chance: Chance(1) }
    }

    /// Lets go of what is held, and presses others.
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

/// Numbers that look random, and are the same each time.
struct Chance(u64);

impl Chance {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn judge(samples: &[Sample], complaints: &[String]) -> Vec<Check> {
    let unfilled = samples.iter().take_while(|sample| sample.before.at < FILLED.as_secs_f64()).count();
    let filled = &samples[unfilled..];
    let mut checks = vec![
        flat("the arena's memory in MiB", filled, |sample| sample.arena),
        flat("the memory of the page's process in MiB", filled, |sample| sample.renderer),
        flat("what the page's scripts hold in MiB", filled, |sample| sample.heap),
        flat("what the scripts of its workers hold in MiB", filled, |sample| sample.workers),
        flat("the number of the page's nodes", filled, |sample| sample.nodes),
    ];
    let beyond = |sample: &Sample| (sample.apart.abs() - sample.uncertain).max(0.0);
    let worst = samples.iter().map(beyond).fold(0.0, f64::max);
    let (first, last) = (&samples[0], &samples[samples.len() - 1]);
    checks.push(Check {
        what: format!("the page's clock is within {APART_MAX} ms of the relay's"),
        passed: Some(worst <= APART_MAX),
        measured: format!(
            "{:+.2} ms at first, {:+.2} ms at last, each ± {:.2}; at worst {worst:.2} ms more than the question explains",
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

/// Whether something does not grow, by its trend from the first look to the last, and from the first third to the last.
fn flat(what: &str, samples: &[Sample], of: impl Fn(&Sample) -> f64) -> Check {
    let what = format!("{what} grows by at most {:.0} %", 100.0 * GROWTH_MAX);
    if samples.len() < JUDGED_MIN {
        let measured = format!(
            "{} looks after the first {} s, and it takes {JUDGED_MIN}: play for 5 minutes or more",
            samples.len(),
            FILLED.as_secs()
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

/// The slope of the line of least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let variance: f64 = points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum();
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

/// What is not judged.
fn figures(samples: &[Sample], empty: &Frames, end: &Value, address: SocketAddr) -> Result<Figures> {
    let between = |of: fn(&Spent) -> f64| -> f64 {
        samples.windows(2).map(|looks| of(&looks[1].before) - of(&looks[0].after)).sum()
    };
    let mut frames = Frames::default();
    for looks in samples.windows(2) {
        frames.add(&looks[0].after.frames, &looks[1].before.frames);
    }
    let room = http::get(address, "/api/rooms/arena")?;
    let players = room["players"].as_array().context("the room has players")?.len();
    let each = end["players"].as_array().into_iter().flatten();
    let fouls = each.filter_map(|player| player["fouls"].as_f64()).sum();
    Ok(vec![
        ("players", players as f64),
        ("frames a second", frames.each_second()),
        ("frames missed a minute", frames.missed_each_minute()),
        ("the longest time from frame to frame, in ms", frames.longest),
        ("frames a second of an empty page, before", empty.each_second()),
        ("frames that it missed a minute", empty.missed_each_minute()),
        ("the longest time from frame to frame there, in ms", empty.longest),
        (
            "the page's share of a frame of 1/60 s, in % (its main thread)",
            6000.0 * between(|spent| spent.busy) / frames.drawn,
        ),
        ("of which scripts, in %", 6000.0 * between(|spent| spent.script) / frames.drawn),
        ("spread of the errors", end["spread"].as_f64().unwrap_or(f64::NAN)),
        ("mean error", end["mean"].as_f64().unwrap_or(f64::NAN)),
        ("shots that did not count", fouls),
    ])
}

fn line(sample: &Sample) -> String {
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
        let looks: Vec<String> = samples.iter().map(line).collect();
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
        let sample = |look: u32| {
            let at = FILLED.as_secs_f64() + f64::from(look);
            let (arena, renderer, nodes, uncertain) = (70.0, 90.0, 300.0, 0.5);
            let frames = Count { at, drawn: at, missed: 0.0, longest: 17.0 };
            let spent = Spent { at, frames, busy: at, script: at };
            let (heap, workers, before, after) = (heap(f64::from(look)), 2.0, spent, spent);
            Sample { arena, renderer, heap, workers, nodes, apart, uncertain, before, after }
        };
        (0..30).map(sample).collect()
    }

    fn passed(samples: &[Sample], complaints: &[String]) -> bool {
        held_all(&judge(samples, complaints))
    }

    #[test]
    fn what_grows_parts_or_complains_fails() {
        assert!(passed(&samples(|at| 5.0 + 0.1 * (at % 3.0), 1.4), &[]));
        assert!(!passed(&samples(|at| 5.0 + 0.02 * at, 0.0), &[]));
        assert!(!passed(&samples(|_| 5.0, -1.6), &[]));
        assert!(!passed(&samples(|_| 5.0, 0.0), &["a word".to_owned()]));
    }

    #[test]
    fn what_fills_at_first_is_not_judged() {
        let mut early = samples(|at| 5.0 + at, 0.0);
        for sample in &mut early {
            sample.before.at -= 29.5;
        }
        assert!(judge(&early, &[]).iter().take(5).all(|check| check.passed.is_none()));
        // Some that are early do no harm to enough that are not.
        let mut some = samples(|at| if at < 10.0 { at } else { 10.0 }, 0.0);
        for sample in &mut some {
            sample.before.at -= 10.0;
        }
        assert!(judge(&some, &[]).iter().all(|check| check.passed == Some(true)));
    }

    #[test]
    fn a_plan_is_read() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let plan = Plan::parse(&words("--bots 31 --minutes 1.5 --json")).expect("it is right");
        assert_eq!((plan.bots, plan.minutes, plan.is_json), (31, 1.5, true));
        for wrong in ["--minutes", "--minutes 0", "--bots many", "--what"] {
            assert!(Plan::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }
}

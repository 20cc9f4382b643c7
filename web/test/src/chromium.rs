//! A headless Chromium of our own: found or installed, started with a fresh profile, spoken to over a pipe, and ended whatever happens.
//!
//! The pipe (`--remote-debugging-pipe`) needs neither a port nor a WebSocket, and a Chromium whose pipe breaks ends itself: so
//! it does not outlive this program even if that is killed.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::cdp::Cdp;

/// What it is called, on different systems.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Nothing leaves this machine, nothing waits for a person, nothing slows down because nobody looks.
const FLAGS: [&str; 17] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-background-timer-throttling",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--window-size=1280,900",
    "--remote-debugging-pipe",
    "about:blank",
];

/// Chromium is given the pipe as its descriptors 3 and 4: what it reads, and what it writes.
const WITH_PIPE: &str = "exec \"$@\" 3<&0 4>&1 0</dev/null 1>&2";

/// How long it may take to end by itself.
const ENDING_MAX: Duration = Duration::from_secs(5);

/// A running Chromium.
pub(crate) struct Chromium {
    /// Its name and version, as it says.
    pub(crate) version: String,
    pub(crate) cdp: Cdp,
    child: Child,
    profile: PathBuf,
}

impl Chromium {
    /// Starts one. If none is installed, it is installed where that is possible.
    pub(crate) fn start() -> Result<Self> {
        let (program, version) = match find() {
            Some(found) => found,
            None => install()?,
        };
        let profile = std::env::temp_dir().join(format!("evenkeel-chromium-{}", std::process::id()));
        fs::create_dir_all(&profile)
            .with_context(|| format!("cannot make the folder {}", profile.display()))?;
        let log = File::create(profile.join("log")).context("cannot write into the new profile")?;
        let mut command = Command::new("sh");
        command.args(["-c", WITH_PIPE, "sh", program, &format!("--user-data-dir={}", profile.display())]);
        command.args(FLAGS).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        // A group of its own: what it starts can be ended with it.
        let child = command.process_group(0).spawn().context("cannot start a shell");
        let mut child = child.inspect_err(|_| drop(fs::remove_dir_all(&profile)))?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("a process with pipes has none");
        };
        let chromium = Self { version, cdp: Cdp::new(to, from), child, profile };
        let answer = chromium.cdp.call(None, "Browser.getVersion", json!({}));
        answer.with_context(|| format!("{program} does not answer:\n{}", chromium.log()))?;
        Ok(chromium)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.profile.join("log")).unwrap_or_default()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.cdp.send(None, "Browser.close", json!({}));
        let started = Instant::now();
        while started.elapsed() < ENDING_MAX && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(20));
        }
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
        remove(&self.profile);
    }
}

/// Those who just ended may still be writing: a few attempts.
fn remove(folder: &Path) {
    for _ in 0..20 {
        match fs::remove_dir_all(folder) {
            Err(error) if folder.exists() => {
                thread::sleep(Duration::from_millis(100));
                eprintln!("{}: {error}; trying again", folder.display());
            }
            _ => return,
        }
    }
}

/// A program that says that it is a Chromium, and which.
fn find() -> Option<(&'static str, String)> {
    NAMES.into_iter().find_map(|name| {
        let output = Command::new(name).arg("--version").stderr(Stdio::null()).output().ok()?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !version.is_empty()).then_some((name, version))
    })
}

fn install() -> Result<(&'static str, String)> {
    const ADVICE: &str = "the browser tests need Chromium: type `apt-get install chromium` as root, or install \
                          Chromium or Chrome as your system does that";
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let apt = |arguments: &[&str]| {
        println!("$ apt-get {}", arguments.join(" "));
        let mut apt = Command::new("apt-get");
        apt.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        apt.status().is_ok_and(|status| status.success())
    };
    let get = || apt(&["install", "--yes", "--no-install-recommends", "chromium"]);
    // Lists of packages that are old, or not there at all, are fetched once.
    if !is_root || !(get() || (apt(&["update"]) && get())) {
        bail!(ADVICE);
    }
    find().context(ADVICE)
}

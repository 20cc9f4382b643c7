//! A headless Chromium: found or installed, started with a fresh profile, controlled over a pipe, and always
//! stopped.
//!
//! The pipe (`--remote-debugging-pipe`) needs neither a port nor a WebSocket, and Chromium exits when it
//! breaks: it never outlives this program, even if that is killed.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::cdp::Cdp;

/// Names of the program on different systems.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// No traffic leaves this machine, nothing prompts, and nothing is throttled for being invisible.
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

/// Chromium expects the pipe on descriptors 3 (input) and 4 (output).
const ATTACH_PIPE: &str = "exec \"$@\" 3<&0 4>&1 0</dev/null 1>&2";

/// Time it has to exit by itself.
const ENDING_MAX: Duration = Duration::from_secs(5);

/// A running Chromium.
pub(crate) struct Chromium {
    /// Name and version, as reported by the program.
    pub(crate) version: String,
    pub(crate) cdp: Cdp,
    child: Child,
    profile: PathBuf,
}

impl Chromium {
    /// Starts one, installing it if necessary and possible.
    pub(crate) fn start() -> Result<Self> {
        let (program, version) = match find() {
            Some(found) => found,
            None => install()?,
        };
        let profile = std::env::temp_dir().join(format!("evenkeel-chromium-{}", std::process::id()));
        fs::create_dir_all(&profile)
            .with_context(|| format!("cannot create the folder {}", profile.display()))?;
        let log = File::create(profile.join("log")).context("cannot write to the new profile")?;
        let mut command = Command::new("sh");
        command.args(["-c", ATTACH_PIPE, "sh", program, &format!("--user-data-dir={}", profile.display())]);
        command.args(FLAGS).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        // A process group of its own, so that its children can be killed with it.
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
        remove_folder(&self.profile);
    }
}

/// Retries: processes that have just exited may still be writing.
fn remove_folder(folder: &Path) {
    for _ in 0..20 {
        match fs::remove_dir_all(folder) {
            Err(error) if folder.exists() => {
                thread::sleep(Duration::from_millis(100));
                eprintln!("{}: {error}; retrying", folder.display());
            }
            _ => return,
        }
    }
}

/// Finds an installed Chromium and its version.
fn find() -> Option<(&'static str, String)> {
    NAMES.into_iter().find_map(|name| {
        let output = Command::new(name).arg("--version").stderr(Stdio::null()).output().ok()?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !version.is_empty()).then_some((name, version))
    })
}

fn install() -> Result<(&'static str, String)> {
    const ADVICE: &str = "the browser tests need Chromium: run `apt-get install chromium` as root, or install \
                          Chromium or Chrome as your system does that";
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let apt = |arguments: &[&str]| {
        println!("$ apt-get {}", arguments.join(" "));
        let mut apt = Command::new("apt-get");
        apt.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        apt.status().is_ok_and(|status| status.success())
    };
    let get = || apt(&["install", "--yes", "--no-install-recommends", "chromium"]);
    // Update the package lists at most once.
    if !is_root || !(get() || (apt(&["update"]) && get())) {
        bail!(ADVICE);
    }
    find().context(ADVICE)
}

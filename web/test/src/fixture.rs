//! The environment of a test, and the checks after each.

use std::cell::RefCell;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;

use crate::arena::Arena;
use crate::browser_log::BrowserLog;
use crate::cdp::Cdp;
use crate::chromium::Chromium;
use crate::file_server::FileServer;
use crate::page::{POLL_INTERVAL, Page, WAIT_MAX};
use crate::relay::Relay;

/// What all tests share.
pub(crate) struct Harness<'a> {
    /// The program under test.
    pub(crate) evenkeel: &'a Path,
    /// The repository.
    pub(crate) root: &'a Path,
    pub(crate) server: &'a FileServer,
    pub(crate) chromium: &'a Chromium,
}

/// What one test has.
pub(crate) struct Fixture<'a> {
    pub(crate) harness: &'a Harness<'a>,
    /// Deleted after the test.
    pub(crate) folder: PathBuf,
    /// Complaints that contain one of these are expected.
    expected: RefCell<Vec<String>>,
    /// Screenshots of these pages are kept if the test fails.
    pages: RefCell<Vec<Rc<Page<'a>>>>,
    /// Stopped after the test.
    arenas: RefCell<Vec<Rc<Arena<'a>>>>,
}

impl<'a> Fixture<'a> {
    /// Runs a test, then checks what the browser logged meanwhile.
    pub(crate) fn run(
        harness: &'a Harness<'a>,
        name: &str,
        test: fn(&Fixture<'_>) -> Result<()>,
    ) -> Result<()> {
        let folder = harness.root.join("target/browser").join(file_name(name));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
        let fixture = Self {
            harness,
            folder,
            expected: RefCell::default(),
            pages: RefCell::default(),
            arenas: RefCell::default(),
        };
        fixture.cdp().take_log();
        let ran = panic::catch_unwind(AssertUnwindSafe(|| test(&fixture)));
        let ran = ran.unwrap_or_else(|_| Err(anyhow!("the test panicked")));
        let outcome = ran.and_then(|()| fixture.check_log());
        if outcome.is_err() {
            fixture.keep_screenshots();
        }
        fixture.close_pages()?;
        match outcome {
            Ok(()) => Ok(fs::remove_dir_all(&fixture.folder)?),
            Err(error) => {
                Err(error.context(format!("logs and screenshots are in {}", fixture.folder.display())))
            }
        }
    }

    pub(crate) fn cdp(&self) -> &'a Cdp {
        &self.harness.chromium.cdp
    }

    /// Opens a URL.
    pub(crate) fn open(&self, url: &str) -> Result<Rc<Page<'a>>> {
        let page = Rc::new(Page::open(self.cdp(), url)?);
        self.pages.borrow_mut().push(page.clone());
        Ok(page)
    }

    /// Opens a file of the repository.
    pub(crate) fn open_file(&self, path: &str) -> Result<Rc<Page<'a>>> {
        self.open(&self.harness.server.url(path))
    }

    /// Waits until `look` returns something, and returns that. `what` describes it in errors.
    pub(crate) fn wait<T>(&self, what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        let deadline = Instant::now() + WAIT_MAX;
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            if Instant::now() > deadline {
                bail!("timed out after {WAIT_MAX:?}: {what}");
            }
            thread::sleep(POLL_INTERVAL);
            // Any call also processes the browser's events.
            self.cdp().call(None, "Browser.getVersion", json!({}))?;
        }
    }

    /// Starts a relay.
    pub(crate) fn relay(&self) -> Result<Relay<'a>> {
        Relay::start(self.harness.evenkeel, &self.folder)
    }

    /// Starts an arena with these options. It outlives the pages, which keep sending it requests.
    pub(crate) fn arena(&self, options: &[&str]) -> Result<Rc<Arena<'a>>> {
        let arena = Rc::new(Arena::start(self.harness.evenkeel, &self.folder, options)?);
        self.arenas.borrow_mut().push(arena.clone());
        Ok(arena)
    }

    /// Tolerates complaints that contain these words from now on: the test provokes them.
    pub(crate) fn expect(&self, words: &str) {
        self.expected.borrow_mut().push(words.to_owned());
    }

    /// Closes all pages.
    pub(crate) fn close_pages(&self) -> Result<()> {
        self.pages.take().iter().try_for_each(|page| page.close())
    }

    /// Checks that a URL with this beginning was requested.
    pub(crate) fn expect_request(&self, beginning: &str) -> Result<()> {
        self.cdp().with_log(|log| {
            if log.requests.iter().any(|url| url.starts_with(beginning)) {
                return Ok(());
            }
            bail!("no request to {beginning}, but:\n{}", log.requests.join("\n"))
        })
    }

    /// Checks the log. Once a page answers, all earlier events have arrived.
    fn check_log(&self) -> Result<()> {
        self.pages.borrow().iter().try_for_each(|page| page.eval("0").map(drop))?;
        self.check(&self.cdp().take_log())
    }

    /// Checks for complaints and requests to other machines, and that anything was logged at all.
    pub(crate) fn check(&self, log: &BrowserLog) -> Result<()> {
        let expected = self.expected.borrow();
        let is_expected = |complaint: &str| expected.iter().any(|words| complaint.contains(words.as_str()));
        let complaints: Vec<&str> =
            log.complaints.iter().map(String::as_str).filter(|each| !is_expected(each)).collect();
        if !complaints.is_empty() {
            bail!("a console received warnings or errors:\n{}", complaints.join("\n"));
        }
        let foreign_requests: Vec<&str> = log.foreign_requests().collect();
        if !foreign_requests.is_empty() {
            bail!("requests left this machine:\n{}", foreign_requests.join("\n"));
        }
        if log.requests.is_empty() {
            bail!("no request was logged: is the browser still being watched?");
        }
        Ok(())
    }

    fn keep_screenshots(&self) {
        for (number, page) in self.pages.borrow().iter().enumerate() {
            if let Ok(screenshot) = page.screenshot() {
                let _ = fs::write(self.folder.join(format!("page-{number}.png")), screenshot);
            }
        }
    }
}

/// Turns a test's name into a folder's name.
fn file_name(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).take(60).collect()
}

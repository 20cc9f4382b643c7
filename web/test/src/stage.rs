//! What a test plays on, and what must be so at the end of each.

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
use crate::cdp::Cdp;
use crate::chromium::Chromium;
use crate::page::{LOOK_INTERVAL, Page, WAIT_MAX};
use crate::relay::Relay;
use crate::serve::Server;
use crate::witness::Witness;

/// What all tests share.
pub(crate) struct Place<'a> {
    /// The program under test.
    pub(crate) evenkeel: &'a Path,
    /// The repository.
    pub(crate) root: &'a Path,
    pub(crate) server: &'a Server,
    pub(crate) chromium: &'a Chromium,
}

/// What one test has.
pub(crate) struct Stage<'a> {
    pub(crate) place: &'a Place<'a>,
    /// A folder that ends with the test.
    pub(crate) folder: PathBuf,
    /// Complaints that hold one of these are expected.
    expected: RefCell<Vec<String>>,
    /// Pictures of these pages are kept if the test fails.
    pages: RefCell<Vec<Rc<Page<'a>>>>,
    /// These end with the test.
    arenas: RefCell<Vec<Rc<Arena<'a>>>>,
}

impl<'a> Stage<'a> {
    /// Runs a test, and then looks at what was seen meanwhile.
    pub(crate) fn play(place: &'a Place<'a>, name: &str, test: fn(&Stage<'_>) -> Result<()>) -> Result<()> {
        let folder = place.root.join("target/browser").join(file_name(name));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let stage = Self {
            place,
            folder,
            expected: RefCell::default(),
            pages: RefCell::default(),
            arenas: RefCell::default(),
        };
        stage.cdp().take_witness();
        let played = panic::catch_unwind(AssertUnwindSafe(|| test(&stage)));
        let played = played.unwrap_or_else(|_| Err(anyhow!("the test panicked")));
        let outcome = played.and_then(|()| stage.look_back());
        if outcome.is_err() {
            stage.keep_pictures();
        }
        stage.close_pages()?;
        match outcome {
            Ok(()) => Ok(fs::remove_dir_all(&stage.folder)?),
            Err(error) => Err(error.context(format!("logs and pictures are in {}", stage.folder.display()))),
        }
    }

    pub(crate) fn cdp(&self) -> &'a Cdp {
        &self.place.chromium.cdp
    }

    /// Opens an address.
    pub(crate) fn open(&self, url: &str) -> Result<Rc<Page<'a>>> {
        let page = Rc::new(Page::open(self.cdp(), url)?);
        self.pages.borrow_mut().push(page.clone());
        Ok(page)
    }

    /// Opens a file of the repository.
    pub(crate) fn open_file(&self, path: &str) -> Result<Rc<Page<'a>>> {
        self.open(&self.place.server.url(path))
    }

    /// Waits until something is there that is not on a page, and gives it. `what` says in words what is waited for.
    pub(crate) fn wait<T>(&self, what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        let deadline = Instant::now() + WAIT_MAX;
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            if Instant::now() > deadline {
                bail!("waited {WAIT_MAX:?} in vain: {what}");
            }
            thread::sleep(LOOK_INTERVAL);
            // What has happened meanwhile is noted.
            self.cdp().call(None, "Browser.getVersion", json!({}))?;
        }
    }

    /// Starts a relay.
    pub(crate) fn relay(&self) -> Result<Relay<'a>> {
        Relay::start(self.place.evenkeel, &self.folder)
    }

    /// Starts an arena, with these options. Its page asks it something all the time, so it ends after the pages do.
    pub(crate) fn arena(&self, options: &[&str]) -> Result<Rc<Arena<'a>>> {
        let arena = Rc::new(Arena::start(self.place.evenkeel, &self.folder, options)?);
        self.arenas.borrow_mut().push(arena.clone());
        Ok(arena)
    }

    /// From now on complaints that hold this are no failure: the test makes something go wrong.
    pub(crate) fn expect(&self, words: &str) {
        self.expected.borrow_mut().push(words.to_owned());
    }

    /// Closes all pages.
    pub(crate) fn close_pages(&self) -> Result<()> {
        self.pages.take().iter().try_for_each(|page| page.close())
    }

    /// Makes sure that an address was requested that begins like this.
    pub(crate) fn saw_request(&self, beginning: &str) -> Result<()> {
        self.cdp().witness(|witness| {
            if witness.requests.iter().any(|url| url.starts_with(beginning)) {
                return Ok(());
            }
            bail!("nothing at {beginning} was requested, but:\n{}", witness.requests.join("\n"))
        })
    }

    /// Everything that happened by now has been told when a page answers.
    fn look_back(&self) -> Result<()> {
        self.pages.borrow().iter().try_for_each(|page| page.eval("0").map(drop))?;
        self.judge(&self.cdp().take_witness())
    }

    /// Neither complaints nor requests for elsewhere; and the witness was awake.
    pub(crate) fn judge(&self, witness: &Witness) -> Result<()> {
        let expected = self.expected.borrow();
        let is_expected = |complaint: &str| expected.iter().any(|words| complaint.contains(words.as_str()));
        let complaints: Vec<&str> =
            witness.complaints.iter().map(String::as_str).filter(|each| !is_expected(each)).collect();
        if !complaints.is_empty() {
            bail!("a console has warnings or errors:\n{}", complaints.join("\n"));
        }
        let strays: Vec<&str> = witness.strays().collect();
        if !strays.is_empty() {
            bail!("requests left this machine:\n{}", strays.join("\n"));
        }
        if witness.requests.is_empty() {
            bail!("no request was seen at all: is the browser still watched?");
        }
        Ok(())
    }

    fn keep_pictures(&self) {
        for (number, page) in self.pages.borrow().iter().enumerate() {
            if let Ok(picture) = page.picture() {
                let _ = fs::write(self.folder.join(format!("page-{number}.png")), picture);
            }
        }
    }
}

/// The name of a test as that of a folder.
fn file_name(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).take(60).collect()
}

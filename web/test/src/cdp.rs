//! The Chrome DevTools Protocol over a pipe: JSON messages, each terminated by a zero byte. Calls wait for
//! their answer; events that arrive meanwhile go to the [`BrowserLog`].

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::browser_log::BrowserLog;

/// Timeout of a call.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Connection to a browser.
pub(crate) struct Cdp {
    pipe: RefCell<Pipe>,
    log: RefCell<BrowserLog>,
    /// Sessions of workers.
    workers: RefCell<Vec<String>>,
}

struct Pipe {
    to: ChildStdin,
    from: Receiver<Value>,
    next: u64,
}

impl Cdp {
    pub(crate) fn new(to: ChildStdin, from: ChildStdout) -> Self {
        let (heard, messages) = mpsc::channel();
        thread::spawn(move || {
            let mut from = BufReader::new(from);
            let mut bytes = Vec::new();
            while from.read_until(0, &mut bytes).is_ok_and(|count| count > 0) {
                if bytes.last() == Some(&0) {
                    bytes.pop();
                }
                if let Ok(message) = serde_json::from_slice(&bytes)
                    && heard.send(message).is_err()
                {
                    return;
                }
                bytes.clear();
            }
        });
        let pipe = Pipe { to, from: messages, next: 0 };
        Self { pipe: RefCell::new(pipe), log: RefCell::default(), workers: RefCell::default() }
    }

    /// Takes what was logged since the last call.
    pub(crate) fn take_log(&self) -> BrowserLog {
        self.log.take()
    }

    /// Looks at the log so far.
    pub(crate) fn with_log<T>(&self, look: impl FnOnce(&BrowserLog) -> T) -> T {
        look(&self.log.borrow())
    }

    /// Calls a method of a page or worker (`session`) or of the browser, and waits for its result.
    pub(crate) fn call(&self, session: Option<&str>, method: &str, parameters: Value) -> Result<Value> {
        let id = self.send(session, method, parameters)?;
        let deadline = Instant::now() + ANSWER_MAX;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = self.pipe.borrow().from.recv_timeout(left);
            let mut message = message.with_context(|| format!("{method}: the browser does not answer"))?;
            if message["id"] != json!(id) {
                self.note(&message)?;
                continue;
            }
            if let Some(words) = message["error"]["message"].as_str() {
                bail!("{method}: {words}");
            }
            return Ok(message["result"].take());
        }
    }

    /// Sends a call without waiting for its result.
    pub(crate) fn send(&self, session: Option<&str>, method: &str, parameters: Value) -> Result<u64> {
        let mut pipe = self.pipe.borrow_mut();
        pipe.next += 1;
        let mut message = json!({ "id": pipe.next, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        pipe.to.write_all(&bytes).with_context(|| format!("{method}: the browser has exited"))?;
        Ok(pipe.next)
    }

    /// Handles an event. New workers are paused until they are watched.
    fn note(&self, message: &Value) -> Result<()> {
        self.log.borrow_mut().note(message);
        if message["method"] != "Target.attachedToTarget" {
            return Ok(());
        }
        let session = message["params"]["sessionId"].as_str();
        let is_waiting = message["params"]["waitingForDebugger"] == true;
        if is_waiting {
            self.workers.borrow_mut().extend(session.map(str::to_owned));
            self.watch(session)?;
            self.send(session, "Runtime.runIfWaitingForDebugger", json!({}))?;
        }
        Ok(())
    }

    /// Returns the sessions of all workers so far.
    pub(crate) fn workers(&self) -> Vec<String> {
        self.workers.borrow().clone()
    }

    /// Subscribes to a page's or worker's console messages, requests, and new workers.
    pub(crate) fn watch(&self, session: Option<&str>) -> Result<()> {
        for domain in ["Runtime", "Log", "Network"] {
            self.send(session, &format!("{domain}.enable"), json!({}))?;
        }
        let workers = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        self.send(session, "Target.setAutoAttach", workers)?;
        Ok(())
    }
}

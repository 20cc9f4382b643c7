//! A page of the browser.

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::cdp::Cdp;

/// Timeout of conditions, long enough for a busy machine.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Non-character keys: name and legacy key code.
const KEYS: [(&str, u32); 8] = [
    ("Home", 36),
    ("ArrowLeft", 37),
    ("ArrowUp", 38),
    ("ArrowRight", 39),
    ("ArrowDown", 40),
    ("Tab", 9),
    ("Enter", 13),
    ("Escape", 27),
];

/// Bound on the controls before the one to be reached.
const TABS_MAX: u32 = 200;

/// Narrower screens, in pixels, count as phones.
const PHONE_BELOW: u32 = 600;

/// Resolves after two frames, when all finite animations have ended.
const AFTER_ANIMATIONS: &str = "(async () => { for (let frames = 0; frames < 2; frames += 1) await new Promise(requestAnimationFrame); \
    const passing = document.getAnimations().filter((each) => each.effect.getComputedTiming().endTime < Infinity); \
    await Promise.allSettled(passing.map((each) => each.finished)); })()";

/// A page in a browser context of its own, which shares no cookies or storage with others.
pub(crate) struct Page<'a> {
    cdp: &'a Cdp,
    context: String,
    session: String,
}

impl<'a> Page<'a> {
    /// Opens a URL and waits until it is loaded.
    pub(crate) fn open(cdp: &'a Cdp, url: &str) -> Result<Self> {
        let context = field(&cdp.call(None, "Target.createBrowserContext", json!({}))?, "browserContextId")?;
        // A window of its own, so that pages do not hide each other.
        let target = json!({ "url": "about:blank", "browserContextId": context, "newWindow": true });
        let target = field(&cdp.call(None, "Target.createTarget", target)?, "targetId")?;
        let attach = json!({ "targetId": target, "flatten": true });
        let session = field(&cdp.call(None, "Target.attachToTarget", attach)?, "sessionId")?;
        let page = Self { cdp, context, session };
        cdp.watch(Some(&page.session))?;
        page.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }))?;
        page.visit(url)?;
        Ok(page)
    }

    /// Navigates to another URL.
    pub(crate) fn visit(&self, url: &str) -> Result<()> {
        let went = self.call("Page.navigate", json!({ "url": url }))?;
        if let Some(words) = went["errorText"].as_str() {
            bail!("{url}: {words}");
        }
        self.wait(
            "the page is loaded",
            "document.readyState === 'complete' && location.href !== 'about:blank'",
        )?;
        Ok(())
    }

    pub(crate) fn call(&self, method: &str, parameters: Value) -> Result<Value> {
        self.cdp.call(Some(&self.session), method, parameters)
    }

    /// Evaluates an expression in the page; a promise is awaited.
    pub(crate) fn eval(&self, expression: &str) -> Result<Value> {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        value_of(expression, self.call("Runtime.evaluate", parameters)?)
    }

    /// Calls a function in the page with objects of the page.
    pub(crate) fn call_function(&self, function: &str, objects: &[String]) -> Result<Value> {
        let global = self.call("Runtime.evaluate", json!({ "expression": "globalThis" }))?;
        let arguments: Vec<Value> = objects.iter().map(|object| json!({ "objectId": object })).collect();
        let parameters = json!({
            "functionDeclaration": function, "objectId": global["result"]["objectId"], "arguments": arguments,
            "awaitPromise": true, "returnByValue": true,
        });
        value_of(function, self.call("Runtime.callFunctionOn", parameters)?)
    }

    /// Waits until an expression is truthy, and returns its value. `what` describes it in errors.
    pub(crate) fn wait(&self, what: &str, expression: &str) -> Result<Value> {
        self.wait_within(WAIT_MAX, what, expression)
    }

    /// Like `wait`, with another timeout.
    pub(crate) fn wait_within(&self, most: Duration, what: &str, expression: &str) -> Result<Value> {
        let deadline = Instant::now() + most;
        loop {
            // While a page is loading, evaluation may fail.
            let found = self.eval(expression);
            match found {
                Ok(value) if is_truthy(&value) => return Ok(value),
                _ if Instant::now() < deadline => thread::sleep(POLL_INTERVAL),
                Ok(value) => {
                    bail!("timed out after {most:?}: {what} (`{expression}` is {value})\n{}", self.text())
                }
                Err(error) => return Err(error.context(format!("timed out after {most:?}: {what}"))),
            }
        }
    }

    /// Returns the page's visible text, for error messages.
    fn text(&self) -> String {
        let mut text = String::from("the page shows:\n");
        let shown = self.eval("document.title + '\\n' + document.body.innerText");
        let _ = write!(text, "{}", shown.unwrap_or_default().as_str().unwrap_or_default());
        text
    }

    /// Presses a key and holds it.
    pub(crate) fn press(&self, key: &str) -> Result<()> {
        self.key("rawKeyDown", key)
    }

    /// Releases a key.
    pub(crate) fn release(&self, key: &str) -> Result<()> {
        self.key("keyUp", key)
    }

    fn key(&self, kind: &str, key: &str) -> Result<()> {
        let known = KEYS.iter().find(|(name, _)| *name == key);
        let (code, number) = match (known, key) {
            (Some((name, number)), _) => ((*name).to_owned(), *number),
            (None, " ") => ("Space".to_owned(), 32),
            (None, letter) => {
                let upper = letter.to_ascii_uppercase();
                (format!("Key{upper}"), u32::from(upper.bytes().next().unwrap_or_default()))
            }
        };
        let parameters = json!({ "type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number });
        self.call("Input.dispatchKeyEvent", parameters)?;
        Ok(())
    }

    /// Presses and releases a key.
    pub(crate) fn tap(&self, key: &str) -> Result<()> {
        self.press(key)?;
        self.release(key)
    }

    /// Presses Tab until an element that matches the selector has the focus.
    pub(crate) fn tab_to(&self, selector: &str) -> Result<()> {
        let is_there = format!("document.activeElement.matches({})", json!(selector));
        for _ in 0..TABS_MAX {
            if self.eval(&is_there)? == true {
                return Ok(());
            }
            self.tap("Tab")?;
        }
        bail!("`{selector}` is not reached by pressing Tab {TABS_MAX} times")
    }

    /// Clicks at the middle of the element that matches a selector, whatever lies on top.
    pub(crate) fn click(&self, selector: &str) -> Result<()> {
        let middle = self.eval(&format!(
            "(() => {{ const element = document.querySelector({}); element.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const {{ x, y, width, height }} = element.getBoundingClientRect(); return [x + width / 2, y + height / 2]; }})()",
            json!(selector)
        ))?;
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let button = if kind == "mouseMoved" { "none" } else { "left" };
            let event =
                json!({ "type": kind, "x": middle[0], "y": middle[1], "button": button, "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event)?;
        }
        Ok(())
    }

    /// Emulates a colour scheme and a screen size; small screens are touch screens. Waits until everything is
    /// redrawn.
    pub(crate) fn emulate(&self, scheme: &str, size: [u32; 2]) -> Result<()> {
        self.emulate_with_ratio(scheme, size, 1.0)
    }

    /// Like `emulate`, with a device pixel ratio.
    pub(crate) fn emulate_with_ratio(
        &self,
        scheme: &str,
        [width, height]: [u32; 2],
        pixels: f64,
    ) -> Result<()> {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", features)?;
        let metrics = json!({
            "width": width, "height": height, "screenWidth": width, "screenHeight": height,
            "deviceScaleFactor": pixels, "mobile": width < PHONE_BELOW,
        });
        self.call("Emulation.setDeviceMetricsOverride", metrics)?;
        let touch = json!({ "enabled": width < PHONE_BELOW, "maxTouchPoints": 2 });
        self.call("Emulation.setTouchEmulationEnabled", touch)?;
        self.eval(AFTER_ANIMATIONS)?;
        Ok(())
    }

    /// Takes a screenshot as a PNG.
    pub(crate) fn screenshot(&self) -> Result<Vec<u8>> {
        let screenshot = field(&self.call("Page.captureScreenshot", json!({}))?, "data")?;
        Ok(STANDARD.decode(screenshot)?)
    }

    /// Closes the page and its browser context.
    pub(crate) fn close(&self) -> Result<()> {
        let context = json!({ "browserContextId": self.context });
        self.cdp.call(None, "Target.disposeBrowserContext", context)?;
        Ok(())
    }
}

/// Extracts the value of an evaluation.
fn value_of(what: &str, mut answer: Value) -> Result<Value> {
    if let Some(thrown) = answer.get("exceptionDetails") {
        let words = &thrown["exception"]["description"];
        bail!("{what}: {}", words.as_str().unwrap_or("an exception was thrown"));
    }
    Ok(answer["result"]["value"].take())
}

fn field(answer: &Value, name: &str) -> Result<String> {
    let text = answer[name].as_str().with_context(|| format!("the browser's answer has no `{name}`"))?;
    Ok(text.to_owned())
}

/// Returns whether JavaScript takes a value for true.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

//! Records what pages and their workers write to their consoles, and what they request.

use serde_json::Value;

/// Hosts that are this machine.
const OWN_HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Log of the browser.
#[derive(Default)]
pub(crate) struct BrowserLog {
    /// Warnings and errors on consoles, and uncaught exceptions.
    pub(crate) complaints: Vec<String>,
    /// URL of every request, whatever made it.
    pub(crate) requests: Vec<String>,
}

impl BrowserLog {
    /// Records an event.
    pub(crate) fn note(&mut self, event: &Value) {
        let what = &event["params"];
        let complaint = match event["method"].as_str().unwrap_or_default() {
            "Runtime.consoleAPICalled"
                if matches!(what["type"].as_str(), Some("error" | "warning" | "assert")) =>
            {
                words(&what["args"])
            }
            "Runtime.exceptionThrown" => {
                let details = &what["exceptionDetails"];
                format!("{} {}", text(&details["text"]), text(&details["exception"]["description"]))
            }
            "Log.entryAdded" if matches!(what["entry"]["level"].as_str(), Some("error" | "warning")) => {
                format!("{} {}", text(&what["entry"]["text"]), text(&what["entry"]["url"]))
            }
            "Network.requestWillBeSent" => {
                return self.requests.push(text(&what["request"]["url"]).to_owned());
            }
            "Network.webTransportCreated" | "Network.webSocketCreated" => {
                return self.requests.push(text(&what["url"]).to_owned());
            }
            _ => return,
        };
        self.complaints.push(complaint.trim().to_owned());
    }

    /// Returns the requests to other machines.
    pub(crate) fn foreign_requests(&self) -> impl Iterator<Item = &str> {
        self.requests.iter().map(String::as_str).filter(|url| !is_own(url))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Joins the arguments of a console call.
fn words(arguments: &Value) -> String {
    let each = arguments.as_array().into_iter().flatten().map(|argument| match &argument["value"] {
        Value::String(text) => text.clone(),
        Value::Null => text(&argument["description"]).to_owned(),
        value => value.to_string(),
    });
    each.collect::<Vec<_>>().join(" ")
}

/// Returns whether a request stays on this machine.
fn is_own(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once(':') else { return false };
    if matches!(scheme, "data" | "blob" | "about") {
        return true;
    }
    let authority = rest.trim_start_matches('/').split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    OWN_HOSTS.iter().any(|own| {
        let port = host.strip_prefix(own).map(|rest| rest.strip_prefix(':').unwrap_or(rest));
        port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_requests_to_this_machine_are_own() {
        for url in [
            "http://127.0.0.1:80/a?b=http://x",
            "https://localhost",
            "https://[::1]:4/",
            "data:,x",
            "about:blank",
        ] {
            assert!(is_own(url), "{url}");
        }
        for url in [
            "http://example.org/127.0.0.1",
            "http://127.0.0.1.example.org/",
            "https://127.0.0.1@example.org/",
            "ws://localhost.example:80",
            "//x",
        ] {
            assert!(!is_own(url), "{url}");
        }
    }

    #[test]
    fn only_warnings_and_errors_are_complaints() {
        let mut log = BrowserLog::default();
        let console = |kind| json!({ "method": "Runtime.consoleAPICalled", "params": { "type": kind, "args": [{ "value": "a" }, { "value": 1 }] } });
        for kind in ["log", "info", "debug"] {
            log.note(&console(kind));
        }
        assert!(log.complaints.is_empty());
        log.note(&console("warning"));
        log.note(&json!({ "method": "Log.entryAdded", "params": { "entry": { "level": "error", "text": "t", "url": "u" } } }));
        log.note(&json!({ "method": "Network.webTransportCreated", "params": { "url": "https://x/" } }));
        assert_eq!(log.complaints, ["a 1", "t u"]);
        assert_eq!(log.foreign_requests().collect::<Vec<_>>(), ["https://x/"]);
    }
}

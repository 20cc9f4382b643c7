//! Who may use an HTTP API: reads come under a name of the program's, changes come from its own machine.
//!
//! A page from elsewhere that runs in a local browser reaches the API in two ways. Its script may send requests: the `Origin` header
//! tells. Or its name may be made to resolve to this machine (DNS rebinding): the `Host` header tells.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::error_response;

/// Parses the body of a request for a change, after checking that it is allowed.
///
/// # Errors
/// A response for a request that is forbidden or malformed.
pub fn authorized_body<T>(
    from: SocketAddr,
    headers: &HeaderMap,
    body: Result<Json<T>, JsonRejection>,
) -> Result<T, Box<Response>> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    authorize_change(from, text(header::HOST).unwrap_or_default(), text(header::ORIGIN))
        .map_err(|message| Box::new(error_response(StatusCode::FORBIDDEN, message)))?;
    let Json(value) =
        body.map_err(|rejection| Box::new(error_response(StatusCode::BAD_REQUEST, &rejection.body_text())))?;
    Ok(value)
}

/// Checks that a request may change something.
///
/// # Errors
/// The reason why it may not, for the client.
pub fn authorize_change(from: SocketAddr, host: &str, origin: Option<&str>) -> Result<(), &'static str> {
    if !from.ip().to_canonical().is_loopback() {
        return Err("changes are allowed only from the relay's own machine");
    }
    if !is_local(host) {
        return Err("the request is for another host");
    }
    let Some(origin) = origin else { return Ok(()) };
    let local = origin.strip_prefix("http://").is_some_and(|origin| origin == host);
    if local { Ok(()) } else { Err("pages from elsewhere may not make changes") }
}

/// Refuses requests to the API and the metrics under a name that is not the program's, and any with two `Host` headers.
pub(crate) async fn check_host(State(names): State<Arc<[String]>>, request: Request, next: Next) -> Response {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (host, other) = (hosts.next(), hosts.next());
    if other.is_some() {
        return error_response(StatusCode::BAD_REQUEST, "the request has two Host headers");
    }
    let path = request.uri().path();
    let is_guarded = path == "/metrics" || path == "/api" || path.starts_with("/api/");
    let host = host.map(|host| host.to_str().unwrap_or_default()).unwrap_or_default();
    let asked = request.uri().authority().map_or(host, |authority| authority.as_str());
    if is_guarded && !(is_own(host, &names) && is_own(asked, &names)) {
        let message =
            "the request is for another host: use localhost, an IP address, or a name that is configured";
        return error_response(StatusCode::FORBIDDEN, message);
    }
    next.run(request).await
}

/// Whether a `Host` header is one under which the API may be read. An address can't be made to resolve to this machine.
fn is_own(host: &str, names: &[String]) -> bool {
    let name = host_name(host);
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    is_local(host)
        || address.parse::<IpAddr>().is_ok()
        || names.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// Whether a `Host` header names this machine.
fn is_local(host: &str) -> bool {
    matches!(host_name(host), "localhost" | "127.0.0.1" | "[::1]")
}

/// A `Host` header without the port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(from: &str, host: &str, origin: Option<&str>) -> bool {
        authorize_change(from.parse().expect("an address"), host, origin).is_ok()
    }

    #[test]
    fn only_local_programs_and_pages_may_make_changes() {
        assert!(is_allowed("127.0.0.1:9", "127.0.0.1:7878", None));
        assert!(is_allowed("[::1]:9", "[::1]:7878", Some("http://[::1]:7878")));
        assert!(is_allowed("[::ffff:127.0.0.1]:9", "localhost", None));
        assert!(!is_allowed("192.168.0.2:9", "localhost:7878", None), "from another machine");
        assert!(
            !is_allowed("127.0.0.1:9", "evil.example:7878", None),
            "a name that was made to resolve to this machine"
        );
        assert!(!is_allowed("127.0.0.1:9", "localhost:7878", Some("http://evil.example")), "another page");
        assert!(!is_allowed("127.0.0.1:9", "localhost:7878", Some("null")), "a page without an origin");
        assert!(!is_allowed("127.0.0.1:9", "localhost:7878", Some("http://localhost:1234")), "another port");
    }

    #[test]
    fn the_api_is_read_under_addresses_and_names_of_its_own_only() {
        let names = ["relay.lan".to_owned()];
        for host in ["localhost:7878", "127.0.0.1", "[::1]:7878", "10.0.0.7:80", "[fe80::1]", "Relay.LAN:80"]
        {
            assert!(is_own(host, &names), "{host}");
        }
        for host in
            ["", "evil.example", "evil.example:7878", "relay.lan.evil.example", "127.0.0.1.evil.example"]
        {
            assert!(!is_own(host, &names), "{host}");
        }
    }
}

//! The relay's HTTP API.
//!
//! Anyone who can reach the address may read. Changes are allowed only from this machine, and only for its own programs and
//! pages: the `Host` and `Origin` headers identify pages from elsewhere that run in a local browser.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use evenkeel_dr::{Budget, EntityId, PairWeight, PolicyKind};
use serde::Deserialize;
use serde_json::json;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::config::budget;
use crate::game::ServedRoom;
use crate::metrics;
use crate::state::RelayState;
use evenkeel_net::token::Name;

/// Connections waiting to be accepted.
const BACKLOG: i32 = 1024;

/// Why the API could not listen.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Another program uses the address.
    #[error("{address} (TCP) is taken by another program: stop it, or choose another address")]
    Taken {
        /// The address.
        address: SocketAddr,
    },
    /// Any other failure.
    #[error("cannot listen on {address} (TCP): {source}")]
    Io {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
}

/// Binds all addresses or none. Must be called on a tokio runtime.
pub(crate) fn bind(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, HttpError> {
    let take = |&address: &SocketAddr| {
        listen(address).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => HttpError::Taken { address },
            _ => HttpError::Io { address, source },
        })
    };
    addresses.iter().map(take).collect()
}

/// Listens on an address. An IPv6 socket accepts IPv6 only, so that both families can use the same port.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // A restarted relay gets its port although connections of the former one linger.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Serves the API on these sockets.
pub(crate) fn serve<R: ServedRoom>(
    sockets: Vec<TcpListener>,
    relay: &Arc<RelayState<R>>,
    pages: Option<Router>,
) -> Vec<JoinHandle<()>> {
    let router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/metrics", get(scrape::<R>))
        .route("/api/certificate", get(certificate::<R>))
        .route("/api/rooms", get(rooms::<R>))
        .route("/api/rooms/{room}", get(room::<R>))
        .route("/api/rooms/{room}/policy", post(switch::<R>))
        .route("/api/rooms/{room}/weight", post(weigh::<R>))
        .with_state(relay.clone())
        .merge(pages.unwrap_or_else(|| Router::new().route("/", get(index))));
    let answer = |socket| {
        let service = router.clone().into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move {
            if let Err(error) = axum::serve(socket, service).await {
                tracing::error!("the API stopped: {error}");
            }
        })
    };
    sockets.into_iter().map(answer).collect()
}

async fn index() -> &'static str {
    "an Evenkeel relay: /metrics, /api/rooms, /api/rooms/<room>, /api/certificate\n"
}

async fn scrape<R: ServedRoom>(State(relay): State<Arc<RelayState<R>>>) -> Response {
    let text = metrics::text(&relay).await;
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

async fn certificate<R: ServedRoom>(State(relay): State<Arc<RelayState<R>>>) -> Response {
    let hashes: Vec<String> = relay.hashes().iter().map(ToString::to_string).collect();
    Json(json!({ "sha256": hashes })).into_response()
}

async fn rooms<R: ServedRoom>(State(relay): State<Arc<RelayState<R>>>) -> Response {
    let rooms: Vec<String> = relay.rooms().iter().map(|(name, _)| name.to_string()).collect();
    Json(json!({ "rooms": rooms })).into_response()
}

/// Returns an error response.
#[must_use]
pub fn error_response(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": message }))).into_response()
}

fn no_such_room(room: &str) -> Response {
    error_response(StatusCode::NOT_FOUND, &format!("there is no room {room}; /api/rooms lists all rooms"))
}

async fn room<R: ServedRoom>(State(relay): State<Arc<RelayState<R>>>, Path(room): Path<String>) -> Response {
    let report = match Name::new(&room) {
        Ok(name) => relay.report(&name).await,
        Err(_) => None,
    };
    report.map_or_else(|| no_such_room(&room), |report| Json(report).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchRequest {
    policy: String,
    #[serde(default = "budget_default", deserialize_with = "budget")]
    budget: Budget,
}

const fn budget_default() -> Budget {
    Budget::ALL
}

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

async fn switch<R: ServedRoom>(
    State(relay): State<Arc<RelayState<R>>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Path(room): Path<String>,
    body: Result<Json<SwitchRequest>, JsonRejection>,
) -> Response {
    let SwitchRequest { policy, budget } = match authorized_body(from, &headers, body) {
        Ok(value) => value,
        Err(refusal) => return *refusal,
    };
    let policy: PolicyKind = match policy.parse() {
        Ok(policy) => policy,
        Err(error) => return error_response(StatusCode::BAD_REQUEST, &format!("{error}")),
    };
    let Ok(name) = Name::new(&room) else { return no_such_room(&room) };
    match relay.switch(&name, policy, budget) {
        Ok(true) => Json(json!({ "policy": policy.to_string() })).into_response(),
        Ok(false) => no_such_room(&room),
        Err(error) => error_response(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WeighRequest {
    entity: u32,
    player: String,
    weight: f64,
}

async fn weigh<R: ServedRoom>(
    State(relay): State<Arc<RelayState<R>>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Path(room): Path<String>,
    body: Result<Json<WeighRequest>, JsonRejection>,
) -> Response {
    let WeighRequest { entity, player, weight } = match authorized_body(from, &headers, body) {
        Ok(value) => value,
        Err(refusal) => return *refusal,
    };
    let Some(weight) = PairWeight::new(weight) else {
        return error_response(
            StatusCode::BAD_REQUEST,
            "a weight is a number from 0 to 1000; the default is 1",
        );
    };
    let Ok(name) = Name::new(&room) else { return no_such_room(&room) };
    match relay.weigh(&name, EntityId(entity), &player, weight) {
        Some(Ok(true)) => Json(json!({ "weight": weight.get() })).into_response(),
        Some(Ok(false)) => {
            error_response(StatusCode::NOT_FOUND, &format!("there is no player {player} in the room {room}"))
        }
        None => no_such_room(&room),
        Some(Err(error)) => error_response(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
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

/// Whether a `Host` header names this machine.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(from: &str, host: &str, origin: Option<&str>) -> bool {
        authorize_change(from.parse().expect("an address"), host, origin).is_ok()
    }

    #[tokio::test]
    async fn both_families_can_use_the_same_port() {
        let first = bind(&["0.0.0.0:0".parse().expect("an address")]).expect("a port is free");
        let port = first[0].local_addr().expect("a local address").port();
        let other = format!("[::]:{port}").parse().expect("an address");
        match bind(&[other]) {
            Err(HttpError::Taken { address }) => panic!("{address} is taken"),
            // Some machines have no IPv6.
            Err(HttpError::Io { .. }) | Ok(_) => {}
        }
        assert!(matches!(
            bind(&[format!("0.0.0.0:{port}").parse().expect("an address")]),
            Err(HttpError::Taken { .. })
        ));
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
}

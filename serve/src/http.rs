//! What a relay tells about itself over plain HTTP, and the few things that can be changed there.
//!
//! Whoever can reach the address may ask. Changing anything is allowed from this machine only, and only by programs and
//! pages of this machine: a page from elsewhere in a browser here is told apart by the `Host` and `Origin` that it sends.

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
use crate::server::Shared;
use evenkeel_net::token::Name;

/// So many may wait to be answered.
const BACKLOG: i32 = 1024;

/// Why the API can't listen.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Somebody else does.
    #[error("{address} (TCP) is taken by another program: stop it, or choose another address")]
    Taken {
        /// Where.
        address: SocketAddr,
    },
    /// The system says no.
    #[error("cannot listen on {address} (TCP): {source}")]
    Io {
        /// Where.
        address: SocketAddr,
        /// What it says.
        source: io::Error,
    },
}

/// Takes the sockets, all or none. Has to be called where tokio runs.
pub(crate) fn bind(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, HttpError> {
    let take = |&address: &SocketAddr| {
        listen(address).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => HttpError::Taken { address },
            _ => HttpError::Io { address, source },
        })
    };
    addresses.iter().map(take).collect()
}

/// An IPv6 socket takes IPv6 alone, so that both families can have the same port.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // Who starts again at once gets its port, although connections of before are still dying away.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Answers on these sockets.
pub(crate) fn serve<R: ServedRoom>(
    sockets: Vec<TcpListener>,
    shared: &Arc<Shared<R>>,
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
        .with_state(shared.clone())
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

async fn scrape<R: ServedRoom>(State(shared): State<Arc<Shared<R>>>) -> Response {
    let text = metrics::text(&shared).await;
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

async fn certificate<R: ServedRoom>(State(shared): State<Arc<Shared<R>>>) -> Response {
    let hashes: Vec<String> = shared.hashes().iter().map(ToString::to_string).collect();
    Json(json!({ "sha256": hashes })).into_response()
}

async fn rooms<R: ServedRoom>(State(shared): State<Arc<Shared<R>>>) -> Response {
    let rooms: Vec<String> = shared.rooms().iter().map(|(name, _)| name.to_string()).collect();
    Json(json!({ "rooms": rooms })).into_response()
}

/// No, and why.
#[must_use]
pub fn refuse(status: StatusCode, words: &str) -> Response {
    (status, Json(json!({ "error": words }))).into_response()
}

fn no_such_room(room: &str) -> Response {
    refuse(StatusCode::NOT_FOUND, &format!("there is no room {room} here; /api/rooms lists those there are"))
}

async fn room<R: ServedRoom>(State(shared): State<Arc<Shared<R>>>, Path(room): Path<String>) -> Response {
    let report = match Name::new(&room) {
        Ok(name) => shared.report(&name).await,
        Err(_) => None,
    };
    report.map_or_else(|| no_such_room(&room), |report| Json(report).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    policy: String,
    #[serde(default = "all", deserialize_with = "budget")]
    budget: Budget,
}

const fn all() -> Budget {
    Budget::ALL
}

/// What a request that may change something asks for.
///
/// # Errors
/// The refusal, if it may not or cannot be read.
pub fn asked<T>(
    from: SocketAddr,
    headers: &HeaderMap,
    body: Result<Json<T>, JsonRejection>,
) -> Result<T, Box<Response>> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    may_change(from, text(header::HOST).unwrap_or_default(), text(header::ORIGIN))
        .map_err(|words| Box::new(refuse(StatusCode::FORBIDDEN, words)))?;
    let Json(asked) =
        body.map_err(|rejection| Box::new(refuse(StatusCode::BAD_REQUEST, &rejection.body_text())))?;
    Ok(asked)
}

async fn switch<R: ServedRoom>(
    State(shared): State<Arc<Shared<R>>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Path(room): Path<String>,
    body: Result<Json<Switch>, JsonRejection>,
) -> Response {
    let Switch { policy, budget } = match asked(from, &headers, body) {
        Ok(asked) => asked,
        Err(refusal) => return *refusal,
    };
    let policy: PolicyKind = match policy.parse() {
        Ok(policy) => policy,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &format!("{error}")),
    };
    let Ok(name) = Name::new(&room) else { return no_such_room(&room) };
    match shared.switch(&name, policy, budget) {
        Ok(true) => Json(json!({ "policy": policy.to_string() })).into_response(),
        Ok(false) => no_such_room(&room),
        Err(error) => refuse(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Weigh {
    entity: u32,
    player: String,
    weight: f64,
}

async fn weigh<R: ServedRoom>(
    State(shared): State<Arc<Shared<R>>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Path(room): Path<String>,
    body: Result<Json<Weigh>, JsonRejection>,
) -> Response {
    let Weigh { entity, player, weight } = match asked(from, &headers, body) {
        Ok(asked) => asked,
        Err(refusal) => return *refusal,
    };
    let Some(weight) = PairWeight::new(weight) else {
        return refuse(StatusCode::BAD_REQUEST, "a weight is between 0 and 1000; 1 is as much as any other");
    };
    let Ok(name) = Name::new(&room) else { return no_such_room(&room) };
    match shared.weigh(&name, EntityId(entity), &player, weight) {
        Some(Ok(true)) => Json(json!({ "weight": weight.get() })).into_response(),
        Some(Ok(false)) => {
            refuse(StatusCode::NOT_FOUND, &format!("there is no player {player} in the room {room}"))
        }
        None => no_such_room(&room),
        Some(Err(error)) => refuse(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

/// Whether a request may change something; if not, why.
///
/// # Errors
/// Words for whoever asked.
pub fn may_change(from: SocketAddr, host: &str, origin: Option<&str>) -> Result<(), &'static str> {
    if !from.ip().to_canonical().is_loopback() {
        return Err("this can be changed from the relay's own machine only");
    }
    if !is_local(host) {
        return Err("the request is meant for another host");
    }
    let Some(origin) = origin else { return Ok(()) };
    let local = origin.strip_prefix("http://").is_some_and(|origin| origin == host);
    if local { Ok(()) } else { Err("a page from elsewhere may not change this") }
}

/// Whether a `Host` is this machine's own name.
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

    fn asked(from: &str, host: &str, origin: Option<&str>) -> bool {
        may_change(from.parse().expect("an address"), host, origin).is_ok()
    }

    #[tokio::test]
    async fn every_address_of_both_families_can_have_the_same_port() {
        let first = bind(&["0.0.0.0:0".parse().expect("an address")]).expect("a port is free");
        let port = first[0].local_addr().expect("it has one").port();
        let other = format!("[::]:{port}").parse().expect("an address");
        match bind(&[other]) {
            Err(HttpError::Taken { address }) => panic!("{address} is taken"),
            // There are machines without IPv6.
            Err(HttpError::Io { .. }) | Ok(_) => {}
        }
        assert!(matches!(
            bind(&[format!("0.0.0.0:{port}").parse().expect("an address")]),
            Err(HttpError::Taken { .. })
        ));
    }

    #[test]
    fn only_programs_and_pages_of_this_machine_change_anything() {
        assert!(asked("127.0.0.1:9", "127.0.0.1:7878", None));
        assert!(asked("[::1]:9", "[::1]:7878", Some("http://[::1]:7878")));
        assert!(asked("[::ffff:127.0.0.1]:9", "localhost", None));
        assert!(!asked("192.168.0.2:9", "localhost:7878", None), "from another machine");
        assert!(!asked("127.0.0.1:9", "evil.example:7878", None), "a name that was bent to here");
        assert!(!asked("127.0.0.1:9", "localhost:7878", Some("http://evil.example")), "another page");
        assert!(!asked("127.0.0.1:9", "localhost:7878", Some("null")), "a page without a home");
        assert!(!asked("127.0.0.1:9", "localhost:7878", Some("http://localhost:1234")), "another port");
    }
}

//! The relay's HTTP API.
//!
//! Anyone who can reach the address may read, but not under somebody else's name. Changes are allowed only from this machine, and
//! only for its own programs and pages (`drive/http`).

mod changes;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use evenkeel_http::{error_response, guarded, serve_all};
use serde_json::json;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::game::ServedRoom;
use crate::metrics;
use crate::state::RelayState;
use evenkeel_net::token::Name;

/// Connections waiting to be accepted.
const BACKLOG: i32 = 1024;

/// Why the API could not listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
        .route("/api/rooms/{room}/policy", post(changes::policy::<R>))
        .route("/api/rooms/{room}/order", post(changes::order::<R>))
        .route("/api/rooms/{room}/weight", post(changes::weight::<R>))
        .with_state(relay.clone())
        .merge(pages.unwrap_or_else(|| Router::new().route("/", get(index))));
    serve_all(sockets, &guarded(router, &relay.config.http_names), None)
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

#[cfg(test)]
mod tests {
    use super::*;

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
}

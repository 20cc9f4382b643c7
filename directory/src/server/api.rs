//! The directory over HTTP: its page, and JSON for relays and players.
//!
//! Lists and tokens may be asked for by pages from anywhere (CORS), as a game's own page is one. Registering is for
//! programs: a request with an `Origin` is refused.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post};
use axum::{Extension, Json, Router};
use serde_json::json;

use super::state::{DirectoryState, Refusal};
use crate::model::{Joining, LIFETIME, Registered, Registration};

/// The largest body of a request: a relay with the most rooms.
const BODY_BYTES_MAX: usize = 64 << 10;
/// The time limit of a request's body.
const ANSWER_MAX: Duration = Duration::from_secs(10);

type Shared = State<Arc<DirectoryState>>;

/// The address of the caller.
#[derive(Clone, Copy)]
struct Caller(IpAddr);

pub(crate) fn router(state: &Arc<DirectoryState>) -> Router {
    let anywhere = HeaderValue::from_static("*");
    let public = Router::new()
        .route("/api/relays", get(list).post(register))
        .route("/api/issuer", get(issuer))
        .route("/api/relays/{relay}/rooms/{room}/join", post(join).options(preflight))
        .layer(axum::middleware::map_response(move |mut response: Response| {
            let anywhere = anywhere.clone();
            async move {
                response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, anywhere);
                response
            }
        }));
    Router::new()
        .route("/api/relays/{relay}", delete(leave))
        .merge(public)
        .layer(from_fn_with_state(state.clone(), guard))
        .route("/", file("text/html; charset=utf-8", include_str!("../../page/index.html")))
        .route("/style.css", file("text/css; charset=utf-8", include_str!("../../page/style.css")))
        .route("/page.js", file("text/javascript; charset=utf-8", include_str!("../../page/page.js")))
        .route("/healthz", get(|| async { "ok\n" }))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(state.clone())
}

fn file(kind: &'static str, text: &'static str) -> MethodRouter<Arc<DirectoryState>> {
    get(move || async move { ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], text) })
}

fn refused((status, reason): Refusal) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    (status, Json(json!({ "error": reason }))).into_response()
}

/// Finds out who calls, and whether that address may ask now.
async fn guard(
    State(state): Shared,
    Extension(ConnectInfo(from)): Extension<ConnectInfo<SocketAddr>>,
    mut request: Request,
    next: Next,
) -> Response {
    let forwarded = request.headers().get_all("x-forwarded-for").iter().next_back();
    let forwarded = forwarded.and_then(|value| value.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    let from = forwarded.filter(|_| state.config.behind_proxy).unwrap_or(from.ip());
    if !state.may_ask(from) {
        return refused((429, "too many requests from one address: wait a minute".to_owned()));
    }
    request.extensions_mut().insert(Caller(from));
    match tokio::time::timeout(ANSWER_MAX, next.run(request)).await {
        Ok(response) => response,
        Err(_) => refused((408, "the request took too long".to_owned())),
    }
}

async fn list(State(state): Shared) -> Response {
    Json(state.list()).into_response()
}

async fn issuer(State(state): Shared) -> Response {
    Json(json!({ "issuer": state.issuer().to_string() })).into_response()
}

async fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Checks that a relay calls, and not a page, and that it may.
fn authorize(state: &DirectoryState, from: IpAddr, headers: &HeaderMap) -> Result<(), Refusal> {
    if headers.contains_key(header::ORIGIN) {
        return Err((403, "pages may not register relays".to_owned()));
    }
    let secret = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
    state.authorize(from, secret.map(|secret| secret.strip_prefix("Bearer ").unwrap_or_default()))
}

async fn register(
    State(state): Shared,
    Extension(Caller(from)): Extension<Caller>,
    headers: HeaderMap,
    body: Result<Json<Registration>, JsonRejection>,
) -> Response {
    let outcome = authorize(&state, from, &headers).and_then(|()| {
        let Json(registration) = body.map_err(|error| (400, error.body_text()))?;
        state.register(from, registration)
    });
    match outcome {
        Ok(()) => Json(Registered { expires_in_s: LIFETIME.as_secs() }).into_response(),
        Err(refusal) => refused(refusal),
    }
}

async fn leave(
    State(state): Shared,
    Extension(Caller(from)): Extension<Caller>,
    headers: HeaderMap,
    Path(relay): Path<String>,
) -> Response {
    let outcome = authorize(&state, from, &headers).and_then(|()| state.leave(from, &relay));
    outcome.map_or_else(refused, |()| Json(json!({})).into_response())
}

async fn join(
    State(state): Shared,
    Extension(Caller(from)): Extension<Caller>,
    Path((relay, room)): Path<(String, String)>,
    body: Result<Json<Joining>, JsonRejection>,
) -> Response {
    let joining = match body {
        Ok(Json(joining)) => joining,
        Err(error) => return refused((400, error.body_text())),
    };
    state.join(from, &relay, &room, &joining).map_or_else(refused, |ticket| Json(ticket).into_response())
}

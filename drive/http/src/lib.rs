//! Pages and APIs over HTTP, for programs that players and operators run: how many connections there are and how long they
//! take, and who may read and change what.
//!
//! ```
//! use axum::Router;
//! use axum::routing::get;
//! use tokio::net::TcpListener;
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let socket = TcpListener::bind("127.0.0.1:0").await?;
//! let router = Router::new().route("/api/time", get(|| async { "now" }));
//! // Requests for /api and /metrics under any other name than these, localhost and an address are refused.
//! let router = evenkeel_http::guarded(router, &["game.example".to_owned()]);
//! let serving = tokio::spawn(evenkeel_http::serve(socket, router));
//! # serving.abort();
//! # Ok::<(), std::io::Error>(())
//! # })?;
//! # Ok::<(), std::io::Error>(())
//! ```

mod connections;
mod guard;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::json;

pub use connections::{BUFFER_BYTES, limit_time, serve, serve_all};
pub use guard::{authorize_change, authorized_body};

/// The longest body of a request.
const BODY_BYTES_MAX: usize = 64 * 1_024;

/// Limits the time and the size of requests, and refuses those to the API and the metrics under a name that is neither
/// `localhost`, nor an address, nor one of these.
pub fn guarded(router: Router, names: &[String]) -> Router {
    let names: Arc<[String]> = names.into();
    router
        .layer(from_fn(limit_time))
        .layer(from_fn_with_state(names, guard::check_host))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

/// Returns an error response.
#[must_use]
pub fn error_response(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": message }))).into_response()
}

//! The page, the reports and the metrics over HTTP. Whoever reaches the address may read, but not under somebody else's name;
//! nothing can be changed.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use evenkeel_net::crank::CrankError;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::StartError;
use crate::client::ClientState;
use crate::report::{ClientReport, ServerReport};
use crate::server::ServerState;

/// What a page is about.
pub(crate) trait Paged: Send + Sync + 'static {
    type Report: Serialize;
    fn page_report(&self) -> impl Future<Output = Self::Report> + Send;
    fn page_metrics(&self) -> impl Future<Output = String> + Send;
    /// Why the service is not there, if it is not.
    fn page_failure(&self) -> impl Future<Output = Option<CrankError>> + Send;
}

impl Paged for ServerState {
    type Report = ServerReport;
    fn page_report(&self) -> impl Future<Output = ServerReport> + Send {
        self.report()
    }
    fn page_metrics(&self) -> impl Future<Output = String> + Send {
        self.metrics()
    }
    fn page_failure(&self) -> impl Future<Output = Option<CrankError>> + Send {
        self.failure()
    }
}

impl Paged for ClientState {
    type Report = ClientReport;
    fn page_report(&self) -> impl Future<Output = ClientReport> + Send {
        self.report()
    }
    fn page_metrics(&self) -> impl Future<Output = String> + Send {
        self.metrics()
    }
    fn page_failure(&self) -> impl Future<Output = Option<CrankError>> + Send {
        self.failure()
    }
}

/// Serves the page, its API under these names. Returns its address.
pub(crate) async fn serve<P: Paged>(
    tasks: &mut JoinSet<()>,
    address: SocketAddr,
    names: &[String],
    about: Arc<P>,
) -> Result<SocketAddr, StartError> {
    let failed = |source| StartError::Listen { address, what: "the page, TCP", source };
    let socket = TcpListener::bind(address).await.map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    let file = |kind: &'static str, text: &'static str| {
        get(
            move || async move { ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], text) },
        )
    };
    let router = Router::new()
        .route("/", file("text/html; charset=utf-8", include_str!("../page/index.html")))
        .route("/style.css", file("text/css; charset=utf-8", include_str!("../page/style.css")))
        .route("/page.js", file("text/javascript; charset=utf-8", include_str!("../page/page.js")))
        .route("/healthz", get(health::<P>))
        .route("/api/players", get(players::<P>))
        .route("/metrics", get(scrape::<P>))
        .with_state(about);
    tasks.spawn(evenkeel_http::serve(socket, evenkeel_http::guarded(router, names)));
    Ok(address)
}

async fn health<P: Paged>(State(about): State<Arc<P>>) -> Response {
    match about.page_failure().await {
        None => "ok\n".into_response(),
        Some(failure) => (StatusCode::SERVICE_UNAVAILABLE, format!("{failure}\n")).into_response(),
    }
}

async fn players<P: Paged>(State(about): State<Arc<P>>) -> Response {
    Json(about.page_report().await).into_response()
}

async fn scrape<P: Paged>(State(about): State<Arc<P>>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], about.page_metrics().await).into_response()
}

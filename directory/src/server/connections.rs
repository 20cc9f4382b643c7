//! HTTP connections: how many at a time, and how long each may take.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Connections at a time; more wait.
const CONNECTIONS_MAX: usize = 1_024;
/// The size of a connection's buffer. A request's head must fit.
const BUFFER_BYTES: usize = 16 << 10;
/// The time limit of a request's head, and of the pause between two requests.
const HEAD_MAX: Duration = Duration::from_secs(10);
/// The time limit of a connection: whoever reads slowly does not hold it for ever.
const CONNECTION_MAX: Duration = Duration::from_secs(120);
/// How long to wait after a failed `accept`.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves a router on these sockets, which share a limit of connections.
pub(crate) fn serve(sockets: Vec<TcpListener>, router: &Router) -> JoinSet<()> {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    sockets.into_iter().map(|socket| listen(socket, router.clone(), slots.clone())).collect()
}

async fn listen(socket: TcpListener, router: Router, slots: Arc<Semaphore>) {
    let mut connections = JoinSet::new();
    while let Ok(slot) = slots.clone().acquire_owned().await {
        while connections.try_join_next().is_some() {}
        let (stream, from) = match socket.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                sleep(PAUSE).await;
                continue;
            }
        };
        let router = router.clone().layer(Extension(ConnectInfo(from)));
        connections.spawn(async move {
            let _slot = slot;
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX).max_buf_size(BUFFER_BYTES);
            let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
            let _ = timeout(CONNECTION_MAX, connection).await;
        });
    }
}

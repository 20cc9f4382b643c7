//! HTTP connections, plain or over TLS: how many there are at a time, how long they take, and how much memory each holds.
//!
//! A connection holds at most about four buffers of [`BUFFER_BYTES`], whatever is downloaded. It ends if a request's head takes too
//! long, if it is idle, or if its client reads too slowly.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::{ConnectInfo, Request};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::error_response;

/// Connections of one kind at a time; more wait.
const CONNECTIONS_MAX: usize = 1_024;
/// The size of a connection's buffers. A request's head must fit.
pub const BUFFER_BYTES: usize = 16 * 1_024;
/// The time limit of a TLS handshake, of a request's head, and of the pause between two requests.
const HEAD_MAX: Duration = Duration::from_secs(10);
/// The time limit of a request's body and of the work until the answer begins.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// The longest time that a client may read nothing.
const STALL_MAX: Duration = Duration::from_secs(20);
/// The bytes per second that a client must read on average.
const READ_RATE_MIN: f64 = 8_192.0;
/// How long to wait after a failed `accept`.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves a router on a socket until it is dropped.
pub async fn serve(socket: TcpListener, router: Router) {
    listen(socket, router, None, Arc::new(Semaphore::new(CONNECTIONS_MAX))).await;
}

/// Serves a router on these sockets, which share a limit of connections. Must be called on a tokio runtime.
pub fn serve_all(
    sockets: Vec<TcpListener>,
    router: &Router,
    tls: Option<&TlsAcceptor>,
) -> Vec<JoinHandle<()>> {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let start = |socket| tokio::spawn(listen(socket, router.clone(), tls.cloned(), slots.clone()));
    sockets.into_iter().map(start).collect()
}

async fn listen(socket: TcpListener, router: Router, tls: Option<TlsAcceptor>, slots: Arc<Semaphore>) {
    while let Ok(slot) = slots.clone().acquire_owned().await {
        match socket.accept().await {
            Ok((stream, from)) => {
                let (router, tls) = (router.clone(), tls.clone());
                tokio::spawn(async move {
                    let _slot = slot;
                    match tls {
                        Some(tls) => answer_secretly(stream, from, router, tls).await,
                        None => answer(PacedStream::new(stream), from, router).await,
                    }
                });
            }
            Err(error) => {
                tracing::warn!("an HTTP connection could not be accepted: {error}");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn answer_secretly(stream: TcpStream, from: SocketAddr, router: Router, tls: TlsAcceptor) {
    let limit = |session: &mut rustls::ServerConnection| session.set_buffer_limit(Some(BUFFER_BYTES));
    let handshake = tls.accept_with(PacedStream::new(stream), limit);
    match timeout(HEAD_MAX, handshake).await {
        Ok(Ok(stream)) => answer(stream, from, router).await,
        _ => tracing::debug!("{from}: the TLS handshake failed"),
    }
}

async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin, from: SocketAddr, router: Router) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX).max_buf_size(BUFFER_BYTES);
    let router = router.layer(Extension(ConnectInfo(from)));
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = connection.await {
        tracing::debug!("{from}: {error}");
    }
}

/// Ends requests whose body or answer takes too long.
pub async fn limit_time(request: Request, next: Next) -> Response {
    match timeout(ANSWER_MAX, next.run(request)).await {
        Ok(response) => response,
        Err(_) => error_response(StatusCode::REQUEST_TIMEOUT, "the request took too long"),
    }
}

/// A stream that fails once its other side reads too slowly: the time that writing had to wait is limited, and every byte that is
/// read earns some.
struct PacedStream<S> {
    stream: S,
    /// Time that writing may still wait.
    patience: Duration,
    waits_since: Option<Instant>,
    limit: Pin<Box<Sleep>>,
}

impl<S> PacedStream<S> {
    fn new(stream: S) -> Self {
        Self { stream, patience: STALL_MAX, waits_since: None, limit: Box::pin(sleep(STALL_MAX)) }
    }

    /// Passes the result of an attempt to write on, unless it has to wait and has waited enough.
    fn pace<T>(
        &mut self,
        context: &mut Context<'_>,
        attempt: Poll<io::Result<T>>,
        bytes: impl FnOnce(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(Ok(done)) = &attempt {
            let earned = Duration::from_secs_f64(bytes(done) as f64 / READ_RATE_MIN);
            let waited = self.waits_since.take().map_or(Duration::ZERO, |since| since.elapsed());
            self.patience = (self.patience.saturating_sub(waited) + earned).min(STALL_MAX);
        }
        if attempt.is_ready() {
            return attempt;
        }
        if self.waits_since.is_none() {
            let now = Instant::now();
            self.waits_since = Some(now);
            self.limit.as_mut().reset(now + self.patience);
        }
        ready!(self.limit.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client reads too slowly")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PacedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PacedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.pace(context, attempt, |written| *written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.pace(context, attempt, |written| *written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.stream).poll_flush(context);
        self.pace(context, attempt, |()| 0)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.stream).poll_shutdown(context);
        self.pace(context, attempt, |()| 0)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_reads_nothing_is_cut_off_and_who_reads_slowly_but_steadily_is_not() {
        let (ours, mut theirs) = duplex(1_024);
        let mut paced = PacedStream::new(ours);
        let start = Instant::now();
        let error = paced.write_all(&[0; 4_096]).await.expect_err("nobody reads");
        assert_eq!((error.kind(), start.elapsed()), (io::ErrorKind::TimedOut, STALL_MAX));

        let (ours, mut steady) = duplex(1_024);
        let mut paced = PacedStream::new(ours);
        let reader = tokio::spawn(async move {
            let mut read = 0;
            let mut bytes = [0; 1_024];
            while let Ok(count @ 1..) = steady.read(&mut bytes).await {
                read += count;
                sleep(Duration::from_millis(100)).await;
            }
            read
        });
        paced.write_all(&vec![0; 1 << 20]).await.expect("10 kB/s are enough");
        drop(paced);
        assert_eq!(reader.await.expect("it reads"), 1 << 20);

        let (ours, mut slow) = duplex(1_024);
        let mut paced = PacedStream::new(ours);
        tokio::spawn(async move {
            while let Ok(1..) = slow.read(&mut [0; 100]).await {
                sleep(Duration::from_secs(1)).await;
            }
        });
        let start = Instant::now();
        assert!(paced.write_all(&vec![0; 1 << 20]).await.is_err(), "100 bytes/s are not enough");
        assert!(start.elapsed() < 2 * STALL_MAX, "{:?}", start.elapsed());
        let _ = theirs.read(&mut [0; 1]).await;
    }
}

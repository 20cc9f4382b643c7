//! A small HTTP client: one request per connection, with limits on time and size.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::{Method, Request, header};
use hyper_util::rt::TokioIo;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Url;

use crate::client::DirectoryError;

/// The time limit of a request.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// The largest answer.
const BODY_BYTES_MAX: usize = 8 << 20;

/// A request.
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) secret: Option<&'a str>,
    pub(crate) body: Vec<u8>,
}

/// Sends a request. Returns the status and the body.
pub(crate) async fn send(call: Call<'_>) -> Result<(u16, Bytes), DirectoryError> {
    let url = call.url.to_string();
    match tokio::time::timeout(ANSWER_MAX, connect_and_send(call)).await {
        Ok(answer) => answer,
        Err(_) => Err(DirectoryError::NoAnswer { url, why: "it took longer than 10 s".to_owned() }),
    }
}

async fn connect_and_send(call: Call<'_>) -> Result<(u16, Bytes), DirectoryError> {
    let url = call.url.to_string();
    let failed =
        |why: &dyn std::fmt::Display| DirectoryError::NoAnswer { url: url.clone(), why: why.to_string() };
    let host = call.url.host_str().ok_or_else(|| DirectoryError::NotAnAddress { url: url.clone() })?;
    let port = call.url.port_or_known_default().unwrap_or(crate::PORT);
    // Brackets around an IPv6 address belong to the URL only.
    let plain = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let stream = TcpStream::connect((plain.as_str(), port)).await.map_err(|error| failed(&error))?;
    let _ = stream.set_nodelay(true);
    match call.url.scheme() {
        "http" => converse(stream, &call, host, port).await,
        "https" => {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = rustls::ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .and_then(BuilderVerifierExt::with_platform_verifier)
                .map_err(|error| failed(&error))?
                .with_no_client_auth();
            let name = plain.try_into().map_err(|_| DirectoryError::NotAnAddress { url: url.clone() })?;
            let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
            converse(connecting.map_err(|error| failed(&error))?, &call, host, port).await
        }
        _ => Err(DirectoryError::NotAnAddress { url }),
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    call: &Call<'_>,
    host: &str,
    port: u16,
) -> Result<(u16, Bytes), DirectoryError> {
    let url = &call.url;
    let failed = |error: &dyn std::fmt::Display| DirectoryError::NoAnswer {
        url: url.to_string(),
        why: error.to_string(),
    };
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
    let connection = tokio::spawn(connection);
    let mut request = Request::builder()
        .method(call.method.clone())
        .uri(&url[url::Position::BeforePath..])
        .header(header::HOST, format!("{host}:{port}"))
        .header(header::CONTENT_TYPE, "application/json");
    if let Some(secret) = call.secret {
        request = request.header(header::AUTHORIZATION, format!("Bearer {secret}"));
    }
    let request = request.body(Full::new(Bytes::from(call.body.clone()))).map_err(|error| failed(&error))?;
    let answer = sender.send_request(request).await.map_err(|error| failed(&error))?;
    let status = answer.status().as_u16();
    let body = Limited::new(answer.into_body(), BODY_BYTES_MAX).collect().await;
    let body = body.map_err(|error| failed(&error))?.to_bytes();
    connection.abort();
    Ok((status, body))
}

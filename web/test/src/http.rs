//! A minimal HTTP client, enough to query a relay on this machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

const TIMEOUT: Duration = Duration::from_secs(20);

/// Requests a JSON document.
pub(crate) fn get(server: SocketAddr, path: &str) -> Result<Value> {
    let text =
        request(server, &format!("GET {path} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n"))?;
    serde_json::from_str(&text).with_context(|| format!("{path} is not JSON: {text}"))
}

/// Sends a request and returns the body of the answer.
pub(crate) fn request(server: SocketAddr, request: &str) -> Result<String> {
    let mut stream = TcpStream::connect_timeout(&server, TIMEOUT).context("cannot connect")?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8(answer).context("the answer is not UTF-8")?;
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { bail!("the answer has no end") };
    if !head.starts_with("HTTP/1.1 2") {
        bail!("{}: {body}", head.lines().next().unwrap_or_default());
    }
    Ok(body.to_owned())
}

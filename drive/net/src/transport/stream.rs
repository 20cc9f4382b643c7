//! The layout of the reliable stream, over any transport.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::reliable_outbox::RELIABLE_BYTES_MAX;
use super::{GREETING_BYTES_MAX, PREAMBLE};

/// Why reading from a stream failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// It ended or broke.
    #[error(transparent)]
    Ended(#[from] io::Error),
    /// The other side speaks another version.
    #[error("the other side speaks another version of the reliable stream: update the older one")]
    Version,
    /// A message or the greeting is too long.
    #[error("received a message of {bytes} bytes; at most {bytes_max} are allowed")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest allowed.
        bytes_max: usize,
    },
}

/// Reads the preamble, the first bytes of either side.
///
/// # Errors
/// [`StreamError`] if it is missing or of another version.
pub async fn read_preamble(reader: &mut (impl AsyncRead + Unpin)) -> Result<(), StreamError> {
    let mut preamble = [0; PREAMBLE.len()];
    reader.read_exact(&mut preamble).await?;
    if preamble == PREAMBLE { Ok(()) } else { Err(StreamError::Version) }
}

/// Reads what the relay sends first: the preamble and its greeting.
///
/// # Errors
/// [`StreamError`] if it is malformed.
pub async fn read_greeting(reader: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>, StreamError> {
    read_preamble(reader).await?;
    let len = usize::from(reader.read_u16_le().await?);
    read_body(reader, len, GREETING_BYTES_MAX).await
}

/// Encodes what the relay sends first. A greeting that is too long is truncated.
#[must_use]
pub fn emit_greeting(greeting: &[u8]) -> Vec<u8> {
    let greeting = &greeting[..greeting.len().min(GREETING_BYTES_MAX)];
    [&PREAMBLE[..], &(greeting.len() as u16).to_le_bytes(), greeting].concat()
}

/// Reads a message. Not cancel-safe: half a message would be lost.
///
/// # Errors
/// [`StreamError`] if the stream ended or the message is too long.
pub async fn read_message(reader: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>, StreamError> {
    let len = reader.read_u32_le().await? as usize;
    read_body(reader, len, RELIABLE_BYTES_MAX).await
}

async fn read_body(
    reader: &mut (impl AsyncRead + Unpin),
    bytes: usize,
    bytes_max: usize,
) -> Result<Vec<u8>, StreamError> {
    if bytes > bytes_max {
        return Err(StreamError::TooLong { bytes, bytes_max });
    }
    let mut body = vec![0; bytes];
    reader.read_exact(&mut body).await?;
    Ok(body)
}

/// Appends a message.
pub fn emit_message(message: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(message.len() as u32).to_le_bytes());
    bytes.extend_from_slice(message);
}

//! A player's connection to its relay: connects, attaches the connection to the player's machine, and reconnects as that
//! player whenever the connection breaks.

use std::time::{Duration, Instant};

use evenkeel_core::{Endpoint, Malformed, Reader, Wire};
use tokio::sync::watch;

use crate::welcome::{RELAY, Welcome};
use evenkeel_net::crank::{Attachment, CrankHandle, NodeId};
use evenkeel_net::emulate::Emulation;
use evenkeel_net::transport::{CloseCode, Closed, ConnectError, Limits, Trust, connect};

/// The pause before the first retry; it doubles with each,
const PAUSE_FIRST: Duration = Duration::from_millis(50);
/// up to this.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// A connection that lasted this long resets the pause.
const LASTING: Duration = Duration::from_secs(3);

/// The relay and room to connect to, and the player's credentials.
#[derive(Clone, Debug)]
pub struct Target {
    /// `https://host:port/room`.
    pub url: String,
    /// The player's token.
    pub token: String,
    /// The seat to take, if the token has several.
    pub seat: Option<u16>,
    /// How the relay's certificate is checked.
    pub trust: Trust,
}

/// The state of a player's connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Status {
    /// Connecting or reconnecting, with the reason why the last attempt or connection ended.
    Connecting(Option<String>),
    /// Connected.
    Connected(Welcome),
    /// Ended for good: the relay does not admit this player, or the player has connected elsewhere.
    Over(String),
}

/// Connects a player's machine to its relay.
pub struct Dial<B, L> {
    /// The relay to connect to.
    pub target: Target,
    /// The number of the player's machine in its crank.
    pub node: NodeId,
    /// Builds the machine and its configuration: at first, and whenever the relay assigns other settings or another number.
    pub build: B,
    /// Returns the links to emulate on each new connection.
    pub emulation: L,
}

impl<B, L> Dial<B, L> {
    /// Connects and reconnects until the relay ends it for good or the receiver of `status` is dropped.
    ///
    /// # Errors
    /// [`ConnectError`] if the first attempt fails. Later attempts are repeated.
    pub async fn run<E, W>(
        self,
        crank: CrankHandle<E>,
        status: watch::Sender<Status>,
    ) -> Result<(), ConnectError>
    where
        E: Endpoint + Send + 'static,
        E::Command: Send + 'static,
        W: Wire,
        B: Fn(&Welcome) -> (E, W),
        L: Fn() -> Option<Emulation>,
    {
        let mut known: Option<Welcome> = None;
        let mut pause = PAUSE_FIRST;
        loop {
            let since = Instant::now();
            match self.connect_once(&crank, &status, &mut known).await {
                Ok(closed) if is_final(&closed) => {
                    status.send_replace(Status::Over(closed.to_string()));
                    return Ok(());
                }
                Ok(closed) => {
                    if since.elapsed() > LASTING {
                        pause = PAUSE_FIRST;
                    }
                    status.send_replace(Status::Connecting(Some(closed.to_string())));
                }
                Err(error) if known.is_none() || is_refused(&error) => {
                    status.send_replace(Status::Over(error.to_string()));
                    return Err(error);
                }
                Err(error) => {
                    status.send_replace(Status::Connecting(Some(error.to_string())));
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = status.closed() => return Ok(()),
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    async fn connect_once<E, W>(
        &self,
        crank: &CrankHandle<E>,
        status: &watch::Sender<Status>,
        known: &mut Option<Welcome>,
    ) -> Result<Closed, ConnectError>
    where
        E: Endpoint + Send + 'static,
        E::Command: Send + 'static,
        W: Wire,
        B: Fn(&Welcome) -> (E, W),
        L: Fn() -> Option<Emulation>,
    {
        let Target { url, token, seat, trust } = &self.target;
        let joint = if url.contains('?') { '&' } else { '?' };
        let url = seat.map_or(url.clone(), |seat| format!("{url}{joint}seat={seat}"));
        let connection = connect(&url, Some(token), trust, Limits::default()).await?;
        let welcome: Welcome = Reader::new(connection.greeting()).read().map_err(|error| match error {
            Malformed::Version { .. } => ConnectError::OtherVersion,
            error => ConnectError::Broken(format!("the relay's greeting cannot be read: {error}")),
        })?;
        let over = |error: evenkeel_net::CrankError| ConnectError::Broken(error.to_string());
        if *known != Some(welcome) {
            let (machine, config) = (self.build)(&welcome);
            crank.add_configured(self.node, machine, &config).map_err(over)?;
            *known = Some(welcome);
        }
        let emulation = (self.emulation)();
        let attachment = Attachment { connection: connection.clone(), emulation, allowance: None };
        crank.attach(self.node, RELAY, attachment).map_err(over)?;
        status.send_replace(Status::Connected(welcome));
        tokio::select! {
            closed = connection.closed() => Ok(closed),
            () = status.closed() => {
                connection.close(CloseCode::Done);
                Ok(connection.closed().await)
            }
        }
    }
}

/// Whether a close code is final, both for an open connection and for a refusal. After all others, retrying makes sense.
const fn is_final_code(code: CloseCode) -> bool {
    matches!(
        code,
        CloseCode::Replaced
            | CloseCode::TokenRefused
            | CloseCode::VersionMismatch
            | CloseCode::Flooding
            | CloseCode::NotFound
            | CloseCode::Removed
    )
}

/// Whether the end of a connection is final.
fn is_final(closed: &Closed) -> bool {
    match closed {
        Closed::ByUs(reason) => matches!(reason.code, CloseCode::Done | CloseCode::VersionMismatch),
        other => other.code().is_some_and(is_final_code),
    }
}

/// Whether a failed attempt is final.
fn is_refused(error: &ConnectError) -> bool {
    match error {
        ConnectError::Refused(reason) => is_final_code(reason.code),
        ConnectError::InvalidUrl(_) | ConnectError::OtherVersion => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../docs/WIRE.md");

    #[test]
    fn close_codes_are_retried_as_documented() {
        let table = DOCUMENT.split_once("| worth trying again |").expect("a table").1;
        let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("| ")?.strip_suffix('|'));
        let mut judged = 0;
        for row in rows {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let code = CloseCode::from_number(cells[0].parse().expect("a code"));
            let again = match cells[2] {
                "yes" => true,
                "no" => false,
                // Not an error, so the table leaves it open.
                _ => continue,
            };
            assert_eq!(is_final(&Closed::ByPeer(code.into())), !again, "{code:?} on an open connection");
            assert_eq!(is_refused(&ConnectError::Refused(code.into())), !again, "{code:?} as a refusal");
            judged += 1;
        }
        assert_eq!(judged, 13);
    }
}

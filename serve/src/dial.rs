//! A player's way to its relay, and back to it: connects, attaches the connection to the player's machine, and when it
//! breaks does so again, as the same player.

use std::time::{Duration, Instant};

use evenkeel_core::{Endpoint, Malformed, Reader, Wire};
use tokio::sync::watch;

use crate::welcome::{RELAY, Welcome};
use evenkeel_net::crank::{Attachment, CrankHandle, NodeId};
use evenkeel_net::emulate::Emulation;
use evenkeel_net::transport::{CloseCode, Closed, ConnectError, Limits, Trust, connect};

/// The pause before the first new attempt; it doubles with each,
const PAUSE_FIRST: Duration = Duration::from_millis(50);
/// up to this.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// A connection that lasted so long was a good one: after it, attempts begin quickly again.
const LASTING: Duration = Duration::from_secs(3);

/// Where to, and as whom.
#[derive(Clone, Debug)]
pub struct Target {
    /// `https://host:port/room`.
    pub url: String,
    /// The player's token.
    pub token: String,
    /// Which of the token's seats, if it has several.
    pub seat: Option<u16>,
    /// How the relay's certificate is checked.
    pub trust: Trust,
}

/// How it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Status {
    /// Under way to the relay, for the first time or again; with the reason why the last time ended.
    Connecting(Option<String>),
    /// There.
    Connected(Welcome),
    /// Over for good: the relay does not want this player, or somebody else plays in its name.
    Over(String),
}

/// A player's machine and its way to the relay.
pub struct Dial<B, L> {
    /// Where to.
    pub target: Target,
    /// The number of the player's machine in its crank.
    pub node: NodeId,
    /// Makes the machine and tells its configuration: at first, and if the relay knows the player by another number.
    pub build: B,
    /// The links to emulate on each new connection.
    pub emulation: L,
}

impl<B, L> Dial<B, L> {
    /// Connects, and connects again, until it is over or nobody listens to its status any more.
    ///
    /// # Errors
    /// [`ConnectError`] if the first attempt fails. Later ones are repeated.
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

/// Whether the relay has said its last word to this player, while it played or at the door. Everything else is worth trying
/// again.
const fn is_last_word(code: CloseCode) -> bool {
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

/// Whether the relay does not want this player any more, or this player the relay.
fn is_final(closed: &Closed) -> bool {
    match closed {
        Closed::ByUs(reason) => matches!(reason.code, CloseCode::Done | CloseCode::VersionMismatch),
        other => other.code().is_some_and(is_last_word),
    }
}

fn is_refused(error: &ConnectError) -> bool {
    match error {
        ConnectError::Refused(reason) => is_last_word(reason.code),
        ConnectError::NotAUrl(_) | ConnectError::OtherVersion => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../docs/WIRE.md");

    #[test]
    fn what_the_document_calls_worth_trying_again_is_tried_again() {
        let table = DOCUMENT.split_once("| worth trying again |").expect("there is a table").1;
        let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("| ")?.strip_suffix('|'));
        let mut judged = 0;
        for row in rows {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let code = CloseCode::from_number(cells[0].parse().expect("a code"));
            let again = match cells[2] {
                "yes" => true,
                "no" => false,
                // Nothing is wrong, and nobody is left.
                _ => continue,
            };
            assert_eq!(is_final(&Closed::ByPeer(code.into())), !again, "{code:?}, while it played");
            assert_eq!(is_refused(&ConnectError::Refused(code.into())), !again, "{code:?}, at the door");
            judged += 1;
        }
        assert_eq!(judged, 13);
    }
}

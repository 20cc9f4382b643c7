//! The interface of every protocol machine.

use crate::peer::{PeerChange, PeerId};
use crate::time::LocalTime;
use crate::wire::Malformed;

/// How a message travels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Channel {
    /// May be lost, duplicated or reordered.
    Datagram,
    /// Arrives in order and is never lost while the peer stays connected: a QUIC stream. The simulator
    /// charges the delay of the retransmissions.
    Reliable,
}

/// Why a machine did not accept a message. Its state is unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Rejected {
    /// The bytes are not a message of this protocol.
    #[error("malformed message: {0}")]
    Malformed(#[from] Malformed),
    /// The sender has not joined.
    #[error("message from a peer that has not joined")]
    UnknownPeer,
    /// A value is outside of what an honest peer would send.
    #[error("a value is out of range")]
    OutOfRange,
    /// The message came on the wrong channel or from a peer without the role to send it.
    #[error("this peer may not send a message of this kind on this channel")]
    Unexpected,
    /// The message cannot be interpreted before there is a session time.
    #[error("there is no session time yet")]
    NoSessionTime,
}

/// A protocol machine without I/O: it is given the time and the messages that arrive, and yields the messages
/// to send.
///
/// After every call that takes `now`, drain [`poll_transmit`](Self::poll_transmit) and
/// [`poll_event`](Self::poll_event), then sleep until [`poll_timeout`](Self::poll_timeout) or the next
/// arrival. `now` must not decrease from call to call; a machine that sees it decrease keeps using the latest
/// value.
///
/// A machine that wraps another one can forward calls with [`delegate_endpoint!`](crate::delegate_endpoint).
pub trait Endpoint {
    /// What the application asks of the machine.
    type Command;
    /// What the machine reports to the application.
    type Event;

    /// Handles a command of the application.
    fn handle_command(&mut self, now: LocalTime, command: Self::Command);

    /// Handles a message; `now` is its arrival time, taken as close to the wire as the driver can.
    ///
    /// # Errors
    /// [`Rejected`] if the message was not accepted. The state is then unchanged except for a counter.
    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected>;

    /// Handles a peer that joined or left.
    fn handle_peer(&mut self, now: LocalTime, change: PeerChange);

    /// Handles a timeout that [`poll_timeout`](Self::poll_timeout) asked for. Early, late and repeated calls
    /// are harmless.
    fn handle_timeout(&mut self, now: LocalTime);

    /// Replaces the contents of `bytes` with the next message to send and returns its destination. Call until
    /// `None`.
    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)>;

    /// Returns the next event for the application. Call until `None`.
    fn poll_event(&mut self) -> Option<Self::Event>;

    /// Returns when to call [`handle_timeout`](Self::handle_timeout) at the latest, or `None` if nothing is
    /// due.
    fn poll_timeout(&self) -> Option<LocalTime>;
}

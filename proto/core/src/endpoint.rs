//! The contract of every machine.

use crate::peer::{PeerChange, PeerId};
use crate::time::LocalTime;
use crate::wire::Malformed;

/// How bytes travel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Channel {
    /// May be lost, doubled, reordered.
    Datagram,
    /// In order and never lost while the peer is there (a QUIC stream; in the simulator it costs the
    /// retransmissions' delay).
    Reliable,
}

/// Bytes from outside that a machine did not take. Its state is unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Rejected {
    /// Not a message of this protocol.
    #[error("malformed message: {0}")]
    Malformed(#[from] Malformed),
    /// From somebody who never joined.
    #[error("message from a peer that is not here")]
    UnknownPeer,
    /// A number that no honest peer would send.
    #[error("a value is out of its range")]
    OutOfRange,
    /// It came on the wrong channel, or from a peer without that role.
    #[error("a message of this kind is not expected from this peer on this channel")]
    Unexpected,
    /// There is no session time yet to read it by.
    #[error("the session clock is not fixed yet")]
    NoSessionTime,
}

/// A protocol machine: told the time, told what arrived, asked what to send.
///
/// After every call that mutates, drain [`poll_transmit`](Self::poll_transmit) and
/// [`poll_event`](Self::poll_event), then sleep until [`poll_timeout`](Self::poll_timeout) or the next arrival.
/// `now` never decreases from call to call; a machine that sees it decrease takes the latest it saw.
pub trait Endpoint {
    /// What the application says.
    type Command;
    /// What the application learns.
    type Event;

    /// The application says something.
    fn handle_command(&mut self, now: LocalTime, command: Self::Command);

    /// Bytes arrived; `now` is their arrival stamp, as near to the wire as the driver can tell.
    ///
    /// # Errors
    /// [`Rejected`] says why the bytes were not taken; the state is then unchanged but for a counter.
    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected>;

    /// A peer came or went.
    fn handle_peer(&mut self, now: LocalTime, change: PeerChange);

    /// The time that [`poll_timeout`](Self::poll_timeout) named has come. Early, late or repeated calls are harmless.
    fn handle_timeout(&mut self, now: LocalTime);

    /// Writes the next message to send into `bytes` (which it clears first), and says to whom. Call until `None`.
    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)>;

    /// The next thing the application should know. Call until `None`.
    fn poll_event(&mut self) -> Option<Self::Event>;

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest; `None`: nothing is due.
    fn poll_timeout(&self) -> Option<LocalTime>;
}

/// Passes the calls of an [`Endpoint`] on to whichever machine an `enum` holds, in each of these variants; all but what the
/// application says.
///
/// ```
/// use evenkeel_core::{Endpoint, LocalTime};
/// # use evenkeel_core::{Channel, PeerChange, PeerId, Rejected};
/// # struct Idle;
/// # impl Endpoint for Idle {
/// #     type Command = ();
/// #     type Event = ();
/// #     fn handle_command(&mut self, _: LocalTime, (): ()) {}
/// #     fn handle_message(&mut self, _: LocalTime, _: PeerId, _: Channel, _: &[u8]) -> Result<(), Rejected> { Ok(()) }
/// #     fn handle_peer(&mut self, _: LocalTime, _: PeerChange) {}
/// #     fn handle_timeout(&mut self, _: LocalTime) {}
/// #     fn poll_transmit(&mut self, _: LocalTime, _: &mut Vec<u8>) -> Option<(PeerId, Channel)> { None }
/// #     fn poll_event(&mut self) -> Option<()> { None }
/// #     fn poll_timeout(&self) -> Option<LocalTime> { None }
/// # }
/// # type Player = Idle;
/// # type Relay = Idle;
/// enum Node {
///     Player(Player),
///     Relay(Relay),
/// }
///
/// impl Endpoint for Node {
///     type Command = ();
///     type Event = ();
///
///     fn handle_command(&mut self, _now: LocalTime, (): ()) {}
///
///     evenkeel_core::pass_on!(Player, Relay);
/// }
/// # let _ = [Node::Player(Idle), Node::Relay(Idle)].map(|node| node.poll_timeout());
/// ```
#[macro_export]
macro_rules! pass_on {
    ($($variant:ident),+ $(,)?) => {
        fn handle_message(
            &mut self,
            now: $crate::LocalTime,
            from: $crate::PeerId,
            channel: $crate::Channel,
            bytes: &[u8],
        ) -> Result<(), $crate::Rejected> {
            match self {
                $(Self::$variant(node) => node.handle_message(now, from, channel, bytes),)+
            }
        }

        fn handle_peer(&mut self, now: $crate::LocalTime, change: $crate::PeerChange) {
            match self {
                $(Self::$variant(node) => node.handle_peer(now, change),)+
            }
        }

        fn handle_timeout(&mut self, now: $crate::LocalTime) {
            match self {
                $(Self::$variant(node) => node.handle_timeout(now),)+
            }
        }

        fn poll_transmit(
            &mut self,
            now: $crate::LocalTime,
            bytes: &mut Vec<u8>,
        ) -> Option<($crate::PeerId, $crate::Channel)> {
            match self {
                $(Self::$variant(node) => node.poll_transmit(now, bytes),)+
            }
        }

        fn poll_event(&mut self) -> Option<Self::Event> {
            match self {
                $(Self::$variant(node) => node.poll_event(),)+
            }
        }

        fn poll_timeout(&self) -> Option<$crate::LocalTime> {
            match self {
                $(Self::$variant(node) => node.poll_timeout(),)+
            }
        }
    };
}

//! Machines that wrap another machine: forwarding the methods of [`Endpoint`](crate::Endpoint).

/// Forwards methods of [`Endpoint`](crate::Endpoint) to a machine inside `self`.
///
/// Machines are composed by wrapping: a bot holds a player's machine and a tank, a game's room holds a relay and a
/// referee. Invoke this macro within `impl Endpoint for ...` to forward the methods that the wrapper does not change:
///
/// | invocation | forwards |
/// | --- | --- |
/// | `delegate_endpoint!(self.inner: handle_peer, poll_event);` | the listed methods to a field |
/// | `delegate_endpoint!(self.inner);` | all seven methods to a field |
/// | `delegate_endpoint!(**self);` | all seven to what a box or reference points to; takes a list, too |
/// | `delegate_endpoint!(match self { Player, Relay });` | all but `handle_command` to the machine in an enum's variant |
///
/// The associated types and the remaining methods are written by hand. `handle_command` is left out for enums because
/// their machines usually take different commands; to forward it as well, list every method.
///
/// # Example
///
/// A wrapper that counts the messages its machine rejects:
///
/// ```
/// use evenkeel_core::{Channel, Endpoint, LocalTime, PeerId, Rejected, delegate_endpoint};
///
/// struct Counted<E> {
///     inner: E,
///     rejected: u64,
/// }
///
/// impl<E: Endpoint> Endpoint for Counted<E> {
///     type Command = E::Command;
///     type Event = E::Event;
///
///     delegate_endpoint!(
///         self.inner: handle_command, handle_peer, handle_timeout, poll_transmit, poll_event, poll_timeout
///     );
///
///     fn handle_message(
///         &mut self,
///         now: LocalTime,
///         from: PeerId,
///         channel: Channel,
///         bytes: &[u8],
///     ) -> Result<(), Rejected> {
///         let handled = self.inner.handle_message(now, from, channel, bytes);
///         self.rejected += u64::from(handled.is_err());
///         handled
///     }
/// }
/// ```
///
/// A simulated world has one type of node, so its machines become the variants of an enum:
///
/// ```
/// use evenkeel_core::{Endpoint, LocalTime, delegate_endpoint};
///
/// enum Node<P, R> {
///     Player(P),
///     Relay(R),
/// }
///
/// impl<P: Endpoint, R: Endpoint<Event = P::Event>> Endpoint for Node<P, R> {
///     type Command = P::Command;
///     type Event = P::Event;
///
///     fn handle_command(&mut self, now: LocalTime, command: P::Command) {
///         if let Self::Player(player) = self {
///             player.handle_command(now, command);
///         }
///     }
///
///     delegate_endpoint!(match self { Player, Relay });
/// }
/// ```
#[macro_export]
macro_rules! delegate_endpoint {
    (match $self:ident { $($variant:ident),+ $(,)? }) => {
        $crate::delegate_endpoint!(match $self { $($variant),+ }:
            handle_message, handle_peer, handle_timeout, poll_transmit, poll_event, poll_timeout);
    };
    (match $self:ident { $($variant:ident),+ $(,)? }: $($method:ident),+ $(,)?) => {
        $crate::delegate_endpoint_methods!([match $self { $($variant),+ }] $self $($method)+);
    };
    ($self:ident . $field:tt) => {
        $crate::delegate_endpoint!($self.$field: handle_command,
            handle_message, handle_peer, handle_timeout, poll_transmit, poll_event, poll_timeout);
    };
    ($self:ident . $field:tt : $($method:ident),+ $(,)?) => {
        $crate::delegate_endpoint_methods!([$self.$field] $self $($method)+);
    };
    (* * $self:ident) => {
        $crate::delegate_endpoint!(**$self: handle_command,
            handle_message, handle_peer, handle_timeout, poll_transmit, poll_event, poll_timeout);
    };
    (* * $self:ident : $($method:ident),+ $(,)?) => {
        $crate::delegate_endpoint_methods!([**$self] $self $($method)+);
    };
}

/// Expands [`delegate_endpoint!`](crate::delegate_endpoint): a method for each name, then its call on the target in
/// brackets.
#[doc(hidden)]
#[macro_export]
macro_rules! delegate_endpoint_methods {
    ($target:tt $self:ident $first:ident $($rest:ident)+) => {
        $crate::delegate_endpoint_methods!($target $self $first);
        $crate::delegate_endpoint_methods!($target $self $($rest)+);
    };
    ($target:tt $self:ident handle_command) => {
        fn handle_command(&mut $self, now: $crate::LocalTime, command: Self::Command) {
            $crate::delegate_endpoint_methods!(@call $target handle_command(now, command))
        }
    };
    ($target:tt $self:ident handle_message) => {
        fn handle_message(
            &mut $self,
            now: $crate::LocalTime,
            from: $crate::PeerId,
            channel: $crate::Channel,
            bytes: &[u8],
        ) -> Result<(), $crate::Rejected> {
            $crate::delegate_endpoint_methods!(@call $target handle_message(now, from, channel, bytes))
        }
    };
    ($target:tt $self:ident handle_peer) => {
        fn handle_peer(&mut $self, now: $crate::LocalTime, change: $crate::PeerChange) {
            $crate::delegate_endpoint_methods!(@call $target handle_peer(now, change))
        }
    };
    ($target:tt $self:ident handle_timeout) => {
        fn handle_timeout(&mut $self, now: $crate::LocalTime) {
            $crate::delegate_endpoint_methods!(@call $target handle_timeout(now))
        }
    };
    ($target:tt $self:ident poll_transmit) => {
        fn poll_transmit(
            &mut $self,
            now: $crate::LocalTime,
            bytes: &mut Vec<u8>,
        ) -> Option<($crate::PeerId, $crate::Channel)> {
            $crate::delegate_endpoint_methods!(@call $target poll_transmit(now, bytes))
        }
    };
    ($target:tt $self:ident poll_event) => {
        fn poll_event(&mut $self) -> Option<Self::Event> {
            $crate::delegate_endpoint_methods!(@call $target poll_event())
        }
    };
    ($target:tt $self:ident poll_timeout) => {
        fn poll_timeout(&$self) -> Option<$crate::LocalTime> {
            $crate::delegate_endpoint_methods!(@call $target poll_timeout())
        }
    };
    (@call [match $self:ident { $($variant:ident),+ }] $method:ident $arguments:tt) => {
        match $self {
            $(Self::$variant(inner) => inner.$method $arguments,)+
        }
    };
    (@call [$self:ident . $field:tt] $method:ident $arguments:tt) => {
        $self.$field.$method $arguments
    };
    (@call [* * $self:ident] $method:ident $arguments:tt) => {
        (**$self).$method $arguments
    };
}

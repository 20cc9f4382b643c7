//! `delegate_endpoint!` forwards each method with its arguments and its result.

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Span, delegate_endpoint};

const NOW: LocalTime = LocalTime::from_nanos(7);
const LATER: LocalTime = LocalTime::from_nanos(9);
const PEER: PeerId = PeerId(3);
const LEFT: PeerChange = PeerChange::Left { peer: PEER };

/// Logs every call.
#[derive(Default)]
struct Logger {
    log: Vec<String>,
}

impl Endpoint for Logger {
    type Command = &'static str;
    type Event = String;

    fn handle_command(&mut self, now: LocalTime, command: &'static str) {
        self.log.push(format!("command {now:?} {command}"));
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        self.log.push(format!("message {now:?} {from:?} {channel:?} {bytes:?}"));
        Err(Rejected::OutOfRange)
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.log.push(format!("peer {now:?} {change:?}"));
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.log.push(format!("timeout {now:?}"));
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.log.push(format!("transmit {now:?}"));
        *bytes = b"sent".to_vec();
        Some((PEER, Channel::Reliable))
    }

    fn poll_event(&mut self) -> Option<String> {
        self.log.pop()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        Some(LATER)
    }
}

struct Wrapper {
    inner: Logger,
}

impl Endpoint for Wrapper {
    type Command = &'static str;
    type Event = String;

    delegate_endpoint!(self.inner);
}

/// Forwards all but two methods, in any order, to the machine in a box.
struct Partial(Box<Logger>);

impl Endpoint for Partial {
    type Command = &'static str;
    type Event = String;

    delegate_endpoint!(self.0: poll_event, handle_message, handle_command, handle_peer, poll_transmit);

    fn handle_timeout(&mut self, now: LocalTime) {
        self.0.handle_timeout(now + Span::from_nanos(1));
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        None
    }
}

trait Named: Endpoint<Command = &'static str, Event = String> {}

impl Named for Logger {}

impl Endpoint for Box<dyn Named> {
    type Command = &'static str;
    type Event = String;

    delegate_endpoint!(**self);
}

enum Node {
    Plain(Logger),
    Wrapped(Wrapper),
}

impl Endpoint for Node {
    type Command = (&'static str, &'static str);
    type Event = String;

    fn handle_command(&mut self, now: LocalTime, (plain, wrapped): (&'static str, &'static str)) {
        match self {
            Self::Plain(logger) => logger.handle_command(now, plain),
            Self::Wrapped(wrapper) => wrapper.handle_command(now, wrapped),
        }
    }

    delegate_endpoint!(match self { Plain, Wrapped });
}

/// Calls every method but `handle_command` and returns the log, which `poll_event` yields backwards.
fn log_of(mut endpoint: impl Endpoint<Event = String>) -> (Vec<String>, Option<LocalTime>) {
    let rejected = endpoint.handle_message(NOW, PEER, Channel::Datagram, &[1, 2]);
    assert_eq!(rejected, Err(Rejected::OutOfRange));
    endpoint.handle_peer(NOW, LEFT);
    endpoint.handle_timeout(NOW);
    let mut bytes = Vec::new();
    assert_eq!(endpoint.poll_transmit(LATER, &mut bytes), Some((PEER, Channel::Reliable)));
    assert_eq!(bytes, b"sent");
    let log = core::iter::from_fn(|| endpoint.poll_event()).collect();
    (log, endpoint.poll_timeout())
}

fn with_command<E: Endpoint>(mut endpoint: E, command: E::Command) -> E {
    endpoint.handle_command(NOW, command);
    endpoint
}

#[test]
fn every_method_is_forwarded_to_a_field() {
    let wrapper = with_command(Wrapper { inner: Logger::default() }, "go");
    assert_eq!(log_of(wrapper), log_of(with_command(Logger::default(), "go")));
}

#[test]
fn every_method_is_forwarded_through_a_box() {
    let boxed: Box<dyn Named> = Box::<Logger>::default();
    assert_eq!(log_of(with_command(boxed, "go")), log_of(with_command(Logger::default(), "go")));
}

#[test]
fn every_method_but_commands_is_forwarded_to_a_variant() {
    for node in [Node::Plain(Logger::default()), Node::Wrapped(Wrapper { inner: Logger::default() })] {
        let command = if matches!(node, Node::Plain(_)) { ("go", "") } else { ("", "go") };
        assert_eq!(log_of(with_command(node, command)), log_of(with_command(Logger::default(), "go")));
    }
}

#[test]
fn methods_that_are_not_listed_are_the_wrappers_own() {
    let (mut expected, _) = log_of(with_command(Logger::default(), "go"));
    expected[1] = format!("timeout {:?}", NOW + Span::from_nanos(1));
    assert_eq!(log_of(with_command(Partial(Box::default()), "go")), (expected, None));
}

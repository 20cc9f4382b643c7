//! Enums over the machines of a room and over their clocks.

use evenkeel_core::clock::Hull;
use evenkeel_core::{
    ClockEvent, ClockFrame, Endpoint, FollowerClock, LocalTime, MedianClock, PeerChange, PeerId, ServerClock,
    SessionClock, SessionTime, Span, Synchronized,
};
use evenkeel_dr::{DrCommand, DrConfig, DrEvent, DrPeer, DrRelay, RelayCommand};
use evenkeel_games::{Bot, BotConfig};

/// Any clock.
#[derive(Clone, Debug)]
pub enum AnyClock {
    /// The local clock shows the session's time.
    Synchronized(Synchronized),
    /// Defines the session's time.
    Server(ServerClock),
    /// Follows a server.
    Follower(Box<FollowerClock<Hull>>),
    /// Agrees with its peers.
    Median(Box<MedianClock>),
}

impl AnyClock {
    /// A clock that follows `server`.
    #[must_use]
    pub fn follower(server: PeerId) -> Self {
        Self::Follower(Box::new(FollowerClock::new(server)))
    }

    /// A clock that agrees with its peers.
    #[must_use]
    pub fn median() -> Self {
        Self::Median(Box::default())
    }
}

macro_rules! each_clock {
    ($self:expr, $clock:ident => $call:expr) => {
        match $self {
            AnyClock::Synchronized($clock) => $call,
            AnyClock::Server($clock) => $call,
            AnyClock::Follower($clock) => $call,
            AnyClock::Median($clock) => $call,
        }
    };
}

impl SessionClock for AnyClock {
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        each_clock!(self, clock => clock.session(now))
    }

    fn local(&self, at: SessionTime) -> Option<LocalTime> {
        each_clock!(self, clock => clock.local(at))
    }

    fn error_max(&self, now: LocalTime) -> Option<Span> {
        each_clock!(self, clock => clock.error_max(now))
    }

    fn interval(&self, now: LocalTime) -> Option<(SessionTime, SessionTime)> {
        each_clock!(self, clock => clock.interval(now))
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        each_clock!(self, clock => clock.handle_peer(now, change));
    }

    fn handle_frame(&mut self, now: LocalTime, from: PeerId, frame: &ClockFrame) {
        each_clock!(self, clock => clock.handle_frame(now, from, frame));
    }

    fn poll_due(&mut self, now: LocalTime) -> Option<PeerId> {
        each_clock!(self, clock => clock.poll_due(now))
    }

    fn poll_frame(&mut self, now: LocalTime, to: PeerId) -> Option<ClockFrame> {
        each_clock!(self, clock => clock.poll_frame(now, to))
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        each_clock!(self, clock => clock.poll_timeout())
    }

    fn poll_event(&mut self) -> Option<ClockEvent> {
        each_clock!(self, clock => clock.poll_event())
    }
}

/// A player's machine, a bot's or a relay.
#[derive(Debug)]
pub enum Node {
    /// A player's.
    Peer(Box<DrPeer<AnyClock>>),
    /// A bot's.
    Bot(Box<Bot<AnyClock>>),
    /// A relay.
    Relay(Box<DrRelay<AnyClock>>),
}

/// A command for a node.
#[derive(Clone, Debug)]
pub enum NodeCommand {
    /// For a player's machine or a bot's.
    Peer(DrCommand),
    /// For a relay.
    Relay(RelayCommand),
}

impl Node {
    /// A player's machine.
    #[must_use]
    pub fn peer(config: &DrConfig, clock: AnyClock) -> Self {
        Self::Peer(Box::new(DrPeer::with_clock(config, clock)))
    }

    /// A bot's machine.
    #[must_use]
    pub fn bot(config: &BotConfig, clock: AnyClock) -> Self {
        Self::Bot(Box::new(Bot::new(config, clock)))
    }

    /// A relay.
    #[must_use]
    pub fn relay(config: &DrConfig, clock: AnyClock) -> Self {
        Self::Relay(Box::new(DrRelay::with_clock(config, clock)))
    }

    /// The session's time by this node's clock.
    #[must_use]
    pub fn session(&self, now: LocalTime) -> Option<SessionTime> {
        match self {
            Self::Peer(peer) => peer.clock().session(now),
            Self::Bot(bot) => bot.peer().clock().session(now),
            Self::Relay(relay) => relay.clock().session(now),
        }
    }

    /// The export error that its ledger has accumulated for a receiver.
    #[must_use]
    pub fn accumulated(&self, receiver: PeerId, now: SessionTime) -> f64 {
        let ledger = match self {
            Self::Relay(relay) => return relay.ledger().accumulated(receiver, now),
            Self::Peer(peer) => peer.ledger(),
            Self::Bot(bot) => bot.peer().ledger(),
        };
        ledger.map_or(0.0, |ledger| ledger.accumulated(receiver, now))
    }
}

impl Endpoint for Node {
    type Command = NodeCommand;
    type Event = DrEvent;

    fn handle_command(&mut self, now: LocalTime, command: NodeCommand) {
        match (self, command) {
            (Self::Peer(peer), NodeCommand::Peer(command)) => peer.handle_command(now, command),
            (Self::Bot(bot), NodeCommand::Peer(command)) => bot.handle_command(now, command),
            (Self::Relay(relay), NodeCommand::Relay(command)) => relay.handle_command(now, command),
            _ => unreachable!("commands are made for the node that handles them"),
        }
    }

    evenkeel_core::delegate_endpoint!(match self { Peer, Bot, Relay });
}

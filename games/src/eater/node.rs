//! A player of the Eater game: the board, and the machine that exchanges its moves, in one [`Endpoint`].
//!
//! The machine is a NEO peer or one of its ancestors: they take the same commands. Drivers do not matter either: the
//! simulator and real sockets turn this value.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Seed, SessionClock, SessionTime, Span,
    delegate_endpoint,
};
use evenkeel_neo::{NeoCommand, NeoEvent, NeoPeer, PublicKey};

use super::board::{Board, BoardEvent, EaterConfig};
use super::forager::Forager;
use super::maze::Way;
use super::stones::EaterId;
use super::{step_at, time_of};

/// Steps between two choices of who is near.
const INTEREST_STEPS: u32 = 10;
/// Steps between two announcements to those who are far.
const ANNOUNCED_STEPS: u32 = 40;
/// Eaters up to this distance, in pixels, are near,
const NEAR_PIXELS: f64 = 200.0;
/// and stay so up to this one. Two eaters approach each other by 120 pixels a second.
const LEFT_PIXELS: f64 = 260.0;
/// Limit on the events that wait for the driver, which drains them after each call. Beyond, the oldest is dropped.
const EVENTS_MAX: usize = 8_192;

/// A machine by which eaters exchange moves and state changes.
pub trait MovePeer: Endpoint<Command = NeoCommand, Event = NeoEvent> {
    /// Returns the time of the session; `None` while there is none.
    fn session_time(&self, now: LocalTime) -> Option<SessionTime>;
}

impl<C: SessionClock> MovePeer for NeoPeer<C> {
    fn session_time(&self, now: LocalTime) -> Option<SessionTime> {
        self.session_time(now)
    }
}

/// Who moves the eater.
#[derive(Clone, Debug)]
pub enum EaterPlayer {
    /// A bot.
    Bot(Forager),
    /// A person, who wants to go this way.
    Person(Option<Way>),
}

/// What a player's driver asks of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EaterCommand {
    /// A person wants to go this way from now on. `None` lets go of the keys: the eater goes on to the next wall.
    Steer(Option<Way>),
    /// A bot takes over.
    Automate(Seed),
    /// For the machine that exchanges moves.
    Peer(NeoCommand),
}

/// What a player reports.
#[derive(Clone, PartialEq, Debug)]
pub enum EaterEvent {
    /// The board changed.
    Board(BoardEvent),
    /// An event of the machine that exchanges moves; the player has handled it.
    Peer(NeoEvent),
}

/// The settings of a player.
#[derive(Clone, Debug)]
pub struct EaterNodeConfig {
    /// The game's settings, the same for all players.
    pub game: EaterConfig,
    /// Whether moves go to those only who are near; the machine must be set likewise.
    pub has_areas: bool,
    /// Who plays.
    pub player: EaterPlayer,
}

/// A player of the Eater game.
#[derive(Clone, Debug)]
pub struct EaterNode<P> {
    peer: P,
    board: Board,
    player: EaterPlayer,
    has_areas: bool,
    eaters: BTreeMap<PeerId, EaterId>,
    near: BTreeSet<PeerId>,
    /// The board's next step.
    next: Option<LocalTime>,
    latest: LocalTime,
    events: VecDeque<EaterEvent>,
}

impl EaterId {
    /// The eater of whoever holds this key.
    #[must_use]
    pub fn of(key: &PublicKey) -> Self {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&key.0[..8]);
        Self(u64::from_le_bytes(bytes))
    }
}

impl<P: MovePeer> EaterNode<P> {
    /// A player with this machine, whose key is this one.
    #[must_use]
    pub fn new(config: EaterNodeConfig, peer: P, key: &PublicKey) -> Self {
        Self {
            peer,
            board: Board::new(&config.game, EaterId::of(key)),
            player: config.player,
            has_areas: config.has_areas,
            eaters: BTreeMap::new(),
            near: BTreeSet::new(),
            next: None,
            latest: LocalTime::MIN,
            events: VecDeque::new(),
        }
    }

    /// Returns the board.
    pub const fn board(&self) -> &Board {
        &self.board
    }

    /// Returns the machine that exchanges moves.
    pub const fn peer(&self) -> &P {
        &self.peer
    }

    /// Returns who plays.
    pub const fn player(&self) -> &EaterPlayer {
        &self.player
    }

    /// Returns the others that take part, by their connections.
    pub fn eaters(&self) -> impl Iterator<Item = (PeerId, EaterId)> {
        self.eaters.iter().map(|(peer, eater)| (*peer, *eater))
    }

    /// Returns whether another eater takes part and is near enough to be shown.
    #[must_use]
    pub fn shows(&self, eater: EaterId) -> bool {
        let mut connections = self.eaters.iter().filter(|(_, other)| **other == eater);
        connections.any(|(peer, _)| !self.has_areas || self.near.contains(peer))
    }

    /// Handles what the machine reports, and does what is due. Follows every call.
    fn update(&mut self, now: LocalTime) {
        self.latest = self.latest.max(now);
        let now = self.latest;
        let Some(session) = self.peer.session_time(now) else {
            self.next = None;
            return self.hear();
        };
        let step = step_at(session);
        // What the others say is judged by the time that it is now.
        if self.board.step().is_none_or(|last| step > last) {
            self.play(now, step);
        }
        self.hear();
        let left = (time_of(step.saturating_add(1)) - session).as_nanos().max(1);
        self.next = Some(now + Span::from_nanos(left));
    }

    /// Takes the machine's events.
    fn hear(&mut self) {
        while let Some(event) = self.peer.poll_event() {
            match &event {
                NeoEvent::Joined { peer, key } => {
                    let eater = EaterId::of(key);
                    self.eaters.insert(*peer, eater);
                    self.board.join(eater);
                }
                NeoEvent::Left { peer, .. } => {
                    if let Some(eater) = self.eaters.remove(peer) {
                        self.board.leave(eater);
                    }
                    self.near.remove(peer);
                }
                NeoEvent::Played(played) => {
                    if let Some(eater) = self.eaters.get(&played.from) {
                        self.board.handle_move(*eater, &played.bytes);
                    }
                }
                NeoEvent::StateChanged { author, bytes, .. } => {
                    self.board.handle_change(EaterId::of(author), bytes);
                }
                _ => {}
            }
            self.report(EaterEvent::Peer(event));
        }
        while let Some(event) = self.board.poll_event() {
            self.report(EaterEvent::Board(event));
        }
    }

    /// Plays up to a step, and tells the others.
    fn play(&mut self, now: LocalTime, step: u32) {
        let player = &mut self.player;
        self.board.advance(step, |maze, stones, walker| match player {
            EaterPlayer::Bot(forager) => forager.wish(maze, stones, walker),
            EaterPlayer::Person(way) => *way,
        });
        self.peer.handle_command(now, NeoCommand::Submit(self.board.whereabouts().to_move()));
        if self.has_areas {
            if step.is_multiple_of(ANNOUNCED_STEPS) {
                self.board.announce();
            }
            if step.is_multiple_of(INTEREST_STEPS) {
                self.look_around(now);
            }
        }
        while let Some(message) = self.board.poll_message() {
            self.peer.handle_command(now, NeoCommand::ChangeState(message.to_change()));
        }
    }

    /// Chooses who is near: those of whom nothing is known are.
    fn look_around(&mut self, now: LocalTime) {
        let here = self.board.walker().at();
        let places: BTreeMap<EaterId, f64> = self
            .board
            .rivals()
            .filter_map(|(eater, rival)| Some((eater, rival.reckoning()?.at().distance(here))))
            .collect();
        let is_near = |(peer, eater): &(&PeerId, &EaterId)| {
            let reach = if self.near.contains(*peer) { LEFT_PIXELS } else { NEAR_PIXELS };
            places.get(*eater).is_none_or(|distance| *distance <= reach)
        };
        let near: BTreeSet<PeerId> = self.eaters.iter().filter(is_near).map(|(peer, _)| *peer).collect();
        if near != self.near {
            self.peer.handle_command(now, NeoCommand::Interest(near.iter().copied().collect()));
            self.near = near;
        }
    }

    fn report(&mut self, event: EaterEvent) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

impl<P: MovePeer> Endpoint for EaterNode<P> {
    type Command = EaterCommand;
    type Event = EaterEvent;

    delegate_endpoint!(self.peer: poll_transmit);

    fn handle_command(&mut self, now: LocalTime, command: EaterCommand) {
        match command {
            EaterCommand::Steer(way) => self.player = EaterPlayer::Person(way),
            EaterCommand::Automate(seed) => self.player = EaterPlayer::Bot(Forager::new(seed)),
            EaterCommand::Peer(command) => self.peer.handle_command(now, command),
        }
        self.update(now);
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        self.peer.handle_message(now, from, channel, bytes)?;
        self.update(now);
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.peer.handle_peer(now, change);
        self.update(now);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.peer.handle_timeout(now);
        self.update(now);
    }

    fn poll_event(&mut self) -> Option<EaterEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        [self.next, self.peer.poll_timeout()].into_iter().flatten().min()
    }
}

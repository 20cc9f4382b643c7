//! A server and its players on a network with fixed or random delays, driven by a virtual clock.

#![allow(dead_code, reason = "each test uses some of it")]

pub(crate) mod cheat;

use std::collections::BTreeMap;

use evenkeel_core::{Channel, Draws, Endpoint, LocalTime, PeerChange, PeerId, Seed, SessionTime, Span};
use evenkeel_sync_ms::{Action, Order, Smc, SmcCommand, SmcEvent, Sms, SmsCommand, SmsEvent, SyncConfig};

use cheat::Cheat;

/// The server, as its players know it.
pub(crate) const SERVER: PeerId = PeerId(0);

pub(crate) const fn ms(millis: i64) -> Span {
    Span::from_millis(millis)
}

pub(crate) const fn at(millis: i64) -> LocalTime {
    LocalTime::from_nanos(millis * 1_000_000)
}

/// A player's path: delays, and the chance to lose a datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) down: Span,
    pub(crate) up: Span,
    /// The mean of an exponential delay that comes on top.
    pub(crate) jitter: f64,
    pub(crate) loss: f64,
}

impl Path {
    pub(crate) const fn of(millis: i64) -> Self {
        Self { down: ms(millis), up: ms(millis), jitter: 0.0, loss: 0.0 }
    }
}

#[derive(Clone, Debug)]
enum Call {
    ToServer(usize, Channel, Vec<u8>),
    ToPlayer(usize, Channel, Vec<u8>),
    Act(usize, Vec<u8>),
    Update(Option<PeerId>, bool, Vec<u8>),
}

/// An update that a player has seen.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Seen {
    pub(crate) at: LocalTime,
    pub(crate) player: usize,
    pub(crate) stamp: SessionTime,
    pub(crate) late: Span,
    pub(crate) bytes: Vec<u8>,
}

/// The whole world.
pub(crate) struct World {
    pub(crate) sms: Sms,
    pub(crate) players: Vec<Smc>,
    pub(crate) paths: Vec<Path>,
    /// Players whose packets, either way, are lost.
    pub(crate) silenced: Vec<usize>,
    /// Players whose modified clients change what they send.
    pub(crate) cheats: BTreeMap<usize, Cheat>,
    pub(crate) now: LocalTime,
    calls: BTreeMap<(LocalTime, u64), Call>,
    count: u64,
    draws: Draws,
    pub(crate) served: Vec<(LocalTime, Action)>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) guarantees: Vec<(PeerId, bool)>,
    /// Packets sent by the server, and by players.
    pub(crate) sent: [u64; 2],
}

impl World {
    pub(crate) fn new(config: &SyncConfig, paths: &[Path]) -> Self {
        let mut world = Self {
            sms: Sms::new(config),
            players: paths.iter().map(|_| Smc::new(config, SERVER)).collect(),
            paths: paths.to_vec(),
            silenced: Vec::new(),
            cheats: BTreeMap::new(),
            now: at(0),
            calls: BTreeMap::new(),
            count: 0,
            draws: Seed::new(9).draws(),
            served: Vec::new(),
            seen: Vec::new(),
            guarantees: Vec::new(),
            sent: [0; 2],
        };
        for player in 0..paths.len() {
            let joined = |peer| PeerChange::Joined { peer, datagram_max: 1_200 };
            world.sms.handle_peer(world.now, joined(peer(player)));
            world.players[player].handle_peer(world.now, joined(SERVER));
        }
        world.drain();
        world
    }

    /// A player leaves and comes back.
    pub(crate) fn rejoin(&mut self, player: usize) {
        let left = |peer| PeerChange::Left { peer };
        let joined = |peer| PeerChange::Joined { peer, datagram_max: 1_200 };
        for change in [left as fn(PeerId) -> PeerChange, joined] {
            self.sms.handle_peer(self.now, change(peer(player)));
            self.players[player].handle_peer(self.now, change(SERVER));
        }
        self.drain();
    }

    fn push(&mut self, at: LocalTime, call: Call) {
        self.count += 1;
        self.calls.insert((at, self.count), call);
    }

    /// A player acts at this time.
    pub(crate) fn act(&mut self, millis: i64, player: usize, bytes: &[u8]) {
        self.push(at(millis), Call::Act(player, bytes.to_vec()));
    }

    /// The game server sends an update to all at this time.
    pub(crate) fn update(&mut self, millis: i64, bytes: &[u8]) {
        self.push(at(millis), Call::Update(None, false, bytes.to_vec()));
    }

    /// The same, to one player or on the reliable channel.
    pub(crate) fn update_to(&mut self, millis: i64, player: Option<usize>, reliable: bool, bytes: &[u8]) {
        self.push(at(millis), Call::Update(player.map(peer), reliable, bytes.to_vec()));
    }

    /// Updates to all, so many milliseconds apart.
    pub(crate) fn updates(&mut self, from: i64, until: i64, every: usize) {
        (from..until).step_by(every).for_each(|millis| self.update(millis, b"tick"));
    }

    /// Switches the service at this time.
    pub(crate) fn switch(&mut self, millis: i64, order: Order, sync_out: bool) {
        self.run_until(millis);
        self.sms.handle_command(self.now, SmsCommand::Switch { order, sync_out });
        self.drain();
    }

    pub(crate) fn run_until(&mut self, millis: i64) {
        loop {
            let timeouts = self.players.iter().map(Endpoint::poll_timeout).chain([self.sms.poll_timeout()]);
            let timeout = timeouts.flatten().min();
            let call = self.calls.first_key_value().map(|((at, _), _)| *at);
            let next = [timeout, call].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= at(millis)) else { break };
            self.now = self.now.max(next);
            match self.calls.pop_first() {
                Some(((at, _), call)) if at <= self.now => self.call(call),
                Some((key, call)) => {
                    self.calls.insert(key, call);
                    self.timeouts();
                }
                None => self.timeouts(),
            }
            self.drain();
        }
        self.now = self.now.max(at(millis));
    }

    fn timeouts(&mut self) {
        self.sms.handle_timeout(self.now);
        self.players.iter_mut().for_each(|player| player.handle_timeout(self.now));
    }

    fn call(&mut self, call: Call) {
        let now = self.now;
        match call {
            Call::ToServer(player, channel, bytes) => {
                self.sms.handle_message(now, peer(player), channel, &bytes).expect("an honest message");
            }
            Call::ToPlayer(player, channel, bytes) => {
                self.players[player].handle_message(now, SERVER, channel, &bytes).expect("an honest message");
            }
            Call::Act(player, bytes) => {
                self.players[player].handle_command(now, SmcCommand::Act { reliable: false, bytes });
            }
            Call::Update(to, reliable, bytes) => {
                self.sms.handle_command(now, SmsCommand::Update { to, reliable, bytes });
            }
        }
    }

    fn arrival(&mut self, player: usize, channel: Channel, is_down: bool) -> Option<LocalTime> {
        let path = self.paths[player];
        let delay = if is_down { path.down } else { path.up };
        let extra = if path.jitter > 0.0 { self.draws.exponential(path.jitter) } else { 0.0 };
        let is_lost = path.loss > 0.0 && self.draws.chance(path.loss);
        let at = self.now + delay + Span::from_millis_f64(extra);
        match channel {
            _ if self.silenced.contains(&player) => None,
            Channel::Datagram if is_lost => None,
            // A retransmission takes a round trip.
            Channel::Reliable if is_lost => Some(at + path.down + path.up),
            _ => Some(at),
        }
    }

    fn drain(&mut self) {
        let mut bytes = Vec::new();
        while let Some((to, channel)) = self.sms.poll_transmit(self.now, &mut bytes) {
            let player = to.0 as usize - 1;
            self.sent[0] += 1;
            if let Some(at) = self.arrival(player, channel, true) {
                self.push(at, Call::ToPlayer(player, channel, bytes.clone()));
            }
        }
        for player in 0..self.players.len() {
            while let Some((_, channel)) = self.players[player].poll_transmit(self.now, &mut bytes) {
                self.sent[1] += 1;
                let forged = match self.cheats.get_mut(&player) {
                    Some(cheat) if channel == Channel::Datagram => cheat.forge(&bytes),
                    _ => vec![(Span::ZERO, bytes.clone())],
                };
                for (held_back, bytes) in forged {
                    if let Some(at) = self.arrival(player, channel, false) {
                        self.push(at + held_back, Call::ToServer(player, channel, bytes));
                    }
                }
            }
            while let Some(event) = self.players[player].poll_event() {
                if let SmcEvent::Update { stamp, late, bytes, .. } = event {
                    self.seen.push(Seen { at: self.now, player, stamp, late, bytes });
                }
            }
        }
        while let Some(event) = self.sms.poll_event() {
            match event {
                SmsEvent::Action(action) => self.served.push((self.now, action)),
                SmsEvent::Guaranteed { peer, is_guaranteed } => self.guarantees.push((peer, is_guaranteed)),
                SmsEvent::Stalled { .. } | SmsEvent::Clock(_) => {}
            }
        }
    }

    /// What was served, in order.
    pub(crate) fn served(&self) -> Vec<&[u8]> {
        self.served.iter().map(|(_, action)| &action.bytes[..]).collect()
    }

    /// How long an action waited at the server.
    pub(crate) fn waited(&self, bytes: &[u8]) -> Span {
        let served = self.served.iter().find(|(_, action)| action.bytes == bytes);
        let (at, action) = served.expect("it was served");
        SessionTime::from_nanos(at.as_nanos()) - action.arrived
    }
}

/// A player's number at the server.
pub(crate) fn peer(player: usize) -> PeerId {
    PeerId(player as u32 + 1)
}

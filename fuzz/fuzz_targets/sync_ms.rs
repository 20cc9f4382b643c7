//! Any bytes parse as a message that survives being emitted again, or are rejected. And a server of Sync-MS with its players,
//! whose messages are forged, damaged, lost and repeated as the input says.

#![no_main]

use evenkeel_core::{
    Channel, Endpoint, FollowerClock, LocalTime, PeerChange, PeerId, ServerClock, SessionTime, Span,
};
use evenkeel_fuzz::feed::Feed;
use evenkeel_fuzz::forge::damage;
use evenkeel_session::Header;
use evenkeel_sync_ms::message::{ActionFrame, Frame, Moment, Part, SyncMessage, UpdateFrame, VERSION};
use evenkeel_sync_ms::{Respective, Smc, SmcCommand, SmcEvent, Sms, SmsCommand, SmsEvent, SyncConfig};
use libfuzzer_sys::fuzz_target;

const SERVER: PeerId = PeerId(0);
const PLAYERS: usize = 3;
/// Messages that wait to be delivered. Beyond, the oldest is lost.
const FLIGHT_MAX: usize = 64;
const ORDERS: [&str; 5] = ["reaction", "max-wait", "select-wait", "toss-wait=100:50,10:50", "none"];

struct Session {
    sms: Sms<ServerClock>,
    players: Vec<Smc<FollowerClock>>,
    /// To the server by player, and to a player.
    flight: Vec<(bool, usize, Channel, Vec<u8>)>,
    now: LocalTime,
    /// What each player has sent, and what was served of it.
    acted: [u64; PLAYERS],
    served: [u64; PLAYERS],
    is_forged: bool,
}

impl Session {
    fn new(feed: &mut Feed<'_>) -> Self {
        let config = SyncConfig {
            order: feed.pick(&ORDERS).parse().expect("an order"),
            sync_out: feed.once_in(2),
            respective: if feed.once_in(2) { Respective::Newest } else { Respective::BeforePreviousAction },
            cap: Span::from_millis(feed.pick(&[0, 20, 150])),
            ..SyncConfig::default()
        };
        let smc = |_| Smc::with_clock(&config, SERVER, FollowerClock::new(SERVER));
        let mut session = Self {
            sms: Sms::with_clock(&config, ServerClock::default()),
            players: (0..PLAYERS).map(smc).collect(),
            flight: Vec::new(),
            now: LocalTime::from_nanos(0),
            acted: [0; PLAYERS],
            served: [0; PLAYERS],
            is_forged: false,
        };
        (0..PLAYERS).for_each(|player| session.join(player, 1_200));
        session
    }

    fn join(&mut self, player: usize, datagram_max: usize) {
        let joined = |peer| PeerChange::Joined { peer, datagram_max };
        self.sms.handle_peer(self.now, joined(peer(player)));
        self.players[player].handle_peer(self.now, joined(SERVER));
    }

    fn deliver(&mut self, feed: &mut Feed<'_>) {
        if self.flight.is_empty() {
            return;
        }
        let index = feed.below(self.flight.len());
        let (to_server, player, channel, mut bytes) = self.flight.remove(index);
        match feed.byte() % 16 {
            0 => return,
            1 => {
                damage(&mut bytes, feed);
                self.is_forged = true;
            }
            2 => self.receive(to_server, player, channel, &bytes),
            _ => {}
        }
        self.receive(to_server, player, channel, &bytes);
    }

    fn receive(&mut self, to_server: bool, player: usize, channel: Channel, bytes: &[u8]) {
        // Peers may send anything: it is rejected, or it changes what the protocol lets it change.
        let _ = if to_server {
            self.sms.handle_message(self.now, peer(player), channel, bytes)
        } else {
            self.players[player].handle_message(self.now, SERVER, channel, bytes)
        };
    }

    fn forge(&mut self, feed: &mut Feed<'_>) {
        self.is_forged = true;
        let stamp = feed.once_in(2).then(|| SessionTime::from_nanos(feed.long() >> 4));
        let moment = Moment { update: feed.small(), elapsed: feed.span() };
        let part = Part { index: feed.small(), count: feed.small() };
        let payload = feed.slice(40);
        let frame = match feed.byte() % 6 {
            0 => Frame::Promise { next: feed.small(), moment },
            1 => Frame::Heard { update: feed.small(), delay: feed.span() },
            2 => Frame::Update(UpdateFrame {
                id: feed.small(),
                stamp: stamp.unwrap_or_default(),
                hold: feed.span(),
                part,
                payload,
            }),
            3 => Frame::Ping { heartbeat: feed.span() },
            _ => Frame::Action(ActionFrame {
                seq: feed.small(),
                reaction: Some(moment),
                sent: stamp,
                part,
                payload,
            }),
        };
        let mut bytes = Vec::new();
        Header { nonce: feed.small(), stamp }.emit(VERSION, &mut bytes);
        frame.emit(stamp, &mut bytes);
        let player = feed.below(PLAYERS);
        self.receive(feed.once_in(2), player, Channel::Datagram, &bytes);
    }

    fn drain(&mut self) {
        let mut bytes = Vec::new();
        let mut sent = Vec::new();
        while let Some((to, channel)) = self.sms.poll_transmit(self.now, &mut bytes) {
            sent.push((false, to.0 as usize - 1, channel, bytes.clone()));
        }
        for (index, player) in self.players.iter_mut().enumerate() {
            while let Some((_, channel)) = player.poll_transmit(self.now, &mut bytes) {
                sent.push((true, index, channel, bytes.clone()));
            }
            while let Some(SmcEvent::Update { .. } | SmcEvent::Clock(_)) = player.poll_event() {}
        }
        for message in sent {
            assert!(SyncMessage::parse(&message.3).is_ok(), "a machine's own message is well-formed");
            if self.flight.len() == FLIGHT_MAX {
                self.flight.remove(0);
            }
            self.flight.push(message);
        }
        while let Some(event) = self.sms.poll_event() {
            if let SmsEvent::Action(action) = event {
                self.served[action.from.0 as usize - 1] += 1;
                assert!(action.virtual_at <= action.arrived, "nobody acts later than it arrives: {action:?}");
            }
        }
        let invented = self.served.iter().zip(&self.acted).any(|(served, acted)| served > acted);
        assert!(self.is_forged || !invented, "served {:?} of {:?}", self.served, self.acted);
    }

    fn step(&mut self, feed: &mut Feed<'_>) {
        match feed.byte() % 16 {
            0..6 => self.deliver(feed),
            6 | 7 => {
                let (player, reliable) = (feed.below(PLAYERS), feed.once_in(4));
                let bytes = vec![1; feed.pick(&[0, 10, 900, 4_000])];
                self.acted[player] += 1;
                self.players[player].handle_command(self.now, SmcCommand::Act { reliable, bytes });
            }
            8 | 9 => {
                let (to, reliable) = (feed.once_in(2).then(|| peer(feed.below(PLAYERS))), feed.once_in(4));
                let bytes = vec![2; feed.pick(&[0, 10, 900, 4_000])];
                self.sms.handle_command(self.now, SmsCommand::Update { to, reliable, bytes });
            }
            10 => self.forge(feed),
            11 => {
                let order = feed.pick(&ORDERS).parse().expect("an order");
                let sync_out = feed.once_in(2);
                self.sms.handle_command(self.now, SmsCommand::Switch { order, sync_out });
            }
            12 => {
                let player = feed.below(PLAYERS);
                let left = |peer| PeerChange::Left { peer };
                // What was under way on the former connection is lost with it.
                self.flight.retain(|(_, other, ..)| *other != player);
                self.sms.handle_peer(self.now, left(peer(player)));
                self.players[player].handle_peer(self.now, left(SERVER));
                self.join(player, feed.pick(&[0, 60, 300, 1_200]));
            }
            _ => {
                self.now += Span::from_millis(i64::from(feed.byte()));
                self.sms.handle_timeout(self.now);
                self.players.iter_mut().for_each(|player| player.handle_timeout(self.now));
                assert!(self.sms.poll_timeout().is_none_or(|at| at > self.now), "it spins");
            }
        }
    }
}

fn peer(player: usize) -> PeerId {
    PeerId(player as u32 + 1)
}

/// What parses is emitted again as a message that means the same.
fn check_roundtrip(bytes: &[u8]) {
    let Ok(message) = SyncMessage::parse(bytes) else { return };
    let header = message.header();
    let frames: Vec<Frame<'_>> = message.collect();
    let mut again = Vec::new();
    header.emit(VERSION, &mut again);
    frames.iter().for_each(|frame| frame.emit(header.stamp, &mut again));
    let parsed = SyncMessage::parse(&again).expect("an emitted message is well-formed");
    assert!(parsed.eq(frames), "{bytes:x?} became {again:x?}");
}

fuzz_target!(|bytes: &[u8]| {
    check_roundtrip(bytes);
    let mut feed = Feed::new(bytes);
    let mut session = Session::new(&mut feed);
    while !feed.is_over() {
        session.step(&mut feed);
        session.drain();
    }
});

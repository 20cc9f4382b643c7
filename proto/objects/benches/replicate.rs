//! The cost of an object at a receiver: 1,000 objects of the server, 100 players, a tenth of the objects in each one's scope.
//!
//! Run with `cargo bench -p evenkeel-objects --bench replicate`. Every tick, a part of the objects changes one field of four bytes.
//! Bytes are those of all datagrams to the players, divided by the changes that reach a player; times are those of the room's
//! machine alone: changing, packing, acknowledgments and the reviews of scopes.

// A benchmark reads the clock and prints.
#![allow(clippy::disallowed_types, clippy::disallowed_macros, missing_docs)]

use std::time::{Duration, Instant};

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Seed, Span, Vec3};
use evenkeel_objects::{
    Area, LOCAL_MIN, Object, ObjectCommand, ObjectId, ObjectPeer, ObjectPeerConfig, ObjectRoom,
    ObjectRoomConfig,
};

evenkeel_objects::schema! {
    /// What is measured.
    pub static BENCH = "bench";
    objects {
        /// An object with a field that changes.
        Thing: planar { owner state: f32, owner name: String }
        /// From where a player looks.
        Eye: planar { owner open: bool }
    }
    messages {}
}

const OBJECTS: usize = 1_000;
const PLAYERS: usize = 100;
const TICK: Span = Span::from_millis(20);
const RELAY: PeerId = PeerId(0);
/// The side of the square that everything is in, and how far one tenth of it reaches.
const SIDE: f64 = 1_000.0;

struct Bench {
    room: ObjectRoom,
    players: Vec<ObjectPeer>,
    things: Vec<ObjectId>,
    now: LocalTime,
    spent: Duration,
    bytes: u64,
    datagrams: u64,
}

impl Bench {
    fn new() -> Self {
        // The scope of a player in the middle of its share is a tenth of the square.
        let radius = (0.1 * SIDE * SIDE / core::f64::consts::PI).sqrt();
        let area = Area::Radius { enter: radius, leave: radius };
        let config = ObjectRoomConfig { schema: &BENCH, area, tick: TICK, ..ObjectRoomConfig::default() };
        let mut bench = Self {
            room: ObjectRoom::new(&config),
            players: Vec::new(),
            things: Vec::new(),
            now: LocalTime::from_nanos(0),
            spent: Duration::ZERO,
            bytes: 0,
            datagrams: 0,
        };
        for number in 0..PLAYERS {
            let peer = PeerId(number as u32 + 1);
            let seed = Seed::new(number as u64);
            let config = ObjectPeerConfig { relay: RELAY, schema: &BENCH, tick: TICK, seed };
            let mut player = ObjectPeer::new(&config);
            bench.room.handle_peer(bench.now, PeerChange::Joined { peer, datagram_max: 1_200 });
            player.handle_peer(bench.now, PeerChange::Joined { peer: RELAY, datagram_max: 1_200 });
            let object = ObjectId::of(peer, LOCAL_MIN);
            let values = Eye { open: true }.values();
            player.handle_command(bench.now, ObjectCommand::Create { object, kind: Eye::KIND, values });
            bench.players.push(player);
        }
        (0..10).for_each(|_| bench.tick(0));
        let mut draws = Seed::new(7).draws();
        // Away from the edges, so that every scope holds about a tenth.
        for number in 0..PLAYERS {
            let at = Vec3::xy(draws.uniform(0.3 * SIDE, 0.7 * SIDE), draws.uniform(0.3 * SIDE, 0.7 * SIDE));
            bench.room.place(ObjectId::of(PeerId(number as u32 + 1), LOCAL_MIN), at);
        }
        for number in 0..OBJECTS {
            let at = Vec3::xy(draws.uniform(0.0, SIDE), draws.uniform(0.0, SIDE));
            let thing = Thing { state: 0.0, name: format!("thing {number}") };
            bench.things.extend(bench.room.create_object(&thing, Some(at)));
        }
        (0..50).for_each(|_| bench.tick(0));
        bench
    }

    /// One tick, in which this many of the objects change.
    fn tick(&mut self, changing: usize) {
        self.now += TICK;
        let start = Instant::now();
        self.room.advance(self.now);
        let first = self.now.as_nanos() as usize / TICK.as_nanos() as usize * 37;
        for number in 0..changing {
            let thing = self.things[(first + number) % OBJECTS];
            let value = (first as f32).to_le_bytes();
            self.room.set(thing, 0, &value);
        }
        self.room.handle_timeout(self.now);
        self.spent += start.elapsed();
        let mut bytes = Vec::new();
        loop {
            let start = Instant::now();
            let sent = self.room.poll_transmit(self.now, &mut bytes);
            self.spent += start.elapsed();
            let Some((to, channel)) = sent else { break };
            self.bytes += bytes.len() as u64;
            self.datagrams += u64::from(channel == Channel::Datagram);
            let player = &mut self.players[to.0 as usize - 1];
            player.handle_message(self.now, RELAY, channel, &bytes).expect("an honest room");
        }
        while self.room.poll_event().is_some() {}
        for (number, player) in self.players.iter_mut().enumerate() {
            player.handle_timeout(self.now);
            while let Some((_, channel)) = player.poll_transmit(self.now, &mut bytes) {
                let start = Instant::now();
                let from = PeerId(number as u32 + 1);
                self.room.handle_message(self.now, from, channel, &bytes).expect("an honest player");
                self.spent += start.elapsed();
            }
            while player.poll_event().is_some() {}
        }
    }

    fn measure(&mut self, changing: usize) {
        const TICKS: usize = 200;
        (self.spent, self.bytes, self.datagrams) = (Duration::ZERO, 0, 0);
        (0..TICKS).for_each(|_| self.tick(changing));
        let pairs: usize = self.things.iter().map(|thing| self.room.watchers(*thing).count()).sum();
        let changes = (pairs * changing * TICKS) as f64 / OBJECTS as f64;
        println!(
            "{changing:>5} of {OBJECTS} objects change per tick, {:.1} % in scope: {:.1} bytes and {:.0} ns per changed object and \
             receiver, {:.1} ns per pair in scope and tick, {:.2} ms per tick, {:.1} datagrams per player and second",
            100.0 * pairs as f64 / (OBJECTS * PLAYERS) as f64,
            self.bytes as f64 / changes.max(1.0),
            self.spent.as_nanos() as f64 / changes.max(1.0),
            self.spent.as_nanos() as f64 / (pairs * TICKS) as f64,
            self.spent.as_secs_f64() * 1e3 / TICKS as f64,
            self.datagrams as f64 / PLAYERS as f64 / (TICKS as f64 * TICK.as_secs_f64()),
        );
    }
}

fn main() {
    let mut bench = Bench::new();
    for changing in [0, 10, 100, 1_000] {
        bench.measure(changing);
    }
}

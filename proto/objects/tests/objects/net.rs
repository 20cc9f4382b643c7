//! A room, its players and the network between them.

use std::collections::VecDeque;

use evenkeel_core::{Channel, Draws, Endpoint, LocalTime, PeerChange, PeerId, Seed, Span};
use evenkeel_objects::{
    Call, Delivery, GameMessage, Interest, LOCAL_MIN, Object, ObjectCommand, ObjectEvent, ObjectId,
    ObjectPeer, ObjectPeerConfig, ObjectRoom, ObjectRoomConfig, ObjectRoomEvent, Owner, Target, Value,
};

evenkeel_objects::schema! {
    /// What the tests' game is made of.
    pub static GAME = "test";
    objects {
        /// A ship, which moves.
        Ship: planar { owner name: String, owner colour: u8, server health: u16, owner load: Vec<u32> }
        /// A score board, which everybody sees.
        Board: still { server scores: Vec<u32>, owner title: String }
    }
    messages {
        /// Something to count.
        Note { number: u32, text: String }
        /// Something else.
        Shot { angle: f32 }
    }
}

pub(crate) const RELAY: PeerId = PeerId(0);
const STEP: Span = Span::from_millis(5);

struct InFlight {
    at: LocalTime,
    channel: Channel,
    bytes: Vec<u8>,
}

/// One player and its wires, up and down.
pub(crate) struct Seat {
    pub(crate) machine: ObjectPeer,
    pub(crate) events: Vec<ObjectEvent>,
    pub(crate) is_here: bool,
    wires: [VecDeque<InFlight>; 2],
}

/// What the network does to datagrams.
#[derive(Clone, Copy)]
pub(crate) struct Faults {
    pub(crate) loss: f64,
    pub(crate) copies: f64,
    pub(crate) jitter: f64,
}

impl Faults {
    pub(crate) const NONE: Self = Self { loss: 0.0, copies: 0.0, jitter: 0.0 };
    pub(crate) const BAD: Self = Self { loss: 0.3, copies: 0.1, jitter: 0.08 };
}

pub(crate) struct Net {
    pub(crate) room: ObjectRoom,
    pub(crate) events: Vec<ObjectRoomEvent>,
    pub(crate) seats: Vec<Seat>,
    pub(crate) faults: Faults,
    pub(crate) now: LocalTime,
    pub(crate) draws: Draws,
    /// Messages that a machine rejected.
    pub(crate) rejected: u64,
    /// How often the game was asked whether a player sees an object.
    pub(crate) asked: u64,
}

pub(crate) fn peer(seat: usize) -> PeerId {
    PeerId(seat as u32 + 1)
}

pub(crate) fn id(seat: usize, local: u32) -> ObjectId {
    ObjectId::of(peer(seat), LOCAL_MIN + local)
}

pub(crate) fn note(number: u32) -> Note {
    Note { number, text: "hello".into() }
}

impl Net {
    pub(crate) fn new(config: ObjectRoomConfig, players: usize, seed: u64) -> Self {
        let config = ObjectRoomConfig { schema: &GAME, server: RELAY, seed: Seed::new(seed), ..config };
        let mut net = Self {
            room: ObjectRoom::new(&config),
            events: Vec::new(),
            seats: Vec::new(),
            faults: Faults::NONE,
            now: LocalTime::from_nanos(0),
            draws: Seed::new(seed).draws(),
            rejected: 0,
            asked: 0,
        };
        (0..players).for_each(|_| net.add());
        (0..players).for_each(|seat| net.join(seat));
        net
    }

    pub(crate) fn machine(seed: u64) -> ObjectPeer {
        let tick = Span::from_millis(20);
        ObjectPeer::new(&ObjectPeerConfig { relay: RELAY, schema: &GAME, tick, seed: Seed::new(seed) })
    }

    pub(crate) fn add(&mut self) {
        let machine = Self::machine(self.seats.len() as u64);
        let wires = [VecDeque::new(), VecDeque::new()];
        self.seats.push(Seat { machine, events: Vec::new(), is_here: false, wires });
    }

    pub(crate) fn join(&mut self, seat: usize) {
        let datagram_max = 1_200;
        self.room.handle_peer(self.now, PeerChange::Joined { peer: peer(seat), datagram_max });
        let joined = PeerChange::Joined { peer: RELAY, datagram_max };
        self.seats[seat].machine.handle_peer(self.now, joined);
        self.seats[seat].is_here = true;
    }

    pub(crate) fn leave(&mut self, seat: usize) {
        self.room.handle_peer(self.now, PeerChange::Left { peer: peer(seat) });
        self.seats[seat].machine.handle_peer(self.now, PeerChange::Left { peer: RELAY });
        self.seats[seat].is_here = false;
        self.seats[seat].wires.iter_mut().for_each(VecDeque::clear);
        self.drain();
    }

    pub(crate) fn command(&mut self, seat: usize, command: ObjectCommand) {
        self.seats[seat].machine.handle_command(self.now, command);
    }

    pub(crate) fn create<T: Object>(&mut self, seat: usize, local: u32, object: &T) -> ObjectId {
        let (object, values) = (id(seat, local), object.values());
        self.command(seat, ObjectCommand::Create { object, kind: T::KIND, values });
        object
    }

    pub(crate) fn set(&mut self, seat: usize, object: ObjectId, field: u8, value: Value) {
        self.command(seat, ObjectCommand::Set { object, values: vec![(field, value)] });
    }

    pub(crate) fn call<T: GameMessage>(&mut self, seat: usize, to: Target, delivery: Delivery, message: &T) {
        let call = Call { delivery, party: to, kind: T::KIND, bytes: message.to_bytes() };
        self.command(seat, ObjectCommand::Call(call));
    }

    fn put(&mut self, seat: usize, wire: usize, channel: Channel, bytes: &[u8]) {
        let faults = self.faults;
        let mut times = 1;
        if channel == Channel::Datagram {
            times = u32::from(!self.draws.chance(faults.loss)) + u32::from(self.draws.chance(faults.copies));
        }
        for _ in 0..times {
            let delay = Span::from_millis(30) + Span::from_secs_f64(faults.jitter * self.draws.unit());
            let mut at = self.now + delay;
            let wire = &mut self.seats[seat].wires[wire];
            if channel == Channel::Reliable {
                // In order, behind the last of them.
                let last = wire.iter().filter(|one| one.channel == Channel::Reliable).map(|one| one.at).max();
                at = last.map_or(at, |last| last.max(at));
            }
            wire.push_back(InFlight { at, channel, bytes: bytes.to_vec() });
        }
    }

    /// Sends what is ready, and takes the events.
    pub(crate) fn drain(&mut self) {
        let mut bytes = Vec::new();
        while let Some((to, channel)) = self.room.poll_transmit(self.now, &mut bytes) {
            let seat = to.0 as usize - 1;
            assert!(self.seats[seat].is_here, "nothing is sent to who is not here");
            self.put(seat, 1, channel, &bytes);
        }
        while let Some(event) = self.room.poll_event() {
            self.events.push(event);
        }
        for seat in 0..self.seats.len() {
            while let Some((_, channel)) = self.seats[seat].machine.poll_transmit(self.now, &mut bytes) {
                self.put(seat, 0, channel, &bytes);
            }
            let seat = &mut self.seats[seat];
            while let Some(event) = seat.machine.poll_event() {
                seat.events.push(event);
            }
        }
    }

    fn deliver(&mut self) {
        for seat in 0..self.seats.len() {
            for wire in 0..2 {
                let now = self.now;
                let due: Vec<InFlight> = {
                    let all = &mut self.seats[seat].wires[wire];
                    let (mut due, rest): (Vec<_>, Vec<_>) = all.drain(..).partition(|one| one.at <= now);
                    all.extend(rest);
                    due.sort_by_key(|one| one.at);
                    due
                };
                for InFlight { channel, bytes, .. } in due {
                    let done = if wire == 0 {
                        self.room.handle_message(now, peer(seat), channel, &bytes)
                    } else {
                        self.seats[seat].machine.handle_message(now, RELAY, channel, &bytes)
                    };
                    self.rejected += u64::from(done.is_err());
                    self.drain();
                }
            }
        }
    }

    pub(crate) fn step(&mut self) {
        self.now += STEP;
        self.deliver();
        if self.room.is_review_due(self.now) {
            let (now, asked) = (self.now, &mut self.asked);
            self.room.review(now, &mut |_, _| {
                *asked += 1;
                Interest::ByArea
            });
        }
        if self.room.poll_timeout().is_some_and(|at| at <= self.now) {
            self.room.handle_timeout(self.now);
        }
        for seat in &mut self.seats {
            if seat.machine.poll_timeout().is_some_and(|at| at <= self.now) {
                seat.machine.handle_timeout(self.now);
            }
        }
        self.drain();
    }

    pub(crate) fn run(&mut self, millis: i64) {
        (0..millis * 1_000_000 / STEP.as_nanos()).for_each(|_| self.step());
    }

    /// The values of an object at a player.
    pub(crate) fn copy(&self, seat: usize, object: ObjectId) -> Option<(Owner, Vec<Value>)> {
        let mut all = self.seats[seat].machine.objects();
        all.find(|(id, ..)| *id == object).map(|(_, _, owner, values)| (owner, values.to_vec()))
    }

    /// The values of an object at the server.
    pub(crate) fn original(&self, object: ObjectId) -> Option<(Owner, Vec<Value>)> {
        self.room.object(object).map(|view| (view.owner, view.values.to_vec()))
    }

    /// The numbers of the notes that a player got, with this guarantee.
    pub(crate) fn notes(&self, seat: usize, wanted: Delivery) -> Vec<u32> {
        let number = |event: &ObjectEvent| match event {
            ObjectEvent::Call { delivery, kind, bytes, .. } if *delivery == wanted && *kind == Note::KIND => {
                Some(Note::from_bytes(bytes).expect("a note").number)
            }
            _ => None,
        };
        self.seats[seat].events.iter().filter_map(number).collect()
    }

    /// The objects that the server shows to a player.
    fn in_scope(&self, seat: usize) -> Vec<ObjectId> {
        let objects = self.room.objects().map(|view| view.object);
        objects.filter(|object| self.room.watchers(*object).any(|watcher| watcher == peer(seat))).collect()
    }

    fn known(&self, seat: usize) -> Vec<ObjectId> {
        self.seats[seat].machine.objects().map(|(id, ..)| id).collect()
    }

    /// Asserts that every player has exactly what it has in scope, as the server has it, and the owner, too.
    pub(crate) fn assert_settled(&self) {
        for seat in (0..self.seats.len()).filter(|seat| self.seats[*seat].is_here) {
            let seen = self.in_scope(seat);
            assert_eq!(self.known(seat), seen, "what player {seat} has in scope");
            for object in seen {
                assert_eq!(self.copy(seat, object), self.original(object), "{object} at player {seat}");
            }
        }
    }
}

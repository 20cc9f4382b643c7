//! Fields and motion share a room's bandwidth, and what a game says matters more is fresher in both.

use evenkeel_core::{Channel, Draws, Endpoint, LocalTime, PeerChange, PeerId, Seed, SessionTime, Span, Vec3};
use evenkeel_dr::{Budget, DrConfig, EntityId, MotionState, RoomEntity, Threshold, Topology};
use evenkeel_game::{GameConfig, GameLogic, GameOutbox, GamePlayer, GameRoom};
use evenkeel_objects::{Interest, ObjectId, ObjectRoomConfig, ObjectView};

evenkeel_objects::schema! {
    /// What the test's game is made of.
    pub static GAME = "priority";
    objects {
        /// A thing that the server moves about.
        Mote: planar { owner label: Vec<u32> }
    }
    messages {}
}

const RELAY: PeerId = PeerId(0);
const STEP: Span = Span::from_millis(10);
const MOTES: usize = 40;
const PLAYERS: u32 = 3;
/// The room's bandwidth per player, in bits per second.
const BANDWIDTH: f64 = 60_000.0;
/// The headers around a datagram, in bits: IPv4, UDP, QUIC with its tag, and QUIC's frame.
const HEADERS: f64 = 8.0 * (20.0 + 8.0 + 27.0 + 3.0);

/// Moves motes about at random, and says which matters most.
struct Rules {
    draws: Draws,
    motes: Vec<(ObjectId, MotionState)>,
    /// The weight of the first mote for the first player.
    weight: f32,
    /// How many bytes of labels change at a time.
    labels: usize,
}

impl GameLogic for Rules {
    fn objects(&self) -> ObjectRoomConfig {
        ObjectRoomConfig { schema: &GAME, ..ObjectRoomConfig::default() }
    }

    fn interest(&self, viewer: PeerId, object: &ObjectView<'_>) -> Interest {
        let is_weighty =
            viewer == PeerId(1) && self.motes.first().is_some_and(|(id, _)| *id == object.object);
        Interest::Seen(if is_weighty { self.weight } else { 1.0 })
    }

    fn tick(&mut self, now: SessionTime, _: &[RoomEntity], outbox: &mut GameOutbox) {
        let mote = Mote { label: vec![0; self.labels] };
        while self.motes.len() < MOTES {
            let position = Vec3::xy(self.motes.len() as f64, 0.0);
            let id = outbox.objects_mut().create_object(&mote, Some(position)).expect("there is room");
            self.motes.push((id, MotionState { position, ..MotionState::default() }));
        }
        let stamp = (now.as_nanos() / 20_000_000) as u32;
        for (id, state) in &mut self.motes {
            if self.draws.chance(0.1) {
                let mut speed = || self.draws.uniform(-10.0, 10.0);
                state.velocity = Vec3::xy(speed(), speed());
            }
            state.position = state.position + state.velocity * 0.02;
            outbox.observe(*id, *state);
            let labels = self.labels;
            outbox.objects_mut().update(*id, |mote: &mut Mote| mote.label = vec![stamp; labels]);
        }
    }
}

struct Net {
    room: GameRoom<Rules>,
    players: Vec<GamePlayer>,
    flight: Vec<(LocalTime, usize, bool, Channel, Vec<u8>)>,
    now: LocalTime,
    /// What has left for the first player, with headers.
    bits: f64,
    /// The errors that the first player sees, of the first mote and of the others.
    errors: [f64; 2],
}

impl Net {
    fn new(weight: f32, labels: usize, budget: &str) -> Self {
        let budget: Budget = budget.parse().expect("a budget");
        let threshold = Threshold { distance: 0.1, ..Threshold::default() };
        let dr = DrConfig { tick: Span::from_millis(20), budget, threshold, ..DrConfig::default() };
        let rules = Rules { draws: Seed::new(3).draws(), motes: Vec::new(), weight, labels };
        let mut room = GameRoom::new(&GameConfig::from(dr), rules);
        let now = LocalTime::from_nanos(0);
        let mut players = Vec::new();
        for number in 1..=PLAYERS {
            let dr = DrConfig { topology: Topology::Relay(RELAY), ..dr };
            let mut machine = GamePlayer::new(&dr.into(), RELAY).with_schema(&GAME);
            room.handle_peer(now, PeerChange::Joined { peer: PeerId(number), datagram_max: 1_200 });
            machine.handle_peer(now, PeerChange::Joined { peer: RELAY, datagram_max: 1_200 });
            players.push(machine);
        }
        Self { room, players, flight: Vec::new(), now, bits: 0.0, errors: [0.0; 2] }
    }

    fn run(&mut self, seconds: i64) {
        (0..seconds * 100).for_each(|_| self.step());
    }

    fn step(&mut self) {
        self.now += STEP;
        let (now, delay, mut bytes) = (self.now, Span::from_millis(40), Vec::new());
        let (due, rest) = core::mem::take(&mut self.flight).into_iter().partition(|(at, ..)| *at <= now);
        self.flight = rest;
        for (_, player, is_up, channel, bytes) in due {
            if is_up {
                let peer = PeerId(player as u32 + 1);
                self.room.handle_message(now, peer, channel, &bytes).expect("honest");
            } else {
                self.players[player].handle_message(now, RELAY, channel, &bytes).expect("honest");
            }
        }
        self.room.handle_timeout(now);
        while let Some((to, channel)) = self.room.poll_transmit(now, &mut bytes) {
            if to == PeerId(1) {
                let headers = if channel == Channel::Datagram { HEADERS } else { 0.0 };
                self.bits += 8.0 * bytes.len() as f64 + headers;
            }
            self.flight.push((now + delay, to.0 as usize - 1, false, channel, bytes.clone()));
        }
        while self.room.poll_event().is_some() {}
        for (number, player) in self.players.iter_mut().enumerate() {
            player.handle_timeout(now);
            while let Some((_, channel)) = player.poll_transmit(now, &mut bytes) {
                self.flight.push((now + delay, number, true, channel, bytes.clone()));
            }
            while player.poll_event().is_some() {}
        }
        for (number, (id, state)) in self.room.game().motes.iter().enumerate() {
            if let Some(seen) = self.players[0].dr().position(now, RELAY, EntityId(id.0)) {
                let share = if number == 0 { 1.0 } else { 1.0 / (MOTES - 1) as f64 };
                self.errors[usize::from(number > 0)] += share * seen.distance(state.position);
            }
        }
    }

    /// Bits per second and errors of the first player over some time after the start.
    fn measure(mut self) -> (f64, [f64; 2]) {
        self.run(10);
        (self.bits, self.errors) = (0.0, [0.0; 2]);
        self.run(30);
        (self.bits / 30.0, self.errors)
    }
}

#[test]
fn motion_obeys_the_games_priorities() {
    let [alike, weighty] = [1.0, 50.0].map(|weight| {
        let (_, [first, others]) = Net::new(weight, 0, "20 kbit/s").measure();
        first / others
    });
    assert!((0.7..1.4).contains(&alike), "{alike}");
    assert!(weighty < 0.6 * alike, "{weighty} against {alike}");
}

#[test]
fn motion_and_objects_together_stay_within_the_bandwidth() {
    for labels in [0, 4, 60] {
        let budget = format!("{} kbit/s", BANDWIDTH / 1_000.0);
        let (bits, _) = Net::new(1.0, labels, &budget).measure();
        assert!(bits < 1.05 * BANDWIDTH, "{bits} bit/s with {labels} numbers per label");
        assert!(
            bits > 0.6 * BANDWIDTH,
            "{bits} bit/s with {labels} numbers per label: there was more to say"
        );
    }
}

//! Objects and their motion in one room: what is out of scope is not told of, whoever owns it, and fairness is among those who
//! see it.

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, SessionTime, Span, Vec3};
use evenkeel_dr::{DrCommand, DrConfig, DrRoom, EntityId, MotionState, RoomEntity, Topology};
use evenkeel_game::{GameConfig, GameLogic, GameOutbox, GamePlayer, GameRoom, PlayerCommand, PlayerEvent};
use evenkeel_objects::{
    Area, Denied, Interest, LOCAL_MIN, Object, ObjectCommand, ObjectEvent, ObjectId, ObjectRoomConfig,
    ObjectRoomEvent, ObjectView, Owner,
};

evenkeel_objects::schema! {
    /// What the test's game is made of.
    pub static GAME = "test";
    objects {
        /// A ship.
        Ship: planar { owner cloaked: bool, server health: u8 }
        /// A rock of the server.
        Rock: planar { owner size: u8 }
        /// A probe.
        Probe: spatial { owner size: u8 }
        /// A sign.
        Sign: still { owner size: u8 }
    }
    messages {}
}

const RELAY: PeerId = PeerId(0);
const STEP: Span = Span::from_millis(10);
const RANGE: f64 = 50.0;

#[derive(Default)]
struct Rules {
    rock: Option<ObjectId>,
    /// Whether it lifts the rock off its plane, and how often that was refused.
    tilts: bool,
    refused: u32,
}

impl GameLogic for Rules {
    fn objects(&self) -> ObjectRoomConfig {
        let area = Area::Radius { enter: RANGE, leave: RANGE };
        ObjectRoomConfig { schema: &GAME, area, ..ObjectRoomConfig::default() }
    }

    fn interest(&self, _viewer: PeerId, object: &ObjectView<'_>) -> Interest {
        let is_cloaked = object.kind == Ship::KIND && *object.values[0] == [1];
        if is_cloaked { Interest::Hidden } else { Interest::ByArea }
    }

    fn object_event(&mut self, event: &ObjectRoomEvent, outbox: &mut GameOutbox) {
        if let ObjectRoomEvent::Created { object, .. } = event {
            outbox.objects_mut().update(*object, |ship: &mut Ship| ship.health = 100);
        }
    }

    fn tick(&mut self, now: SessionTime, _: &[RoomEntity], outbox: &mut GameOutbox) {
        let seconds = now.as_nanos() as f64 / 1e9;
        let state = at(10.0 + seconds, 1.0);
        let rock =
            self.rock.or_else(|| outbox.objects_mut().create_object(&Rock { size: 1 }, Some(state.position)));
        self.rock = rock;
        if let Some(rock) = rock {
            let position = Vec3 { z: if self.tilts { 1.0 } else { 0.0 }, ..state.position };
            self.refused += u32::from(!outbox.observe(rock, MotionState { position, ..state }));
        }
    }
}

fn at(x: f64, speed: f64) -> MotionState {
    let (position, velocity) = (Vec3::xy(x, 0.0), Vec3::xy(speed, 0.0));
    MotionState { position, velocity, ..MotionState::default() }
}

type InFlight = (LocalTime, usize, bool, Channel, Vec<u8>);

struct Net {
    room: GameRoom<Rules>,
    players: Vec<GamePlayer>,
    places: Vec<MotionState>,
    /// Whom each ship is moved by.
    pilots: Vec<usize>,
    events: Vec<Vec<PlayerEvent>>,
    flight: Vec<InFlight>,
    now: LocalTime,
}

fn peer(player: usize) -> PeerId {
    PeerId(player as u32 + 1)
}

fn ship(player: usize) -> ObjectId {
    ObjectId::of(peer(player), LOCAL_MIN + 3)
}

fn entity(object: ObjectId) -> EntityId {
    EntityId(object.0)
}

impl Net {
    fn new(places: &[f64]) -> Self {
        Self::with(places, Rules::default())
    }

    fn with(places: &[f64], rules: Rules) -> Self {
        let config = GameConfig::from(DrConfig { tick: STEP, ..DrConfig::default() });
        let mut net = Self {
            room: GameRoom::new(&config, rules),
            players: Vec::new(),
            places: places.iter().map(|x| at(*x, 0.0)).collect(),
            pilots: (0..places.len()).collect(),
            events: vec![Vec::new(); places.len()],
            flight: Vec::new(),
            now: LocalTime::from_nanos(0),
        };
        for player in 0..places.len() {
            let dr = DrConfig { topology: Topology::Relay(RELAY), tick: STEP, ..DrConfig::default() };
            let mut machine = GamePlayer::new(&dr.into(), RELAY).with_schema(&GAME);
            net.room.handle_peer(net.now, PeerChange::Joined { peer: peer(player), datagram_max: 1_200 });
            machine.handle_peer(net.now, PeerChange::Joined { peer: RELAY, datagram_max: 1_200 });
            let values = Ship { cloaked: false, health: 0 }.values();
            let create = ObjectCommand::Create { object: ship(player), kind: Ship::KIND, values };
            machine.handle_command(net.now, PlayerCommand::Object(create));
            net.players.push(machine);
        }
        net
    }

    fn run(&mut self, millis: i64) {
        (0..millis * 1_000_000 / STEP.as_nanos()).for_each(|_| self.step());
    }

    fn step(&mut self) {
        self.now += STEP;
        let now = self.now;
        let (due, rest) = core::mem::take(&mut self.flight).into_iter().partition(|(at, ..)| *at <= now);
        self.flight = rest;
        for (_, player, is_up, channel, bytes) in due {
            if is_up {
                self.room.handle_message(now, peer(player), channel, &bytes).expect("honest");
            } else {
                self.players[player].handle_message(now, RELAY, channel, &bytes).expect("honest");
            }
        }
        for number in 0..self.places.len() {
            let place = &mut self.places[number];
            place.position = place.position + place.velocity * STEP.as_secs_f64();
            let observe = DrCommand::Observe { entity: entity(ship(number)), state: *place };
            self.players[self.pilots[number]].handle_command(now, PlayerCommand::Motion(observe));
        }
        self.room.handle_timeout(now);
        let (mut bytes, delay) = (Vec::new(), Span::from_millis(40));
        while let Some((to, channel)) = self.room.poll_transmit(now, &mut bytes) {
            self.flight.push((now + delay, to.0 as usize - 1, false, channel, bytes.clone()));
        }
        while self.room.poll_event().is_some() {}
        for (number, player) in self.players.iter_mut().enumerate() {
            player.handle_timeout(now);
            while let Some((_, channel)) = player.poll_transmit(now, &mut bytes) {
                self.flight.push((now + delay, number, true, channel, bytes.clone()));
            }
            while let Some(event) = player.poll_event() {
                self.events[number].push(event);
            }
        }
    }

    /// Where a player places an object.
    fn seen(&self, player: usize, object: ObjectId) -> Option<Vec3> {
        let position = self.players[player].dr().position(self.now, RELAY, entity(object))?;
        let knows = self.players[player].objects().objects().any(|(id, ..)| id == object);
        assert!(knows, "motion of an object that is out of scope");
        Some(position)
    }
}

#[test]
fn motion_is_told_within_scope_only_and_the_ledger_has_no_other_pairs() {
    let mut net = Net::new(&[0.0, 20.0, 500.0]);
    net.run(1_000);
    assert_eq!(net.seen(1, ship(0)), Some(Vec3::xy(0.0, 0.0)));
    assert_eq!(net.seen(2, ship(0)), None);
    let has_pair =
        |net: &Net, receiver| net.room.dr().ledger().pair(entity(ship(0)), peer(receiver)).is_some();
    assert_eq!([1, 2].map(|receiver| has_pair(&net, receiver)), [true, false]);
    let heard_of = |net: &Net| {
        let text = format!("{:?}", net.events[2]);
        text.contains(&ship(0).0.to_string()) || text.contains(&ship(1).0.to_string())
    };
    assert!(!heard_of(&net), "nothing tells the far player that the others exist");

    // It comes near, sees both, and leaves again.
    net.places[2] = at(30.0, 0.0);
    net.run(1_500);
    assert!(net.seen(2, ship(0)).is_some() && net.seen(2, ship(1)).is_some() && has_pair(&net, 2));
    net.places[2] = at(500.0, 0.0);
    net.run(1_500);
    assert_eq!((net.seen(2, ship(0)), has_pair(&net, 2)), (None, false));
    net.places[2] = at(30.0, 0.0);
    net.places[0].velocity = Vec3::xy(1.0, 0.0);
    net.run(1_500);
    let (seen, real) = (net.seen(2, ship(0)).expect("in scope"), net.places[0].position);
    assert!(seen.distance(real) < 0.2, "{seen:?} for {real:?}");
}

#[test]
fn server_moves_its_own_objects_without_a_player() {
    let mut net = Net::new(&[0.0, 500.0]);
    net.run(2_000);
    let rock = net.room.game().rock.expect("created");
    let seen = net.seen(0, rock).expect("in scope");
    let real = 10.0 + net.now.as_nanos() as f64 / 1e9;
    assert!((seen.x - real).abs() < 0.2, "{seen:?} for {real}");
    assert_eq!(net.seen(1, rock), None);
    let owner = net.players[0].objects().objects().find(|(id, ..)| *id == rock).map(|(_, _, owner, _)| owner);
    assert_eq!(owner, Some(Owner::Server));
}

#[test]
fn motion_passes_to_another_player_with_the_object() {
    let mut net = Net::new(&[0.0, 20.0, 30.0]);
    net.run(1_000);
    let give = ObjectCommand::Give { object: ship(0), to: Owner::Player(peer(1)) };
    net.players[0].handle_command(net.now, PlayerCommand::Object(give));
    net.run(200);
    net.pilots[0] = 1;
    net.places[0].velocity = Vec3::xy(0.0, 2.0);
    net.run(2_000);
    let real = net.places[0].position;
    for player in [0, 2] {
        let seen = net.seen(player, ship(0)).expect("in scope");
        assert!(seen.distance(real) < 0.3, "{seen:?} for {real:?} at {player}");
    }
    // The old owner has no say any more.
    net.pilots[0] = 0;
    net.places[0] = at(-20.0, 0.0);
    net.run(1_000);
    assert!(net.seen(2, ship(0)).expect("in scope").x > -1.0);
}

#[test]
fn cloaked_object_is_never_told_of() {
    let mut net = Net::new(&[0.0, 20.0]);
    let values = vec![(0, vec![1].into())];
    net.players[0]
        .handle_command(net.now, PlayerCommand::Object(ObjectCommand::Set { object: ship(0), values }));
    net.run(1_000);
    assert_eq!(net.seen(1, ship(0)), None);
    let created = |event: &&PlayerEvent| matches!(event, PlayerEvent::Object(ObjectEvent::Created { object, .. }) if *object == ship(0));
    assert_eq!(net.events[1].iter().filter(created).count(), 0);
    let health = |net: &Net| net.room.game().rock.is_some();
    assert!(health(&net));
}

fn denied(net: &Net, object: ObjectId) -> usize {
    let wanted = ObjectEvent::Denied { object, why: Denied::Motion };
    let is_it = |event: &&PlayerEvent| matches!(event, PlayerEvent::Object(event) if *event == wanted);
    net.events[0].iter().filter(is_it).count()
}

#[test]
fn objects_move_as_their_type_says() {
    let mut net = Net::new(&[0.0, 20.0]);
    let flat = MotionState { turn_rate: 0.3, ..at(3.0, 1.0) };
    let high = MotionState { position: Vec3::new(3.0, 0.0, 9.0), ..MotionState::default() };
    let kinds = [
        (Rock::KIND, Rock { size: 1 }.values(), flat, high),
        (Probe::KIND, Probe { size: 1 }.values(), high, flat),
        (Sign::KIND, Sign { size: 1 }.values(), high, flat),
    ];
    for (number, (kind, values, right, wrong)) in kinds.into_iter().enumerate() {
        let object = ObjectId::of(peer(0), LOCAL_MIN + 10 + number as u32);
        let create = ObjectCommand::Create { object, kind, values };
        net.players[0].handle_command(net.now, PlayerCommand::Object(create));
        let mut observe = |state, times: usize| {
            for _ in 0..times {
                let states = vec![(entity(object), state)];
                let all = PlayerCommand::Motion(DrCommand::ObserveAll { states });
                net.players[0].handle_command(net.now, all);
                net.run(10);
            }
        };
        observe(wrong, 20);
        let is_still = kind == Sign::KIND;
        observe(right, 50);
        assert_eq!(denied(&net, object), 1, "kind {kind} is told of once");
        assert_eq!(net.seen(0, object), None, "copies are of others");
        let exported = net.players[0].dr().exported_vector(entity(object));
        assert_eq!(
            exported.map(|vector| vector.state.position.z == high.position.z),
            match kind {
                Probe::KIND => Some(true),
                Rock::KIND => Some(false),
                _ => None,
            }
        );
        assert_eq!(net.seen(1, object).is_some(), !is_still);
    }
}

#[test]
fn server_moves_objects_as_their_type_says() {
    let mut outbox = GameOutbox::default();
    assert!(!outbox.observe(ship(0), at(0.0, 0.0)), "there is no such object");
    let mut net = Net::with(&[0.0], Rules { tilts: true, ..Rules::default() });
    net.run(500);
    let rock = net.room.game().rock.expect("created");
    assert_eq!((net.room.game().refused > 10, net.seen(0, rock)), (true, None));
}

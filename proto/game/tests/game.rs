//! Messages of a game beside dead reckoning, at a player and in a room.

use evenkeel_core::clock::{FollowerClock, Hull, ServerClock};
use evenkeel_core::contract::check;
use evenkeel_core::{
    Channel, Draws, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Reader, Rejected, SessionClock,
    SessionTime, Span, Vec3, Wire, delegate_endpoint,
};
use evenkeel_dr::{
    Budget, DrCommand, DrConfig, DrPeer, DrRelay, EntityId, MotionState, RelayCommand, RoomEntity, Topology,
};
use evenkeel_game::{
    Action, GameConfig, GameLogic, GameOutbox, GamePlayer, GameRoom, PlayerCommand, PlayerEvent, RoomCommand,
    SyncRoom,
};
use evenkeel_session::Room;
use evenkeel_sync_ms::{Order, SmsCommand};

const RELAY: PeerId = PeerId(0);
const ADA: PeerId = PeerId(1);

/// Notes every call and answers each.
#[derive(Debug, Default)]
struct Notes {
    calls: Vec<String>,
    ticks: u32,
}

impl GameLogic for Notes {
    fn joined(&mut self, player: PeerId, name: &str, outbox: &mut GameOutbox) {
        self.calls.push(format!("{} joined as {name}", player.0));
        outbox.send(player, b"hello");
    }

    fn left(&mut self, player: PeerId, outbox: &mut GameOutbox) {
        self.calls.push(format!("{} left", player.0));
        outbox.broadcast(b"bye");
    }

    fn message(&mut self, from: PeerId, message: &[u8], outbox: &mut GameOutbox) -> Result<(), Malformed> {
        if message.is_empty() {
            return Err(Malformed::Version { found: 2, supported: 1 });
        }
        outbox.broadcast_datagram(message);
        outbox.send(from, message);
        Ok(())
    }

    fn action(&mut self, action: &Action, outbox: &mut GameOutbox) -> Result<(), Malformed> {
        outbox.update(None, &action.bytes);
        outbox.update_datagram(Some(action.from), b"done");
        self.message(action.from, &action.bytes, outbox)
    }

    fn tick(&mut self, _: SessionTime, entities: &[RoomEntity], outbox: &mut GameOutbox) {
        self.ticks += 1;
        outbox.broadcast_datagram(&[entities.len() as u8]);
    }
}

fn dr_config() -> DrConfig {
    DrConfig { topology: Topology::Relay(RELAY), ..DrConfig::default() }
}

fn config() -> GameConfig {
    dr_config().into()
}

fn at(millis: i64) -> LocalTime {
    LocalTime::from_nanos(0) + Span::from_millis(millis)
}

fn joined(peer: PeerId) -> PeerChange {
    PeerChange::Joined { peer, datagram_max: 1200 }
}

fn room() -> GameRoom<Notes> {
    let mut room = GameRoom::new(&config(), Notes::default());
    room.handle_command(at(0), GameRoom::<Notes>::named(ADA, "ada").expect("it asks for names"));
    room.handle_peer(at(0), joined(ADA));
    room
}

/// The game's messages that a machine sends.
fn sent(machine: &mut impl Endpoint, now: LocalTime) -> Vec<(PeerId, Channel, Vec<u8>)> {
    let mut bytes = Vec::new();
    let all = std::iter::from_fn(|| {
        machine.poll_transmit(now, &mut bytes).map(|(to, channel)| (to, channel, bytes.clone()))
    });
    let games = all.filter(|(.., bytes)| bytes[0] == b'G');
    games.map(|(to, channel, bytes)| (to, channel, bytes[1..].to_vec())).collect()
}

#[test]
fn a_game_learns_who_joins_under_which_name_and_who_leaves() {
    let mut room = room();
    room.handle_peer(at(5), joined(PeerId(2)));
    room.handle_peer(at(6), PeerChange::Left { peer: ADA });
    room.handle_peer(at(7), joined(ADA));
    assert_eq!(room.game().calls, ["1 joined as ada", "2 joined as ", "1 left", "1 joined as ada"]);
    let hello: Vec<_> = sent(&mut room, at(7)).into_iter().filter(|(.., bytes)| bytes == b"hello").collect();
    assert_eq!(hello, [PeerId(2), ADA].map(|player| (player, Channel::Reliable, b"hello".to_vec())));
}

#[test]
fn a_game_ticks_at_its_interval_while_somebody_is_there() {
    let mut room = room();
    assert_eq!(room.game().ticks, 1);
    for millis in 1..=100 {
        room.handle_timeout(at(millis));
    }
    assert_eq!(room.game().ticks, 1 + 5);
    room.handle_timeout(at(10_000));
    assert_eq!(room.game().ticks, 1 + 5 + 1, "missed ticks are not made up for");
    room.handle_peer(at(10_001), PeerChange::Left { peer: ADA });
    room.handle_timeout(at(20_000));
    assert_eq!(room.game().ticks, 1 + 5 + 1);
}

#[test]
fn messages_beyond_the_limits_are_not_sent_but_counted() {
    struct Loud;
    impl GameLogic for Loud {
        fn joined(&mut self, player: PeerId, _: &str, outbox: &mut GameOutbox) {
            outbox.send(player, &[0; 64 * 1024 - 1]);
            outbox.send(player, &[0; 64 * 1024]);
            outbox.send_datagram(player, &[0; 1_001]);
            outbox.send(PeerId(9), b"to nobody");
            (0..1_200).for_each(|_| outbox.send(player, &[0; 60_000]));
        }
    }
    let mut room = GameRoom::new(&config(), Loud);
    room.handle_peer(at(0), joined(ADA));
    let messages = sent(&mut room, at(0));
    let bytes: usize = messages.iter().map(|(.., bytes)| bytes.len()).sum();
    assert!((64 << 20) - 65_536 < bytes && bytes <= 64 << 20, "{bytes} bytes");
    assert_eq!(room.unsent(), 2 + 1_200 - (messages.len() as u64 - 1));
}

#[test]
fn a_message_of_the_game_is_never_one_of_another_version() {
    let mut relay = DrRelay::new(&dr_config());
    relay.handle_peer(at(0), joined(ADA));
    let mut peer = DrPeer::new(&dr_config());
    peer.handle_peer(at(0), joined(RELAY));
    for channel in [Channel::Reliable, Channel::Datagram] {
        let other = Err(Rejected::Malformed(Malformed::Version { found: 9, supported: 1 }));
        for (bytes, answer) in [
            (&b"G"[..], Err(Rejected::Unexpected)),
            (&[200][..], Err(Rejected::Unexpected)),
            (&[9][..], other),
        ] {
            assert_eq!(relay.handle_message(at(1), ADA, channel, bytes), answer);
            assert_eq!(peer.handle_message(at(1), RELAY, channel, bytes), answer);
        }
    }
    let mut room = room();
    let answer = room.handle_message(at(1), ADA, Channel::Reliable, b"G");
    assert!(!matches!(answer, Ok(()) | Err(Rejected::Malformed(Malformed::Version { .. }))), "{answer:?}");
    assert_eq!(room.handle_message(at(1), PeerId(2), Channel::Reliable, b"Ghi"), Err(Rejected::UnknownPeer));
}

/// Lets a room and its one player talk without a delay.
fn talk(room: &mut GameRoom<Notes>, player: &mut GamePlayer, now: LocalTime) {
    let mut bytes = Vec::new();
    loop {
        if let Some((_, channel)) = room.poll_transmit(now, &mut bytes) {
            player.handle_message(now, RELAY, channel, &bytes).expect("an honest room");
        } else if let Some((_, channel)) = player.poll_transmit(now, &mut bytes) {
            let _ = room.handle_message(now, ADA, channel, &bytes);
        } else {
            return;
        }
    }
}

#[test]
fn actions_reach_the_game_and_its_updates_reach_players() {
    let (mut room, mut player) = (room(), GamePlayer::new(&config(), RELAY));
    player.handle_peer(at(0), joined(RELAY));
    player.act(at(10), true, b"fire".to_vec());
    player.act(at(10), false, b"".to_vec());
    for millis in 10..200 {
        room.handle_timeout(at(millis));
        player.handle_timeout(at(millis));
        talk(&mut room, &mut player, at(millis));
    }
    assert_eq!(room.refused(ADA), 1, "the game takes no empty action, and the room counts it");
    let events: Vec<PlayerEvent> = std::iter::from_fn(|| player.poll_event()).collect();
    let updates = events.iter().filter_map(|event| match event {
        PlayerEvent::Update { stamp, bytes, .. } => Some((stamp.as_nanos(), &bytes[..])),
        _ => None,
    });
    let all = [b"fire", &b"done"[..], b"", b"done"].map(|update| (10_000_000, update));
    assert_eq!(updates.collect::<Vec<_>>(), all);
    let said = PlayerEvent::Message { channel: Channel::Reliable, bytes: b"fire".to_vec() };
    assert!(events.contains(&said), "an action can be answered by a message, too: {events:?}");
    let report = room.sync().and_then(|sync| sync.report(ADA)).expect("she is there");
    assert_eq!((report.counts.actions, report.counts.updates), (2, 4));
}

#[test]
fn a_game_that_takes_no_actions_takes_them_for_messages() {
    struct Listens(Vec<(PeerId, Vec<u8>)>);
    impl GameLogic for Listens {
        fn message(&mut self, from: PeerId, bytes: &[u8], _: &mut GameOutbox) -> Result<(), Malformed> {
            self.0.push((from, bytes.to_vec()));
            Ok(())
        }
    }
    let mut room = GameRoom::new(&config(), Listens(Vec::new()));
    room.handle_peer(at(0), joined(ADA));
    let mut player = GamePlayer::new(&config(), RELAY);
    player.handle_peer(at(0), joined(RELAY));
    player.act(at(1), false, b"fire".to_vec());
    let mut bytes = Vec::new();
    while let Some((_, channel)) = player.poll_transmit(at(1), &mut bytes) {
        room.handle_message(at(1), ADA, channel, &bytes).expect("well-formed");
    }
    assert_eq!(room.game().0, [(ADA, b"fire".to_vec())]);
}

#[test]
fn a_message_of_sync_ms_is_not_one_of_another_version_of_dead_reckoning() {
    let mut relay = DrRelay::new(&dr_config());
    relay.handle_peer(at(0), joined(ADA));
    let mut player = GamePlayer::new(&config(), RELAY);
    player.handle_peer(at(0), joined(RELAY));
    player.act(at(1), false, b"fire".to_vec());
    let (mut bytes, mut rejected) = (Vec::new(), Vec::new());
    while let Some((_, channel)) = player.poll_transmit(at(1), &mut bytes) {
        rejected.extend(relay.handle_message(at(1), ADA, channel, &bytes).err());
    }
    assert_eq!(rejected, [Rejected::Unexpected], "a relay without a game drops and counts it");
    // Of Sync-MS itself another version is one that the room does not know.
    let mut room = room();
    let next = room.handle_message(at(1), ADA, Channel::Datagram, &[0x22, 0]);
    assert_eq!(next, Err(Rejected::Malformed(Malformed::Version { found: 0x22, supported: 0x21 })));
}

#[test]
fn settings_survive_a_recording_and_older_ones_have_no_sync_ms() {
    let (mut bytes, mut older) = (Vec::new(), Vec::new());
    config().emit(&mut bytes);
    dr_config().emit(&mut older);
    check_round_trip_whole(&bytes, &config());
    let read = Reader::new(&older).read::<GameConfig>().expect("settings of dead reckoning alone");
    assert_eq!((read.dr, read.sync.order, read.sync.sync_out), (dr_config(), Order::None, false));
}

fn check_round_trip_whole<T: Wire + PartialEq + std::fmt::Debug>(bytes: &[u8], value: &T) {
    let mut reader = Reader::new(bytes);
    assert_eq!(reader.read::<T>().as_ref(), Ok(value));
    assert!(reader.is_empty());
}

#[test]
fn commands_survive_the_round_trip() {
    let end = DrCommand::End { entity: EntityId(3) };
    let mut plain = Vec::new();
    end.emit(&mut plain);
    for command in [
        PlayerCommand::Motion(end),
        PlayerCommand::Send { channel: Channel::Datagram, bytes: vec![] },
        PlayerCommand::Send { channel: Channel::Reliable, bytes: vec![1, 2, 3] },
        PlayerCommand::Act { reliable: true, bytes: vec![4, 5] },
    ] {
        let mut bytes = Vec::new();
        command.emit(&mut bytes);
        if let PlayerCommand::Motion(_) = command {
            assert_eq!(bytes, plain, "a protocol's command keeps its form");
        }
        check_round_trip(&bytes, &command);
    }
    let named = RoomCommand::Named { player: ADA, name: "ada".to_owned() };
    let switch = RelayCommand::Switch { policy: "even".parse().expect("a policy"), budget: Budget::ONE };
    let order = RoomCommand::Sync(SmsCommand::Switch { order: Order::MaxWait, sync_out: true });
    for command in [named, switch.into(), order] {
        let mut bytes = Vec::new();
        command.emit(&mut bytes);
        check_round_trip(&bytes, &command);
    }
}

fn check_round_trip<T: Wire + PartialEq + std::fmt::Debug>(bytes: &[u8], value: &T) {
    check_round_trip_whole(bytes, value);
    for len in 0..bytes.len() {
        assert!(Reader::new(&bytes[..len]).read::<T>().is_err(), "{len} bytes");
    }
}

/// A room with a game, or one of its players.
enum Node<R, P> {
    Room(Box<GameRoom<Notes, R>>),
    Player(Box<GamePlayer<P>>),
}

#[derive(Clone)]
enum Command {
    Room(RoomCommand),
    Player(PlayerCommand),
}

impl<R: SessionClock, P: SessionClock> Endpoint for Node<R, P> {
    type Command = Command;
    type Event = ();

    delegate_endpoint!(match self { Room, Player }: handle_message, handle_peer, handle_timeout, poll_transmit, poll_timeout);

    fn handle_command(&mut self, now: LocalTime, command: Command) {
        match (self, command) {
            (Self::Room(room), Command::Room(command)) => room.handle_command(now, command),
            (Self::Player(player), Command::Player(command)) => player.handle_command(now, command),
            _ => unreachable!("commands match their nodes"),
        }
    }

    fn poll_event(&mut self) -> Option<()> {
        match self {
            Self::Room(room) => room.poll_event().map(|_| ()),
            Self::Player(player) => player.poll_event().map(|_| ()),
        }
    }
}

fn command(node: usize, draws: &mut Draws) -> Command {
    if node == 0 {
        let player = PeerId(draws.below(2_000) as u32);
        let orders = [Order::None, Order::MaxWait, Order::SelectWait, Order::Reaction];
        let order = orders[draws.below(4) as usize].clone();
        let switch = SmsCommand::Switch { order, sync_out: draws.chance(0.5) };
        let named = RoomCommand::Named { player, name: "somebody".to_owned() };
        return Command::Room(if draws.chance(0.2) { RoomCommand::Sync(switch) } else { named });
    }
    let channel = if draws.chance(0.5) { Channel::Datagram } else { Channel::Reliable };
    let position = Vec3::xy(draws.uniform(-9.0, 9.0), 0.0);
    Command::Player(match draws.below(4) {
        0 => PlayerCommand::Send { channel, bytes: vec![7; draws.below(1_100) as usize] },
        1 => PlayerCommand::Act { reliable: draws.chance(0.5), bytes: vec![8; draws.below(3_000) as usize] },
        _ => PlayerCommand::Motion(DrCommand::Observe {
            entity: EntityId::of(PeerId(node as u32), 0),
            state: MotionState { position, ..MotionState::default() },
        }),
    })
}

#[test]
fn rooms_with_a_game_and_their_players_keep_the_contract() {
    for seed in 0..6 {
        let build = |node| match node {
            0 => Node::Room(Box::new(GameRoom::new(&config(), Notes::default()))),
            _ => Node::Player(Box::new(GamePlayer::new(&config(), RELAY))),
        };
        check(seed, 2_500, 4, build, command);
        let build = |node| match node {
            0 => {
                let clock = ServerClock::default();
                Node::Room(Box::new(GameRoom::with_clock(&config(), clock, Notes::default())))
            }
            _ => {
                let clock = FollowerClock::<Hull>::new(RELAY);
                Node::Player(Box::new(GamePlayer::with_clock(&config(), RELAY, clock)))
            }
        };
        check(seed, 2_500, 4, build, command);
    }
}

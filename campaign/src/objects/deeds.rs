//! What players and the server's game do in a tick.

use std::collections::BTreeMap;

use evenkeel_core::{Draws, Seed, Vec3};
use evenkeel_objects::{
    Call, Delivery, Field, GameMessage, LOCAL_MAX, LOCAL_MIN, Object, ObjectCommand, ObjectId,
    ObjectRoomCommand, Owner, Target, Value,
};
use evenkeel_sim::NodeId;

use super::node::{Board, Note, ObjectNodeCommand, Ship, Wave};
use super::seen::Said;
use super::{DEEDS, ObjectGame, SERVER};
use crate::stage::peer;

/// The half width of the field on which ships move.
const FIELD: f64 = 60.0;
/// Objects of the server.
const SERVERS_MAX: usize = 6;

fn value(field: &impl Field) -> Value {
    let mut bytes = Vec::new();
    field.emit(&mut bytes);
    bytes.into()
}

/// Mostly short; some take most of a packet.
fn numbers(draws: &mut Draws) -> Vec<u32> {
    let len = if draws.chance(0.05) { draws.below(250) } else { draws.below(6) };
    (0..len).map(|_| draws.below(1 << 31) as u32).collect()
}

fn ship(draws: &mut Draws) -> Ship {
    Ship { name: "a".repeat(draws.below(20) as usize), colour: 1, health: 9, load: numbers(draws) }
}

impl ObjectGame {
    pub(super) fn play_tick(&mut self) {
        let seed = Seed::new(self.game.seed).child(DEEDS).child(self.stage.tick);
        self.rule(&mut seed.draws());
        for player in self.players.clone() {
            if !self.stage.world.node(player).is_stopped() {
                self.act(player, &mut seed.child(1 + u64::from(player.0)).draws());
            }
        }
    }

    fn any_player(&self, draws: &mut Draws) -> NodeId {
        self.players[draws.below(self.players.len() as u64) as usize]
    }

    /// A new name.
    fn draw_name(creator: NodeId, draws: &mut Draws) -> ObjectId {
        ObjectId::of(peer(creator), LOCAL_MIN + draws.below(u64::from(LOCAL_MAX - LOCAL_MIN)) as u32)
    }

    /// An object that a side knows. It may be somebody else's, or gone already at the other side.
    fn any_object(&self, at: NodeId, draws: &mut Draws) -> ObjectId {
        let all: Vec<ObjectId> = match at {
            SERVER => self.room().objects().map(|view| view.object).collect(),
            player => self.player(player).objects().map(|(object, ..)| object).collect(),
        };
        match all.len() as u64 {
            0 => Self::draw_name(at, draws),
            len => all[draws.below(len) as usize],
        }
    }

    fn any_owner(&self, draws: &mut Draws) -> Owner {
        if draws.chance(0.3) { Owner::Server } else { Owner::Player(peer(self.any_player(draws))) }
    }

    fn command(&mut self, player: NodeId, command: ObjectCommand) {
        self.stage.command(player, ObjectNodeCommand::Player(command));
    }

    fn server(&mut self, command: ObjectRoomCommand) {
        self.stage.command(SERVER, ObjectNodeCommand::Room(command));
    }

    /// What the server's game does.
    fn rule(&mut self, draws: &mut Draws) {
        if self.stage.world.node(SERVER).is_stopped() {
            return;
        }
        if draws.chance(0.5) {
            let (object, at) = (self.any_object(SERVER, draws), place(draws));
            self.server(ObjectRoomCommand::Place { object, at });
        }
        if draws.chance(0.4) {
            let object = self.any_object(SERVER, draws);
            let kind = self.room().object(object).map(|view| view.kind);
            let (field, value) = if kind == Some(Board::KIND) {
                (0, value(&numbers(draws)))
            } else {
                (2, value(&(draws.below(1_000) as u16)))
            };
            self.server(ObjectRoomCommand::Set { object, field, value });
        }
        let own = self.room().objects().filter(|view| view.object.creator() == peer(SERVER)).count();
        if draws.chance(0.05) && own < SERVERS_MAX {
            let create = if draws.chance(0.5) {
                ObjectRoomCommand::Create { kind: Ship::KIND, values: ship(draws).values() }
            } else {
                let board = Board { scores: numbers(draws), title: "board".into() };
                ObjectRoomCommand::Create { kind: Board::KIND, values: board.values() }
            };
            self.server(create);
        }
        if draws.chance(0.02) {
            let object = self.any_object(SERVER, draws);
            self.server(ObjectRoomCommand::Destroy { object });
        }
        if draws.chance(0.06) {
            let (object, to) = (self.any_object(SERVER, draws), self.any_owner(draws));
            self.server(ObjectRoomCommand::Give { object, to });
        }
        if draws.chance(0.3) {
            self.say(SERVER, draws);
        }
    }

    /// What a player does.
    fn act(&mut self, player: NodeId, draws: &mut Draws) {
        let is_mine = |owner: Owner| owner == Owner::Player(peer(player));
        let mine = self.player(player).objects().filter(|(.., owner, _)| is_mine(*owner)).count();
        if draws.chance(0.12) && mine < 3 * self.game.entities as usize {
            let object = Self::draw_name(player, draws);
            let (kind, values) = if draws.chance(0.25) {
                (Board::KIND, Board { scores: Vec::new(), title: "mine".into() }.values())
            } else {
                (Ship::KIND, ship(draws).values())
            };
            self.command(player, ObjectCommand::Create { object, kind, values });
        }
        for _ in 0..draws.below(3) {
            let object = self.any_object(player, draws);
            let values = match draws.below(4) {
                0 => vec![(0, value(&"b".repeat(draws.below(30) as usize)))],
                1 => vec![(3, value(&numbers(draws)))],
                2 => vec![(1, value(&(draws.below(256) as u8))), (3, value(&numbers(draws)))],
                _ => vec![(1, value(&(draws.below(256) as u8)))],
            };
            self.command(player, ObjectCommand::Set { object, values });
        }
        if draws.chance(0.02) {
            let object = self.any_object(player, draws);
            self.command(player, ObjectCommand::Destroy { object });
        }
        if draws.chance(0.05) {
            let (object, to) = (self.any_object(player, draws), self.any_owner(draws));
            self.command(player, ObjectCommand::Give { object, to });
        }
        if draws.chance(0.3) {
            self.say(player, draws);
        }
    }

    /// Whom a message is for. Messages of which only the newest counts have one kind of receivers, which they are counted by.
    fn target(&self, from: NodeId, delivery: Delivery, draws: &mut Draws) -> Target {
        let player = self.any_player(draws);
        match draws.below(5) {
            _ if delivery == Delivery::MostRecent => Target::Room,
            0 if from != SERVER => Target::Server,
            1 if player != from => Target::Player(peer(player)),
            2 => {
                let mine = Owner::Player(peer(from));
                let owned = self.room().objects().filter(|view| from == SERVER || view.owner == mine);
                let owned: Vec<ObjectId> = owned.map(|view| view.object).collect();
                match owned.len() as u64 {
                    0 => Target::Room,
                    len => Target::Scope(owned[draws.below(len) as usize]),
                }
            }
            _ => Target::Room,
        }
    }

    fn say(&mut self, from: NodeId, draws: &mut Draws) {
        let delivery = Delivery::ALL[draws.below(5) as usize];
        let target = self.target(from, delivery, draws);
        let number = self.next;
        self.next += 1;
        let is_streamed = matches!(delivery, Delivery::ReliableOrdered | Delivery::ReliableUnordered);
        let len = match draws.below(12) {
            0 if is_streamed => 200 + draws.below(300),
            1 => draws.below(150),
            _ => draws.below(4),
        };
        let (kind, bytes) = match delivery {
            Delivery::MostRecent => (Wave::KIND, Wave { number }.to_bytes()),
            _ => (Note::KIND, Note { number, body: vec![u32::MAX; len as usize] }.to_bytes()),
        };
        let life = self.seen.standing[from.0 as usize].life;
        let to = self.receivers(from, target);
        let len = bytes.len();
        let said = Said { from, delivery, target, len, life, to, arrived: BTreeMap::new() };
        self.seen.said.insert(number, said);
        let call = Call { delivery, party: target, kind, bytes };
        if from == SERVER {
            return self.server(ObjectRoomCommand::Call(call));
        }
        let unsent = self.player(from).unsent();
        self.command(from, ObjectCommand::Call(call));
        if self.player(from).unsent() > unsent {
            // It did not fit, and that is counted.
            self.seen.said.entry(number).and_modify(|said| said.to.clear());
        }
    }

    /// Who must get a message, with their present lives. Who has an object in scope is known at the end only.
    fn receivers(&self, from: NodeId, target: Target) -> BTreeMap<NodeId, u32> {
        let life = |node: NodeId| self.seen.standing[node.0 as usize].life;
        let is_ready = |node: &NodeId| self.seen.standing[node.0 as usize].is_ready();
        let nodes: Vec<NodeId> = match target {
            Target::Server => vec![SERVER],
            Target::Player(player) => vec![player.into()].into_iter().filter(is_ready).collect(),
            Target::Room => {
                let others = self.players.iter().copied().filter(|player| *player != from);
                others.filter(is_ready).collect()
            }
            _ => Vec::new(),
        };
        nodes.into_iter().map(|node| (node, life(node))).collect()
    }

    /// Every ship is somewhere at the end.
    pub(super) fn place_all(&mut self) {
        let mut draws = Seed::new(self.game.seed).child(DEEDS).child(u64::MAX).draws();
        for object in self.room().objects().map(|view| view.object).collect::<Vec<_>>() {
            let at = place(&mut draws);
            self.server(ObjectRoomCommand::Place { object, at });
        }
    }
}

fn place(draws: &mut Draws) -> Vec3 {
    Vec3::xy(draws.uniform(-FIELD, FIELD), draws.uniform(-FIELD, FIELD))
}

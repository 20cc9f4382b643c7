//! Peers that play NEO, driven by the input; one may cheat. Whatever the network does, no honest peer is proved to have
//! cheated, and what is played or changed under a peer's key is what that peer did.

#![no_main]

use std::collections::BTreeMap;

use evenkeel_core::{Endpoint, LocalTime, PeerId, Span, Synchronized, delegate_endpoint};
use evenkeel_fuzz::feed::Feed;
use evenkeel_fuzz::node::AnyClock;
use evenkeel_fuzz::play::{Play, Rules};
use evenkeel_neo::{
    Adaptation, Cheat, CheatingPeer, Identity, NeoCommand, NeoConfig, NeoEvent, NeoPeer, PublicKey, Session,
    UnusedReason, VERSION,
};
use libfuzzer_sys::fuzz_target;

/// Tags of reliable messages, and some beyond.
const TAGS: usize = 14;
/// Who cheats, if somebody does.
const CHEATER: usize = 0;

enum Node {
    Honest(Box<NeoPeer<AnyClock>>),
    Cheater(Box<CheatingPeer<AnyClock>>),
}

impl Endpoint for Node {
    type Command = NeoCommand;
    type Event = NeoEvent;

    delegate_endpoint!(match self { Honest, Cheater });

    fn handle_command(&mut self, now: LocalTime, command: NeoCommand) {
        match self {
            Self::Honest(peer) => peer.handle_command(now, command),
            Self::Cheater(peer) => peer.handle_command(now, command),
        }
    }
}

struct Neo {
    config: NeoConfig,
    cheat: Option<Cheat>,
    is_synchronized: bool,
    keys: Vec<PublicKey>,
    /// The state changes that each peer asked for.
    changes: [u32; Self::NODES],
    /// The newest state change that each peer has got from each other.
    changed: [[u32; Self::NODES]; Self::NODES],
    /// Which key each peer's connections have proved.
    names: [BTreeMap<PeerId, PublicKey>; Self::NODES],
    has_left: [bool; Self::NODES],
}

impl Neo {
    fn new(feed: &mut Feed<'_>) -> Self {
        let session = Session([5; 16]);
        let adaptation = Adaptation {
            round_min: Span::from_millis(50),
            round_max: Span::from_millis(500),
            depth_max: 8,
            every_rounds: 4,
        };
        let areas = NeoConfig { has_areas: true, adaptation: Some(adaptation), ..NeoConfig::new(session) };
        let config = match feed.below(4) {
            0 => NeoConfig::new(session),
            1 => areas,
            2 => NeoConfig::thesis(session),
            _ => NeoConfig::thesis_at_quorum(session),
        };
        let victim = PeerId(1);
        let cheat = match feed.byte() % 16 {
            8 => Some(Cheat::LookAhead(victim)),
            9 => Some(Cheat::SuppressCorrect(feed.millis())),
            10 => Some(Cheat::FixedDelay(feed.millis())),
            11 => Some(Cheat::Timestamp(feed.millis())),
            12 => Some(Cheat::Inconsistency(vec![victim])),
            13 => Some(Cheat::Collusion(vec![victim])),
            14 => Some(Cheat::Replay(victim)),
            15 => Some(Cheat::Spoofing(identity(1).key())),
            _ => None,
        };
        Self {
            config,
            cheat,
            is_synchronized: feed.once_in(2),
            keys: (0..Self::NODES).map(|node| identity(node).key()).collect(),
            changes: [0; Self::NODES],
            changed: [[0; Self::NODES]; Self::NODES],
            names: Default::default(),
            has_left: [false; Self::NODES],
        }
    }

    fn is_cheater(&self, node: usize) -> bool {
        node == CHEATER && self.cheat.is_some()
    }

    fn node_of(&self, key: &PublicKey) -> usize {
        self.keys.iter().position(|one| one == key).expect("nobody has proved to hold another key")
    }

    /// Checks a state change: in order, and once.
    fn check_change(&mut self, node: usize, author: &PublicKey, bytes: &[u8]) {
        let author = self.node_of(author);
        if self.is_cheater(author) {
            return;
        }
        let number = bytes[1..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        assert_eq!(usize::from(bytes[0]), author, "a change that another peer made");
        let last = core::mem::replace(&mut self.changed[node][author], number);
        assert!(last < number, "change {number} of {author} comes after {last}");
        assert!(number <= self.changes[author], "change {number} of {author} was never made");
    }
}

fn identity(node: usize) -> Identity {
    Identity::from_secret([node as u8 + 1; 32])
}

impl Rules for Neo {
    type Node = Node;
    const NODES: usize = 3;
    // Signatures take their time.
    const SETTLE_STEPS: usize = 40;

    fn build(&self, node: usize) -> Node {
        let clock =
            if self.is_synchronized { AnyClock::Synchronized(Synchronized) } else { AnyClock::median() };
        match &self.cheat {
            Some(cheat) if node == CHEATER => {
                let cheat = cheat.clone();
                let peer = CheatingPeer::with_clock(&self.config, identity(node), cheat, clock);
                Node::Cheater(Box::new(peer))
            }
            _ => Node::Honest(Box::new(NeoPeer::with_clock(&self.config, identity(node), clock))),
        }
    }

    fn is_linked(&self, _: usize, _: usize) -> bool {
        true
    }

    fn command(&mut self, node: usize, feed: &mut Feed<'_>) -> NeoCommand {
        let mut bytes = vec![node as u8; feed.pick(&[8, 1, 200, 256, 257])];
        match feed.byte() {
            0..120 => NeoCommand::Submit(bytes),
            120..200 => {
                self.changes[node] += 1;
                let len = feed.pick(&[5, 100, 1_024]);
                bytes = vec![node as u8];
                bytes.extend_from_slice(&self.changes[node].to_le_bytes());
                bytes.resize(len, 0);
                NeoCommand::ChangeState(bytes)
            }
            200..225 => NeoCommand::Tell { to: PeerId(feed.below(Self::NODES + 1) as u32), bytes },
            225..250 => {
                let count = feed.below(Self::NODES + 1);
                NeoCommand::Interest((0..count).map(|_| PeerId(feed.below(Self::NODES) as u32)).collect())
            }
            _ => {
                self.has_left[node] = true;
                NeoCommand::Leave
            }
        }
    }

    fn forge(&self, feed: &mut Feed<'_>) -> Vec<u8> {
        let mut bytes = vec![VERSION, feed.below(TAGS) as u8];
        for _ in 0..feed.below(4) {
            match feed.below(4) {
                0 => bytes.extend_from_slice(&feed.pick(&self.keys).0),
                1 => bytes.extend_from_slice(&self.config.session.0),
                2 => bytes.extend_from_slice(feed.slice(3)),
                _ => bytes.extend_from_slice(&[feed.byte(); 64]),
            }
        }
        bytes.extend_from_slice(feed.slice(40));
        bytes
    }

    /// Cheaters look at everything, and hold messages back for too long.
    fn is_well_behaved(&self, node: usize) -> bool {
        !self.is_cheater(node)
    }

    fn check_event(&mut self, node: usize, event: &NeoEvent) {
        match event {
            NeoEvent::Joined { peer, key } => {
                self.node_of(key);
                self.names[node].insert(*peer, *key);
            }
            NeoEvent::Played(made) if !self.is_cheater(node) => {
                let from = self.node_of(&self.names[node][&made.from]);
                let is_own = made.bytes.iter().all(|byte| usize::from(*byte) == from);
                assert!(is_own || self.is_cheater(from), "{from} is said to have played {:?}", made.bytes);
            }
            NeoEvent::Unused { from, reason: UnusedReason::BadHash, .. } if self.cheat.is_none() => {
                assert!(self.names[node].contains_key(from), "a move of {from:?}, which never joined");
            }
            NeoEvent::StateChanged { author, bytes, .. } => self.check_change(node, author, bytes),
            NeoEvent::Evicted { key, proof, .. } => {
                let culprit = self.node_of(key);
                assert!(self.is_cheater(culprit), "{culprit} is honest, and evicted: {proof:?}");
                assert!(proof.is_valid(self.config.session), "nobody else believes {proof:?}");
            }
            _ => {}
        }
    }

    fn check_settled(&self, machines: &[&Node]) {
        if self.cheat.is_some() || self.has_left.contains(&true) {
            return;
        }
        for (number, machine) in machines.iter().enumerate() {
            let Node::Honest(peer) = machine else { continue };
            let present = peer.present().count();
            assert_eq!(present, Self::NODES - 1, "{number} plays with {present} others");
        }
        for (node, seen) in self.changed.iter().enumerate() {
            for (author, last) in seen.iter().enumerate().filter(|(author, _)| *author != node) {
                assert!(*last <= self.changes[author], "{node} has too many changes of {author}");
            }
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut feed = Feed::new(bytes);
    let rules = Neo::new(&mut feed);
    Play::new(rules, &mut feed).run(&mut feed);
});

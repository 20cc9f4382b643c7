//! Reading a machine's ledger changes nothing: neither later readings nor what is sent to whom.

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Span, Vec3};
use evenkeel_dr::{Budget, DrConfig, DrPeer, EntityId, MotionState, PolicyKind};

const OWNER: PeerId = PeerId(0);
/// The receivers, and their delays in steps.
const RECEIVERS: [(PeerId, usize); 2] = [(PeerId(1), 2), (PeerId(2), 9)];
const STEPS: usize = 400;
/// Not a whole number of microseconds, so vectors are a little older than their triggers.
const STEP: Span = Span::from_nanos(20_000_777);

/// Step, sender, receiver, channel and bytes of a message.
type Sent = (usize, PeerId, PeerId, Channel, Vec<u8>);

struct Room {
    nodes: [DrPeer; 3],
    now: LocalTime,
    step: usize,
    sent: Vec<Sent>,
    wakes: Vec<Option<LocalTime>>,
}

impl Room {
    fn new(config: &DrConfig) -> Self {
        let nodes = [OWNER, RECEIVERS[0].0, RECEIVERS[1].0].map(|_| DrPeer::new(config));
        let mut room = Self {
            nodes,
            now: LocalTime::from_nanos(1_000_000_000),
            step: 0,
            sent: Vec::new(),
            wakes: Vec::new(),
        };
        for (receiver, _) in RECEIVERS {
            for (node, peer) in [(OWNER, receiver), (receiver, OWNER)] {
                let joined = PeerChange::Joined { peer, datagram_max: 1200 };
                room.nodes[node.0 as usize].handle_peer(room.now, joined);
            }
        }
        room
    }

    fn drain(&mut self, node: PeerId) {
        let mut bytes = Vec::new();
        while let Some((to, channel)) = self.nodes[node.0 as usize].poll_transmit(self.now, &mut bytes) {
            self.sent.push((self.step, node, to, channel, bytes.clone()));
        }
    }

    /// Delivers the messages that are due.
    fn deliver(&mut self) {
        let is_due = |sent: &&Sent| {
            RECEIVERS
                .iter()
                .any(|(peer, delay)| (sent.1 == *peer || sent.2 == *peer) && sent.0 + delay == self.step)
        };
        let arriving: Vec<Sent> = self.sent.iter().filter(is_due).cloned().collect();
        for (_, from, to, channel, bytes) in arriving {
            let result = self.nodes[to.0 as usize].handle_message(self.now, from, channel, &bytes);
            result.expect("honest messages are accepted");
            self.drain(to);
        }
    }

    /// Runs a tank that changes its course every few steps. If `reads`, the ledger is read before each observation.
    fn run(mut self, reads: bool) -> (Vec<Sent>, Vec<Option<LocalTime>>) {
        for step in 1..=STEPS {
            self.step = step;
            self.now += STEP;
            self.deliver();
            for node in [OWNER, RECEIVERS[0].0, RECEIVERS[1].0] {
                self.nodes[node.0 as usize].handle_timeout(self.now);
                self.drain(node);
            }
            if reads {
                self.read_ledger();
            }
            let course = (step / 3 % 7) as f64 - 3.0;
            let position = Vec3::xy(step as f64 * 0.2, course * course);
            let state = MotionState { position, velocity: Vec3::xy(10.0, course), ..MotionState::default() };
            self.nodes[0].observe(self.now, EntityId(1), state);
            self.drain(OWNER);
            self.wakes.push(self.nodes[0].poll_timeout());
        }
        (self.sent, self.wakes)
    }

    fn read_ledger(&self) {
        let ledger = self.nodes[0].ledger().expect("the owner runs the policy");
        let now = evenkeel_core::SessionTime::from_nanos(self.now.as_nanos());
        for (receiver, _) in RECEIVERS {
            assert!(ledger.accumulated(receiver, now) >= 0.0);
        }
    }
}

#[test]
fn reading_the_ledger_changes_nothing_under_any_policy() {
    for policy in PolicyKind::all() {
        for budget in [0.5, 1.0] {
            let budget = Budget::new(budget).expect("a valid budget");
            let config = DrConfig { policy, budget, compensation: None, ..DrConfig::default() };
            let (unread, read) = (Room::new(&config).run(false), Room::new(&config).run(true));
            assert!(unread.0.len() > 100, "{policy} sends too little for a test");
            assert!(unread == read, "{policy} decides differently when the ledger is read");
        }
    }
}

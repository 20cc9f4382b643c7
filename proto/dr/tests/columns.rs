//! A policy's own state of each pair lives and dies with the pair.

use std::sync::atomic::{AtomicU32, Ordering};

use evenkeel_core::{Endpoint, LocalTime, PeerChange, PeerId, Span, Vec3};
use evenkeel_dr::policy::{ClosedPairs, FairnessPolicy, PairColumn, Review, SendPlan};
use evenkeel_dr::{DrCommand, DrConfig, DrPeer, EntityId, MotionState, PolicyKind};

/// The last trigger's counts of the receivers 1 and 2.
static COUNTS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// Sends everything, and counts triggers per pair.
#[derive(Default)]
struct Counting {
    triggers: PairColumn<u32>,
}

impl FairnessPolicy for Counting {
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        for pair in review.pairs() {
            let count = self.triggers.at(&pair);
            *count += 1;
            COUNTS[pair.receiver().0 as usize - 1].store(*count, Ordering::Relaxed);
            plan.send(&pair, review.now());
        }
    }

    fn on_closed(&mut self, closed: &ClosedPairs) {
        self.triggers.close(closed);
    }
}

#[test]
fn a_columns_state_begins_anew_with_its_pair() {
    let policy = PolicyKind::own("counting", || Box::<Counting>::default());
    let mut owner = DrPeer::new(&DrConfig { policy, ..DrConfig::default() });
    let mut now = LocalTime::default();
    let joined = |peer| PeerChange::Joined { peer: PeerId(peer), datagram_max: 1200 };
    [1, 2].into_iter().for_each(|peer| owner.handle_peer(now, joined(peer)));
    let counts = || COUNTS.each_ref().map(|count| count.swap(0, Ordering::Relaxed));
    let mut drive = |owner: &mut DrPeer, ticks: u32| {
        for tick in 0..ticks {
            now += Span::from_millis(20);
            // It jumps to and fro, so that every tick triggers.
            let state =
                MotionState { position: Vec3::xy(f64::from(tick % 2), 0.0), ..MotionState::default() };
            owner.observe(now, EntityId(7), state);
        }
        now
    };
    drive(&mut owner, 40);
    let [one, two] = counts();
    assert!(one > 10 && one == two, "{one} {two}");
    let now = drive(&mut owner, 0);
    owner.handle_peer(now, PeerChange::Left { peer: PeerId(1) });
    owner.handle_peer(now, joined(1));
    drive(&mut owner, 20);
    let [again, on] = counts();
    assert!(again > 5 && again < one && on == two + again, "{again} {on}, before {one} {two}");
    let now = drive(&mut owner, 0);
    owner.handle_command(now, DrCommand::End { entity: EntityId(7) });
    drive(&mut owner, 10);
    let [anew, too] = counts();
    assert!(anew > 0 && anew == too && anew < 10, "{anew} {too}");
}

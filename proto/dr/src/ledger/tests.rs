//! Tests of what the pairs of one receiver share: message numbers, places and trust.

use evenkeel_core::Vec3;

use super::*;
use crate::message::{Arrival, VectorFrame};
use crate::motion::vector::{MotionKind, MotionState};
use crate::owner::threshold::Threshold;

const RECEIVER: PeerId = PeerId(1);

fn at(step: u32) -> SessionTime {
    SessionTime::from_nanos(0) + Span::from_millis(i64::from(step) * 20)
}

fn frame(entity: u32, seq: u32) -> VectorFrame {
    let state = MotionState { position: Vec3::xy(f64::from(seq % 7), 0.0), ..MotionState::default() };
    let vector = DrVector::generate(at(seq), &state, MotionKind::Linear);
    VectorFrame { entity: EntityId(entity), first: DrSeq(0), seq: DrSeq(seq), sent: at(seq), vector }
}

/// A ledger of two entities, each introduced to the receiver in a message of its own.
fn ledger() -> (ErrorLedger, [Slot; 2]) {
    let mut ledger = ErrorLedger::new(Placement::Global, None);
    ledger.join(RECEIVER);
    let slots = [0, 1].map(|entity| {
        ledger.introduce(None, &frame(entity, 0), Threshold::default());
        let slot = ledger.open_pair(Life { entity: EntityId(entity), first: DrSeq(0) }, RECEIVER, at(0));
        ledger.dispatch(slot, Dispatch { seq: DrSeq(0), sent: at(0) }, entity);
        slot
    });
    (ledger, slots)
}

#[test]
fn idle_pair_keeps_its_last_sent_across_renumbering() {
    let (mut ledger, [idle, busy]) = ledger();
    let link = ledger.link(RECEIVER).expect("it is here");
    for step in 1..4_000 {
        ledger.record(&frame(1, step), at(step));
        let dispatch = Dispatch { seq: DrSeq(step), sent: at(step) };
        ledger.dispatch(busy, dispatch, step);
        if step % 3 > 0 {
            let arrival = Arrival { entity: EntityId(1), seq: DrSeq(step), at: at(step), nonce: step };
            assert!(ledger.report(link, arrival, at(step)).is_some(), "at step {step}");
        }
        let first = Dispatch { seq: DrSeq(0), sent: at(0) };
        assert_eq!(ledger.account(idle).last_sent(), Some(first), "at step {step}");
        assert_eq!(ledger.account(busy).last_sent(), Some(dispatch));
        assert!(ledger.at(link).messages().len() < 300, "{} messages", ledger.at(link).messages().len());
    }
    let arrival = |nonce| Arrival { entity: EntityId(0), seq: DrSeq(0), at: at(4_000), nonce };
    assert!(ledger.report(link, arrival(7), at(4_000)).is_none(), "the nonce of another message");
    let settled = ledger.report(link, arrival(0), at(4_000)).expect("the nonce matches");
    assert_eq!((settled.sent, settled.slot), (at(0), idle));
}

#[test]
fn untrue_reports_without_a_pair_are_counted() {
    let (mut ledger, _) = ledger();
    let link = ledger.link(RECEIVER).expect("it is here");
    ledger.introduce(None, &frame(2, 0), Threshold::default());
    for (untrue, entity) in [(1, 9), (2, 2)] {
        let arrival = |at| Arrival { entity: EntityId(entity), seq: DrSeq(0), at, nonce: 0 };
        assert_eq!(ledger.report(link, arrival(at(10)), at(10)), None);
        assert_eq!(ledger.report(link, arrival(at(20)), at(10)), None);
        assert_eq!(ledger.clamped(RECEIVER), untrue, "of entity {entity}");
    }
}

#[test]
fn burying_lives_releases_their_messages() {
    let (mut ledger, slots) = ledger();
    let link = ledger.link(RECEIVER).expect("it is here");
    for step in 1..40 {
        for (entity, slot) in (0..).zip(slots) {
            ledger.record(&frame(entity, step), at(step));
            ledger.dispatch(slot, Dispatch { seq: DrSeq(step), sent: at(step) }, step);
        }
    }
    assert_eq!((ledger.pair_count, ledger.at(link).messages().len()), (2, 41));
    assert_eq!(ledger.account(slots[0]).dispatches().count(), 40);
    (0..2).for_each(|entity| ledger.end(EntityId(entity), DrSeq(39), at(40)));
    ledger.bury_overdue(at(40) + LINGER);
    assert_eq!((ledger.pair_count, ledger.at(link).messages().len()), (0, 0));
    assert!(!ledger.is_held(slots[0], 1, Dispatch { seq: DrSeq(0), sent: at(0) }));
}

#[test]
fn reused_slot_gets_a_new_account_id() {
    let (mut ledger, [slot, _]) = ledger();
    let id = ledger.id(slot);
    ledger.leave(RECEIVER);
    assert_eq!(ledger.pair_count, 0);
    ledger.join(PeerId(9));
    let again = ledger.open_pair(Life { entity: EntityId(0), first: DrSeq(0) }, PeerId(9), at(1));
    assert_eq!(again, slot);
    assert!(ledger.id(again) != id && id > 0);
    assert_eq!(ledger.account(again).last_sent(), None);
}

#[test]
fn arrivals_that_cannot_wait_for_the_exported_path_are_counted_as_estimated() {
    let mut ledger = ErrorLedger::new(Placement::Global, None);
    ledger.join(RECEIVER);
    ledger.introduce(Some(PeerId(9)), &frame(0, 0), Threshold::default());
    let slot = ledger.open_pair(Life { entity: EntityId(0), first: DrSeq(0) }, RECEIVER, at(0));
    let link = ledger.link(RECEIVER).expect("it is here");
    let mut arrive = |seq: u32| {
        ledger.record(&frame(0, seq), at(seq));
        ledger.dispatch(slot, Dispatch { seq: DrSeq(seq), sent: at(seq) }, seq);
        let arrival = Arrival { entity: EntityId(0), seq: DrSeq(seq), at: at(seq), nonce: seq };
        ledger.report(link, arrival, at(seq)).expect("it was sent");
        ledger.estimated()
    };
    assert_eq!(arrive(0), 0);
    // The vector 1 has not reached the relay, so nobody knows yet what was exported from then on.
    let waiting = 2..2 + ARRIVALS_MAX as u32;
    assert!(waiting.clone().all(|seq| arrive(seq) == 0), "they wait");
    assert_eq!((waiting.end..waiting.end + 3).map(arrive).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_first_arrival_that_comes_after_its_vector_was_dropped_is_counted_as_estimated() {
    let mut ledger = ErrorLedger::new(Placement::Global, None);
    ledger.join(RECEIVER);
    ledger.introduce(Some(PeerId(9)), &frame(0, 0), Threshold::default());
    let life = Life { entity: EntityId(0), first: DrSeq(0) };
    let slot = ledger.open_pair(life, RECEIVER, at(0));
    ledger.dispatch(slot, Dispatch { seq: DrSeq(0), sent: at(0) }, 0);
    let link = ledger.link(RECEIVER).expect("it is here");
    let end = 2_100;
    for seq in 1..end {
        ledger.record(&frame(0, seq), at(seq));
    }
    assert!(
        ledger.track(life).is_some_and(|track| track.history.vector(DrSeq(0)).is_none()),
        "it is dropped"
    );
    assert_eq!(ledger.estimated(), 0);
    let arrival = Arrival { entity: EntityId(0), seq: DrSeq(0), at: at(end - 2), nonce: 0 };
    ledger.report(link, arrival, at(end)).expect("it was sent");
    assert_eq!(ledger.estimated(), 1);
}

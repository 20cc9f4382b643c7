//! What the pairs of one receiver share.

use evenkeel_core::Vec3;

use super::*;
use crate::message::{Arrival, VectorFrame};
use crate::threshold::Threshold;
use crate::vector::{MotionKind, MotionState};

const RECEIVER: PeerId = PeerId(1);

fn at(step: u32) -> SessionTime {
    SessionTime::from_nanos(0) + Span::from_millis(i64::from(step) * 20)
}

fn frame(entity: u32, seq: u32) -> VectorFrame {
    let state = MotionState { position: Vec3::xy(f64::from(seq % 7), 0.0), ..MotionState::default() };
    let vector = DrVector::generate(at(seq), &state, MotionKind::Linear);
    VectorFrame { entity: EntityId(entity), first: DrSeq(0), seq: DrSeq(seq), sent: at(seq), vector }
}

/// Two entities that a receiver has been told of in a message each.
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
fn what_an_idle_pair_was_sent_is_known_however_many_messages_follow() {
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
        assert!(ledger.at(link).mail().len() < 300, "{} messages", ledger.at(link).mail().len());
    }
    let arrival = |nonce| Arrival { entity: EntityId(0), seq: DrSeq(0), at: at(4_000), nonce };
    assert!(ledger.report(link, arrival(7), at(4_000)).is_none(), "it was not in that message");
    let settled = ledger.report(link, arrival(0), at(4_000)).expect("it was in that one");
    assert_eq!((settled.sent, settled.slot), (at(0), idle));
}

#[test]
fn what_is_untrue_is_so_of_a_life_that_is_not_known_too() {
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
fn nothing_is_kept_of_messages_when_the_lives_are_over() {
    let (mut ledger, slots) = ledger();
    let link = ledger.link(RECEIVER).expect("it is here");
    for step in 1..40 {
        for (entity, slot) in (0..).zip(slots) {
            ledger.record(&frame(entity, step), at(step));
            ledger.dispatch(slot, Dispatch { seq: DrSeq(step), sent: at(step) }, step);
        }
    }
    assert_eq!((ledger.pair_count(), ledger.at(link).mail().len()), (2, 41));
    assert_eq!(ledger.account(slots[0]).dispatches().count(), 40);
    (0..2).for_each(|entity| ledger.end(EntityId(entity), DrSeq(39), at(40)));
    ledger.bury_overdue(at(40) + LINGER);
    assert_eq!((ledger.pair_count(), ledger.at(link).mail().len()), (0, 0));
    assert!(!ledger.is_held(slots[0], 1, Dispatch { seq: DrSeq(0), sent: at(0) }));
}

#[test]
fn an_account_that_has_the_place_of_another_has_another_name() {
    let (mut ledger, [slot, _]) = ledger();
    let id = ledger.id(slot);
    ledger.leave(RECEIVER);
    assert_eq!(ledger.pair_count(), 0);
    ledger.join(PeerId(9));
    let again = ledger.open_pair(Life { entity: EntityId(0), first: DrSeq(0) }, PeerId(9), at(1));
    assert_eq!(again, slot);
    assert!(ledger.id(again) != id && id > 0);
    assert_eq!(ledger.account(again).last_sent(), None);
}

/// What a ledger says of a receiver: its errors, and all else that it knows.
fn said_of(ledger: &ErrorLedger, now: SessionTime) -> (Vec<f64>, String) {
    let errors = [ledger.settled(RECEIVER).expect("it is here"), ledger.accumulated(RECEIVER, now)];
    let errors = errors.into_iter().chain(ledger.pairs(now).map(|suffered| suffered.error)).collect();
    let mut link = ledger.at(ledger.link(RECEIVER).expect("it is here")).clone();
    link.settled = 0.0;
    (errors, format!("{link:?}"))
}

/// Some messages are lost, some arrive after later ones, some reports are untrue, some are told twice, and some are of what is not there or
/// was never sent. One account has something rare.
#[test]
fn reports_that_come_together_are_the_same_as_one_by_one() {
    const ENTITIES: u32 = 6;
    const UNSENT: u32 = ENTITIES;
    const UNKNOWN: u32 = ENTITIES + 1;
    let mut draws = evenkeel_core::Seed::new(7).draws();
    // The same places in both.
    let mut slots = Vec::new();
    let mut twins = [0, 1].map(|_| {
        let mut ledger = ErrorLedger::new(Placement::Global, Some(Compensation::default()));
        ledger.join(RECEIVER);
        let open = |entity| {
            ledger.introduce(None, &frame(entity, 0), Threshold::default());
            let slot = ledger.open_pair(Life { entity: EntityId(entity), first: DrSeq(0) }, RECEIVER, at(0));
            ledger.dispatch(slot, Dispatch { seq: DrSeq(0), sent: at(0) }, 0);
            slot
        };
        slots = (0..ENTITIES).map(open).collect();
        ledger.introduce(None, &frame(UNSENT, 0), Threshold::default());
        ledger.account_mut(slots[0]).keep_marks(true);
        ledger
    });
    let link = twins[0].link(RECEIVER).expect("it is here");
    let (mut under_way, mut together, mut largest, mut settled) = (Vec::new(), 0, 0, 0);
    for step in 1..3_000 {
        let arrival = at(step) + Span::from_millis(30 + draws.below(120) as i64);
        let is_lost = draws.chance(0.1);
        for entity in (0..ENTITIES).filter(|_| draws.chance(0.5)).collect::<Vec<_>>() {
            let dispatch = Dispatch { seq: DrSeq(step), sent: at(step) };
            for ledger in &mut twins {
                ledger.record(&frame(entity, step), at(step));
                ledger.dispatch(slots[entity as usize], dispatch, step);
            }
            let nonce = if draws.chance(0.02) { step / 2 } else { step };
            let report = Arrival { entity: EntityId(entity), seq: DrSeq(step), at: arrival, nonce };
            (0..if is_lost { 0 } else { 1 + u32::from(draws.chance(0.1)) })
                .for_each(|_| under_way.push(report));
            if draws.chance(0.05) {
                let entity = if draws.chance(0.5) { UNSENT } else { UNKNOWN };
                under_way.push(Arrival { entity: EntityId(entity), ..report });
            }
        }
        if draws.chance(0.3) {
            let now = at(step) - Span::from_millis(if draws.chance(0.1) { 15 } else { 0 });
            let (due, later) = under_way.drain(..).partition::<Vec<_>, _>(|report| report.at <= now);
            under_way = later;
            together = together.max(due.len());
            let [one, other] = &mut twins;
            let mut reports = one.reports(link, now);
            let mut goes_on = |one: &Arrival, next: &Arrival| {
                (one.at, one.nonce) == (next.at, next.nonce) && draws.chance(0.8)
            };
            for some in due.chunk_by(&mut goes_on) {
                let found: Vec<_> =
                    some.iter().map(|report| reports.find(report.entity, report.seq)).collect();
                let fate = reports.arrived(&found, some[0].at, some[0].nonce);
                let told = fate.map(|fate| reports.settlement(found[found.len() - 1], fate));
                let one_by_one: Vec<_> = some.iter().map(|report| other.report(link, *report, now)).collect();
                assert_eq!(Some(&told), one_by_one.last(), "{some:?}");
                settled += one_by_one.iter().flatten().count();
                largest = largest.max(some.len());
            }
            drop(reports);
        }
        let [one, other] = [0, 1].map(|twin: usize| said_of(&twins[twin], at(step)));
        assert_eq!(one.1, other.1, "at step {step}");
        let alike = |(one, other): (&f64, &f64)| (one - other).abs() <= 1e-12 * one.abs().max(1.0);
        assert!(one.0.len() == other.0.len() && one.0.iter().zip(&other.0).all(alike), "{one:?} {other:?}");
    }
    assert!(together > 20 && largest > 4 && settled > 5_000, "{together} {largest} {settled}");
}

//! Tests of what is forged: it must parse, and stay consistent.

use evenkeel_core::Seed;
use evenkeel_dr::message::{Frame, frames};

use super::reports::REPORTS_MAX;
use super::*;

fn forge() -> Forge {
    let welcome = Welcome { player: PeerId(5), tick: Span::from_millis(20) };
    let mut forge = Forge::new(Seed::new(1).draws(), welcome, ENTITIES_MAX);
    forge.stamp = SessionTime::from_nanos(5_000_000_000);
    forge
}

#[test]
fn forged_messages_parse_unless_they_are_mutated() {
    let mut forge = forge();
    let mut view = MemberView { stamp: Some(forge.stamp), ..MemberView::default() };
    assert!(frames(&forge.introductions()).is_ok());
    for round in 0..50 {
        (0..60).for_each(|n| view.add_arrival(EntityId(n), DrSeq(round), n));
        let datagrams =
            [forge.valid_vectors(4), forge.false_vectors(), forge.out_of_limits(), forge.reports(&mut view)];
        assert!(datagrams.iter().all(|bytes| frames(bytes).is_ok() && bytes.len() <= 1_100));
        let lives = forge.short_lives();
        assert!(frames(&lives).is_ok() && lives.len() < 64 * 1024);
    }
    let broken = (0..200).filter(|_| {
        let valid = forge.valid_vectors(2);
        frames(&forge.mutation(valid)).is_err()
    });
    assert!(broken.count() > 50);
}

#[test]
fn vectors_are_of_introduced_lives() {
    let mut forge = forge();
    forge.introductions();
    let valid = forge.valid_vectors(4);
    for frame in frames(&valid).unwrap().1 {
        let Frame::Vector(frame) = frame else { panic!("only vectors") };
        assert_eq!((frame.entity.player(), frame.first), (PeerId(5), DrSeq(0)));
        assert!(frame.seq > DrSeq(0));
    }
}

#[test]
fn reports_are_numbered_consecutively_and_repeated_until_they_are_confirmed() {
    let mut forge = forge();
    let mut view = MemberView { stamp: Some(forge.stamp), ..MemberView::default() };
    let mut next = |view: &mut MemberView| {
        (0..60).for_each(|n| view.add_arrival(EntityId(n), DrSeq(0), n));
        match frames(&forge.reports(view)).unwrap().1.next() {
            Some(Frame::Feedback(feedback)) => (feedback.oldest, feedback.arrivals().count() as u64),
            _ => panic!("only reports"),
        }
    };
    let (oldest, count) = next(&mut view);
    assert_eq!((oldest, count), (0, REPORTS_MAX as u64));
    assert_eq!(next(&mut view).0, 0, "unconfirmed reports are repeated");
    view.confirmed = count;
    assert_eq!(next(&mut view).0, count);
    assert_eq!((forge.counts.reports, forge.counts.settled), (2 * count, count));
}

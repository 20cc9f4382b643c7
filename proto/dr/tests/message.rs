//! The wire format: whatever is emitted is parsed back, whatever parses is emitted back byte for byte, and no bytes at
//! all make the parser panic.

use evenkeel_core::{SessionTime, Span, Vec3, Wire};
use evenkeel_dr::message::{
    Arrival, ConfirmFrame, FEEDBACK_MAX, Frame, VECTOR_LEN, VERSION, VectorFrame, emit_confirm, emit_ended,
    emit_feedback, emit_recorded, emit_vector, frames,
};
use evenkeel_dr::{
    Budget, DrCommand, DrSeq, DrVector, EntityId, MotionKind, MotionState, PolicyKind, RelayCommand,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn emit(frame: &Frame<'_>, bytes: &mut Vec<u8>) {
    match frame {
        Frame::Vector(vector) => emit_vector(vector, false, bytes),
        Frame::Introduce(vector) => emit_vector(vector, true, bytes),
        Frame::Feedback(feedback) => {
            let arrivals: Vec<_> = feedback.arrivals_from(0).map(|(_, arrival)| arrival).collect();
            emit_feedback(feedback.oldest, feedback.first, feedback.stamp, arrivals.iter(), bytes);
        }
        Frame::Confirm(confirm) => emit_confirm(confirm, bytes),
        Frame::Recorded { entity, contiguous, newest } => emit_recorded(*entity, *contiguous, *newest, bytes),
        Frame::Ended { entity, last, at } => emit_ended(*entity, *last, *at, bytes),
    }
}

/// If the bytes are a message, it is emitted again as it was.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Ok(frames) = frames(bytes) else { return Ok(()) };
    let mut again = vec![VERSION];
    frames.for_each(|frame| emit(&frame, &mut again));
    prop_assert_eq!(again, bytes);
    Ok(())
}

fn time() -> impl Strategy<Value = SessionTime> {
    (-(1i64 << 60)..=1 << 60).prop_map(SessionTime::from_nanos)
}

fn vec3() -> impl Strategy<Value = Vec3> {
    let number = || prop_oneof![-1e9..1e9f64, -30.0..30.0f64, Just(0.0), Just(-0.0)];
    (number(), number(), number()).prop_map(|(x, y, z)| Vec3::new(x, y, z))
}

fn state() -> impl Strategy<Value = MotionState> {
    (vec3(), vec3(), vec3(), -50.0..50.0f64).prop_map(|(position, velocity, acceleration, turn_rate)| {
        MotionState { position, velocity, acceleration, turn_rate }
    })
}

fn vector_frame() -> impl Strategy<Value = VectorFrame> {
    let kind = prop_oneof![Just(MotionKind::Linear), Just(MotionKind::Quadratic), Just(MotionKind::Circular)];
    let numbers = (any::<u32>(), 0..1000u32, 0..u32::MAX - 1000, time(), time(), 0.0..1e6f64);
    (numbers, any::<i64>(), state(), kind).prop_map(
        |((entity, older, seq, generated, sent, threshold), expires, state, kind)| VectorFrame {
            entity: EntityId(entity),
            first: DrSeq(seq.saturating_sub(older)),
            seq: DrSeq(seq),
            sent,
            threshold,
            expires: SessionTime::from_nanos(expires),
            vector: DrVector { generated, state, kind },
        },
    )
}

fn arrival() -> impl Strategy<Value = Arrival> {
    (any::<u32>(), any::<u32>(), time()).prop_map(|(entity, seq, at)| Arrival {
        entity: EntityId(entity),
        seq: DrSeq(seq),
        at,
    })
}

/// The one frame of a message.
fn only(bytes: &[u8]) -> Frame<'_> {
    let mut frames = frames(bytes).expect("what is emitted is a message");
    let frame = frames.next().expect("there is a frame");
    assert!(frames.next().is_none(), "there is but one");
    frame
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_message_or_are_not(bytes in vec(any::<u8>(), 0..300)) {
        check(&bytes)?;
    }

    #[test]
    fn bytes_behind_a_version_and_a_tag_are_a_message_or_are_not(
        tag in 0..8u8, mut body in vec(any::<u8>(), 0..200),
    ) {
        // Most of what is read as times and numbers must be small to be sane.
        body.iter_mut().skip(4).step_by(2).for_each(|byte| *byte = 0);
        check(&[&[VERSION, tag][..], &body].concat())?;
    }

    #[test]
    fn damaged_messages_are_messages_or_are_not(
        vectors in vec(vector_frame(), 1..5), at in any::<prop::sample::Index>(), bit in 0..8, cut: bool,
    ) {
        let mut bytes = vec![VERSION];
        vectors.iter().for_each(|vector| emit_vector(vector, vector.seq.0 % 2 == 0, &mut bytes));
        check(&bytes)?;
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1u8 << bit;
        }
        check(&bytes)?;
    }

    #[test]
    fn a_vector_comes_back(vector in vector_frame(), introduce: bool) {
        let mut bytes = vec![VERSION];
        emit_vector(&vector, introduce, &mut bytes);
        prop_assert_eq!(bytes.len(), 1 + VECTOR_LEN);
        let expected = if introduce { Frame::Introduce(vector) } else { Frame::Vector(vector) };
        prop_assert_eq!(only(&bytes), expected);
    }

    #[test]
    fn feedback_comes_back(
        oldest in 0..1_000_000u64, ahead in 0..1_000u64, stamp in time(),
        arrivals in vec(arrival(), 0..FEEDBACK_MAX + 1), skip in 0..70u64,
    ) {
        let mut bytes = vec![VERSION];
        emit_feedback(oldest, oldest + ahead, stamp, arrivals.iter(), &mut bytes);
        let Frame::Feedback(feedback) = only(&bytes) else { panic!("it is feedback") };
        prop_assert_eq!((feedback.oldest, feedback.first, feedback.stamp), (oldest, oldest + ahead, stamp));
        let first = feedback.first;
        let numbered = |from: u64| {
            arrivals.iter().zip(first..).filter(move |(_, n)| *n >= from).map(|(arrival, n)| (n, *arrival))
        };
        prop_assert!(feedback.arrivals_from(0).eq(numbered(0)));
        prop_assert!(feedback.arrivals_from(first + skip).eq(numbered(first + skip)));
    }

    #[test]
    fn confirmations_and_records_and_ends_come_back(
        next: u64, stamp in time(), held in 0..i64::MAX, entity: u32, older: u32, newer: u32,
    ) {
        let (entity, older, newer) = (EntityId(entity), DrSeq(older), DrSeq(newer));
        let confirm = ConfirmFrame { next, stamp, held: Span::from_nanos(held), hole: next % 2 == 0 };
        let recorded = Frame::Recorded { entity, contiguous: older, newest: newer };
        let ended = Frame::Ended { entity, last: newer, at: stamp };
        let mut bytes = vec![VERSION];
        emit_confirm(&confirm, &mut bytes);
        emit_recorded(entity, older, newer, &mut bytes);
        emit_ended(entity, newer, stamp, &mut bytes);
        let frames: Vec<_> = frames(&bytes).expect("it is a message").collect();
        prop_assert_eq!(frames, vec![Frame::Confirm(confirm), recorded, ended]);
    }

    #[test]
    fn commands_come_back(entity: u32, state in state(), budget in 0.0..100.0f64, which in 0..4) {
        let entity = EntityId(entity);
        let budget = Budget::new(budget).expect("it is positive");
        let policy = PolicyKind::all()[entity.0 as usize % PolicyKind::all().len()];
        let command = match which {
            0 => DrCommand::Observe { entity, state },
            1 => DrCommand::End { entity },
            _ => DrCommand::Switch { policy, budget },
        };
        let mut bytes = Vec::new();
        command.emit(&mut bytes);
        prop_assert_eq!(DrCommand::parse(&mut evenkeel_core::Reader::new(&bytes)), Ok(command));
        bytes.clear();
        let command = RelayCommand::Switch { policy, budget };
        command.emit(&mut bytes);
        prop_assert_eq!(RelayCommand::parse(&mut evenkeel_core::Reader::new(&bytes)), Ok(command));
    }

    #[test]
    fn parsing_a_command_never_panics(bytes in vec(any::<u8>(), 0..120)) {
        let _ = DrCommand::parse(&mut evenkeel_core::Reader::new(&bytes));
        let _ = RelayCommand::parse(&mut evenkeel_core::Reader::new(&bytes));
    }
}

#[test]
fn numbers_that_no_game_has_are_not_taken() {
    let sane = VectorFrame {
        entity: EntityId(1),
        first: DrSeq(0),
        seq: DrSeq(2),
        sent: SessionTime::from_nanos(5),
        threshold: 0.1,
        expires: SessionTime::MAX,
        vector: DrVector {
            generated: SessionTime::from_nanos(4),
            state: MotionState::default(),
            kind: MotionKind::Linear,
        },
    };
    let taken = |frame: VectorFrame| {
        let mut bytes = vec![VERSION];
        emit_vector(&frame, false, &mut bytes);
        frames(&bytes).is_ok()
    };
    assert!(taken(sane));
    for insane in [f64::NAN, f64::INFINITY, 1e300] {
        let with = |change: fn(&mut VectorFrame, f64)| {
            let mut frame = sane;
            change(&mut frame, insane);
            taken(frame)
        };
        assert!(!with(|frame, x| frame.vector.state.position.x = x));
        assert!(!with(|frame, x| frame.vector.state.velocity.z = -x));
        assert!(!with(|frame, x| frame.vector.state.acceleration.y = x));
        assert!(!with(|frame, x| frame.vector.state.turn_rate = x));
    }
    assert!(!taken(VectorFrame { sent: SessionTime::MAX, ..sane }));
    for threshold in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(!taken(VectorFrame { threshold, ..sane }));
    }
    assert!(!taken(VectorFrame { first: DrSeq(3), ..sane }));
}

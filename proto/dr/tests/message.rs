//! The wire format: what is emitted parses back, what parses is emitted back byte for byte, and no bytes make the
//! parser panic.

use evenkeel_core::{
    ClockFrame, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Seed, SessionTime, Span, Vec3, Wire,
};
use evenkeel_dr::message::{
    Arrival, ConfirmFrame, FEEDBACK_LEN_MAX, FEEDBACK_MAX, Frame, HEADER_LEN, Header, RUN_LEN_MAX,
    VECTOR_LEN_MAX, VERSION, VectorFrame, emit_clock, emit_feedback, emit_introduce, emit_recorded,
    emit_vector, frames,
};
use evenkeel_dr::{
    Budget, Compensation, Content, DrCommand, DrConfig, DrPeer, DrSeq, DrVector, EntityId, Limits,
    MotionKind, MotionState, PairWeight, Placement, PolicyKind, RelayCommand, Threshold, Topology,
};
use proptest::collection::vec;
use proptest::prelude::*;

const THRESHOLD: Threshold = Threshold { distance: 0.09, time: Some(Span::from_secs(1)) };

/// Checks that bytes which parse are emitted back unchanged.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Ok((header, frames)) = frames(bytes) else { return Ok(()) };
    let mut again = Vec::new();
    header.emit(VERSION, &mut again);
    frames.for_each(|frame| frame.emit(header.stamp.unwrap_or_default(), &mut again));
    prop_assert_eq!(again, bytes);
    Ok(())
}

const NONCE: u32 = 0xfeed_beef;

/// A message with this stamp.
fn message(stamp: SessionTime, emit: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    Header { nonce: NONCE, stamp: Some(stamp) }.emit(VERSION, &mut bytes);
    assert_eq!(bytes.len(), HEADER_LEN);
    emit(&mut bytes);
    bytes
}

fn time() -> impl Strategy<Value = SessionTime> {
    (-(1i64 << 60)..=1 << 60).prop_map(SessionTime::from_nanos)
}

/// Coordinates up to nearly the largest sane one, beyond which rounding may make them insane.
fn vec3() -> impl Strategy<Value = Vec3> {
    let number = || prop_oneof![-0.999e9..0.999e9f64, -30.0..30.0f64, Just(0.0), Just(-0.0)];
    (number(), number(), number()).prop_map(|(x, y, z)| Vec3::new(x, y, z))
}

fn state() -> impl Strategy<Value = MotionState> {
    (vec3(), vec3(), vec3(), -50.0..50.0f64).prop_map(|(position, velocity, acceleration, turn_rate)| {
        MotionState { position, velocity, acceleration, turn_rate }
    })
}

/// A vector that was generated near its message's stamp.
fn vector_frame() -> impl Strategy<Value = VectorFrame> {
    let kind = proptest::sample::select(&MotionKind::ALL[..]);
    let numbers = (any::<u32>(), 0..1000u32, 0..u32::MAX - 1000, time(), any::<i32>());
    (numbers, state(), kind).prop_map(|((entity, older, seq, sent, age), state, kind)| VectorFrame {
        entity: EntityId(entity),
        first: DrSeq(seq.saturating_sub(older)),
        seq: DrSeq(seq),
        sent,
        vector: DrVector { generated: sent - Span::from_nanos(i64::from(age)), state, kind }.quantized(),
    })
}

/// Vectors of a game that has run for an hour.
fn usual_vector_frame() -> impl Strategy<Value = VectorFrame> {
    let entity = (0..1024u32, 0..256u32).prop_map(|(player, local)| EntityId::of(PeerId(player), local));
    let below = |bits: u32| prop_oneof![Just((1u32 << bits) - 1), 0..1u32 << bits];
    let numbers = prop_oneof![(below(21), below(19)), (below(14), below(26)), (below(28), below(12))];
    // Many on either side of where a byte is added, some from the future.
    let age = prop_oneof![-1_000..2_000i64, -1_000..120_000i64];
    (vector_frame(), entity, numbers, age).prop_map(|(frame, entity, (first, life), age)| {
        let generated = frame.sent - Span::from_millis(age);
        let vector = DrVector { generated, ..frame.vector }.quantized();
        VectorFrame { entity, first: DrSeq(first), seq: DrSeq(first + life), vector, ..frame }
    })
}

/// Arrivals, some of which came with the same message.
fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let entry = (any::<u32>(), any::<u32>(), any::<bool>(), time(), any::<u32>());
    vec(entry, 0..FEEDBACK_MAX + 1).prop_map(|entries| {
        let mut arrivals: Vec<Arrival> = Vec::new();
        for (entity, seq, together, at, nonce) in entries {
            let (at, nonce) = match arrivals.last() {
                Some(last) if together => (last.at, last.nonce),
                _ => (at, nonce),
            };
            arrivals.push(Arrival { entity: EntityId(entity), seq: DrSeq(seq), at, nonce });
        }
        arrivals
    })
}

/// The only frame of a message.
fn only(bytes: &[u8]) -> Frame<'_> {
    let (header, mut frames) = frames(bytes).expect("a valid message");
    assert_eq!(header.nonce, NONCE);
    let frame = frames.next().expect("a frame");
    assert!(frames.next().is_none(), "more than one frame");
    frame
}

/// A bound on the distance between a path and the quantized one, `seconds` after the generation.
fn quantization_error(exact: &DrVector, seconds: f64) -> f64 {
    const FINEST: f64 = 1.0 / (1u128 << 64) as f64;
    let MotionState { position, velocity, acceleration, turn_rate } = exact.state;
    let diagonal = 3f64.sqrt();
    let rounding = |v: Vec3, bits: u32| {
        diagonal * (v.x.abs().max(v.y.abs()).max(v.z.abs()) * 2.0 / f64::from(1u32 << bits) + FINEST)
    };
    let (place, pace, change) = (rounding(position, 24), rounding(velocity, 16), rounding(acceleration, 16));
    let speed = velocity.length();
    let bend =
        change + turn_rate.abs() * pace + 0.5 / 65_536.0 * (speed + pace + acceleration.length() * seconds);
    // The position is moved back in a straight line, by less than a microsecond, where the path may bend.
    let back = 1e-6 * (acceleration.length() + speed * turn_rate.abs()) * (1e-6 + seconds);
    place + pace * seconds + 0.5 * bend * seconds * seconds + back
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_round_trip_if_they_parse(bytes in vec(any::<u8>(), 0..300)) {
        check(&bytes)?;
    }

    #[test]
    fn arbitrary_bytes_behind_a_tag_round_trip_if_they_parse(
        tag in prop_oneof![0x13..0x16u8, 0x7f..=0xffu8, 0x1f..0x24u8, 0x2f..0x33u8, 0x3f..0x42u8],
        mut body in vec(any::<u8>(), 0..200), small: bool,
    ) {
        if small {
            // Most varints must be short.
            body.iter_mut().skip(4).step_by(2).for_each(|byte| *byte &= 0x3f);
        }
        let bytes = message(SessionTime::from_nanos(1 << 50), |bytes| {
            bytes.push(tag);
            bytes.extend_from_slice(&body);
        });
        check(&bytes)?;
    }

    #[test]
    fn damaged_messages_round_trip_if_they_parse(
        vectors in vec(vector_frame(), 1..5), arrivals in arrivals(), number in 0..1u64 << 40,
        at in any::<prop::sample::Index>(), bit in 0..8, cut: bool,
    ) {
        let stamp = vectors[0].sent;
        let mut bytes = message(stamp, |bytes| {
            for vector in &vectors {
                match vector.seq.0 % 2 {
                    0 => emit_introduce(vector, &THRESHOLD, stamp, bytes),
                    _ => emit_vector(vector, stamp, bytes),
                }
            }
            emit_feedback(number, number + 3, stamp, arrivals.iter().take(4), bytes);
            emit_clock(&ClockFrame::Probe { sent: LocalTime::from_nanos(7) }, bytes);
        });
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
    fn vectors_round_trip(vector in vector_frame(), introduce: bool) {
        let bytes = message(vector.sent, |bytes| match introduce {
            true => emit_introduce(&vector, &THRESHOLD, vector.sent, bytes),
            false => emit_vector(&vector, vector.sent, bytes),
        });
        let expected = if introduce { Frame::Introduce(vector, THRESHOLD) } else { Frame::Vector(vector) };
        prop_assert_eq!(only(&bytes), expected);
    }

    #[test]
    fn usual_vectors_take_at_most_forty_bytes(vector in usual_vector_frame()) {
        let bytes = message(vector.sent, |bytes| emit_vector(&vector, vector.sent, bytes));
        prop_assert!(bytes.len() - HEADER_LEN <= VECTOR_LEN_MAX);
        prop_assert!(VECTOR_LEN_MAX <= 40);
    }

    #[test]
    fn feedback_round_trips(
        oldest in 0..1_000_000u64, ahead in 0..1_000u64, stamp in time(), arrivals in arrivals(),
    ) {
        let first = oldest + ahead;
        let bytes = message(stamp, |bytes| emit_feedback(oldest, first, stamp, arrivals.iter(), bytes));
        prop_assert!(bytes.len() - HEADER_LEN <= FEEDBACK_LEN_MAX + RUN_LEN_MAX * arrivals.len());
        let Frame::Feedback(feedback) = only(&bytes) else { panic!("not feedback") };
        prop_assert_eq!((feedback.oldest, feedback.first, feedback.stamp), (oldest, first, stamp));
        prop_assert!(feedback.arrivals().eq((first..).zip(arrivals.iter().copied())));
        for next in first..=first + arrivals.len() as u64 {
            let new = feedback.arrivals_from(next);
            prop_assert!(new.eq((first..).zip(arrivals.iter().copied()).skip((next - first) as usize)));
        }
    }

    // Some of these runs have short headers and ids, some have not.
    #[test]
    fn arrivals_of_one_message_are_one_run(
        ids in vec((prop_oneof![0..0x80u32, any::<u32>()], prop_oneof![0..0x4000u32, any::<u32>()]), 1..6),
        before in prop_oneof![Just(0i64), 0..1i64 << 40, 0..1i64 << 55], split in 1..6usize, behind in 0..20usize,
    ) {
        let stamp = SessionTime::from_nanos(1 << 58);
        let at = stamp - Span::from_nanos(before);
        let arrival = |&(entity, seq): &(u32, u32)| Arrival { entity: EntityId(entity), seq: DrSeq(seq), at, nonce: 7 };
        let arrivals: Vec<Arrival> = ids.iter().map(arrival).collect();
        let mut bytes = message(stamp, |bytes| emit_feedback(0, 0, stamp, arrivals.iter(), bytes));
        let probe = ClockFrame::Probe { sent: LocalTime::from_nanos(0) };
        (0..behind / 10).for_each(|_| emit_clock(&probe, &mut bytes));
        prop_assert!(frames(&bytes).is_ok());
        // Splice the arrivals into one frame with two runs.
        let (head, tail) = arrivals.split_at(split.min(arrivals.len()));
        let [head, tail] = [head, tail].map(|part| {
            let mut bytes = Vec::new();
            emit_feedback(0, 0, stamp, part.iter(), &mut bytes);
            bytes
        });
        let mut two = message(stamp, |bytes| bytes.extend(head));
        two[HEADER_LEN + 3] = arrivals.len() as u8;
        two.extend(&tail[4..]);
        prop_assert_eq!(frames(&two).is_ok(), tail.len() == 4, "adjacent runs of one message are rejected");
    }

    #[test]
    fn confirmations_records_ends_and_clock_frames_round_trip(
        next: u64, stamp in time(), echo in time(), held in 0..i64::MAX, entity: u32, older: u32, newer: u32,
    ) {
        let (entity, older, newer) = (EntityId(entity), DrSeq(older), DrSeq(newer));
        let confirm = ConfirmFrame { next, stamp: echo, held: Span::from_nanos(held), hole: next % 2 == 0 };
        let recorded = Frame::Recorded { entity, contiguous: older, newest: newer };
        let ended = Frame::Ended { entity, last: newer, at: echo };
        let probe = ClockFrame::Probe { sent: LocalTime::from_nanos(held) };
        let answer = ClockFrame::Echo {
            probe: LocalTime::from_nanos(-held),
            arrived: echo,
            held: Span::from_nanos(held),
        };
        let all = [Frame::Confirm(confirm), recorded, ended, Frame::Clock(probe), Frame::Clock(answer)];
        let bytes = message(stamp, |bytes| all.iter().for_each(|frame| frame.emit(stamp, bytes)));
        prop_assert!(frames(&bytes).expect("a valid message").1.eq(all.iter().cloned()));
    }

    #[test]
    fn quantizing_is_idempotent_and_moves_little(
        state in state(), kind in proptest::sample::select(&MotionKind::ALL[..]),
        at in time(), seconds in 0.0..10.0f64,
    ) {
        let exact = DrVector::generate(at, &state, kind);
        let quantized = exact.quantized();
        prop_assert_eq!(quantized.quantized(), quantized);
        prop_assert!(quantized.generated <= at && at - quantized.generated < Span::from_nanos(1000));
        let later = at + Span::from_secs_f64(seconds);
        let distance = quantized.project(later).distance(exact.project(later));
        // Allow for the rounding of the projections themselves.
        let size = exact.project(later).length() + state.velocity.length() * seconds + state.position.length()
            + state.velocity_derivative().length() * seconds * seconds;
        prop_assert!(
            distance <= quantization_error(&exact, seconds + 1e-6) + 1e-14 * size,
            "{distance} > {}", quantization_error(&exact, seconds + 1e-6)
        );
    }

    #[test]
    fn commands_round_trip(entity: u32, state in state(), budget in 0.0..100.0f64, which in 0..5) {
        let entity = EntityId(entity);
        let budget = match entity.0 % 4 {
            0 => Budget::new(budget),
            1 => Budget::bits_per_second(1.0 + budget),
            2 => Budget::vectors_per_second(0.1 + budget),
            _ => Budget::of_receivers(budget / 100.0),
        };
        let budget = budget.expect("a valid budget");
        prop_assert_eq!(budget.to_string().parse::<Budget>().map(|read| read.per_trigger(7).round()), Ok(budget.per_trigger(7).round()));
        let policy = PolicyKind::all()[entity.0 as usize % PolicyKind::all().len()];
        let weight = PairWeight::new(f64::from(which)).expect("a valid weight");
        let command = match which {
            0 => DrCommand::Observe { entity, state },
            3 => DrCommand::ObserveAll { states: vec![(entity, state); 3] },
            1 => DrCommand::End { entity },
            4 => DrCommand::Policy(RelayCommand::Weigh { entity, receiver: PeerId(7), weight }),
            _ => DrCommand::Policy(RelayCommand::Switch { policy, budget }),
        };
        let mut bytes = Vec::new();
        command.emit(&mut bytes);
        prop_assert_eq!(DrCommand::parse(&mut evenkeel_core::Reader::new(&bytes)), Ok(command));
        bytes.clear();
        let command = match which {
            4 => RelayCommand::Weigh { entity, receiver: PeerId(7), weight },
            _ => RelayCommand::Switch { policy, budget },
        };
        command.emit(&mut bytes);
        prop_assert_eq!(RelayCommand::parse(&mut evenkeel_core::Reader::new(&bytes)), Ok(command));
    }

    #[test]
    fn configurations_round_trip(
        relay in prop::option::of(any::<u32>()), distance in 0.0..10.0f64, bounds in prop::option::of(0..1_000_000i64),
        which in 0..3usize, kind in 0..5usize, number: u64,
    ) {
        let config = DrConfig {
            topology: relay.map_or(Topology::Direct, |relay| Topology::Relay(PeerId(relay))),
            threshold: Threshold { distance, time: bounds.map(Span::from_nanos) },
            kind: Content::ALL[kind],
            placement: [Placement::Global, Placement::Local, Placement::OneWayDelay][which],
            policy: PolicyKind::all()[which],
            compensation: bounds.map(|_| Compensation::default()),
            tick: Span::from_nanos(number as i64 >> 20),
            limits: Limits { own_names: which == 0, speed_max: distance, ..Limits::default() },
            seed: Seed::new(number),
            ..DrConfig::default()
        };
        let mut bytes = Vec::new();
        config.emit(&mut bytes);
        prop_assert_eq!(DrConfig::parse(&mut evenkeel_core::Reader::new(&bytes)), Ok(config));
    }

    #[test]
    fn parsing_commands_and_configurations_never_panics(bytes in vec(any::<u8>(), 0..120)) {
        let _ = DrCommand::parse(&mut evenkeel_core::Reader::new(&bytes));
        let _ = RelayCommand::parse(&mut evenkeel_core::Reader::new(&bytes));
        let _ = DrConfig::parse(&mut evenkeel_core::Reader::new(&bytes));
    }
}

#[test]
fn a_message_without_a_stamp_can_only_hold_clock_frames() {
    let mut bytes = Vec::new();
    Header { nonce: 1, stamp: None }.emit(VERSION, &mut bytes);
    emit_clock(&ClockFrame::Probe { sent: LocalTime::from_nanos(5) }, &mut bytes);
    assert!(frames(&bytes).is_ok());
    emit_recorded(EntityId(1), DrSeq(2), DrSeq(3), &mut bytes);
    assert!(frames(&bytes).is_err());
}

#[test]
fn another_version_is_rejected_by_number() {
    let mut bytes = message(SessionTime::default(), |_| {});
    bytes[0] = VERSION + 1;
    assert_eq!(frames(&bytes).err(), Some(Malformed::Version { found: VERSION + 1, supported: VERSION }));
}

#[test]
fn insane_numbers_are_rejected() {
    let stamp = SessionTime::from_nanos(5_000);
    let vector = DrVector { generated: stamp, state: MotionState::default(), kind: MotionKind::Linear };
    let sane = VectorFrame { entity: EntityId(1), first: DrSeq(0), seq: DrSeq(2), sent: stamp, vector };
    let parses =
        |frame: VectorFrame| frames(&message(stamp, |bytes| emit_vector(&frame, stamp, bytes))).is_ok();
    assert!(parses(sane));
    for insane in [1e10, -1e12, 1e15] {
        let with = |change: fn(&mut VectorFrame, f64)| {
            let mut frame = sane;
            change(&mut frame, insane);
            parses(frame)
        };
        assert!(!with(|frame, x| frame.vector.state.position.x = x));
        assert!(!with(|frame, x| frame.vector.state.velocity.z = -x));
        assert!(!with(|frame, x| frame.vector.state.acceleration.y = x));
    }
    let turning = |turn_rate: f64| {
        let state = MotionState { turn_rate, ..MotionState::default() };
        parses(VectorFrame { vector: DrVector { state, ..vector }, ..sane })
    };
    assert!(turning(100.0) && !turning(101.0));
    assert!(!parses(VectorFrame { seq: DrSeq(u32::MAX), ..sane }));
    for distance in [-1.0, -0.0, f64::NAN, f64::INFINITY] {
        let threshold = Threshold { distance, ..THRESHOLD };
        assert!(frames(&message(stamp, |bytes| emit_introduce(&sane, &threshold, stamp, bytes))).is_err());
    }
    let at = message(SessionTime::from_nanos(i64::MAX), |_| {});
    assert!(frames(&at).is_err(), "no session lasts that long");
}

#[test]
fn any_threshold_is_sent_in_a_valid_message() {
    let distances = [-1.0, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300];
    for (distance, nanos) in
        distances.into_iter().flat_map(|distance| [(distance, -5), (distance, 0), (distance, 7)])
    {
        let threshold = Threshold { distance, time: Some(Span::from_nanos(nanos)) };
        let mut owner = DrPeer::new(&DrConfig { threshold, ..DrConfig::default() });
        let now = LocalTime::from_nanos(0);
        owner.handle_peer(now, PeerChange::Joined { peer: PeerId(1), datagram_max: 1200 });
        let state = MotionState::default();
        owner.handle_command(now, DrCommand::Observe { entity: EntityId(1), state });
        let mut bytes = Vec::new();
        assert!(owner.poll_transmit(now, &mut bytes).is_some());
        let (_, mut introduced) = frames(&bytes).expect("a valid message");
        assert_eq!(
            introduced.next().map(|frame| matches!(frame, Frame::Introduce(..))),
            Some(true),
            "{threshold:?}"
        );
    }
}

//! The accuracy model: after its arrival a DR vector is placed exactly where its owner exports it. The two other
//! placements have their known errors, and late, duplicate or unknown vectors are not placed.

#[path = "support/net.rs"]
mod net;

use evenkeel_core::{Channel, Endpoint, PeerId, SessionTime, Span, Vec3};
use evenkeel_dr::message::{Frame, Header, VERSION, VectorFrame, emit_vector, frames};
use evenkeel_dr::{
    DrCommand, DrConfig, DrEvent, DrSeq, DrVector, EntityId, MotionKind, MotionState, Placement, PolicyKind,
    Threshold, export_error,
};
use net::{Net, millis, moving};

const OWNER: PeerId = PeerId(0);
const TANK: EntityId = EntityId(7);

fn config() -> DrConfig {
    DrConfig {
        threshold: Threshold { distance: 0.1, time: None },
        policy: PolicyKind::BASE,
        ..DrConfig::default()
    }
}

/// The vectors that arrived at receiver 1: their number, and the vector if it was placed.
fn arrivals(net: &Net) -> Vec<(u32, Option<DrVector>)> {
    let arrived = |event: &DrEvent| match event {
        DrEvent::Arrived { seq, placed, .. } => Some((seq.0, *placed)),
        _ => None,
    };
    net.events.iter().filter(|(_, node, _)| *node == 1).filter_map(|(.., event)| arrived(event)).collect()
}

/// The numbers that receiver 1 has acknowledged.
fn acknowledged(net: &Net) -> Vec<u32> {
    let mut numbers: Vec<_> = net
        .sent
        .iter()
        .filter(|sent| sent.from == 1)
        .flat_map(|sent| frames(&sent.bytes).expect("a valid message").1)
        .filter_map(|frame| match frame {
            Frame::Feedback(feedback) => {
                Some(feedback.arrivals().map(|(_, arrival)| arrival.seq.0).collect::<Vec<_>>())
            }
            _ => None,
        })
        .flatten()
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The distance between the exported and the placed position.
fn distance(net: &Net) -> f64 {
    let exported = net.peers[0].exported(net.now, TANK).expect("exported");
    exported.distance(net.peers[1].position(net.now, OWNER, TANK).expect("placed"))
}

/// A winding path, sampled every 10 ms.
fn wind(step: i64, space: bool) -> MotionState {
    let t = step as f64 * 0.01;
    let (turn, speed) = (0.7, 11.0);
    let (sin, cos) = libm::sincos(turn * t + (step / 40) as f64);
    MotionState {
        position: Vec3::new(1000.1 + speed * sin / turn, 3.3 * t - 0.1 * t * t, if space { t } else { 0.0 }),
        velocity: Vec3::new(speed * cos, 3.3 - 0.2 * t, if space { 1.0 } else { 0.0 }),
        acceleration: Vec3::new(0.3, -0.2, if space { 0.05 } else { 0.0 }),
        turn_rate: turn,
    }
}

#[test]
fn after_arrival_exported_and_placed_position_are_identical() {
    for kind in MotionKind::ALL {
        for space in [false, true] {
            let config = DrConfig { kind: kind.into(), ..config() };
            let mut net = Net::star(&config, &[Span::from_nanos(137_123_457)]);
            let mut compared = 0;
            for step in 0..300 {
                net.observe(TANK.0, wind(step, space));
                net.run_for(Span::from_nanos(10_000_001));
                let made = net.events.iter().filter(|(.., e)| matches!(e, DrEvent::Generated { .. })).count();
                if arrivals(&net).len() < made {
                    continue;
                }
                let exported = net.peers[0].exported(net.now, TANK).expect("exported");
                let placed = net.peers[1].position(net.now, OWNER, TANK).expect("placed");
                let bits = |v: Vec3| [v.x, v.y, v.z].map(f64::to_bits);
                assert_eq!(bits(exported), bits(placed), "{kind:?} at {:?}", net.now);
                compared += 1;
            }
            assert!(compared > 30 && arrivals(&net).len() > 3, "{kind:?}: {compared} comparisons");
        }
    }
}

#[test]
fn the_error_after_arrival_is_exactly_zero() {
    for kind in MotionKind::ALL {
        let mut net = Net::star(&DrConfig { kind: kind.into(), ..config() }, &[millis(300)]);
        for step in 0..200 {
            net.observe(TANK.0, wind(step, true));
            net.run_for(millis(10));
        }
        let mut checked = 0;
        for (at, _, event) in &net.events {
            let DrEvent::Generated { seq, vector, .. } = event else { continue };
            let Some((_, Some(placed))) = arrivals(&net).into_iter().find(|(n, _)| *n == seq.0) else {
                continue;
            };
            let arrival = SessionTime::from_nanos(at.as_nanos()) + millis(300);
            assert_eq!(export_error(vector, &placed, arrival, arrival + Span::from_secs(2)), 0.0);
            checked += 1;
        }
        assert!(checked > 3, "{kind:?}");
    }
}

#[test]
fn local_placement_trails_by_speed_times_delay() {
    let config = DrConfig { placement: Placement::Local, ..config() };
    let mut net = Net::star(&config, &[millis(250)]);
    for step in 0..40 {
        net.observe(TANK.0, moving((step as f64, 0.0), (10.0, 0.0)));
        net.run_for(millis(100));
        if step >= 3 {
            assert!((distance(&net) - 2.5).abs() < 1e-9, "{}", distance(&net));
        }
    }
    assert!(net.vectors_to(1).is_empty(), "a straight path needs no second vector");
}

/// The distance after a turn, when round trips have been measured and the turn has arrived.
fn distance_after_a_turn(there: Span, back: Span) -> f64 {
    let config = DrConfig { placement: Placement::OneWayDelay, ..config() };
    let mut net = Net::new(&config, 1, move |sent| vec![if sent.from == 0 { there } else { back }]);
    net.observe(TANK.0, moving((0.0, 0.0), (10.0, 0.0)));
    net.run_for(Span::from_secs(2));
    // No round trip was measured when the introduction was placed.
    assert!((distance(&net) - 10.0 * there.as_secs_f64()).abs() < 1e-9);
    net.observe(TANK.0, moving((20.0, 5.0), (0.0, 10.0)));
    net.run_for(Span::from_secs(1));
    distance(&net)
}

#[test]
fn one_way_delay_placement_is_exact_if_both_directions_are_equally_slow() {
    assert_eq!(distance_after_a_turn(millis(150), millis(150)), 0.0);
}

#[test]
fn one_way_delay_placement_is_off_by_half_the_difference_of_both_directions() {
    let off = distance_after_a_turn(millis(100), millis(300));
    assert!((off - 10.0 * 0.1).abs() < 1e-9, "{off}");
}

/// Sends peer 1 an introduction, vector 1 with these delays of its copies, and vector 2 with a delay of 50 ms.
fn two_vectors(first: Vec<Span>) -> Net {
    let mut net = Net::new(&config(), 1, move |sent| match sent.vectors().first() {
        Some(vector) if vector.seq == DrSeq(1) => first.clone(),
        _ => vec![millis(50)],
    });
    net.observe(TANK.0, moving((0.0, 0.0), (10.0, 0.0)));
    net.run_for(millis(100));
    net.observe(TANK.0, moving((1.0, 1.0), (0.0, 10.0)));
    net.run_for(millis(100));
    net.observe(TANK.0, moving((2.0, 2.0), (-10.0, 0.0)));
    net.run_for(Span::from_secs(3));
    net
}

#[test]
fn an_older_vector_that_arrives_late_is_acknowledged_but_never_placed() {
    let net = two_vectors(vec![millis(800)]);
    let placed: Vec<_> = arrivals(&net).iter().map(|(seq, placed)| (*seq, placed.is_some())).collect();
    assert_eq!(placed, [(0, true), (2, true), (1, false)]);
    assert_eq!(acknowledged(&net), [0, 1, 2]);
    assert_eq!(distance(&net), 0.0);
}

#[test]
fn a_vector_that_arrives_twice_counts_once() {
    let net = two_vectors(vec![millis(30), millis(40), millis(700)]);
    let placed: Vec<_> = arrivals(&net).iter().map(|(seq, placed)| (*seq, placed.is_some())).collect();
    assert_eq!(placed, [(0, true), (1, true), (2, true)]);
    let late = net.sent.iter().filter(|sent| sent.from == 1 && sent.at.as_nanos() > 700_000_000);
    assert_eq!(late.count(), 0, "duplicates are not acknowledged");
}

#[test]
fn a_lost_vector_does_not_matter_after_the_next_has_arrived() {
    let net = two_vectors(Vec::new());
    assert_eq!(acknowledged(&net), [0, 2]);
    assert_eq!(distance(&net), 0.0);
}

#[test]
fn a_vector_of_an_entity_that_was_never_introduced_is_ignored() {
    let mut net = Net::star(&config(), &[millis(50)]);
    let state = moving((1.0, 2.0), (3.0, 4.0));
    let vector = DrVector::generate(SessionTime::from_nanos(0), &state, MotionKind::Linear);
    let (entity, sent) = (EntityId(99), vector.generated);
    let frame = VectorFrame { entity, first: DrSeq(0), seq: DrSeq(3), sent, vector };
    let mut bytes = Vec::new();
    Header { nonce: 7, stamp: Some(sent) }.emit(VERSION, &mut bytes);
    emit_vector(&frame, sent, &mut bytes);
    let receiver = &mut net.peers[1];
    assert_eq!(receiver.handle_message(net.now, OWNER, Channel::Datagram, &bytes), Ok(()));
    assert_eq!(receiver.poll_event(), None);
    assert_eq!(receiver.poll_transmit(net.now, &mut bytes), None);
    assert_eq!(receiver.position(net.now, OWNER, entity), None);
}

#[test]
fn an_id_that_is_reused_begins_a_new_life() {
    // Vector 1, of the first life, arrives after its end. The reliable channel is slow, so vector 3, of the second
    // life, overtakes its introduction.
    let mut net = Net::new(&config(), 1, |sent| match (sent.channel, sent.vectors().first()) {
        (Channel::Reliable, _) => vec![millis(400)],
        (_, Some(vector)) if vector.seq == DrSeq(1) => vec![millis(900)],
        _ => vec![millis(50)],
    });
    net.observe(TANK.0, moving((0.0, 0.0), (10.0, 0.0)));
    net.run_for(millis(500));
    net.observe(TANK.0, moving((5.0, 1.0), (0.0, 10.0)));
    net.run_for(millis(100));
    net.command(DrCommand::End { entity: TANK });
    net.observe(TANK.0, moving((500.0, 500.0), (1.0, 0.0)));
    net.run_for(millis(100));
    net.observe(TANK.0, moving((501.0, 501.0), (0.0, 1.0)));
    net.run_for(millis(200));
    // The first life is still shown, because its end has not arrived yet.
    assert!(net.peers[1].position(net.now, OWNER, TANK).is_some_and(|at| at.x < 20.0));
    net.run_for(millis(150));
    let ended = net.events.iter().position(|(.., event)| matches!(event, DrEvent::Ended { .. }));
    assert!(ended.is_some(), "the receiver learns of the end");
    assert!(net.peers[1].position(net.now, OWNER, TANK).is_some_and(|at| at.x > 400.0));
    net.run_for(Span::from_secs(2));
    let placed: Vec<_> = arrivals(&net).iter().map(|(seq, placed)| (*seq, placed.is_some())).collect();
    assert_eq!(placed, [(0, true), (2, true)]);
    assert_eq!(acknowledged(&net), [0, 2]);
}

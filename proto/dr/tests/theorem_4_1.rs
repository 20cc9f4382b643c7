//! Theorem 4.1 of NetGames'05: when the schedule of DR_i is made, the actual errors of all earlier vectors plus the
//! estimated error of this one are the same at every receiver, provided that each vector arrives and is acknowledged
//! before the next trigger.
//!
//! The test runs real peers and computes the sums of the theorem from the messages that they sent and the delays that
//! it imposed: `A` is the error that a vector caused at a receiver, `S` the error that follows from its sending time
//! and the delay estimate.

#[path = "support/net.rs"]
mod net;

use evenkeel_core::{DelayEstimate, Endpoint, LocalTime, PeerId, Seed, SessionTime, Span};
use evenkeel_dr::{DrConfig, DrEvent, DrVector, PolicyKind, Threshold, export_error};
use net::{Net, millis, moving};

const TRIGGERS: usize = 25;
const APART: Span = Span::from_secs(3);

/// A receiver as the theorem sees it.
#[derive(Clone, Default)]
struct Column {
    estimate: DelayEstimate,
    shown: Option<DrVector>,
    /// The sum of A.
    actual: f64,
    /// The error that rounding may cause: the schedule is in whole nanoseconds.
    rounding: f64,
}

fn session(at: LocalTime) -> SessionTime {
    SessionTime::from_nanos(at.as_nanos())
}

fn newest(net: &Net) -> DrVector {
    let generated = |event: &DrEvent| match event {
        DrEvent::Generated { vector, .. } => Some(*vector),
        _ => None,
    };
    net.events.iter().rev().find_map(|(.., event)| generated(event)).expect("a vector")
}

/// Drives an entity around with a sharp turn at each trigger. Returns, for each trigger, the sums of the theorem of all
/// receivers, and the difference between them that rounding explains.
fn sums(policy: &str, delay: impl Fn(usize, usize) -> Span + Copy + 'static) -> Vec<(Vec<f64>, f64)> {
    let receivers = 3;
    let config = DrConfig {
        compensation: None, // As in the papers.
        threshold: Threshold { distance: 0.1, time: None },
        policy: policy.parse::<PolicyKind>().expect("a policy"),
        ..DrConfig::default()
    };
    let mut net = Net::new(&config, receivers, move |sent| {
        let index = sent.vectors().first().map_or(0, |vector| vector.seq.0 as usize);
        vec![delay(sent.from.max(sent.to), index)]
    });
    let mut draws = Seed::new(41).draws();
    let mut columns = vec![Column::default(); receivers];
    net.observe(1, moving((0.0, 0.0), (10.0, 5.0)));
    let introduced = newest(&net);
    net.run_for(APART);
    for (index, column) in columns.iter_mut().enumerate() {
        column.estimate.sample(delay(index + 1, 0));
        column.shown = Some(introduced);
    }
    let mut rows = Vec::new();
    for trigger in 1..=TRIGGERS {
        let here = net.peers[0].exported(net.now, evenkeel_dr::EntityId(1)).expect("exported");
        let aside = (draws.uniform(0.2, 0.6), draws.uniform(0.2, 0.6));
        let velocity = (draws.uniform(-15.0, 15.0), draws.uniform(-15.0, 15.0));
        net.observe(1, moving((here.x + aside.0, here.y + aside.1), velocity));
        let vector = newest(&net);
        net.run_for(APART);
        rows.push(row(&net, trigger, &vector, &mut columns, delay));
    }
    rows
}

/// The sums after one trigger. Advances the columns to the next.
fn row(
    net: &Net,
    trigger: usize,
    vector: &DrVector,
    columns: &mut [Column],
    delay: impl Fn(usize, usize) -> Span,
) -> (Vec<f64>, f64) {
    let mut sums = Vec::new();
    for (index, column) in columns.iter_mut().enumerate() {
        let shown = column.shown.expect("introduced");
        let (sent, _) = net
            .vectors_to(index + 1)
            .into_iter()
            .find(|(_, frame)| frame.seq.0 as usize == trigger)
            .expect("every vector is sent before the next trigger");
        let estimated = session(sent) + column.estimate.mean();
        let arrived = session(sent) + delay(index + 1, trigger);
        sums.push(column.actual + export_error(vector, &shown, vector.generated, estimated));
        column.rounding += 1e-9 * vector.project(estimated).distance(shown.project(estimated));
        column.actual += export_error(vector, &shown, vector.generated, arrived);
        column.estimate.sample(delay(index + 1, trigger));
        column.shown = Some(*vector);
    }
    let rounding = columns.iter().map(|column| column.rounding).fold(0.0, f64::max);
    (sums, rounding)
}

/// The largest difference within a row, minus the part that rounding explains, relative to the sums.
fn worst(rows: &[(Vec<f64>, f64)]) -> f64 {
    let unfair = |(sums, rounding): &(Vec<f64>, f64)| {
        let largest = sums.iter().copied().fold(f64::MIN, f64::max);
        let smallest = sums.iter().copied().fold(f64::MAX, f64::min);
        (largest - smallest - rounding).max(0.0) / largest
    };
    rows.iter().map(unfair).fold(0.0, f64::max)
}

fn constant(receiver: usize, _: usize) -> Span {
    [millis(80), millis(50), millis(20)][receiver - 1]
}

/// A different delay for each vector, so that every estimate is wrong and has to be made up for.
fn varying(receiver: usize, index: usize) -> Span {
    let spread = Seed::new(5).child(receiver as u64).child(index as u64).draws().uniform(-0.6, 0.6);
    Span::from_secs_f64(constant(receiver, index).as_secs_f64() * (1.0 + spread))
}

#[test]
fn sums_are_equal_after_every_trigger_if_delays_are_as_estimated() {
    let rows = sums("netgames05", constant);
    assert_eq!(rows.len(), TRIGGERS);
    assert!(worst(&rows) <= 1e-9, "{rows:?}");
}

#[test]
fn sums_are_equal_after_every_trigger_if_delays_differ_from_the_estimates() {
    let rows = sums("netgames05", varying);
    assert!(worst(&rows) <= 1e-9, "{rows:?}");
}

#[test]
fn the_base_case_does_not_equalize_the_sums() {
    assert!(worst(&sums("base", constant)) > 0.5);
    assert!(worst(&sums("base", varying)) > 0.5);
}

#[test]
fn the_ledger_knows_the_actual_errors() {
    let mut net = Net::star(
        &DrConfig {
            compensation: None,
            threshold: Threshold { distance: 0.1, time: None },
            policy: PolicyKind::Netgames05,
            ..DrConfig::default()
        },
        &[millis(80), millis(20)],
    );
    net.observe(1, moving((0.0, 0.0), (10.0, 0.0)));
    net.run_for(APART);
    net.observe(1, moving((30.0, 1.0), (0.0, 10.0)));
    net.run_for(APART);
    let now = session(net.now);
    let ledger = net.peers[0].ledger().expect("the owner runs the policy");
    let [far, near] = [1, 2].map(|receiver| ledger.accumulated(PeerId(receiver), now));
    assert!(far > 0.0 && (far - near).abs() <= 1e-9 * far + 1e-8, "{far} {near}");
    assert_eq!(net.peers[0].poll_timeout(), None);
}

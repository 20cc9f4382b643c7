//! Over real sockets, with delays emulated: once a vector has arrived, its receiver shows the entity where its owner
//! exports it, but for what the two clocks may be wrong by. Looked at for a minute.

use evenkeel_core::{SessionClock, Span};
use evenkeel_dr::{DrCommand, EntityId, PolicyKind};
use evenkeel_games::{Driver, Mover, STEP};
use evenkeel_lab::dr::sockets::SocketSession;
use evenkeel_lab::parallel::Progress;
use evenkeel_lab::scenario::{Receiver, Scenario, ScenarioTopology};
use evenkeel_link::Jitter;
use evenkeel_net::{NodeId, RELAY};

const TANK: EntityId = EntityId(0);
const OWNER: NodeId = NodeId(0);
const SECONDS: i64 = 60;
/// What the projection's own rounding may differ by: a billionth of a unit.
const ROUNDING: f64 = 1e-9;

fn scenario() -> Scenario {
    let millis = Span::from_millis;
    let receiver = |name, delay, half_width| {
        Receiver::at(name, millis(delay), Jitter::Uniform { half_width: millis(half_width) })
    };
    Scenario {
        topology: ScenarioTopology::Relay { uplink: millis(30) },
        receivers: vec![receiver("far", 200, 20), receiver("middle", 80, 8), receiver("near", 20, 2)],
        ..Scenario::papers(Span::ZERO, 0.09)
    }
}

#[test]
fn after_arrival_a_copy_is_off_by_at_most_the_clocks_bound_times_its_speed() {
    let sockets = SocketSession::start(&scenario(), PolicyKind::BASE, 1).expect("loopback works");
    sockets.wait_for_clocks(&Progress::default()).expect("the clocks find the time");
    let mut mover = Mover::tank(Driver::Random, evenkeel_core::Seed::new(5));
    let start = sockets.clock.now();
    let (mut compared, mut looked, mut sum, mut worst, mut widest) = (0u32, 0u32, 0.0, 0.0f64, Span::ZERO);
    for step in 0..SECONDS * 100 {
        sockets.sleep_until(start + STEP.times(step));
        let sample = mover.at(step.unsigned_abs()).expect("it never dies");
        if step % 2 == 0 {
            let command = DrCommand::Observe { entity: TANK, state: sample.state };
            sockets.players.command(OWNER, command).expect("it runs");
        }
        let at = sockets.clock.now();
        let exported = move |peer: &mut evenkeel_net::client::PlayerMachine, _| {
            let vector = *peer.exported_vector(TANK)?;
            Some((vector, peer.exported(at, TANK)?, peer.clock().error_max(at)?))
        };
        let owner = sockets.players.with_blocking(OWNER, exported).expect("it runs");
        let Some((vector, here, owner_error)) = owner else { continue };
        for receiver in 2..5 {
            looked += 1;
            let placed = move |peer: &mut evenkeel_net::client::PlayerMachine, _| {
                let placed = *peer.placed_vector(RELAY, TANK)?;
                Some((placed, peer.position(at, RELAY, TANK)?, peer.clock().error_max(at)?))
            };
            let copy = sockets.players.with_blocking(NodeId(receiver), placed).expect("it runs");
            let Some((placed, there, error)) = copy.filter(|(placed, ..)| *placed == vector) else {
                continue;
            };
            compared += 1;
            let distance = here.distance(there);
            let bound = vector.state.velocity.length() * (owner_error + error).as_secs_f64() + ROUNDING;
            assert!(distance <= bound, "receiver {receiver}: {distance} > {bound} at {at:?}, {placed:?}");
            sum += distance;
            worst = worst.max(distance);
            widest = widest.max(owner_error + error);
        }
    }
    let mean = sum / f64::from(compared.max(1));
    println!(
        "{compared} of {looked} looks compared, {mean:.6} units apart and at most {worst:.6}, clocks within {widest:?}"
    );
    assert!(compared > looked / 4, "{compared} of {looked}: most of the time the newest vector has arrived");
    // Two milliseconds at full speed. A machine that is busy may hold a clock's question up for longer once, which the bound above covers.
    assert!(mean < 0.05, "{mean}: and it is small, too");
}

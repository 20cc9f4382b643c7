//! Plausible configurations and commands, chosen by the fuzzer.

use evenkeel_core::{PeerId, Seed, Span};
use evenkeel_dr::{
    Budget, Compensation, Content, DrCommand, DrConfig, EntityId, Limits, MotionState, PairWeight, Placement,
    PolicyKind, RelayCommand, Threshold, Topology,
};

use crate::feed::Feed;

/// The number of entity ids in use.
const ENTITIES: usize = 6;
/// The most states of one observation.
const STATES_MAX: usize = 4;

/// A configuration.
pub fn config(topology: Topology, feed: &mut Feed<'_>) -> DrConfig {
    let ticks = [Span::ZERO, Span::from_millis(20), Span::from_secs(1)];
    let heartbeats = [None, Some(Span::from_millis(300)), Some(Span::from_secs(1))];
    let tight = Limits {
        position_max: 50.0,
        speed_max: 30.0,
        vectors_per_second: 5.0,
        births_per_second: 1.0,
        own_names: true,
        ..Limits::default()
    };
    // Quotas that every player soon exceeds.
    let quotas = Limits { vectors_per_second: 0.5, births_per_second: 0.0, ..Limits::default() };
    DrConfig {
        topology,
        threshold: Threshold { distance: feed.pick(&[0.09, 0.0, 5.0]), time: feed.pick(&heartbeats) },
        kind: feed.pick(&Content::ALL),
        placement: feed.pick(&[Placement::Global, Placement::Local, Placement::OneWayDelay]),
        policy: policy(feed),
        budget: budget(feed),
        compensation: feed.pick(&[Some(Compensation::default()), None]),
        tick: feed.pick(&ticks),
        limits: feed.pick(&[Limits::default(), tight, quotas]),
        seed: Seed::new(u64::from(feed.byte())),
    }
}

/// A command of a game.
pub fn command(feed: &mut Feed<'_>) -> DrCommand {
    match feed.byte() {
        0..16 => DrCommand::End { entity: entity(feed) },
        16..24 => DrCommand::Policy(RelayCommand::Switch { policy: policy(feed), budget: budget(feed) }),
        48..52 => DrCommand::Policy(RelayCommand::Weigh {
            entity: entity(feed),
            receiver: receiver(feed),
            weight: weight(feed),
        }),
        24..48 => {
            let count = feed.below(STATES_MAX + 1);
            DrCommand::ObserveAll { states: (0..count).map(|_| (entity(feed), state(feed))).collect() }
        }
        _ => DrCommand::Observe { entity: entity(feed), state: state(feed) },
    }
}

/// A command of a relay's operator.
pub fn relay_command(feed: &mut Feed<'_>) -> RelayCommand {
    match feed.byte() {
        0..64 => RelayCommand::Weigh { entity: entity(feed), receiver: receiver(feed), weight: weight(feed) },
        _ => RelayCommand::Switch { policy: policy(feed), budget: budget(feed) },
    }
}

fn receiver(feed: &mut Feed<'_>) -> PeerId {
    PeerId(u32::from(feed.byte() % 8))
}

fn weight(feed: &mut Feed<'_>) -> PairWeight {
    PairWeight::new(feed.pick(&[0.0, 0.5, 1.0, 1000.0])).expect("the weights are in range")
}

/// A state of motion: usually few bytes of the feed, which leaves bytes for others.
pub fn state(feed: &mut Feed<'_>) -> MotionState {
    let mut state = MotionState { position: feed.vec3(), velocity: feed.vec3(), ..MotionState::default() };
    if feed.once_in(4) {
        (state.acceleration, state.turn_rate) = (feed.vec3(), feed.number());
    }
    state
}

fn entity(feed: &mut Feed<'_>) -> EntityId {
    EntityId(feed.below(ENTITIES) as u32)
}

fn policy(feed: &mut Feed<'_>) -> PolicyKind {
    feed.pick(&PolicyKind::all())
}

fn budget(feed: &mut Feed<'_>) -> Budget {
    match feed.byte() % 2 {
        0 => Budget::new(feed.pick(&[1.0, 0.0, 0.5, 3.0, 1e9]))
            .expect("the budgets are finite and not negative"),
        _ => Budget::of_receivers(feed.pick(&[1.0, 0.0, 0.4])).expect("the shares are in range"),
    }
}

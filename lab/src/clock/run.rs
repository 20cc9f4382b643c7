//! One run of a server and a follower, sampled from outside, where the true time is known.

use evenkeel_core::clock::OffsetEstimator;
use evenkeel_core::{ClockEvent, FollowerClock, Seed, ServerClock, SessionClock, SessionTime, Span};
use evenkeel_link::{ClockFaults, LinkFaults, TrueTime};
use evenkeel_sim::World;

use super::node::ClockNode;

/// The clocks of a server and a follower, and the link between them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClockSetting {
    /// The link from the follower to the server.
    pub up: LinkFaults,
    /// The link from the server to the follower.
    pub down: LinkFaults,
    /// The server's own clock, which defines the session's time.
    pub server: ClockFaults,
    /// The follower's own clock.
    pub follower: ClockFaults,
}

/// A sample of the follower's clock.
#[derive(Clone, PartialEq, Debug)]
pub struct ClockSample {
    /// The true time.
    pub at: TrueTime,
    /// The session's time, as the server's clock shows it.
    pub truth: SessionTime,
    /// The follower's estimate, which the shown time is slewed towards.
    pub estimate: Option<SessionTime>,
    /// The session time that the follower shows.
    pub shown: Option<SessionTime>,
    /// The interval that it certifies for the session's time.
    pub interval: Option<(SessionTime, SessionTime)>,
    /// The error bound of the shown time.
    pub error_max: Option<Span>,
    /// How often its exchanges have contradicted each other.
    pub breaks: u64,
    /// Its events since the last sample.
    pub events: Vec<(TrueTime, ClockEvent)>,
}

impl ClockSample {
    /// The error of a time in milliseconds.
    #[must_use]
    pub fn error_ms(&self, time: SessionTime) -> f64 {
        (time - self.truth).abs().as_millis_f64()
    }

    /// Whether the truth is within the follower's bounds, if it states any.
    #[must_use]
    pub fn is_certified(&self) -> bool {
        let within = self.interval.is_none_or(|(low, high)| (low..=high).contains(&self.truth));
        let near = self.shown.zip(self.error_max);
        within && near.is_none_or(|(shown, error_max)| (shown - self.truth).abs() <= error_max)
    }
}

/// Runs a setting for `duration` and passes a sample to `on_sample` every `every`, for the first time after `every`.
pub fn run<E: OffsetEstimator + 'static>(
    setting: &ClockSetting,
    seed: u64,
    every: Span,
    duration: Span,
    mut on_sample: impl FnMut(ClockSample),
) {
    let mut world = World::new(Seed::new(seed));
    let server = world.add_node(ClockNode::<E>::Server(Box::default()), setting.server.clone());
    let clock = Box::new(FollowerClock::<E>::new(server.into()));
    let follower = world.add_node(ClockNode::Follower(clock), setting.follower.clone());
    world.connect(follower, server, setting.up.clone(), setting.down.clone());
    world.join(server, follower, 1200);
    let end = TrueTime::default() + duration;
    let mut at = TrueTime::default() + every;
    while at <= end {
        let mut events = Vec::new();
        world.run_until(at, &mut |at, _, event| events.push((at, event)));
        let local = world.clock(follower).local(at);
        let truth = world.clock(server).local(at);
        let truth = ServerClock::default().session(truth).expect("a server always has a session time");
        let clock = world.node(follower).follower().expect("this is the follower");
        on_sample(ClockSample {
            at,
            truth,
            estimate: clock.estimate(local),
            shown: clock.session(local),
            interval: clock.interval(local),
            error_max: clock.error_max(local),
            breaks: clock.breaks(),
            events,
        });
        at += every;
    }
}

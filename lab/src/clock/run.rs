//! One run: a server and one that follows it, looked at from outside, where the true time is known.

use evenkeel_core::clock::OffsetEstimator;
use evenkeel_core::{ClockEvent, FollowerClock, Seed, ServerClock, SessionClock, SessionTime, Span};
use evenkeel_link::{ClockFaults, LinkFaults, TrueTime};
use evenkeel_sim::World;

use super::node::ClockNode;

/// Two nodes and the way between them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClockSetting {
    /// From the follower to the server.
    pub up: LinkFaults,
    /// From the server to the follower.
    pub down: LinkFaults,
    /// The server's own clock: the session's time.
    pub server: ClockFaults,
    /// The follower's own clock.
    pub follower: ClockFaults,
}

/// What is seen at one instant.
#[derive(Clone, PartialEq, Debug)]
pub struct ClockSample {
    /// The true time.
    pub at: TrueTime,
    /// What the server's clock shows: the truth that the follower tries to know.
    pub truth: SessionTime,
    /// The follower's estimate before it is slewed to.
    pub estimate: Option<SessionTime>,
    /// What the follower shows.
    pub shown: Option<SessionTime>,
    /// Within which bounds, as it says.
    pub interval: Option<(SessionTime, SessionTime)>,
    /// How far what it shows may be off, as it says.
    pub error_max: Option<Span>,
    /// How often its exchanges have contradicted each other so far.
    pub breaks: u64,
    /// What it has said since the last look.
    pub events: Vec<(TrueTime, ClockEvent)>,
}

impl ClockSample {
    /// How far a time is from the truth, in milliseconds.
    #[must_use]
    pub fn error_ms(&self, time: SessionTime) -> f64 {
        (time - self.truth).abs().as_millis_f64()
    }

    /// Whether the truth is where the follower says; so it is if it says nothing.
    #[must_use]
    pub fn is_certified(&self) -> bool {
        let within = self.interval.is_none_or(|(low, high)| (low..=high).contains(&self.truth));
        let near = self.shown.zip(self.error_max);
        within && near.is_none_or(|(shown, error_max)| (shown - self.truth).abs() <= error_max)
    }
}

/// Runs a setting and looks every so often, for so long, the first time after the first span.
pub fn run<E: OffsetEstimator + 'static>(
    setting: &ClockSetting,
    seed: u64,
    every: Span,
    duration: Span,
    mut look: impl FnMut(ClockSample),
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
        look(ClockSample {
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

//! The ledger against the truth: whatever the network does, the error that the sender calls settled is the integral of
//! the distance between the exported path and what the receiver really placed, and once all reports are in, it is
//! settled as far as anybody can know. Unless the ledger itself says that the truth could not be waited for: if the
//! last reports are lost again and again, and a vector that reaches the relay only then is sent on, the ones before it
//! have been awaited for longer than the ledger does. One session in some ten thousand comes to that.

#[path = "ledger/log.rs"]
mod log;
#[path = "ledger/scene.rs"]
mod scene;

use evenkeel_core::{PeerId, SessionTime};
use evenkeel_dr::{EntityId, PolicyKind};
use evenkeel_sim::NodeId;
use proptest::prelude::*;

use scene::{Options, Scene};

/// Relative, and absolute where there is next to no error.
const TOLERANCE: f64 = 1e-9;

fn settled(scene: &Scene, entity: EntityId, receiver: NodeId) -> Option<(f64, SessionTime)> {
    let ledger = scene.world.node(scene.sender).ledger().expect("the sender keeps the books");
    ledger.pair(entity, PeerId::from(receiver))?.settled()
}

/// Up to when the error can't but be known when no report is missing: the newest arrival, but not beyond the making
/// of a vector that was possibly sent and is possibly lost, and at a relay not beyond the newest vector, because the
/// owner may have made another one since.
fn known_at_least(scene: &Scene, entity: EntityId, receiver: NodeId, relay: bool) -> Option<SessionTime> {
    let life = scene.log.life(entity)?;
    let arrivals = scene.log.arrivals(receiver, entity);
    let newest = arrivals.iter().filter(|arrived| arrived.placed.is_some()).max_by_key(|a| a.generated)?;
    let next = life.exported.iter().find(|(_, v)| v.generated > newest.generated).map(|(_, v)| v.generated);
    let path_end = relay.then(|| life.exported.last().map(|(_, v)| v.generated)).flatten();
    [Some(newest.at), next, path_end, life.ended].into_iter().flatten().min()
}

fn check(options: Options) -> Result<(), TestCaseError> {
    let mut scene = Scene::new(options);
    scene.play();
    let ledger = scene.world.node(scene.sender).ledger().expect("the sender keeps the books");
    let waited = ledger.estimated() == 0;
    for &receiver in &scene.receivers {
        for entity in scene.entities() {
            let pair = (entity, receiver);
            let known = known_at_least(&scene, entity, receiver, options.relay);
            let first = scene.log.arrivals(receiver, entity).iter().find_map(|a| a.placed.map(|_| a.at));
            let Some((error, until)) = settled(&scene, entity, receiver) else {
                // Nothing is settled before the first arrival, and an ended life is closed after a while.
                let closed = scene.log.life(entity).is_some_and(|life| life.ended.is_some());
                let nothing = closed || first.is_none() || known <= first;
                prop_assert!(nothing, "{pair:?} is not settled, though known up to {known:?}");
                continue;
            };
            let truth = scene.log.error(receiver, entity, until);
            let allowed = TOLERANCE * truth.max(1.0);
            prop_assume!(waited || (error - truth).abs() <= allowed);
            prop_assert!(
                (error - truth).abs() <= allowed,
                "{pair:?}: settled {error} up to {until:?}, but the truth is {truth}"
            );
            prop_assert!(
                Some(until) >= known,
                "{pair:?} is settled up to {until:?} only, though known up to {known:?}"
            );
        }
    }
    Ok(())
}

fn sessions(relay: bool, lives: bool) -> impl Strategy<Value = Options> {
    let policies = proptest::sample::select(PolicyKind::all());
    (any::<u64>(), policies).prop_map(move |(seed, policy)| Options { seed, relay, policy, lives })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        // Where the truth could not be waited for; see above.
        max_global_rejects: 2,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_an_owner_calls_settled_is_the_truth(options in sessions(false, false)) {
        check(options)?;
    }

    #[test]
    fn what_a_relay_calls_settled_is_the_truth(options in sessions(true, false)) {
        check(options)?;
    }

    #[test]
    fn an_owners_books_stay_true_when_names_are_used_again(options in sessions(false, true)) {
        check(options)?;
    }

    #[test]
    fn a_relays_books_stay_true_when_names_are_used_again(options in sessions(true, true)) {
        check(options)?;
    }
}

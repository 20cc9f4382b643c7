//! The ledger against the truth. Whatever the network does, the settled error is the integral of the distance between the
//! exported path and what the receiver placed, and once all reports are in, it is settled as far as it can be known.
//!
//! The exception is an error that the ledger reports as estimated: if the last reports are lost repeatedly and the relay
//! then forwards a late vector, the vectors before it have waited longer than the ledger does. That is about one session
//! in ten thousand.

#[path = "ledger/log.rs"]
mod log;
#[path = "ledger/scene.rs"]
mod scene;

use evenkeel_core::{PeerId, SessionTime};
use evenkeel_dr::{EntityId, PolicyKind};
use evenkeel_sim::NodeId;
use proptest::prelude::*;

use scene::{Scene, SceneOptions};

/// The relative tolerance; absolute for errors below 1.
const TOLERANCE: f64 = 1e-9;

fn settled(scene: &Scene, entity: EntityId, receiver: NodeId) -> Option<(f64, SessionTime)> {
    let ledger = scene.world.node(scene.sender).ledger().expect("the sender has a ledger");
    ledger.pair(entity, PeerId::from(receiver))?.settled()
}

/// The time up to which the error must be known if no report is missing: the newest arrival, but not beyond the
/// generation of the next vector, which may have been sent and lost, and at a relay not beyond the newest vector, as the
/// owner may have generated another one since.
fn known_at_least(scene: &Scene, entity: EntityId, receiver: NodeId, relay: bool) -> Option<SessionTime> {
    let life = scene.log.life(entity)?;
    let arrivals = scene.log.arrivals(receiver, entity);
    let newest = arrivals.iter().filter(|arrived| arrived.placed.is_some()).max_by_key(|a| a.generated)?;
    let next = life.exported.iter().find(|(_, v)| v.generated > newest.generated).map(|(_, v)| v.generated);
    let path_end = relay.then(|| life.exported.last().map(|(_, v)| v.generated)).flatten();
    [Some(newest.at), next, path_end, life.ended].into_iter().flatten().min()
}

fn check(options: SceneOptions) -> Result<(), TestCaseError> {
    let mut scene = Scene::new(options);
    scene.play();
    let ledger = scene.world.node(scene.sender).ledger().expect("the sender has a ledger");
    let waited = ledger.estimated() == 0;
    for &receiver in &scene.receivers {
        for entity in scene.entity_ids() {
            let pair = (entity, receiver);
            let known = known_at_least(&scene, entity, receiver, options.relay);
            let first = scene.log.arrivals(receiver, entity).iter().find_map(|a| a.placed.map(|_| a.at));
            let Some((error, until)) = settled(&scene, entity, receiver) else {
                // Nothing is settled before the first arrival, and an ended entity's account is closed after a while.
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

fn sessions(relay: bool, lives: bool) -> impl Strategy<Value = SceneOptions> {
    let policies = proptest::sample::select(PolicyKind::all());
    (any::<u64>(), policies).prop_map(move |(seed, policy)| SceneOptions { seed, relay, policy, lives })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        // Sessions with estimated errors; see above.
        max_global_rejects: 2,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn owners_settled_error_is_the_truth(options in sessions(false, false)) {
        check(options)?;
    }

    #[test]
    fn relays_settled_error_is_the_truth(options in sessions(true, false)) {
        check(options)?;
    }

    #[test]
    fn owners_settled_error_is_the_truth_when_entity_ids_are_reused(options in sessions(false, true)) {
        check(options)?;
    }

    #[test]
    fn relays_settled_error_is_the_truth_when_entity_ids_are_reused(options in sessions(true, true)) {
        check(options)?;
    }
}

//! What the referee decides.

use evenkeel_dr::{DrSeq, DrVector, MotionKind, MotionState, Threshold};

use super::super::HIT_RADIUS;
use super::*;

fn at(millis: i64) -> SessionTime {
    SessionTime::from_nanos(0) + Span::from_millis(millis)
}

fn present(player: u32, local: u32, position: Vec3, velocity: Vec3, millis: i64) -> RoomEntity {
    let state = MotionState { position, velocity, ..MotionState::default() };
    let newest = DrVector::generate(at(millis), &state, MotionKind::Linear);
    RoomEntity {
        entity: EntityId::of(PeerId(player), local),
        owner: PeerId(player),
        first: DrSeq(0),
        newest,
        threshold: Threshold::default(),
    }
}

/// A referee with two players who have spawned and can be hit.
fn referee() -> Referee {
    let mut referee = Referee::new(Field::default(), Seed::new(1));
    (1..3).for_each(|player| referee.join(PeerId(player)));
    referee.update(&[], at(0));
    let spawned = std::iter::from_fn(|| referee.poll_message())
        .filter(|(_, message)| matches!(message, ArenaMessage::Spawn { .. }));
    assert_eq!(spawned.count(), 2);
    referee.update(&[], at(2_000));
    referee
}

/// Serves the action by which a player fired a shot.
fn fire(referee: &mut Referee, player: u32, shot: u32) {
    let now = referee.at;
    let times = PullTimes { virtual_at: now, unaided: now, served: now };
    referee.act(PeerId(player), Trigger { shot, is_pulled: false }, times);
}

fn hits(referee: &mut Referee) -> Vec<(u32, u32)> {
    let messages = std::iter::from_fn(|| referee.poll_message());
    let hits = messages.filter_map(|(_, message)| match message {
        ArenaMessage::Hit { victim, shooter, .. } => Some((victim.0, shooter.0)),
        _ => None,
    });
    hits.collect()
}

#[test]
fn a_shot_hits_once_and_counts_and_its_victim_respawns() {
    let mut referee = referee();
    let own = present(1, 0, Vec3::xy(20.0 - MUZZLE, 0.0), Vec3::ZERO, 1_000);
    let tank = present(2, 0, Vec3::xy(40.0, 2.0), Vec3::ZERO, 1_000);
    let shot = present(1, 1, Vec3::xy(20.0, 0.0), Vec3::xy(60.0, 0.0), 2_000);
    referee.update(&[own, tank, shot], at(2_200));
    fire(&mut referee, 1, 1);
    assert_eq!(hits(&mut referee), []);
    referee.update(&[own, tank, shot], at(2_400));
    assert_eq!(hits(&mut referee), [(2, 1)]);
    referee.update(&[own, tank, shot], at(2_420));
    assert_eq!(hits(&mut referee), []);
    let scores: Vec<_> =
        referee.scores().map(|(player, score)| (player.0, score.hits, score.losses)).collect();
    assert_eq!(scores, [(1, 1, 0), (2, 0, 1)]);
    referee.update(&[], at(4_400));
    let spawned = std::iter::from_fn(|| referee.poll_message())
        .find(|(_, message)| matches!(message, ArenaMessage::Spawn { .. }));
    assert_eq!(spawned.map(|(to, _)| to), Some(Some(PeerId(2))));
}

#[test]
fn blocks_stop_shots_and_no_player_hits_itself() {
    let mut referee = referee();
    let own = present(1, 0, Vec3::xy(-20.0, -4.0), Vec3::ZERO, 1_000);
    let hidden = present(2, 0, Vec3::xy(4.0, -4.0), Vec3::ZERO, 1_000);
    let shot = present(1, 1, Vec3::xy(-20.0 + MUZZLE, -4.0), Vec3::xy(60.0, 0.0), 2_000);
    fire(&mut referee, 1, 1);
    for millis in (2_020..3_000).step_by(20) {
        referee.update(&[own, hidden, shot], at(millis));
    }
    assert_eq!((hits(&mut referee), referee.fouls(PeerId(1))), (vec![], 0));
}

/// Returns the hits and fouls of a shot that player 1 reports at 2 s. Its tank drives north at (20, 0),
/// and the other's stands 30 units to the east of it.
fn shoot(place: Vec3, velocity: Vec3) -> (Vec<(u32, u32)>, u32) {
    let mut referee = referee();
    let own = present(1, 0, Vec3::xy(20.0, -20.0), Vec3::xy(0.0, 20.0), 1_000);
    let other = present(2, 0, Vec3::xy(50.0, 0.0), Vec3::ZERO, 1_000);
    let shot = present(1, 1, place, velocity, 2_000);
    fire(&mut referee, 1, 1);
    (2_000..4_000).step_by(20).for_each(|millis| referee.update(&[own, other, shot], at(millis)));
    (hits(&mut referee), referee.fouls(PeerId(1)))
}

#[test]
fn only_shots_from_the_gun_count() {
    let east = Vec3::xy(SHOT_SPEED, 0.0);
    let hit = (vec![(2, 1)], 0);
    assert_eq!(shoot(Vec3::xy(20.0 + MUZZLE, 0.0), east), hit);
    assert_eq!(shoot(Vec3::xy(20.0 + MUZZLE + 6.0, 1.0), east), hit, "reported a tenth of a second late");
    for (place, velocity) in [
        (Vec3::xy(20.0 + MUZZLE, 3.0), east),
        (Vec3::xy(20.0 - MUZZLE, 0.0), east),
        (Vec3::xy(46.0, 0.0), east),
        (Vec3::xy(50.0, -MUZZLE), Vec3::xy(0.0, SHOT_SPEED)),
        (Vec3::xy(20.0 + MUZZLE, 0.0), Vec3::ZERO),
    ] {
        assert_eq!(shoot(place, velocity), (vec![], 1), "{place:?} {velocity:?}");
    }
}

#[test]
fn a_shot_flies_as_first_reported_and_no_longer_than_its_life() {
    let tank = present(1, 0, Vec3::xy(20.0 - MUZZLE, 0.0), Vec3::ZERO, 1_000);
    let fired = present(1, 1, Vec3::xy(20.0, 0.0), Vec3::xy(0.1 * SHOT_SPEED, 0.0), 2_000);
    let bent = present(1, 1, Vec3::xy(20.0, 0.0), Vec3::xy(0.0, SHOT_SPEED), 2_040);
    for other in [Vec3::xy(20.0, 20.0), Vec3::xy(20.0 + 0.15 * SHOT_SPEED + HIT_RADIUS, 0.0)] {
        let (mut referee, other) = (referee(), present(2, 0, other, Vec3::ZERO, 1_000));
        fire(&mut referee, 1, 1);
        for millis in (2_000..6_000).step_by(20) {
            let shot = if millis < 2_040 { fired } else { bent };
            referee.update(&[tank, other, shot], at(millis));
        }
        assert_eq!((hits(&mut referee), referee.fouls(PeerId(1))), (vec![], 0));
    }
}

#[test]
fn a_gun_needs_its_reload_time() {
    let mut referee = referee();
    let tank = present(1, 0, Vec3::xy(20.0 - MUZZLE, 0.0), Vec3::ZERO, 1_000);
    let mut fire = |local, millis| {
        let shot = present(1, local, Vec3::xy(20.0, 0.0), Vec3::xy(SHOT_SPEED, 0.0), millis);
        referee.update(&[tank, shot], at(millis));
        referee.fouls(PeerId(1))
    };
    let reload = RELOAD.as_nanos() / 1_000_000;
    assert_eq!([fire(1, 2_000), fire(2, 2_000 + reload)], [0, 0]);
    // The first shot came late, and the next catches up; but only once.
    assert_eq!([fire(1, 4_700), fire(2, 5_700), fire(1, 6_900)], [0, 1, 1]);
}

#[test]
fn a_player_that_was_hit_cannot_fire_but_its_earlier_shots_count() {
    let mut referee = referee();
    let tanks = [(1, 20.0 - MUZZLE), (2, 50.0 + MUZZLE)]
        .map(|(player, x)| present(player, 0, Vec3::xy(x, 0.0), Vec3::ZERO, 1_000));
    let deadly = present(1, 1, Vec3::xy(20.0, 0.0), Vec3::xy(SHOT_SPEED, 0.0), 2_000);
    [(1, 1), (2, 1)].into_iter().for_each(|(player, shot)| fire(&mut referee, player, shot));
    (2_000..2_600).step_by(20).for_each(|millis| referee.update(&[tanks[0], tanks[1], deadly], at(millis)));
    assert_eq!(hits(&mut referee), [(2, 1)]);
    let answer = |local, millis| present(2, local, Vec3::xy(50.0, 0.0), Vec3::xy(-SHOT_SPEED, 0.0), millis);
    referee.update(&[tanks[0], tanks[1], answer(1, 2_300), answer(2, 2_590)], at(2_600));
    assert_eq!(referee.fouls(PeerId(2)), 0, "it cannot have known");
    referee.update(&[tanks[0], tanks[1], answer(1, 2_300), answer(2, 2_590)], at(3_200));
    assert_eq!(hits(&mut referee), [(1, 2)]);
}

#[test]
fn players_spawn_in_free_places_far_from_others() {
    let mut referee = referee();
    let tank = present(1, 0, Vec3::xy(50.0, 30.0), Vec3::ZERO, 1_000);
    for player in 3..40 {
        referee.join(PeerId(player));
        referee.update(&[tank], at(2_000 + i64::from(player)));
        let messages: Vec<_> = std::iter::from_fn(|| referee.poll_message()).collect();
        let Some((_, ArenaMessage::Spawn { position, .. })) =
            messages.iter().rfind(|(to, _)| *to == Some(PeerId(player)))
        else {
            panic!("{player} does not spawn: {messages:?}");
        };
        assert!(referee.field().nearest_free(*position).distance(*position) < 1e-9);
        assert!(position.distance(Vec3::xy(50.0, 30.0)) > 20.0, "{position:?}");
    }
}

/// Two tanks with a third between them: both fire at it, player 1 from nearer.
fn crossfire() -> (Referee, Vec<RoomEntity>) {
    let mut referee = referee();
    referee.join(PeerId(3));
    referee.update(&[], at(2_020));
    let tanks = [(1, 20.0 - MUZZLE), (2, 50.0), (3, 30.0)];
    let tanks = tanks.map(|(player, x)| present(player, 0, Vec3::xy(x, 0.0), Vec3::ZERO, 2_020));
    referee.update(&tanks, at(4_000));
    let shots = [(1, 20.0, SHOT_SPEED), (2, 50.0 - MUZZLE, -SHOT_SPEED)];
    let shots =
        shots.map(|(player, x, speed)| present(player, 1, Vec3::xy(x, 0.0), Vec3::xy(speed, 0.0), 4_000));
    while referee.poll_message().is_some() {}
    (referee, [&tanks[..], &shots[..]].concat())
}

#[test]
fn of_two_shots_at_one_tank_the_one_served_first_hits() {
    for order in [[1, 2], [2, 1]] {
        let (mut referee, present) = crossfire();
        (4_020..4_400).step_by(20).for_each(|millis| referee.update(&present, at(millis)));
        assert_eq!(hits(&mut referee), [], "both wait for their turn");
        order.into_iter().for_each(|player| fire(&mut referee, player, 1));
        assert_eq!(hits(&mut referee), [(3, order[0])]);
    }
}

#[test]
fn of_two_tanks_that_shoot_at_each_other_the_one_served_first_wins() {
    for (order, hit) in [([1, 2], (2, 1)), ([2, 1], (1, 2))] {
        let (mut referee, present) = crossfire();
        let present: Vec<RoomEntity> = present.into_iter().filter(|each| each.owner != PeerId(3)).collect();
        (4_020..4_400).step_by(20).for_each(|millis| referee.update(&present, at(millis)));
        // Their owners see them end.
        referee.update(&present[..2], at(4_400));
        order.into_iter().for_each(|player| fire(&mut referee, player, 1));
        assert_eq!(hits(&mut referee), [hit]);
    }
}

#[test]
fn a_shot_whose_action_never_comes_hits_nobody() {
    let (mut referee, present) = crossfire();
    (4_020..5_400).step_by(20).for_each(|millis| referee.update(&present, at(millis)));
    referee.update(&present[..3], at(5_420));
    [1, 2].into_iter().for_each(|player| fire(&mut referee, player, 1));
    assert_eq!(hits(&mut referee), []);
}

#[test]
fn whoever_joins_learns_what_the_beacon_shows() {
    let mut referee = referee();
    referee.join(PeerId(9));
    let beacon = ArenaMessage::Beacon { duel: 1, light: Light::Ready };
    let messages: Vec<_> = std::iter::from_fn(|| referee.poll_message()).collect();
    assert!(messages.contains(&(Some(PeerId(9)), beacon)), "{messages:?}");
}

#[test]
fn players_who_are_there_take_part_in_duels() {
    let mut referee = referee();
    let mut lit = None;
    for millis in (2_020..20_000).step_by(20) {
        referee.update(&[], at(millis));
        let shown: Vec<_> = std::iter::from_fn(|| referee.poll_message()).collect();
        if shown.iter().any(|(_, message)| matches!(message, ArenaMessage::Beacon { light: Light::Fire, .. }))
        {
            lit = Some(at(millis));
            break;
        }
    }
    let lit = lit.expect("the beacon is lit");
    for (player, millis) in [(2, 230), (1, 210)] {
        let [virtual_at, unaided, served] =
            [millis, millis + 10, 400].map(|millis| lit + Span::from_millis(millis));
        let times = PullTimes { virtual_at, unaided, served };
        referee.act(PeerId(player), Trigger { shot: 0, is_pulled: true }, times);
    }
    assert_eq!(referee.poll_message(), Some((None, ArenaMessage::Won { duel: 1, winner: PeerId(2) })));
    referee.update(&[], lit + Span::from_millis(420));
    let duel = referee.duels().next_back().expect("everybody has fired");
    assert_eq!((duel.winner().player, duel.fastest().player), (PeerId(2), PeerId(1)));
}

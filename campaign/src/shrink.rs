//! The shortest game that still fails.

use crate::game::{Game, Violation};

/// Games tried at most. Each takes some milliseconds.
const TRIES_MAX: usize = 200;

/// Shrinks a failing game: fewer faults, players, entities and ticks, as long as it breaks the same invariant.
#[must_use]
pub fn shrink(game: &Game, violation: &Violation) -> (Game, Violation) {
    let (mut least, mut seen) = (*game, violation.clone());
    let mut tries = 0;
    loop {
        let smaller = smaller(&least).into_iter().find_map(|game| {
            tries += 1;
            let found = (tries <= TRIES_MAX).then(|| game.play().err()).flatten()?;
            (found.invariant == violation.invariant).then_some((game, found))
        });
        let Some((game, found)) = smaller else { return (least, seen) };
        (least, seen) = (game, found);
    }
}

/// Games that are one step smaller, the largest steps first.
fn smaller(game: &Game) -> Vec<Game> {
    let mut all = Vec::new();
    let cuts = [game.ticks / 2, game.ticks / 4, game.ticks / 8, 1];
    for cut in cuts.into_iter().filter(|cut| *cut > 0 && *cut < game.ticks) {
        all.push(Game { ticks: game.ticks - cut, ..*game });
    }
    all.extend(game.faults.iter().map(|fault| Game { faults: game.faults.without(fault), ..*game }));
    if game.players > 2 {
        all.push(Game { players: game.players - 1, ..*game });
    }
    if game.entities > 1 {
        all.push(Game { entities: game.entities - 1, ..*game });
    }
    all
}

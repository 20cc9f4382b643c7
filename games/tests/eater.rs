//! The Eater game: the maze, the ways through it, bots, dead reckoning, and the stones as claims come in any order.

use std::collections::{BTreeSet, VecDeque};

use evenkeel_core::clock::Synchronized;
use evenkeel_core::{Draws, Seed, contract};
use evenkeel_games::eater::path::route;
use evenkeel_games::eater::{
    Applied, Board, BoardEvent, CELL_PIXELS, Cell, Claim, EaterCommand, EaterConfig, EaterId, EaterMessage,
    EaterNode, EaterNodeConfig, EaterPlayer, Forager, Foul, Maze, Pixel, Reckoning, StoneId, Stones, Walker,
    Way, Whereabouts, Word,
};
use evenkeel_neo::{Identity, NeoConfig, NeoPeer};
use proptest::prelude::*;

fn maze(seed: u64) -> Maze {
    Maze::new(Seed::new(seed), 12, 9)
}

/// The distances of all cells from one, walls counted.
fn flood(maze: &Maze, from: Cell) -> Vec<(Cell, u32)> {
    let (mut queue, mut seen) = (VecDeque::from([(from, 0)]), BTreeSet::from([from]));
    let mut found = Vec::new();
    while let Some((cell, length)) = queue.pop_front() {
        found.push((cell, length));
        for (_, next) in maze.neighbours(cell) {
            if seen.insert(next) {
                queue.push_back((next, length + 1));
            }
        }
    }
    found
}

proptest! {
    #[test]
    fn every_cell_can_be_reached_and_the_routes_are_shortest(seed: u64, columns in 2u16..20, rows in 2u16..20) {
        let maze = Maze::new(Seed::new(seed), columns, rows);
        let from = Cell { column: columns / 2, row: rows / 3 };
        let flooded = flood(&maze, from);
        prop_assert_eq!(flooded.len(), usize::from(columns) * usize::from(rows));
        for (to, length) in flooded {
            let found = route(&maze, from, to);
            prop_assert_eq!(found.length, length);
            if let Some(way) = found.first {
                prop_assert!(maze.is_open(from, way));
                let next = maze.next(from, way).expect("an open way leads somewhere");
                prop_assert_eq!(route(&maze, next, to).length, length - 1);
            }
        }
    }

    #[test]
    fn eaters_never_leave_the_corridors(seed: u64, wishes in proptest::collection::vec(0usize..5, 1..400)) {
        let maze = maze(seed);
        let mut walker = Walker::standing(Cell::default());
        for wish in wishes {
            let before = walker.at();
            walker.step(&maze, Way::ALL.get(wish).copied());
            prop_assert!(before.walk(walker.at()) <= 3);
            let found = Walker::found(&maze, walker.at(), walker.way());
            prop_assert_eq!(found, Some(walker));
            let whereabouts = Whereabouts { step: 7, at: walker.at(), way: walker.way() };
            prop_assert_eq!(Whereabouts::from_move(&whereabouts.to_move()), Some(whereabouts));
        }
    }

    /// However claims are ordered, repeated and spread, every stone has one winner, and everybody has the same.
    #[test]
    fn peers_with_the_same_claims_agree(
        claims in proptest::collection::vec((0u16..3, 0u32..6, 0u64..5, 0u32..4), 1..60),
        order: u64,
    ) {
        let maze = maze(1);
        let claim = |(slot, generation, eater, step)| Claim {
            stone: StoneId { slot, generation },
            eater: EaterId(eater),
            step,
        };
        let claims: Vec<Claim> = claims.into_iter().map(claim).collect();
        let mut shuffled: Vec<Claim> = claims.iter().chain(&claims).copied().collect();
        let mut draws = Seed::new(order).draws();
        (1..shuffled.len()).for_each(|index| shuffled.swap(index, draws.below(index as u64 + 1) as usize));
        let [mut one, mut other] = [(), ()].map(|()| Stones::new(Seed::new(5), &maze, 3));
        claims.iter().for_each(|claim| { one.apply(*claim, Word::Own); });
        shuffled.iter().for_each(|claim| { other.apply(*claim, Word::Own); });
        prop_assert_eq!(&one, &other);
        prop_assert_eq!(one.digest(9), other.digest(9));
        let claimed: BTreeSet<StoneId> = claims.iter().map(|claim| claim.stone).collect();
        let eaten: u32 = one.scores().iter().map(|(_, score)| score).sum();
        prop_assert_eq!(eaten as usize, claimed.len(), "each stone counts once");
        for stone in claimed {
            let winner = one.winner(stone).expect("a claimed stone has a winner");
            let first = claims.iter().filter(|claim| claim.stone == stone).map(|claim| claim.step).min();
            prop_assert_eq!(Some(winner.step), first, "the earliest has it");
        }
        prop_assert_eq!(one.present().count(), 3, "the number of stones is constant");
    }

    #[test]
    fn bytes_from_outside_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let mut board = Board::new(&EaterConfig::default(), EaterId(1));
        board.join(EaterId(2));
        board.advance(10, |_, _, _| None);
        board.handle_move(EaterId(2), &bytes);
        board.handle_change(EaterId(2), &bytes);
    }
}

#[test]
fn a_maze_has_more_ways_than_one() {
    let maze = maze(3);
    let open: usize =
        flood(&maze, Cell::default()).iter().map(|(cell, _)| maze.neighbours(*cell).count()).sum();
    let cells = usize::from(maze.columns()) * usize::from(maze.rows());
    // A tree has one corridor less than it has cells.
    assert!(open / 2 > cells - 1, "{} corridors between {cells} cells", open / 2);
}

#[test]
fn reckoning_goes_straight_on_and_turns_at_walls() {
    let maze = maze(4);
    let stones = Stones::new(Seed::new(1), &maze, 4);
    let mut turns = 0;
    for (cell, _) in flood(&maze, Cell::default()) {
        for (way, next) in maze.neighbours(cell) {
            let mut walker = Walker::standing(cell);
            walker.step(&maze, Some(way));
            let mut reckoning = Reckoning::from(walker, 0);
            reckoning.advance(&maze, &stones, 7);
            assert_eq!(reckoning.at(), next.centre(), "straight on to the next cell");
            reckoning.advance(&maze, &stones, 8);
            let went = reckoning.walker().way().expect("it goes on");
            if maze.is_open(next, way) {
                assert_eq!(went, way);
            } else {
                assert!(maze.is_open(next, went));
                turns += 1;
            }
        }
    }
    assert!(turns > 0);
}

#[test]
fn a_bot_goes_for_the_nearest_stone_if_it_is_clearly_nearest() {
    let maze = maze(6);
    let stones = Stones::new(Seed::new(2), &maze, 8);
    let mut clear = 0;
    for (cell, _) in flood(&maze, Cell::default()) {
        let mut near: Vec<_> =
            stones.present().map(|(stone, place)| (cell.distance(place), stone, place)).collect();
        near.sort();
        near.truncate(5);
        let mut ways: Vec<_> =
            near.iter().map(|(_, stone, place)| (route(&maze, cell, *place).length, *stone)).collect();
        ways.sort();
        let chosen: BTreeSet<StoneId> = (0..40)
            .map(|seed| {
                let mut forager = Forager::new(Seed::new(seed));
                forager.wish(&maze, &stones, &Walker::standing(cell));
                forager.target().expect("there are stones")
            })
            .collect();
        if ways[0].0 * 2 <= ways[1].0 {
            clear += 1;
            assert_eq!(chosen, BTreeSet::from([ways[0].1]));
        } else {
            assert!(chosen.len() > 1, "a random one of the five");
            assert!(chosen.iter().all(|stone| ways.iter().any(|(_, near)| near == stone)));
        }
    }
    assert!(clear > 0);
}

/// Boards that exchange everything over a network that delays, partitions and crashes.
struct Table {
    boards: Vec<(Board, Forager)>,
    present: Vec<bool>,
    /// Until this step the first half does not reach the second.
    parted_until: u32,
    mail: Vec<(u32, usize, usize, EaterMessage)>,
    draws: Draws,
}

impl Table {
    fn new(seed: u64, peers: usize) -> Self {
        let config = EaterConfig { seed: Seed::new(seed), columns: 10, rows: 8, stones: 5 };
        let board = |index: usize| {
            let mut board = Board::new(&config, EaterId(index as u64));
            (0..peers).for_each(|other| board.join(EaterId(other as u64)));
            (board, Forager::new(Seed::new(seed).child(index as u64)))
        };
        Self {
            boards: (0..peers).map(board).collect(),
            present: vec![true; peers],
            parted_until: 0,
            mail: Vec::new(),
            draws: Seed::new(seed).child(99).draws(),
        }
    }

    fn reaches(&self, step: u32, from: usize, to: usize) -> bool {
        let half = self.boards.len() / 2;
        let is_parted = step < self.parted_until && (from < half) != (to < half);
        self.present[from] && self.present[to] && from != to && !is_parted
    }

    /// Tells each half about the other.
    fn part(&mut self, change: fn(&mut Board, EaterId)) {
        let half = self.boards.len() / 2;
        for index in 0..self.boards.len() {
            for other in (0..self.boards.len()).filter(|other| (*other < half) != (index < half)) {
                change(&mut self.boards[index].0, EaterId(other as u64));
            }
        }
    }

    /// Tells one and all others about each other.
    fn lose(&mut self, lost: usize, change: fn(&mut Board, EaterId)) {
        for index in (0..self.boards.len()).filter(|index| *index != lost) {
            change(&mut self.boards[index].0, EaterId(lost as u64));
            change(&mut self.boards[lost].0, EaterId(index as u64));
        }
    }

    fn step(&mut self, step: u32) {
        for index in (0..self.boards.len()).filter(|index| self.present[*index]) {
            let (board, forager) = &mut self.boards[index];
            board.advance(step, |maze, stones, walker| forager.wish(maze, stones, walker));
        }
        let (due, mail) = core::mem::take(&mut self.mail).into_iter().partition(|(at, ..)| *at <= step);
        self.mail = mail;
        let due: Vec<_> = due;
        for (_, from, to, message) in due {
            if self.reaches(step, from, to) {
                self.boards[to].0.handle_change(EaterId(from as u64), &message.to_change());
            }
        }
        for index in (0..self.boards.len()).filter(|index| self.present[*index]).collect::<Vec<_>>() {
            let (board, _) = &mut self.boards[index];
            let mut sent = Vec::new();
            while let Some(message) = board.poll_message() {
                sent.push(message);
            }
            let whereabouts = board.whereabouts().to_move();
            for message in sent {
                for other in 0..self.boards.len() {
                    if self.reaches(step, index, other) {
                        // In order between two peers: all take equally long.
                        let delay = 1 + (index as u32 + other as u32) % 4;
                        self.mail.push((step + delay, index, other, message.clone()));
                    }
                }
            }
            for other in 0..self.boards.len() {
                if self.reaches(step, index, other) && self.draws.chance(0.9) {
                    self.boards[other].0.handle_move(EaterId(index as u64), &whereabouts);
                }
            }
        }
    }
}

/// No stone is eaten twice or lost, and nobody is accused, through crashes in the middle of a message and a partition.
#[test]
fn boards_agree_on_every_stone_after_crashes_and_partitions() {
    for seed in 0..6 {
        let mut table = Table::new(seed, 8);
        for step in 0..2_400 {
            match step {
                600 => {
                    table.parted_until = 900;
                    table.part(Board::leave);
                }
                900 => table.part(Board::join),
                1_000 => {
                    // A crash: some have its last messages, others have not.
                    table.present[7] = false;
                    table.lose(7, Board::leave);
                }
                1_400 => {
                    table.present[7] = true;
                    table.lose(7, Board::join);
                }
                _ => {}
            }
            // At the end nobody moves any more, so that all messages arrive.
            if step == 2_000 {
                for (board, _) in &mut table.boards {
                    while let Some(event) = board.poll_event() {
                        assert!(!matches!(event, BoardEvent::Foul { .. }), "seed {seed}: {event:?}");
                    }
                }
            }
            table.step(step);
        }
        let first = table.boards[0].0.stones();
        let (gone, unknown) = first.gone();
        assert!(gone > 100, "seed {seed}: only {gone} stones were eaten");
        assert_eq!(unknown, 0, "seed {seed}: a stone is lost");
        let scored: u32 = first.scores().iter().map(|(_, score)| score).sum();
        assert_eq!(u64::from(scored), gone, "seed {seed}: a stone was eaten twice");
        // What was eaten within the last two seconds may be under way.
        for (board, _) in &table.boards[1..] {
            let behind = board.stones().gone().0.abs_diff(gone);
            assert!(behind <= 12, "seed {seed}: {behind} stones differ");
            for slot in 0..5 {
                for claim in board.stones().claims(slot, 0).filter(|claim| claim.step < 2_300) {
                    assert_eq!(first.winner(claim.stone), Some(claim), "seed {seed}");
                }
            }
        }
    }
}

#[test]
fn claims_that_cannot_be_true_give_nothing() {
    let config = EaterConfig::default();
    let (cheat, step) = (EaterId(2), 300);
    let mut board = Board::new(&config, EaterId(1));
    board.advance(step - 1, |_, _, _| None);
    board.join(cheat);
    board.advance(step, |_, _, _| None);
    let far = board
        .stones()
        .present()
        .map(|(stone, cell)| (stone, cell.centre()))
        .max_by_key(|(_, place)| place.x)
        .expect("there are stones");
    let corner = Whereabouts { step, at: Cell::default().centre(), way: None };
    board.handle_move(cheat, &corner.to_move());
    let claim = |stone, step| EaterMessage::Claim(Claim { stone, eater: cheat, step }).to_change();
    board.handle_change(cheat, &claim(far.0, step));
    assert_eq!(board.stones().score(cheat), 0);
    assert!(!board.has(far.0), "the stone is gone nevertheless, so that all agree on the stones");
    let next = board.stones().present().nth(usize::from(far.0.slot)).expect("a slot").0;
    board.handle_change(cheat, &claim(next, step + 1_000));
    let leap =
        Whereabouts { step, at: Pixel { x: corner.at.x, y: corner.at.y + 4 * CELL_PIXELS }, way: None };
    board.handle_move(cheat, &leap.to_move());
    board.handle_move(cheat, &Whereabouts { step, at: Pixel { x: 1, y: 1 }, way: None }.to_move());
    let fouls: Vec<Foul> = std::iter::from_fn(|| board.poll_event())
        .filter_map(|event| if let BoardEvent::Foul { foul, .. } = event { Some(foul) } else { None })
        .collect();
    assert_eq!(fouls, [Foul::OutOfReach, Foul::WrongTime, Foul::TooFast, Foul::InWall]);
}

#[test]
fn a_void_claim_yields_to_a_true_one() {
    let maze = maze(1);
    let mut stones = Stones::new(Seed::new(5), &maze, 1);
    let claim = |eater, step| Claim { stone: StoneId::default(), eater: EaterId(eater), step };
    assert_eq!(stones.apply(claim(1, 3), Word::False), Applied::Eaten);
    assert_eq!(stones.gone(), (1, 1));
    assert_eq!(stones.apply(claim(2, 9), Word::Own), Applied::Overturned { loser: EaterId(1) });
    assert_eq!((stones.score(EaterId(1)), stones.score(EaterId(2))), (0, 1));
    let beyond = Claim { stone: StoneId { slot: 0, generation: 100_000 }, ..claim(1, 1) };
    assert_eq!(stones.apply(beyond, Word::Own), Applied::OutOfRange);
}

#[test]
fn nobody_is_believed_about_what_others_ate() {
    let mut board = Board::new(&EaterConfig::default(), EaterId(1));
    board.advance(299, |_, _, _| None);
    let (liar, friend, victim, nobody) = (EaterId(2), EaterId(3), EaterId(4), EaterId(5));
    [liar, friend, victim].into_iter().for_each(|eater| board.join(eater));
    board.advance(300, |_, _, _| None);
    let stones: Vec<StoneId> = board.stones().present().map(|(stone, _)| stone).collect();
    let told = |claim| EaterMessage::Claims(vec![claim]).to_change();
    // Nobody's word takes a stone from whoever said itself that it ate it.
    let own = Claim { stone: stones[0], eater: victim, step: 290 };
    board.handle_change(victim, &EaterMessage::Claim(own).to_change());
    for eater in [liar, nobody] {
        let earlier = Claim { eater, step: 1, ..own };
        for teller in [liar, friend] {
            if teller != eater {
                board.handle_change(teller, &told(earlier));
            }
        }
    }
    assert_eq!(board.stones().winner(stones[0]), Some(own));
    // One word does not end a stone, however often it is said.
    let invented = Claim { stone: stones[1], eater: nobody, step: 1 };
    (0..3).for_each(|_| board.handle_change(liar, &told(invented)));
    assert!(board.has(stones[1]));
    // Two do, until its eater speaks.
    board.handle_change(friend, &told(invented));
    assert_eq!(board.stones().winner(stones[1]), Some(invented));
    let own = Claim { stone: stones[1], eater: victim, step: 299 };
    board.handle_change(victim, &EaterMessage::Claim(own).to_change());
    assert_eq!(board.stones().winner(stones[1]), Some(own));
    assert_eq!(board.stones().score(nobody), 0);
}

/// A hostile schedule: see `evenkeel_core::contract`.
#[test]
fn a_player_keeps_the_contract_of_machines() {
    for seed in 0..4 {
        let build = |index: usize| {
            let identity = Identity::from_secret([index as u8 + 1; 32]);
            let key = identity.key();
            let config = EaterNodeConfig {
                game: EaterConfig::default(),
                has_areas: seed % 2 == 1,
                player: EaterPlayer::Bot(Forager::new(Seed::new(index as u64))),
            };
            let settings = NeoConfig { has_areas: config.has_areas, ..NeoConfig::default() };
            EaterNode::new(config, NeoPeer::with_clock(&settings, identity, Synchronized), &key)
        };
        contract::check(seed, 2_000, 3, build, |_, draws| {
            EaterCommand::Steer(Way::ALL.get(draws.below(5) as usize).copied())
        });
    }
}

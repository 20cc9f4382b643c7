//! Property test: settling by the fast path leaves the ledger bit-identical to settling by the reference path.

use std::cell::Cell;

use evenkeel_core::Vec3;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::ledger::exported_path::Recorded;
use crate::message::VectorFrame;
use crate::motion::vector::{MotionKind, MotionState};
use crate::owner::threshold::Threshold;

const ENTITIES: u32 = 3;
const RECEIVERS: u32 = 3;
const OWNER: PeerId = PeerId(100);

/// An event at a sender.
#[derive(Clone, Copy, Debug)]
enum Operation {
    /// This many milliseconds pass. If negative, the clock is set back.
    Pass(i64),
    /// An entity exports a vector. At a relay, the `missing` vectors before it are lost or late.
    Export { entity: u32, missing: u32 },
    /// A missing vector arrives after all.
    Fill { entity: u32 },
    /// The vector `older` numbers before the newest is sent, and arrives after `delay` milliseconds.
    Send { entity: u32, receiver: u32, older: u32, delay: i64 },
    /// `count` vectors are exported and sent in quick succession.
    Flood { entity: u32, receiver: u32, count: u32 },
    /// A receiver reports the first `count` of the vectors that have arrived.
    Report { receiver: u32, count: usize, how: Reporting },
    /// A receiver's reports are lost for good.
    LoseReports { receiver: u32 },
    /// A receiver leaves and rejoins.
    Rejoin { receiver: u32 },
    /// A pair is closed and reopened.
    Reopen { entity: u32, receiver: u32 },
    /// A life ends, and the next one begins.
    End { entity: u32 },
    /// The exported path continues past missing vectors.
    PassOver { entity: u32, restarts: bool },
    /// A new vector is sent as another kind.
    Tailor { entity: u32, kind: MotionKind },
    /// The newest vector is held, or the held one dropped.
    Hold { entity: u32, receiver: u32 },
}

#[derive(Clone, Copy, Debug)]
enum Reporting {
    InOrder,
    NewestFirst,
    Doubled,
    /// With a nonce other than the message's.
    Forged,
    /// Claims arrivals in the future.
    Untrue,
    Lost,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let (entity, receiver) = (|| 0..ENTITIES, || 0..RECEIVERS);
    let how = prop_oneof![
        8 => Just(Reporting::InOrder), 1 => Just(Reporting::NewestFirst), 1 => Just(Reporting::Doubled),
        1 => Just(Reporting::Forged), 1 => Just(Reporting::Untrue), 1 => Just(Reporting::Lost),
    ];
    prop_oneof![
        120 => (1..60_i64).prop_map(Pass),
        1 => (-60..0_i64).prop_map(Pass),
        1 => (5_000..16_000_i64).prop_map(Pass),
        60 => (entity(), prop_oneof![9 => Just(0_u32), 1 => 1..4_u32]).prop_map(|(entity, missing)| Export { entity, missing }),
        8 => entity().prop_map(|entity| Fill { entity }),
        90 => (entity(), receiver(), prop_oneof![12 => Just(0_u32), 1 => 1..5_u32], 10..90_i64)
            .prop_map(|(entity, receiver, older, delay)| Send { entity, receiver, older, delay }),
        120 => (receiver(), 1..9_usize, how).prop_map(|(receiver, count, how)| Report { receiver, count, how }),
        1 => (entity(), receiver(), prop_oneof![20..60_u32, 500..600_u32])
            .prop_map(|(entity, receiver, count)| Flood { entity, receiver, count }),
        1 => receiver().prop_map(|receiver| LoseReports { receiver }),
        1 => receiver().prop_map(|receiver| Rejoin { receiver }),
        1 => (entity(), receiver()).prop_map(|(entity, receiver)| Reopen { entity, receiver }),
        1 => entity().prop_map(|entity| End { entity }),
        1 => (entity(), any::<bool>()).prop_map(|(entity, restarts)| PassOver { entity, restarts }),
        1 => (entity(), prop::sample::select(&MotionKind::ALL[..])).prop_map(|(entity, kind)| Tailor { entity, kind }),
        2 => (entity(), receiver()).prop_map(|(entity, receiver)| Hold { entity, receiver }),
    ]
}

/// The configuration of a sender.
#[derive(Clone, Copy, Debug)]
struct Setting {
    is_relay: bool,
    placement: Placement,
    keeps_marks: bool,
    kind: MotionKind,
}

fn setting() -> impl Strategy<Value = Setting> {
    let placement = prop_oneof![6 => Just(Placement::Global), 1 => Just(Placement::Local)];
    let kind = prop_oneof![4 => Just(MotionKind::Linear), 1 => Just(MotionKind::Circular)];
    (any::<bool>(), placement, prop::bool::weighted(0.2), kind).prop_map(
        |(is_relay, placement, keeps_marks, kind)| Setting { is_relay, placement, keeps_marks, kind },
    )
}

/// A vector in flight to a receiver.
#[derive(Clone, Copy, Debug)]
struct Flying {
    receiver: u32,
    entity: EntityId,
    seq: DrSeq,
    at: SessionTime,
    nonce: u32,
}

/// Two ledgers that see identical events; the second never takes the fast path.
struct Twins {
    ledgers: [ErrorLedger; 2],
    setting: Setting,
    now: SessionTime,
    nonce: u32,
    lives: Vec<Life>,
    missing: Vec<Vec<DrSeq>>,
    flying: Vec<Flying>,
}

impl Twins {
    fn new(setting: Setting) -> Self {
        let ledgers = [false, true].map(|is_reference| {
            let mut ledger = ErrorLedger::new(setting.placement, Some(Compensation::default()));
            ledger.only_reference = is_reference;
            ledger.keep_marks(setting.keeps_marks);
            (0..RECEIVERS).for_each(|receiver| ledger.join(PeerId(receiver)));
            ledger
        });
        let mut twins = Self {
            ledgers,
            setting,
            now: SessionTime::from_nanos(0) + Span::from_secs(1),
            nonce: 0,
            lives: Vec::new(),
            missing: vec![Vec::new(); ENTITIES as usize],
            flying: Vec::new(),
        };
        (0..ENTITIES).for_each(|entity| twins.begin(EntityId(entity)));
        twins
    }

    fn frame(&self, life: Life, seq: DrSeq) -> VectorFrame {
        let number = f64::from(seq.0 + 7 * life.entity.0);
        let state = MotionState {
            position: Vec3::xy(number % 11.0, number % 5.0),
            velocity: Vec3::xy(number % 7.0, 1.0),
            turn_rate: 0.7,
            ..MotionState::default()
        };
        let vector = DrVector::generate(self.now, &state, self.setting.kind);
        VectorFrame { entity: life.entity, first: life.first, seq, sent: self.now, vector }
    }

    /// Begins a life and opens its pairs with all receivers.
    fn begin(&mut self, entity: EntityId) {
        let life = Life { entity, first: self.ledgers[0].next_number(entity) };
        let (frame, owner) = (self.frame(life, life.first), self.setting.is_relay.then_some(OWNER));
        self.ledgers.iter_mut().for_each(|ledger| _ = ledger.introduce(owner, &frame, Threshold::default()));
        match self.lives.get_mut(entity.0 as usize) {
            Some(known) => *known = life,
            None => self.lives.push(life),
        }
        self.missing[entity.0 as usize].clear();
        (0..RECEIVERS).for_each(|receiver| self.open(life, receiver));
    }

    fn open(&mut self, life: Life, receiver: u32) {
        let now = self.now;
        self.ledgers.iter_mut().for_each(|ledger| _ = ledger.open_pair(life, PeerId(receiver), now));
        self.send(life.entity.0, receiver, 0, 30);
    }

    fn newest(&self, entity: u32) -> DrSeq {
        let life = self.lives[entity as usize];
        self.ledgers[0].track(life).expect("it lives").history.newest().0
    }

    fn send(&mut self, entity: u32, receiver: u32, older: u32, delay: i64) {
        let (life, seq) = (self.lives[entity as usize], DrSeq(self.newest(entity).0.saturating_sub(older)));
        let track = self.ledgers[0].track(life).expect("it lives");
        if track.history.vector(seq).is_none() {
            return;
        }
        let (now, nonce) = (self.now, self.nonce);
        for ledger in &mut self.ledgers {
            let track = ledger.tracks.place(life).expect("it lives");
            let link = ledger.link(PeerId(receiver)).expect("it is here");
            ledger.dispatch(Slot { track, link }, Dispatch { seq, sent: now }, nonce);
        }
        let at = now + Span::from_millis(delay);
        self.flying.push(Flying { receiver, entity: life.entity, seq, at, nonce });
    }

    fn export(&mut self, entity: u32, missing: u32) {
        let (life, newest) = (self.lives[entity as usize], self.newest(entity));
        let missing = if self.setting.is_relay { missing } else { 0 };
        let frame = self.frame(life, DrSeq(newest.0 + 1 + missing));
        let now = self.now;
        let recorded = self.ledgers.each_mut().map(|ledger| ledger.record(&frame, now));
        if recorded[0] == Recorded::Newest {
            self.missing[entity as usize].extend((newest.0 + 1..=newest.0 + missing).map(DrSeq));
        }
    }

    /// Reports an arrival to both ledgers and asserts that both settle it alike.
    fn report(&mut self, Flying { receiver, entity, seq, at, nonce }: Flying) {
        let now = self.now;
        let learned = self.ledgers.each_mut().map(|ledger| {
            let link = ledger.link(PeerId(receiver)).expect("it is here");
            let mut reports = ledger.reports(link, now);
            let report = reports.find(entity, seq);
            let fate = reports.arrived(report, at, nonce)?;
            Some(reports.settlement(report, fate))
        });
        assert_eq!(learned[0], learned[1]);
    }

    fn play(&mut self, operation: Operation) {
        let now = self.now;
        match operation {
            Operation::Pass(millis) => {
                self.now += Span::from_millis(millis);
                self.nonce += 1;
                self.ledgers.iter_mut().for_each(|ledger| ledger.bury_overdue(self.now));
            }
            Operation::Export { entity, missing } => self.export(entity, missing),
            Operation::Fill { entity } => {
                let Some(seq) = self.missing[entity as usize].pop() else { return };
                let mut frame = self.frame(self.lives[entity as usize], seq);
                let history = &self.ledgers[0].track(self.lives[entity as usize]).expect("it lives").history;
                // Generated just before the next known vector.
                let Some((_, next)) = history.after(seq) else { return };
                frame.vector.generated = next.generated - Span::from_nanos(1_000);
                self.ledgers.iter_mut().for_each(|ledger| _ = ledger.record(&frame, now));
            }
            Operation::Send { entity, receiver, older, delay } => self.send(entity, receiver, older, delay),
            Operation::Flood { entity, receiver, count } => {
                for _ in 0..count {
                    self.now += Span::from_millis(2);
                    self.export(entity, 0);
                    self.send(entity, receiver, 0, 50);
                }
            }
            Operation::Report { receiver, count, how } => self.take_reports(receiver, count, how),
            Operation::LoseReports { receiver } => {
                for ledger in &mut self.ledgers {
                    let link = ledger.link(PeerId(receiver)).expect("it is here");
                    ledger.reports(link, now).give_up(now - Span::from_millis(100));
                }
            }
            Operation::Rejoin { receiver } => {
                self.ledgers.iter_mut().for_each(|ledger| ledger.leave(PeerId(receiver)));
                self.flying.retain(|one| one.receiver != receiver);
                self.ledgers.iter_mut().for_each(|ledger| ledger.join(PeerId(receiver)));
                self.lives.clone().into_iter().for_each(|life| self.open(life, receiver));
            }
            Operation::Reopen { entity, receiver } => {
                let life = self.lives[entity as usize];
                self.ledgers.iter_mut().for_each(|ledger| ledger.close_pair(life, PeerId(receiver), now));
                self.open(life, receiver);
            }
            Operation::End { entity } => {
                let last = self.newest(entity);
                self.ledgers.iter_mut().for_each(|ledger| ledger.end(EntityId(entity), last, now));
                self.begin(EntityId(entity));
            }
            Operation::PassOver { entity, restarts } => {
                let life = self.lives[entity as usize];
                let frame = self.frame(life, DrSeq(self.newest(entity).0 + 3));
                for ledger in &mut self.ledgers {
                    if restarts {
                        ledger.restart(&frame, Threshold::default(), now);
                    } else if self.setting.is_relay {
                        ledger.pass_over(&frame, now);
                    }
                }
                self.missing[entity as usize].clear();
            }
            Operation::Tailor { entity, kind } => {
                self.export(entity, 0);
                let life = self.lives[entity as usize];
                let frame = self.frame(life, self.newest(entity));
                self.ledgers.iter_mut().for_each(|ledger| ledger.tailor(&frame, now, |_, _| kind));
            }
            Operation::Hold { entity, receiver } => self.hold(entity, receiver),
        }
    }

    fn take_reports(&mut self, receiver: u32, count: usize, how: Reporting) {
        let now = self.now;
        let is_due = |one: &Flying| one.receiver == receiver && one.at <= now;
        let mut due: Vec<Flying> = self.flying.extract_if(.., |one| is_due(one)).collect();
        due.sort_by_key(|one| one.at);
        self.flying.extend(due.drain(count.min(due.len())..));
        match how {
            Reporting::NewestFirst => due.reverse(),
            Reporting::Doubled => due.extend(due.clone()),
            Reporting::Forged => due.iter_mut().for_each(|one| one.nonce += 1),
            Reporting::Untrue => due.iter_mut().for_each(|one| one.at = now + Span::from_secs(1)),
            Reporting::Lost => due.clear(),
            Reporting::InOrder => {}
        }
        due.into_iter().for_each(|one| self.report(one));
    }

    /// Holds the newest vector, or drops the held one.
    fn hold(&mut self, entity: u32, receiver: u32) {
        let dispatch = Dispatch { seq: self.newest(entity), sent: self.now };
        for ledger in &mut self.ledgers {
            let track = ledger.tracks.place(self.lives[entity as usize]).expect("it lives");
            let link = ledger.link(PeerId(receiver)).expect("it is here");
            let is_held = ledger.account(Slot { track, link }).held().is_some();
            ledger.account_mut(Slot { track, link }).hold((!is_held).then_some(dispatch));
        }
    }

    /// Asserts that the ledgers' contents and estimates are bit-identical. Returns how often the fast path was taken.
    fn check(&mut self) -> u64 {
        let later = self.now + Span::from_millis(70);
        let known = self.ledgers.each_mut().map(|ledger| {
            let twin =
                ErrorLedger { only_reference: false, usual: 0, growth: Growth::default(), ..ledger.clone() };
            let errors: Vec<u64> = [self.now, later]
                .into_iter()
                .flat_map(|now| (0..RECEIVERS).map(move |receiver| (PeerId(receiver), now)))
                .map(|(receiver, now)| ledger.accumulated(receiver, now).to_bits())
                .collect();
            (errors, format!("{twin:?}"))
        });
        assert_eq!(known[0].0, known[1].0);
        let first = known[0].1.bytes().zip(known[1].1.bytes()).position(|(one, other)| one != other);
        let around =
            |all: &str| first.map(|at| all[at.saturating_sub(200)..all.len().min(at + 60)].to_owned());
        assert_eq!(around(&known[0].1), around(&known[1].1));
        assert_eq!(self.ledgers[1].usual, 0);
        self.ledgers[0].usual
    }
}

#[test]
fn fast_path_matches_reference_path() {
    let mut runner = TestRunner::new(Config { cases: 96, failure_persistence: None, ..Config::default() });
    let (usual, waited, estimated) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let all = (setting(), prop::collection::vec(operation(), 200..500));
    let result = runner.run(&all, |(setting, operations)| {
        let mut twins = Twins::new(setting);
        for (index, operation) in operations.into_iter().enumerate() {
            twins.play(operation);
            if index % 16 == 0 {
                twins.check();
                let waits =
                    twins.ledgers[0].tracks.iter().any(|track| !track.pairs.sparse.waiting.is_empty());
                waited.update(|count| count + u32::from(waits));
            }
        }
        usual.update(|count| count + twins.check());
        estimated.update(|count| count + twins.ledgers[0].estimated());
        Ok(())
    });
    if let Err(error) = result {
        let text: String = error.to_string().chars().take(3_000).collect();
        panic!("{text}");
    }
    let [usual, waited, estimated] = [usual.get(), u64::from(waited.get()), estimated.get()];
    assert!(usual > 300 && waited > 100 && estimated > 100, "{usual} {waited} {estimated}");
}

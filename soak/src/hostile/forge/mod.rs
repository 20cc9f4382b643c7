//! Forges the messages of attackers: noise, valid messages that lie, and mutations of these.
//!
//! A member's entities are introduced like an honest player's. Otherwise the relay would discard their vectors as those of
//! unknown entities, instead of taking them all the way: into the exported path, to the policy and the other players, and
//! into the ledger.

mod bytes;
mod lies;
mod reports;
#[cfg(test)]
mod tests;

use evenkeel_core::{Draws, PeerId, SessionTime, Span, Vec3};
use evenkeel_dr::message::{Header, VERSION, VectorFrame, emit_ended, emit_introduce, emit_vector};
use evenkeel_dr::{DrSeq, DrVector, EntityId, MotionKind, MotionState, Threshold};
use evenkeel_serve::Welcome;

pub(super) use bytes::{mutate, noise};
pub(super) use reports::MemberView;
use reports::ReportLog;

/// The longest forged reliable message.
const RELIABLE_MAX: usize = 60_000;
/// The most entities that a member may have.
pub(super) const ENTITIES_MAX: usize = 256;
const MICRO: Span = Span::from_nanos(1_000);
/// The age of lagging entities' vectors.
const LAG: Span = Span::from_secs(25);

/// An entity as its owner knows it.
#[derive(Clone, Copy, Debug)]
struct ForgedEntity {
    entity: EntityId,
    first: u32,
    seq: u32,
    generated: SessionTime,
    position: Vec3,
    /// The age of its vectors when they are sent. With a lag, they settle a past that all other reports have left behind.
    lag: Span,
    kind: MotionKind,
    /// The first and last number of its previous life.
    past: Option<(u32, u32)>,
}

/// Counts of what was put into messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ForgedCounts {
    pub(super) vectors: u64,
    pub(super) reports: u64,
    /// Acknowledgments that the relay has confirmed.
    pub(super) settled: u64,
}

/// Forges the messages of one member.
///
/// The first half of its entities live for ever, so that valid vectors can always be sent; the second half are fleeting.
pub(super) struct Forge {
    pub(super) draws: Draws,
    player: PeerId,
    /// The session time to put into messages.
    pub(super) stamp: SessionTime,
    entities: Vec<ForgedEntity>,
    log: ReportLog,
    pub(super) counts: ForgedCounts,
}

impl Forge {
    /// For a member with this number of entities.
    pub(super) fn new(draws: Draws, welcome: Welcome, entities: usize) -> Self {
        let stamp = SessionTime::from_nanos(0);
        let entity = |local| ForgedEntity {
            entity: EntityId::of(welcome.player, local as u32),
            first: 0,
            seq: 0,
            generated: stamp,
            position: Vec3::ZERO,
            lag: if local % 4 == 0 { LAG } else { Span::ZERO },
            kind: if local % 2 == 0 { MotionKind::Circular } else { MotionKind::Linear },
            past: None,
        };
        Self {
            draws,
            player: welcome.player,
            stamp,
            entities: (0..entities.clamp(2, ENTITIES_MAX)).map(entity).collect(),
            log: ReportLog::default(),
            counts: ForgedCounts::default(),
        }
    }

    /// Random bytes, mostly after the right version: a wrong one ends the connection.
    pub(super) fn noise(&mut self, length_max: usize) -> Vec<u8> {
        let mut bytes = noise(&mut self.draws, length_max);
        if self.draws.chance(0.999) {
            bytes[0] = VERSION;
        }
        bytes
    }

    fn header(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        Header { nonce: self.draws.bits() as u32, stamp: Some(self.stamp) }.emit(VERSION, &mut bytes);
        bytes
    }

    /// Draws one of the entities that live for ever.
    fn draw_stable(&mut self) -> usize {
        self.draws.below(self.entities.len() as u64 / 2) as usize
    }

    /// Draws one of the fleeting entities.
    fn draw_fleeting(&mut self) -> usize {
        let half = self.entities.len() / 2;
        half + self.draws.below((self.entities.len() - half) as u64) as usize
    }

    /// A vector of an entity under its present number.
    fn frame(&mut self, index: usize) -> VectorFrame {
        self.counts.vectors += 1;
        let velocity = Vec3::xy(self.draws.uniform(-20.0, 20.0), self.draws.uniform(-20.0, 20.0));
        let entity = &self.entities[index];
        let (position, turn_rate) = (entity.position, if velocity.x > 0.0 { 0.7 } else { -0.7 });
        let state = MotionState { position, velocity, turn_rate, ..MotionState::default() };
        let vector = DrVector::generate(entity.generated, &state, entity.kind);
        let (first, seq) = (DrSeq(entity.first), DrSeq(entity.seq));
        VectorFrame { entity: entity.entity, first, seq, sent: self.stamp, vector }
    }

    /// An entity's next vector, as an honest owner would make it after `skipped` others that were lost.
    fn next(&mut self, index: usize, skipped: u32) -> VectorFrame {
        let step = Vec3::xy(self.draws.uniform(-1.0, 1.0), self.draws.uniform(-1.0, 1.0));
        let entity = &mut self.entities[index];
        entity.seq += 1 + skipped;
        entity.generated = (self.stamp - entity.lag).max(entity.generated + MICRO);
        entity.position = entity.position + step;
        self.frame(index)
    }

    /// A new life of an entity, mostly after the end of the one before.
    fn birth(&mut self, index: usize, bytes: &mut Vec<u8>) {
        let ForgedEntity { entity, first, seq, .. } = self.entities[index];
        if self.draws.chance(0.8) {
            emit_ended(entity, DrSeq(seq), self.stamp, self.stamp, bytes);
        }
        self.entities[index].past = Some((first, seq));
        self.entities[index].first = seq + 1;
        let frame = self.next(index, 0);
        self.counts.vectors -= 1;
        emit_introduce(&frame, &Threshold::default(), self.stamp, bytes);
        if self.draws.chance(0.1) {
            emit_ended(entity, frame.seq, self.stamp, self.stamp, bytes);
        }
    }

    /// A valid reliable message that introduces all entities.
    pub(super) fn introductions(&mut self) -> Vec<u8> {
        let mut bytes = self.header();
        for index in 0..self.entities.len() {
            self.entities[index].generated = self.stamp - self.entities[index].lag;
            let frame = self.frame(index);
            self.counts.vectors -= 1;
            emit_introduce(&frame, &Threshold::default(), self.stamp, &mut bytes);
        }
        bytes
    }

    /// A valid reliable message with a few new lives of fleeting entities; sometimes with as many as fit.
    pub(super) fn short_lives(&mut self) -> Vec<u8> {
        let mut bytes = self.header();
        let length_max = if self.draws.chance(0.02) { RELIABLE_MAX } else { 500 };
        while bytes.len() < length_max {
            let index = self.draw_fleeting();
            self.birth(index, &mut bytes);
        }
        bytes
    }

    /// A datagram that an honest owner could have sent.
    pub(super) fn valid_vectors(&mut self, count: u64) -> Vec<u8> {
        let mut bytes = self.header();
        for _ in 0..count {
            let index = self.draw_stable();
            let frame = self.next(index, 0);
            emit_vector(&frame, self.stamp, &mut bytes);
        }
        bytes
    }

    /// A valid message with something changed in it, but not its version: with another one, nobody would parse the rest.
    pub(super) fn mutation(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        mutate(&mut self.draws, &mut bytes, 1);
        bytes
    }
}

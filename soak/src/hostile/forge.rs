//! What attackers send: noise, valid messages that lie, and mutations of these.
//!
//! A member's entities are introduced like an honest player's, so that what it says of them is not passed over as
//! something that nobody knows, but goes all the way: into the exported path, to the policy, to everybody, and into the
//! ledger.

use std::collections::VecDeque;

use evenkeel_core::{Draws, PeerId, SessionTime, Span, Vec3};
use evenkeel_dr::message::{
    Arrival, Header, VERSION, VectorFrame, emit_ended, emit_feedback, emit_introduce, emit_vector,
};
use evenkeel_dr::{DrSeq, DrVector, EntityId, MotionKind, MotionState, Threshold};
use evenkeel_serve::Welcome;

/// The longest reliable message that is forged.
const RELIABLE_MAX: usize = 60_000;
/// Acknowledgments in one datagram.
const REPORTS_MAX: usize = 40;
/// Arrivals that are remembered until they are acknowledged.
const ARRIVALS_MAX: usize = 256;
/// The most entities that one member may have.
pub(super) const ENTITIES_MAX: usize = 256;
const MICRO: Span = Span::from_nanos(1_000);
/// How old the vectors of some entities are.
const LAG: Span = Span::from_secs(25);

/// What a member has heard from the relay.
#[derive(Default)]
pub(super) struct Heard {
    /// The session's time as the relay last told it.
    pub(super) stamp: Option<SessionTime>,
    /// Every acknowledgment before this number is in the relay's books.
    pub(super) confirmed: u64,
    arrivals: VecDeque<Arrival>,
}

impl Heard {
    /// A vector came.
    pub(super) fn arrived(&mut self, entity: EntityId, seq: DrSeq, nonce: u32) {
        if let Some(at) = self.stamp
            && self.arrivals.len() < ARRIVALS_MAX
        {
            self.arrivals.push_back(Arrival { entity, seq, at, nonce });
        }
    }
}

/// An entity as its owner knows it.
#[derive(Clone, Copy, Debug)]
struct Puppet {
    entity: EntityId,
    first: u32,
    seq: u32,
    generated: SessionTime,
    position: Vec3,
    /// Its vectors are so old when they are sent: what they make certain of its path is older than what all others report.
    lag: Span,
    kind: MotionKind,
    /// The first and the last number of the life before this one.
    past: Option<(u32, u32)>,
}

/// What was put into messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Made {
    pub(super) vectors: u64,
    pub(super) reports: u64,
    /// Acknowledgments that the relay has confirmed.
    pub(super) settled: u64,
}

/// Makes messages for one member.
pub(super) struct Forge {
    pub(super) draws: Draws,
    player: PeerId,
    pub(super) stamp: SessionTime,
    puppets: Vec<Puppet>,
    /// Acknowledgments that the relay has not confirmed, and the number of the first of them.
    log: VecDeque<Arrival>,
    oldest: u64,
    pub(super) made: Made,
}

impl Forge {
    /// For a member with so many entities.
    pub(super) fn new(draws: Draws, welcome: Welcome, entities: usize) -> Self {
        let stamp = SessionTime::from_nanos(0);
        let puppet = |local| Puppet {
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
            puppets: (0..entities.clamp(2, ENTITIES_MAX)).map(puppet).collect(),
            log: VecDeque::new(),
            oldest: 0,
            made: Made::default(),
        }
    }

    /// Random bytes, nearly always with the right version in front: a wrong one ends the connection.
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

    /// One of the entities that stay: the first half, so that their vectors are valid whatever becomes of the others.
    fn any(&mut self) -> usize {
        self.draws.below(self.puppets.len() as u64 / 2) as usize
    }

    /// One of the entities that come and go.
    fn fleeting(&mut self) -> usize {
        let half = self.puppets.len() / 2;
        half + self.draws.below((self.puppets.len() - half) as u64) as usize
    }

    /// An entity's present vector.
    fn frame(&mut self, index: usize) -> VectorFrame {
        self.made.vectors += 1;
        let velocity = Vec3::xy(self.draws.uniform(-20.0, 20.0), self.draws.uniform(-20.0, 20.0));
        let puppet = &self.puppets[index];
        let (position, turn_rate) = (puppet.position, if velocity.x > 0.0 { 0.7 } else { -0.7 });
        let state = MotionState { position, velocity, turn_rate, ..MotionState::default() };
        let vector = DrVector::generate(puppet.generated, &state, puppet.kind);
        let (first, seq) = (DrSeq(puppet.first), DrSeq(puppet.seq));
        VectorFrame { entity: puppet.entity, first, seq, sent: self.stamp, vector }
    }

    /// An entity's next vector, as an honest owner would make it, after so many that are never sent.
    fn next(&mut self, index: usize, skipped: u32) -> VectorFrame {
        let step = Vec3::xy(self.draws.uniform(-1.0, 1.0), self.draws.uniform(-1.0, 1.0));
        let puppet = &mut self.puppets[index];
        puppet.seq += 1 + skipped;
        puppet.generated = (self.stamp - puppet.lag).max(puppet.generated + MICRO);
        puppet.position = puppet.position + step;
        self.frame(index)
    }

    /// A new life of an entity, after the end of the one before it, or in the midst of it.
    fn birth(&mut self, index: usize, bytes: &mut Vec<u8>) {
        let Puppet { entity, first, seq, .. } = self.puppets[index];
        if self.draws.chance(0.8) {
            emit_ended(entity, DrSeq(seq), self.stamp, self.stamp, bytes);
        }
        self.puppets[index].past = Some((first, seq));
        self.puppets[index].first = seq + 1;
        let frame = self.next(index, 0);
        self.made.vectors -= 1;
        emit_introduce(&frame, &Threshold::default(), self.stamp, bytes);
        if self.draws.chance(0.1) {
            emit_ended(entity, frame.seq, self.stamp, self.stamp, bytes);
        }
    }

    /// A valid reliable message that introduces all entities.
    pub(super) fn introductions(&mut self) -> Vec<u8> {
        let mut bytes = self.header();
        for index in 0..self.puppets.len() {
            self.puppets[index].generated = self.stamp - self.puppets[index].lag;
            let frame = self.frame(index);
            self.made.vectors -= 1;
            emit_introduce(&frame, &Threshold::default(), self.stamp, &mut bytes);
        }
        bytes
    }

    /// A valid reliable message with a few new lives of entities that come and go; sometimes with as many as fit.
    pub(super) fn births(&mut self) -> Vec<u8> {
        let mut bytes = self.header();
        let length_max = if self.draws.chance(0.02) { RELIABLE_MAX } else { 500 };
        while bytes.len() < length_max {
            let index = self.fleeting();
            self.birth(index, &mut bytes);
        }
        bytes
    }

    /// A datagram that an honest owner could have sent.
    pub(super) fn valid(&mut self, vectors: u64) -> Vec<u8> {
        let mut bytes = self.header();
        for _ in 0..vectors {
            let index = self.any();
            let frame = self.next(index, 0);
            emit_vector(&frame, self.stamp, &mut bytes);
        }
        bytes
    }

    /// A valid datagram with vectors that no honest owner makes: with gaps, old, reordered, contradictory, of lives that
    /// are over, all over the place.
    pub(super) fn untrue(&mut self) -> Vec<u8> {
        let mut bytes = self.header();
        let index = self.any();
        let mut frames = Vec::new();
        match self.draws.below(6) {
            0 => {
                let skipped = self.draws.below(50) as u32;
                frames.push(self.next(index, skipped));
                let mut far = self.frame(index);
                far.seq.0 += 3_000;
                far.vector.generated += MICRO;
                frames.push(far);
            }
            1 => {
                let mut old = self.frame(index);
                old.seq.0 = old.seq.0.saturating_sub(self.draws.below(20) as u32).max(old.first.0);
                let age = Span::from_millis(self.draws.below(2_000) as i64);
                old.vector.generated = old.vector.generated - age;
                frames.push(old);
            }
            2 => {
                frames.extend((0..4).map(|_| self.next(index, 0)));
                frames.reverse();
            }
            3 => {
                let mut frame = self.next(index, 0);
                frame.vector.state.position =
                    Vec3::xy(self.draws.uniform(-9e3, 9e3), self.draws.uniform(-9e3, 9e3));
                frames.push(frame);
            }
            4 => {
                let index = self.fleeting();
                let mut dead = self.frame(index);
                if let Some((first, last)) = self.puppets[index].past {
                    (dead.first, dead.seq) = (DrSeq(first), DrSeq(last + 1));
                }
                frames.push(dead);
            }
            _ => frames.extend([self.next(index, 0), self.frame(index), self.frame(index)]),
        }
        for frame in &frames {
            emit_vector(frame, self.stamp, &mut bytes);
        }
        bytes
    }

    /// A well-formed datagram that must be rejected: too fast, too far, from the future, or of somebody else's entity.
    pub(super) fn beyond(&mut self) -> Vec<u8> {
        let mut bytes = self.header();
        let index = self.any();
        let mut frame = self.frame(index);
        frame.seq.0 += 1;
        match self.draws.below(4) {
            0 => frame.vector.state.velocity = Vec3::xy(self.draws.uniform(2e3, 1e5), 0.0),
            1 => frame.vector.state.position = Vec3::xy(0.0, self.draws.uniform(2e4, 1e6)),
            2 => frame.vector.generated = self.stamp + Span::from_secs(5),
            _ => frame.entity = EntityId::of(PeerId(self.player.0 + 1), 0),
        }
        emit_vector(&frame, self.stamp, &mut bytes);
        bytes
    }

    /// An acknowledgment: of a vector that came, in time or late, with the wrong nonce, from the future or the past; or of
    /// one that never came.
    fn report(&mut self, heard: &mut Heard) -> Option<Arrival> {
        let mut arrival = heard.arrivals.pop_front()?;
        let millis = |draws: &mut Draws, max| Span::from_millis(draws.below(max) as i64);
        match self.draws.below(8) {
            0..3 => {}
            3 => arrival.at = self.stamp + millis(&mut self.draws, 300),
            4 => arrival.nonce = self.draws.bits() as u32,
            5 => arrival.at = self.stamp + millis(&mut self.draws, 10_000),
            6 => arrival.at = arrival.at - millis(&mut self.draws, 10_000),
            _ => arrival.seq.0 = arrival.seq.0.wrapping_add(self.draws.below(1_000) as u32),
        }
        Some(arrival)
    }

    /// A valid datagram with acknowledgments, numbered as they should be but for a few gaps; what the relay has not
    /// confirmed comes again.
    pub(super) fn reports(&mut self, heard: &mut Heard) -> Vec<u8> {
        let confirmed = self.log.len().min(heard.confirmed.saturating_sub(self.oldest) as usize);
        self.log.drain(..confirmed);
        self.made.settled += confirmed as u64;
        self.oldest = self.oldest.max(heard.confirmed);
        while self.log.len() < REPORTS_MAX
            && let Some(report) = self.report(heard)
        {
            self.log.push_back(report);
            self.made.reports += 1;
        }
        if self.draws.chance(0.002) {
            let lost = self.log.len().min(1 + self.draws.below(10) as usize);
            self.log.drain(..lost);
            self.oldest += lost as u64;
        }
        let ahead = if self.draws.chance(0.05) { self.log.len() / 2 } else { 0 };
        let mut bytes = self.header();
        let first = self.oldest + ahead as u64;
        emit_feedback(self.oldest, first, self.stamp, self.log.iter().skip(ahead), &mut bytes);
        bytes
    }

    /// A valid message with something changed in it.
    pub(super) fn mutation(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        // The version stays, so that the rest is looked at.
        mutate(&mut self.draws, &mut bytes, 1);
        bytes
    }
}

/// So many random bytes at most, and one at least.
pub(super) fn noise(draws: &mut Draws, length_max: usize) -> Vec<u8> {
    let length = 1 + draws.below(length_max as u64) as usize;
    (0..length.div_ceil(8)).flat_map(|_| draws.bits().to_le_bytes()).take(length).collect()
}

/// Flips, cuts, doubles or inserts a few bytes, but leaves so many at the front alone.
pub(super) fn mutate(draws: &mut Draws, bytes: &mut Vec<u8>, spared: usize) {
    for _ in 0..1 + draws.below(4) {
        let length = bytes.len().saturating_sub(spared) as u64;
        if length == 0 {
            return;
        }
        let at = spared + draws.below(length) as usize;
        match draws.below(5) {
            0 => bytes[at] = draws.bits() as u8,
            1 => bytes[at] ^= 1 << draws.below(8),
            2 => bytes.truncate(at),
            3 => bytes.insert(at, draws.bits() as u8),
            _ => {
                let tail = bytes[at..].to_vec();
                bytes.extend_from_slice(&tail[..tail.len().min(64)]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Seed;
    use evenkeel_dr::message::{Frame, frames};

    use super::*;

    fn forge() -> Forge {
        let welcome = Welcome { player: PeerId(5), tick: Span::from_millis(20) };
        let mut forge = Forge::new(Seed::new(1).draws(), welcome, ENTITIES_MAX);
        forge.stamp = SessionTime::from_nanos(5_000_000_000);
        forge
    }

    #[test]
    fn what_is_forged_is_valid_unless_it_is_mutated() {
        let mut forge = forge();
        let mut heard = Heard { stamp: Some(forge.stamp), ..Heard::default() };
        assert!(frames(&forge.introductions()).is_ok());
        for round in 0..50 {
            (0..60).for_each(|n| heard.arrived(EntityId(n), DrSeq(round), n));
            let datagrams = [forge.valid(4), forge.untrue(), forge.beyond(), forge.reports(&mut heard)];
            assert!(datagrams.iter().all(|bytes| frames(bytes).is_ok() && bytes.len() <= 1_100));
            let births = forge.births();
            assert!(frames(&births).is_ok() && births.len() < 64 * 1024);
        }
        let broken = (0..200).filter(|_| {
            let valid = forge.valid(2);
            frames(&forge.mutation(valid)).is_err()
        });
        assert!(broken.count() > 50);
    }

    #[test]
    fn vectors_are_of_lives_that_were_introduced_and_reports_have_consecutive_numbers() {
        let mut forge = forge();
        forge.introductions();
        let valid = forge.valid(4);
        for frame in frames(&valid).unwrap().1 {
            let Frame::Vector(frame) = frame else { panic!("only vectors") };
            assert_eq!((frame.entity.player(), frame.first), (PeerId(5), DrSeq(0)));
            assert!(frame.seq > DrSeq(0));
        }
        let mut heard = Heard { stamp: Some(forge.stamp), ..Heard::default() };
        let mut next = |heard: &mut Heard| {
            (0..60).for_each(|n| heard.arrived(EntityId(n), DrSeq(0), n));
            match frames(&forge.reports(heard)).unwrap().1.next() {
                Some(Frame::Feedback(feedback)) => (feedback.oldest, feedback.arrivals().count() as u64),
                _ => panic!("only reports"),
            }
        };
        let (oldest, count) = next(&mut heard);
        assert_eq!((oldest, count), (0, REPORTS_MAX as u64));
        assert_eq!(next(&mut heard).0, 0, "what is not confirmed comes again");
        heard.confirmed = count;
        assert_eq!(next(&mut heard).0, count);
        assert_eq!((forge.made.reports, forge.made.settled), (2 * count, count));
    }
}

//! What attackers send: noise, valid messages that lie, and mutations of these.

use evenkeel_core::{Draws, SessionTime, Span, Vec3};
use evenkeel_dr::message::{
    Arrival, Header, VERSION, VectorFrame, emit_ended, emit_feedback, emit_introduce, emit_vector,
};
use evenkeel_dr::{DrSeq, DrVector, EntityId, MotionKind, MotionState, Threshold};
use evenkeel_net::Welcome;

/// The longest datagram that is forged.
const DATAGRAM_MAX: usize = 1_100;
/// The longest reliable message that is forged.
const RELIABLE_MAX: usize = 60_000;
/// Entities that a member claims: more than are taken.
const ENTITIES: u64 = 400;

/// Makes messages for one member.
pub(super) struct Forge {
    pub(super) draws: Draws,
    welcome: Welcome,
    /// The session's time as the relay last told it.
    pub(super) stamp: SessionTime,
    number: u32,
}

impl Forge {
    pub(super) const fn new(draws: Draws, welcome: Welcome) -> Self {
        Self { draws, welcome, stamp: SessionTime::from_nanos(0), number: 0 }
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
        Header { nonce: self.draws.bits() as u32, stamp: Some(self.stamp) }.emit(&mut bytes);
        bytes
    }

    fn frame(&mut self) -> VectorFrame {
        self.number += 1;
        let mut coordinate = || self.draws.uniform(-1e4, 1e4);
        let position = Vec3::xy(coordinate(), coordinate());
        let velocity = Vec3::xy(coordinate(), coordinate());
        let state = MotionState { position, velocity, ..MotionState::default() };
        let generated = self.stamp - Span::from_millis(self.draws.below(200) as i64);
        let vector = DrVector { generated, state, kind: MotionKind::Linear };
        let entity = EntityId::of(self.welcome.player, self.draws.below(ENTITIES) as u32);
        VectorFrame { entity, first: DrSeq(0), seq: DrSeq(self.number), sent: self.stamp, vector }
    }

    /// A datagram as valid as can be and as full as can be, with vectors out of thin air and acknowledgments of what never
    /// came.
    pub(super) fn lie(&mut self) -> Vec<u8> {
        let mut bytes = self.header();
        if self.draws.chance(0.5) {
            while bytes.len() < DATAGRAM_MAX - 100 {
                let frame = self.frame();
                emit_vector(&frame, self.stamp, &mut bytes);
            }
            return bytes;
        }
        while bytes.len() < DATAGRAM_MAX - 100 {
            self.number += 1;
            let arrival = Arrival {
                entity: EntityId(self.draws.below(1024) as u32),
                seq: DrSeq(self.draws.below(1000) as u32),
                at: self.stamp - Span::from_millis(self.draws.below(1000) as i64),
                nonce: self.draws.bits() as u32,
            };
            // Each claims that all before it are lost for good.
            let number = u64::from(self.number) * 10;
            emit_feedback(number, number, self.stamp, [arrival].iter(), &mut bytes);
        }
        bytes
    }

    /// A valid reliable message with as many new lives as fit, each of which ends the one before it.
    pub(super) fn births(&mut self) -> Vec<u8> {
        let mut bytes = self.header();
        while bytes.len() < RELIABLE_MAX {
            let mut frame = self.frame();
            frame.first = frame.seq;
            emit_introduce(&frame, &Threshold::default(), self.stamp, &mut bytes);
            if self.draws.chance(0.2) {
                emit_ended(frame.entity, frame.seq, self.stamp, self.stamp, &mut bytes);
            }
        }
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
    use evenkeel_core::{PeerId, Seed};
    use evenkeel_dr::message::frames;

    use super::*;

    #[test]
    fn what_is_forged_is_valid_unless_it_is_mutated() {
        let welcome = Welcome { player: PeerId(5), tick: Span::from_millis(20) };
        let mut forge = Forge::new(Seed::new(1).draws(), welcome);
        forge.stamp = SessionTime::from_nanos(5_000_000_000);
        for _ in 0..50 {
            let (lie, births) = (forge.lie(), forge.births());
            assert!(frames(&lie).is_ok() && lie.len() <= DATAGRAM_MAX);
            assert!(frames(&births).is_ok() && births.len() < 64 * 1024);
        }
        let broken = (0..200).filter(|_| {
            let lie = forge.lie();
            frames(&forge.mutation(lie)).is_err()
        });
        assert!(broken.count() > 50);
    }
}

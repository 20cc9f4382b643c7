//! Vectors that no honest owner sends.

use evenkeel_core::{PeerId, Span, Vec3};
use evenkeel_dr::message::emit_vector;
use evenkeel_dr::{DrSeq, EntityId};

use super::{Forge, MICRO};

impl Forge {
    /// A valid datagram with vectors that no honest owner makes: with gaps, old, reordered, contradictory, of ended lives,
    /// or teleporting.
    pub(in crate::hostile) fn false_vectors(&mut self) -> Vec<u8> {
        let mut bytes = self.header();
        let index = self.draw_stable();
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
                let index = self.draw_fleeting();
                let mut dead = self.frame(index);
                if let Some((first, last)) = self.entities[index].past {
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

    /// A well-formed datagram that must be rejected: too fast, too far, from the future, or of another player's entity.
    pub(in crate::hostile) fn out_of_limits(&mut self) -> Vec<u8> {
        let mut bytes = self.header();
        let index = self.draw_stable();
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
}

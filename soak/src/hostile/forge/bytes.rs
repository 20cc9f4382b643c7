//! Random bytes, and random changes of bytes.

use evenkeel_core::Draws;

/// Random bytes: at least one, at most `length_max`.
pub(in crate::hostile) fn noise(draws: &mut Draws, length_max: usize) -> Vec<u8> {
    let length = 1 + draws.below(length_max as u64) as usize;
    (0..length.div_ceil(8)).flat_map(|_| draws.bits().to_le_bytes()).take(length).collect()
}

/// Flips, cuts, doubles or inserts a few bytes, but none of the first `spared`.
pub(in crate::hostile) fn mutate(draws: &mut Draws, bytes: &mut Vec<u8>, spared: usize) {
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

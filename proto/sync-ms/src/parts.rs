//! Payloads that are longer than a datagram: cut into parts, and put together again.

use std::collections::VecDeque;

use crate::message::{OVERHEAD_MAX, PART_LEN_MAX, PARTS_MAX, PAYLOAD_MAX, Part};

/// Incomplete payloads that are kept. Beyond, the oldest is given up.
const INCOMPLETE_MAX: usize = 16;

/// The parts of a payload for frames of at most this length; `None` if there is no room for a sane number of them.
pub(crate) fn split(payload: &[u8], frame_max: usize) -> Option<impl Iterator<Item = (Part, &[u8])>> {
    let len = frame_max.saturating_sub(OVERHEAD_MAX).min(PART_LEN_MAX);
    if payload.len() > PAYLOAD_MAX || (len == 0 && !payload.is_empty()) {
        return None;
    }
    let count =
        u32::try_from(payload.len().div_ceil(len.max(1)).max(1)).ok().filter(|count| *count <= PARTS_MAX)?;
    let part = move |index: u32| {
        let start = index as usize * len;
        (Part { index, count }, &payload[start..payload.len().min(start + len)])
    };
    Some((0..count).map(part))
}

#[derive(Clone, Debug)]
struct Incomplete {
    number: u32,
    parts: Vec<Option<Vec<u8>>>,
    missing: u32,
    len: usize,
}

impl Incomplete {
    fn new(number: u32, count: u32) -> Self {
        Self { number, parts: vec![None; count as usize], missing: count, len: 0 }
    }
}

/// Payloads of which some parts have arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartBuffer {
    incomplete: VecDeque<Incomplete>,
}

impl PartBuffer {
    /// Adds a part of the payload with this number. Returns the payload if it is complete.
    pub(crate) fn add(&mut self, number: u32, part: Part, bytes: &[u8]) -> Option<Vec<u8>> {
        if part == Part::WHOLE {
            self.incomplete.retain(|other| other.number != number);
            return Some(bytes.to_vec());
        }
        let index = self.index(number, part.count);
        let found = &mut self.incomplete[index];
        let slot = &mut found.parts[part.index as usize];
        if slot.is_none() {
            found.len += bytes.len();
            found.missing -= 1;
            *slot = Some(bytes.to_vec());
        }
        if found.len > PAYLOAD_MAX {
            self.incomplete.remove(index);
            return None;
        }
        if found.missing > 0 {
            return None;
        }
        let found = self.incomplete.remove(index)?;
        Some(found.parts.into_iter().flatten().flatten().collect())
    }

    /// The entry of a payload in so many parts. One that was cut otherwise is replaced: its sender changed its mind.
    fn index(&mut self, number: u32, count: u32) -> usize {
        if let Some(index) = self.incomplete.iter().position(|other| other.number == number) {
            if self.incomplete[index].parts.len() != count as usize {
                self.incomplete[index] = Incomplete::new(number, count);
            }
            return index;
        }
        if self.incomplete.len() == INCOMPLETE_MAX {
            self.incomplete.pop_front();
        }
        self.incomplete.push_back(Incomplete::new(number, count));
        self.incomplete.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_in_any_order_make_the_payload() {
        let payload: Vec<u8> = (0..PAYLOAD_MAX).map(|i| (i % 251) as u8).collect();
        let parts: Vec<_> = split(&payload, 1_200).expect("it fits").collect();
        assert!(parts.len() > 50 && parts.iter().all(|(_, bytes)| bytes.len() + OVERHEAD_MAX <= 1_200));
        let mut buffer = PartBuffer::default();
        let mut complete = None;
        for (part, bytes) in parts.iter().rev().chain(&parts[..3]) {
            assert_eq!(complete, None);
            complete = buffer.add(7, *part, bytes);
            if complete.is_some() {
                break;
            }
            assert_eq!(buffer.add(7, *part, bytes), None, "a duplicate completes nothing");
        }
        assert_eq!(complete, Some(payload));
    }

    #[test]
    fn short_and_empty_payloads_stay_whole() {
        for payload in [&b""[..], b"go"] {
            let parts: Vec<_> = split(payload, 100).expect("it fits").collect();
            assert_eq!(parts, [(Part::WHOLE, payload)]);
            assert_eq!(PartBuffer::default().add(0, Part::WHOLE, payload), Some(payload.to_vec()));
        }
    }

    #[test]
    fn what_does_not_fit_is_not_split() {
        assert!(split(&vec![0; PAYLOAD_MAX + 1], 1_200).is_none());
        assert!(split(b"x", OVERHEAD_MAX).is_none());
        assert!(split(&vec![0; PAYLOAD_MAX], OVERHEAD_MAX + 10).is_none(), "too many parts");
    }

    #[test]
    fn endless_beginnings_are_given_up() {
        let mut buffer = PartBuffer::default();
        for number in 0..1_000 {
            assert_eq!(buffer.add(number, Part { index: 0, count: PARTS_MAX }, b"x"), None);
        }
        assert_eq!(buffer.incomplete.len(), INCOMPLETE_MAX);
        // More than a payload can hold, in parts that each could.
        let piece = vec![0; PART_LEN_MAX];
        assert!((0..3).all(|index| buffer.add(5_000, Part { index, count: 3 }, &piece).is_none()));
    }
}

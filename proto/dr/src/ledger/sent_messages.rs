//! Send times and nonces of the messages to one receiver, as long as they are referenced.
//!
//! Many vectors share a message, so each stores only the message's number.

use std::collections::VecDeque;

use evenkeel_core::SessionTime;

use super::in_flight::{Chain, Flown, InFlight};
use crate::motion::vector::DrSeq;
use crate::prefetch::prefetch;

/// Unreferenced messages tolerated before renumbering, besides half of all.
const VOID_MAX: usize = 64;
const SPARE: usize = 16;

/// The exclusive upper bound of message numbers.
pub(super) const NUMBERS_END: u32 = 1 << 30;

/// A message, or the part of it written at one instant.
#[derive(Clone, Copy, Debug)]
struct SentMessage {
    sent: SessionTime,
    nonce: u32,
    references: u32,
}

/// The messages to one receiver, and the vectors in flight in them.
#[derive(Clone, Debug, Default)]
pub struct SentMessages {
    /// The number of the first message; the others follow consecutively.
    first: u32,
    messages: VecDeque<SentMessage>,
    /// The number of unreferenced messages.
    void: usize,
    /// Whether the messages are not in order of send time, because the clock was set back.
    is_disordered: bool,
    pub(super) in_flight: InFlight,
}

impl SentMessages {
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    #[inline]
    pub(super) const fn is_ordered(&self) -> bool {
        !self.is_disordered
    }

    #[inline]
    fn message(&self, number: u32) -> &SentMessage {
        &self.messages[(number - self.first) as usize]
    }

    /// Prefetches a message, if there is one with this number.
    #[inline]
    pub(super) fn prefetch(&self, number: Option<u32>) {
        let place = number.and_then(|number| number.checked_sub(self.first));
        if let Some(message) = place.and_then(|place| self.messages.get(place as usize)) {
            prefetch::<1, _>(message);
        }
    }

    /// When a message was sent.
    ///
    /// # Panics
    ///
    /// If the message is no longer referenced and was dropped.
    #[must_use]
    #[inline]
    pub fn sent(&self, number: u32) -> SessionTime {
        self.message(number).sent
    }

    #[inline]
    pub(super) fn sent_with(&self, number: u32) -> (SessionTime, u32) {
        let SentMessage { sent, nonce, .. } = *self.message(number);
        (sent, nonce)
    }

    /// Adds a reference to the message with this send time and nonce, and returns its number.
    pub(super) fn add(&mut self, sent: SessionTime, nonce: u32) -> u32 {
        match self.messages.back_mut() {
            Some(last) if (last.sent, last.nonce) == (sent, nonce) => {
                self.void -= usize::from(last.references == 0);
                last.references += 1;
            }
            last => {
                self.is_disordered = last.is_some_and(|last| self.is_disordered || last.sent > sent);
                if self.messages.len() == self.messages.capacity() {
                    self.messages.reserve_exact(4 + self.messages.len() / 8);
                }
                self.messages.push_back(SentMessage { sent, nonce, references: 1 });
            }
        }
        self.first + (self.messages.len() - 1) as u32
    }

    /// Drops a reference to a message.
    pub(super) fn release(&mut self, number: u32) {
        let message = &mut self.messages[(number - self.first) as usize];
        message.references -= 1;
        self.void += usize::from(message.references == 0);
        while self.messages.pop_front_if(|message| message.references == 0).is_some() {
            (self.first, self.void) = (self.first + 1, self.void - 1);
        }
        // Introducing a newcomer to every entity takes many messages, but only once.
        let len = self.messages.len();
        if self.messages.capacity() > 2 * (len + SPARE) {
            self.messages.shrink_to(len + len / 8 + SPARE);
        }
    }

    /// Removes a vector from a chain if it was sent in a message with this nonce. Returns when it was sent.
    pub(super) fn take(&mut self, chain: &mut Chain, seq: DrSeq, nonce: u32) -> Option<SessionTime> {
        let Self { first, messages, in_flight, .. } = self;
        let is_it =
            |(number, known): Flown| known == seq && messages[(number - *first) as usize].nonce == nonce;
        let (number, _) = in_flight.take(chain, is_it)?;
        let sent = self.sent(number);
        self.release(number);
        Some(sent)
    }

    /// Removes one repetition of a chain's first vector that was sent before a time, but never the first dispatch. Returns
    /// whether there was one.
    pub(super) fn forget_repeated(&mut self, chain: &mut Chain, before: SessionTime) -> bool {
        let Self { first, messages, in_flight, .. } = self;
        let Some((kept, repeated)) = in_flight.front(*chain) else { return false };
        let is_old = |(number, seq): Flown| {
            seq == repeated && number != kept && messages[(number - *first) as usize].sent < before
        };
        let Some((number, _)) = in_flight.take(chain, is_old) else { return false };
        self.release(number);
        true
    }

    /// The number of the first message sent at or after a time. If the messages are out of order, a number above all of theirs.
    #[must_use]
    pub fn first_since(&self, at: SessionTime) -> u32 {
        if at == SessionTime::MAX || self.is_disordered {
            return NUMBERS_END;
        }
        self.first + self.messages.partition_point(|message| message.sent < at) as u32
    }

    /// Whether to renumber: too many messages are unreferenced, or numbers are running out.
    pub(super) fn is_crowded(&self) -> bool {
        let len = self.messages.len();
        self.void > VOID_MAX + len / 2 || self.first > NUMBERS_END / 2
    }

    /// Drops unreferenced messages, and renumbers the others.
    pub(super) fn renumber(&mut self) -> Renumbered {
        let mut next = 0;
        let mut number = |message: &SentMessage| {
            let number = next;
            next += u32::from(message.references > 0);
            number
        };
        let numbers = self.messages.iter().map(&mut number).collect();
        let renumbered = Renumbered { first: self.first, numbers };
        self.messages.retain(|message| message.references > 0);
        self.messages.shrink_to(self.messages.len() + SPARE);
        self.is_disordered = !self.messages.iter().is_sorted_by_key(|message| message.sent);
        (self.first, self.void) = (0, 0);
        self.in_flight.renumber(&renumbered);
        renumbered
    }
}

/// New message numbers, by old number.
#[derive(Debug)]
pub(super) struct Renumbered {
    first: u32,
    numbers: Vec<u32>,
}

impl Renumbered {
    pub(super) fn of(&self, number: u32) -> u32 {
        self.numbers[(number - self.first) as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use evenkeel_core::{Seed, Span};

    use super::*;

    #[test]
    fn lookups_survive_renumbering() {
        let mut draws = Seed::new(1).draws();
        let (mut messages, mut known, mut now) =
            (SentMessages::default(), BTreeMap::new(), SessionTime::from_nanos(0));
        let mut renumbered = 0;
        for step in 0..40_000_u32 {
            if draws.chance(0.3) {
                now += Span::from_millis(20);
            }
            if draws.chance(0.5) && known.len() < 200 {
                let nonce = draws.below(3) as u32;
                known.insert(step, (messages.add(now, nonce), now, nonce));
            } else if !known.is_empty() {
                // Release one of the newest.
                let place = known.len() - 1 - draws.below(known.len().min(20) as u64) as usize;
                let name = *known.keys().nth(place).expect("the index is in range");
                messages.release(known.remove(&name).expect("it is there").0);
            }
            if messages.is_crowded() {
                let numbers = messages.renumber();
                known.values_mut().for_each(|(number, ..)| *number = numbers.of(*number));
                renumbered += 1;
            }
            assert!(
                messages.messages.len() <= 2 * (known.len() + VOID_MAX) + 2,
                "{}",
                messages.messages.len()
            );
            for (number, sent, nonce) in known.values() {
                assert_eq!(messages.sent_with(*number), (*sent, *nonce));
                for at in [*sent, *sent + Span::from_nanos(1)] {
                    assert_eq!(*number < messages.first_since(at), *sent < at);
                }
                assert!(*number < messages.first_since(SessionTime::MAX));
            }
        }
        assert!(renumbered > 10, "{renumbered}");
    }

    #[test]
    fn first_since_exceeds_all_numbers_while_disordered() {
        let mut messages = SentMessages::default();
        let numbers = [5, 9, 7].map(|at| messages.add(SessionTime::from_nanos(at), at as u32));
        assert!(numbers.iter().all(|number| *number < messages.first_since(SessionTime::from_nanos(0))));
        numbers.iter().for_each(|number| messages.release(*number));
        let number = messages.add(SessionTime::from_nanos(3), 3);
        assert!(number >= messages.first_since(SessionTime::from_nanos(3)));
    }
}

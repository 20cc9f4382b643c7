//! The numbers of packets: which have arrived, which are lost, and how long a round trip takes.

use std::collections::VecDeque;

use evenkeel_core::{Backoff, LocalTime, Span};

use crate::delivery::Target;
use crate::message::PacketHead;

/// Packets whose fate is unknown. Beyond, the oldest counts as lost.
const SENT_MAX: usize = 256;
/// A packet is lost once one sent this many later has arrived.
const REORDERED_MAX: u64 = 3;
/// The wait for an acknowledgment before any round trip was measured, and its bounds.
const WAIT_FIRST: Span = Span::from_millis(300);
const WAIT_MIN: Span = Span::from_millis(60);
const WAIT_MAX: Span = Span::from_millis(1_500);

/// What a packet carried that must be known to have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// Fields of the object in a slot, in one life of that slot.
    State { slot: u32, life: u32, fields: u32 },
    /// An unordered call.
    Call(u64),
    /// A version of a most recent call.
    Recent { kind: u16, party: Target, version: u64 },
}

#[derive(Clone, Debug)]
struct SentPacket {
    number: u64,
    at: LocalTime,
    items: Vec<Item>,
}

/// Both directions' numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packets {
    next: u64,
    sent: VecDeque<SentPacket>,
    /// Kept to reuse their memory.
    spare: Vec<Vec<Item>>,
    round_trip: Option<Span>,
    backoff: Backoff,
    /// Whether they travel on the reliable channel: in order, and a late one is not lost.
    is_streamed: bool,
    newest: u64,
    missing: u64,
    /// Whether something has arrived that was not acknowledged.
    pub(crate) owes: bool,
}

impl Packets {
    pub(crate) fn new(is_streamed: bool) -> Self {
        Self { is_streamed, ..Self::default() }
    }

    /// Whether the fate of a packet is unknown.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Whether half of the packets whose fates are kept are under way.
    pub(crate) fn is_crowded(&self) -> bool {
        self.sent.len() >= SENT_MAX / 2
    }

    /// Notes that an answer was asked for again.
    pub(crate) fn probed(&mut self) {
        self.backoff.repeated();
    }

    /// The number of the next packet.
    pub(crate) const fn next_number(&self) -> u64 {
        self.next + 1
    }

    /// What to say of the packets that arrived.
    pub(crate) const fn acknowledge(&mut self) -> (u64, u64) {
        self.owes = false;
        (self.newest, self.missing)
    }

    /// An empty list for the items of a packet.
    pub(crate) fn items(&mut self) -> Vec<Item> {
        self.spare.pop().unwrap_or_default()
    }

    /// Notes that the next packet has left.
    pub(crate) fn sent(&mut self, now: LocalTime, items: Vec<Item>) {
        self.next += 1;
        self.sent.push_back(SentPacket { number: self.next, at: now, items });
    }

    /// Notes an arrival. Returns whether the packet is new; one that is too old to tell is not.
    pub(crate) fn arrived(&mut self, number: u64) -> bool {
        if number == 0 {
            return true;
        }
        if number > self.newest {
            let skipped = number - self.newest;
            let shifted = self.missing.checked_shl(skipped as u32).unwrap_or(0);
            let between = if skipped > 64 { u64::MAX } else { (1u64 << (skipped - 1)) - 1 };
            // The packet that was the newest has arrived; numbers below 1 were never sent.
            self.missing = (shifted | between) & u64::MAX >> 1;
            if number <= 64 {
                self.missing &= (1u64 << (number - 1)) - 1;
            }
            self.newest = number;
            self.owes = true;
            return true;
        }
        let behind = self.newest - number;
        self.owes = true;
        if behind == 0 || behind > 63 || self.missing >> (behind - 1) & 1 == 0 {
            return false;
        }
        self.missing &= !(1 << (behind - 1));
        true
    }

    /// Takes an acknowledgment. `on_item` is told each item whose fate is now known, and whether it arrived.
    pub(crate) fn acknowledged(
        &mut self,
        head: &PacketHead,
        now: LocalTime,
        mut on_item: impl FnMut(Item, bool),
    ) {
        if head.newest == 0 || head.newest > self.next {
            return;
        }
        let reordered_max = if self.is_streamed { 1 } else { REORDERED_MAX };
        let mut index = 0;
        while let Some(packet) = self.sent.get(index).filter(|packet| packet.number <= head.newest) {
            let behind = head.newest - packet.number;
            let arrived = behind == 0 || (behind <= 63 && head.missing >> (behind - 1) & 1 == 0);
            if !arrived && behind < reordered_max {
                index += 1;
                continue;
            }
            if arrived {
                if behind == 0 {
                    let took = now - packet.at;
                    let smooth = self.round_trip.map_or(took, |known| known + (took - known).part(8));
                    self.round_trip = Some(smooth);
                }
                self.backoff.answered();
            }
            self.settle(index, arrived, &mut on_item);
        }
    }

    fn settle(&mut self, index: usize, arrived: bool, on_item: &mut impl FnMut(Item, bool)) {
        let Some(SentPacket { mut items, .. }) = self.sent.remove(index) else { return };
        for item in items.drain(..) {
            match item {
                Item::State { slot, life, fields } if !arrived => {
                    // Later packets may carry newer values of the same fields.
                    let fields = fields & !self.under_way(slot, life, index);
                    on_item(Item::State { slot, life, fields }, false);
                }
                item => on_item(item, arrived),
            }
        }
        if self.spare.len() < 8 {
            self.spare.push(items);
        }
    }

    /// The fields of a slot that packets from this index on carry.
    fn under_way(&self, slot: u32, life: u32, from: usize) -> u32 {
        let items = self.sent.iter().skip(from).flat_map(|packet| &packet.items);
        items
            .map(|item| match item {
                Item::State { slot: other, life: its, fields } if (*other, *its) == (slot, life) => *fields,
                _ => 0,
            })
            .fold(0, |all, fields| all | fields)
    }

    /// How long to wait for an acknowledgment.
    pub(crate) fn wait(&self) -> Span {
        let usual = self.round_trip.map_or(WAIT_FIRST, |round_trip| round_trip.times(2));
        self.backoff.after(usual.max(WAIT_MIN).min(WAIT_MAX))
    }

    /// When the oldest packet counts as lost.
    pub(crate) fn next_timeout(&self) -> Option<LocalTime> {
        self.sent.front().filter(|_| !self.is_streamed).map(|packet| packet.at + self.wait())
    }

    /// Gives up packets that were not acknowledged in time.
    pub(crate) fn on_timeout(&mut self, now: LocalTime, mut on_item: impl FnMut(Item, bool)) {
        let wait = self.wait();
        let mut lost = false;
        let is_streamed = self.is_streamed;
        let is_late = |packet: &SentPacket| !is_streamed && packet.at + wait <= now;
        while self.sent.front().is_some_and(|packet| is_late(packet) || self.sent.len() > SENT_MAX) {
            self.settle(0, false, &mut on_item);
            lost = true;
        }
        if lost {
            self.backoff.repeated();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> LocalTime {
        LocalTime::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn acknowledgments_name_what_is_missing() {
        let mut packets = Packets::default();
        assert!(packets.arrived(1) && packets.arrived(4) && !packets.arrived(4));
        assert_eq!(packets.acknowledge(), (4, 0b011));
        assert!(packets.arrived(3) && !packets.arrived(3) && !packets.arrived(1));
        assert_eq!(packets.acknowledge(), (4, 0b010));
        assert!(packets.arrived(200));
        assert_eq!(packets.acknowledge(), (200, u64::MAX >> 1));
    }

    #[test]
    fn first_packet_may_be_a_later_one() {
        let mut packets = Packets::default();
        assert!(packets.arrived(3));
        assert_eq!(packets.acknowledge(), (3, 0b11));
    }

    #[test]
    fn lost_fields_are_due_again_unless_newer_ones_are_under_way() {
        let mut packets = Packets::default();
        let state = |fields| Item::State { slot: 7, life: 1, fields };
        for fields in [0b011, 0b010, 0b000, 0b100, 0b100] {
            packets.sent(at(0), vec![state(fields)]);
        }
        let mut fates = Vec::new();
        let head = PacketHead { newest: 4, missing: 0b111, ..PacketHead::default() };
        packets.acknowledged(&head, at(80), |item, arrived| fates.push((item, arrived)));
        // The first is lost; its second field is in the second packet.
        assert_eq!(fates, [(state(0b001), false), (state(0b100), true)]);
        fates.clear();
        packets.on_timeout(at(170), |item, arrived| fates.push((item, arrived)));
        assert_eq!(fates, [(state(0b010), false), (state(0), false), (state(0b100), false)]);
    }
}

//! Packets in flight, in a slab with a free list.
//!
//! Buffers are reused without copying: a machine writes into the buffer of a delivered packet, and that
//! buffer then travels. In a steady state nothing is allocated.

use evenkeel_core::Channel;

/// A message in flight on a lane of the network.
#[derive(Debug)]
pub(crate) struct Packet {
    pub(crate) lane: u32,
    pub(crate) epoch: u32,
    pub(crate) channel: Channel,
    pub(crate) bytes: Vec<u8>,
}

/// All packets in flight, by slot.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    slots: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    /// Adds a packet with the contents of `bytes`, which gets another packet's old buffer in exchange.
    pub(crate) fn insert(&mut self, lane: u32, epoch: u32, channel: Channel, bytes: &mut Vec<u8>) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| self.grow());
        let packet = &mut self.slots[slot as usize];
        (packet.lane, packet.epoch, packet.channel) = (lane, epoch, channel);
        std::mem::swap(&mut packet.bytes, bytes);
        slot
    }

    /// Adds a copy of a packet.
    pub(crate) fn double(&mut self, slot: u32) -> u32 {
        let copy = self.free.pop().unwrap_or_else(|| self.grow());
        let [original, packet] =
            self.slots.get_disjoint_mut([slot as usize, copy as usize]).expect("two slots");
        (packet.lane, packet.epoch, packet.channel) = (original.lane, original.epoch, original.channel);
        packet.bytes.clone_from(&original.bytes);
        copy
    }

    pub(crate) fn packet(&self, slot: u32) -> &Packet {
        &self.slots[slot as usize]
    }

    /// Frees a slot and its buffer for another packet.
    pub(crate) fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets are in flight");
        self.slots.push(Packet { lane: 0, epoch: 0, channel: Channel::Datagram, bytes: Vec::new() });
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_slots_and_their_buffers_are_used_again() {
        let mut packets = Packets::default();
        let mut bytes = b"first".to_vec();
        let buffer = bytes.as_ptr();
        let slot = packets.insert(1, 2, Channel::Reliable, &mut bytes);
        assert_eq!(packets.packet(slot).bytes, b"first");
        packets.release(slot);
        let mut bytes = b"second".to_vec();
        assert_eq!(packets.insert(1, 2, Channel::Datagram, &mut bytes), slot);
        assert_eq!(bytes.as_ptr(), buffer);
    }

    #[test]
    fn a_copy_outlives_its_original() {
        let mut packets = Packets::default();
        let slot = packets.insert(3, 4, Channel::Datagram, &mut b"twice".to_vec());
        let copy = packets.double(slot);
        packets.release(slot);
        let other = packets.insert(0, 0, Channel::Datagram, &mut b"other".to_vec());
        assert_eq!(other, slot);
        let packet = packets.packet(copy);
        assert_eq!((packet.lane, packet.epoch, &packet.bytes[..]), (3, 4, &b"twice"[..]));
    }
}

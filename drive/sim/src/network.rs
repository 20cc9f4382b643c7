//! The links between the nodes and the packets on them.
//!
//! A lane is one direction between two nodes. Because every packet looks up its lane, lanes are in a dense
//! table, by sender and receiver. The end of a connection starts a new epoch on both of its lanes, and
//! packets of an older epoch are not delivered: that is cheaper than finding them in the queue.

use evenkeel_core::{Channel, PeerId, Seed};
use evenkeel_link::{Fate, Link, LinkFaults, TrueTime};

use crate::node::NodeId;
use crate::packets::{Packet, Packets};
use crate::queue::EventQueue;

const NO_LANE: u32 = u32::MAX;

/// An entry of the world's event queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum QueuedEvent {
    /// The packet in this slot arrives.
    Arrival(u32),
    /// The timeout of this node may be due.
    Timeout(NodeId),
}

/// Names a datagram by its contents, so that it meets the same fate whenever it is sent; `None` for datagrams whose fate
/// comes from the sending time.
pub type MessageLabel = fn(&[u8]) -> Option<u64>;

/// Counts of what happened in one direction between two nodes. `sent + doubled` equals `lost + delivered +
/// cut` plus the packets in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkCounters {
    /// Messages put on the link, on both channels.
    pub sent: u64,
    /// Bytes in those messages.
    pub bytes: u64,
    /// Messages that never arrive: lost, dropped at a full queue, or stuck behind a dead stream.
    pub lost: u64,
    /// Duplicates made by the link.
    pub doubled: u64,
    /// Arrivals, duplicates included.
    pub delivered: u64,
    /// Packets that were in flight when the connection ended.
    pub cut: u64,
    /// Datagrams larger than the connection allows, which are not put on the link.
    pub oversized: u64,
}

#[derive(Debug)]
struct Lane {
    link: Link,
    from: NodeId,
    to: NodeId,
    /// The largest datagram, while the two nodes are joined.
    datagram_max: Option<usize>,
    epoch: u32,
    label: MessageLabel,
    counters: LinkCounters,
}

#[derive(Debug)]
pub(crate) struct Network {
    seed: Seed,
    /// Lane numbers by sender, then by receiver.
    table: Vec<Vec<u32>>,
    lanes: Vec<Lane>,
    packets: Packets,
    pub(crate) queue: EventQueue<QueuedEvent>,
    pub(crate) undeliverable: u64,
}

impl Network {
    pub(crate) fn new(seed: Seed) -> Self {
        let (table, lanes) = (Vec::new(), Vec::new());
        Self { seed, table, lanes, packets: Packets::default(), queue: EventQueue::new(), undeliverable: 0 }
    }

    pub(crate) fn add_node(&mut self) {
        self.table.push(Vec::new());
    }

    pub(crate) fn add_lane(&mut self, from: NodeId, to: NodeId, faults: LinkFaults) {
        assert!(from != to, "{from:?} cannot be connected to itself");
        assert!((to.0 as usize) < self.table.len(), "there is no {to:?} in this world");
        assert!(self.lane(from.0, to.0).is_none(), "{from:?} and {to:?} are connected already");
        // Keyed by the nodes instead of the order of connecting, so that more nodes do not change the fates
        // of others.
        let seed = self.seed.child((u64::from(from.0) << 32) | u64::from(to.0));
        let row = &mut self.table[from.0 as usize];
        row.resize(row.len().max(to.0 as usize + 1), NO_LANE);
        row[to.0 as usize] = u32::try_from(self.lanes.len()).expect("fewer than 2^32 links");
        let link = Link::new(faults, seed);
        self.lanes.push(Lane {
            link,
            from,
            to,
            datagram_max: None,
            epoch: 0,
            label: |_| None,
            counters: LinkCounters::default(),
        });
    }

    /// Returns the number of a lane.
    fn lane(&self, from: u32, to: u32) -> Option<u32> {
        let lane = *self.table.get(from as usize)?.get(to as usize)?;
        (lane != NO_LANE).then_some(lane)
    }

    fn connection(&self, a: NodeId, b: NodeId) -> [usize; 2] {
        let [there, back] = [self.lane(a.0, b.0), self.lane(b.0, a.0)]
            .map(|lane| lane.unwrap_or_else(|| panic!("{a:?} and {b:?} are not connected")) as usize);
        [there, back]
    }

    pub(crate) fn label(&mut self, a: NodeId, b: NodeId, label: MessageLabel) {
        for lane in self.connection(a, b) {
            self.lanes[lane].label = label;
        }
    }

    pub(crate) fn join(&mut self, a: NodeId, b: NodeId, datagram_max: usize) {
        for lane in self.connection(a, b) {
            let lane = &mut self.lanes[lane];
            assert!(lane.datagram_max.is_none(), "{a:?} and {b:?} have joined already");
            lane.datagram_max = Some(datagram_max);
            lane.link.reopen();
        }
    }

    pub(crate) fn leave(&mut self, a: NodeId, b: NodeId) {
        for lane in self.connection(a, b) {
            let lane = &mut self.lanes[lane];
            assert!(lane.datagram_max.is_some(), "{a:?} and {b:?} have not joined");
            lane.datagram_max = None;
            lane.epoch += 1;
        }
    }

    pub(crate) fn counters(&self, from: NodeId, to: NodeId) -> Option<LinkCounters> {
        self.lane(from.0, to.0).map(|lane| self.lanes[lane as usize].counters)
    }

    /// Puts a message on its link. Afterwards `bytes` holds another buffer.
    pub(crate) fn transmit(
        &mut self,
        now: TrueTime,
        from: NodeId,
        to: PeerId,
        channel: Channel,
        bytes: &mut Vec<u8>,
    ) {
        let joined = self.lane(from.0, to.0).and_then(|number| {
            let lane = &mut self.lanes[number as usize];
            lane.datagram_max.map(|datagram_max| (number, lane, datagram_max))
        });
        let Some((number, lane, datagram_max)) = joined else {
            self.undeliverable += 1;
            return;
        };
        let len = bytes.len();
        if channel == Channel::Datagram && len > datagram_max {
            lane.counters.oversized += 1;
            return;
        }
        lane.counters.sent += 1;
        lane.counters.bytes += len as u64;
        let fate = match channel {
            Channel::Datagram => lane.link.fate_of(now, len, (lane.label)(bytes)),
            Channel::Reliable => lane.link.reliable(now, len).map_or(Fate::Lost, Fate::Once),
        };
        let (first, second) = match fate {
            Fate::Lost => {
                lane.counters.lost += 1;
                return;
            }
            Fate::Once(at) => (at, None),
            Fate::Twice(at, again) => (at, Some(again)),
        };
        let slot = self.packets.insert(number, lane.epoch, channel, bytes);
        self.queue.push(first, QueuedEvent::Arrival(slot));
        if let Some(again) = second {
            lane.counters.doubled += 1;
            let copy = self.packets.double(slot);
            self.queue.push(again, QueuedEvent::Arrival(copy));
        }
    }

    /// Counts an arrival and returns sender, receiver and packet, or `None` if its connection has ended. The
    /// caller releases the slot.
    pub(crate) fn arrive(&mut self, slot: u32) -> Option<(NodeId, NodeId, &Packet)> {
        let packet = self.packets.packet(slot);
        let lane = &mut self.lanes[packet.lane as usize];
        if packet.epoch != lane.epoch {
            lane.counters.cut += 1;
            return None;
        }
        lane.counters.delivered += 1;
        Some((lane.from, lane.to, packet))
    }

    pub(crate) fn release(&mut self, slot: u32) {
        self.packets.release(slot);
    }
}

//! One connection between the server and a player, the same on both sides: reliable messages, packets with calls and fields, and
//! their acknowledgments.
//!
//! - `packets`: numbers, losses, round trips.
//! - `calls`: messages, which outlast the connection.
//! - `replicas`: the objects that this side tells of; `copies`: those that the other side tells of.

mod calls;
mod copies;
mod packets;
mod replicas;

use std::collections::VecDeque;

use evenkeel_core::{LocalTime, Span, earlier};

pub(crate) use calls::{CallsIn, CallsOut};
pub(crate) use copies::Copies;
use packets::Packets;
pub(crate) use replicas::Replicas;

use crate::message::{Frame, PacketHead, begin_packet};
use crate::table::ObjectTable;

/// Reliable messages that wait for one peer. Beyond, it has stalled.
const RELIABLE_MAX: usize = 16_384;
/// Where datagrams are smaller, packets travel on the reliable channel, in this size.
const DATAGRAM_MIN: usize = 1_000;
/// The longest packet.
const PACKET_MAX: usize = 1_400;
/// The headers around a datagram: IPv4, UDP, QUIC with its tag, and QUIC's frame.
const OVERHEAD: f64 = 20.0 + 8.0 + 27.0 + 3.0;
/// What of a budget can be saved up, in seconds.
const BURST_SECONDS: f64 = 0.25;

/// Bytes that may leave.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    per_second: f64,
    bytes: f64,
    at: LocalTime,
}

impl Allowance {
    fn refill(&mut self, now: LocalTime) {
        let burst = (self.per_second * BURST_SECONDS).max(PACKET_MAX as f64);
        let earned = (now - self.at).as_secs_f64().max(0.0) * self.per_second;
        (self.bytes, self.at) = ((self.bytes + earned).min(burst), now);
    }
}

/// What has left on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LinkTraffic {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

/// One connection.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    datagram_max: usize,
    tick: Span,
    /// Whether both sides have found their schemas equal.
    pub(crate) is_greeted: bool,
    reliable: VecDeque<Vec<u8>>,
    reliable_sent: u64,
    reliable_received: u64,
    /// Which reliable messages carry ordered messages, with the number after it, and long unordered ones.
    ordered_marks: VecDeque<(u64, u64)>,
    long_marks: VecDeque<(u64, u64)>,
    packets: Packets,
    pub(crate) replicas: Replicas,
    pub(crate) copies: Copies,
    allowance: Option<Allowance>,
    next_at: LocalTime,
    /// When to ask whether the reliable messages have arrived, unless an acknowledgment comes first.
    probe_at: Option<LocalTime>,
    /// When the link is scheduled to send.
    pub(crate) scheduled: Option<LocalTime>,
    pub(crate) is_ready: bool,
    pub(crate) is_stalled: bool,
    pub(crate) traffic: LinkTraffic,
}

impl Link {
    pub(crate) fn new(
        datagram_max: usize,
        tick: Span,
        bytes_per_second: Option<f64>,
        now: LocalTime,
    ) -> Self {
        let allowance = bytes_per_second.map(|per_second| Allowance { per_second, bytes: 0.0, at: now });
        Self {
            datagram_max,
            tick,
            is_greeted: false,
            reliable: VecDeque::new(),
            reliable_sent: 0,
            reliable_received: 0,
            ordered_marks: VecDeque::new(),
            long_marks: VecDeque::new(),
            packets: Packets::default(),
            replicas: Replicas::default(),
            copies: Copies::default(),
            allowance,
            next_at: now,
            probe_at: None,
            scheduled: None,
            is_ready: false,
            is_stalled: false,
            traffic: LinkTraffic::default(),
        }
    }

    const fn has_datagrams(&self) -> bool {
        self.datagram_max >= DATAGRAM_MIN
    }

    /// Queues a reliable message. Returns its number.
    pub(crate) fn send(&mut self, frame: &Frame<'_>, now: LocalTime) -> u64 {
        self.expect_acknowledgment(now);
        let mut bytes = Vec::new();
        frame.emit(&mut bytes);
        self.queue(bytes)
    }

    fn expect_acknowledgment(&mut self, now: LocalTime) {
        if self.probe_at.is_none() {
            self.probe_at = Some(now + self.packets.wait());
        }
    }

    fn queue(&mut self, bytes: Vec<u8>) -> u64 {
        self.reliable_sent += 1;
        if self.reliable.len() >= RELIABLE_MAX {
            self.is_stalled = true;
            return self.reliable_sent;
        }
        if let Some(allowance) = &mut self.allowance {
            allowance.bytes -= bytes.len() as f64;
        }
        self.traffic.bytes += bytes.len() as u64;
        self.reliable.push_back(bytes);
        self.reliable_sent
    }

    /// The number that the next reliable message will have.
    pub(crate) const fn next_reliable(&self) -> u64 {
        self.reliable_sent + 1
    }

    /// Notes the arrival of a reliable message. Returns its number.
    pub(crate) const fn count_reliable(&mut self) -> u64 {
        self.reliable_received += 1;
        self.packets.owes = true;
        self.reliable_received
    }

    /// How many reliable messages have arrived.
    pub(crate) const fn reliable_received(&self) -> u64 {
        self.reliable_received
    }

    /// Whether reliable messages wait.
    pub(crate) fn has_reliable(&self) -> bool {
        !self.reliable.is_empty()
    }

    /// Replaces `bytes` with the next reliable message.
    pub(crate) fn take_reliable(&mut self, bytes: &mut Vec<u8>) -> bool {
        self.reliable.pop_front().map(|message| *bytes = message).is_some()
    }

    /// Moves messages that need the reliable channel to it.
    pub(crate) fn stream(&mut self, calls: &mut CallsOut, now: LocalTime) {
        if !self.is_greeted {
            return;
        }
        if calls.has_ordered() {
            self.expect_acknowledgment(now);
        }
        let mut bytes = Vec::new();
        while let Some((number, call)) = calls.next_ordered() {
            Frame::Call(number, call.clone()).emit(&mut bytes);
            let sent = self.queue(core::mem::take(&mut bytes));
            self.ordered_marks.push_back((sent, number + 1));
        }
        while let Some((number, call)) = calls.next_long(crate::delivery::SHORT_BYTES_MAX) {
            self.expect_acknowledgment(now);
            Frame::Call(number, call).emit(&mut bytes);
            let sent = self.queue(core::mem::take(&mut bytes));
            self.long_marks.push_back((sent, number));
        }
    }

    /// Takes a packet's numbers. Returns whether it is new.
    pub(crate) fn on_packet(&mut self, head: &PacketHead, calls: &mut CallsOut, now: LocalTime) -> bool {
        let replicas = &mut self.replicas;
        self.packets.acknowledged(head, now, |item, arrived| settle(item, arrived, replicas, calls, now));
        if head.received >= self.reliable_sent {
            self.probe_at = None;
        }
        self.replicas.created_up_to(head.received.min(self.reliable_sent));
        while let Some((_, next)) = self.ordered_marks.pop_front_if(|(sent, _)| *sent <= head.received) {
            calls.ordered_arrived(next);
        }
        while let Some((_, number)) = self.long_marks.pop_front_if(|(sent, _)| *sent <= head.received) {
            calls.arrived(number);
        }
        self.packets.arrived(head.number)
    }

    /// Gives up packets that were not acknowledged in time.
    pub(crate) fn on_timeout(&mut self, calls: &mut CallsOut, now: LocalTime) {
        let replicas = &mut self.replicas;
        self.packets.on_timeout(now, |item, arrived| settle(item, arrived, replicas, calls, now));
    }

    /// When the link has something to do.
    pub(crate) fn next_time(&self, calls: &CallsOut, now: LocalTime) -> Option<LocalTime> {
        if !self.is_greeted {
            return None;
        }
        let is_due = self.packets.owes || self.replicas.is_due();
        let due = if is_due { Some(now) } else { calls.next_due(now, self.tick) };
        let due = earlier(due, self.probe_at.map(|at| at.max(now)));
        earlier(due.map(|at| at.max(self.next_at)), self.packets.next_timeout())
    }

    /// Writes the next packet if there is something to say. Returns whether it is a datagram.
    pub(crate) fn packet(
        &mut self,
        now: LocalTime,
        calls: &mut CallsOut,
        table: &ObjectTable,
        bytes: &mut Vec<u8>,
    ) -> Option<bool> {
        if !self.is_greeted || now < self.next_at {
            return None;
        }
        let has_calls = calls.next_due(now, self.tick).is_some_and(|at| at <= now);
        let probes = self.probe_at.is_some_and(|at| at <= now);
        if !(self.packets.owes || self.replicas.is_due() || has_calls || probes) {
            return None;
        }
        let is_datagram = self.has_datagrams();
        let limit = if is_datagram { self.datagram_max.min(PACKET_MAX) } else { PACKET_MAX };
        if let Some(allowance) = &mut self.allowance {
            allowance.refill(now);
            // A packet may run into debt, or the budget's grain would be a whole packet.
            if allowance.bytes < 0.0 {
                let wait = Span::from_secs_f64(-allowance.bytes / allowance.per_second.max(1.0));
                self.next_at = now + wait.max(self.tick);
                return None;
            }
        }
        let (newest, missing) = self.packets.acknowledge();
        let (received, sent) = (self.reliable_received, self.reliable_sent);
        let mut head = PacketHead { number: self.packets.next_number(), newest, missing, received, sent };
        begin_packet(is_datagram, &head, bytes);
        let empty = bytes.len();
        debug_assert!(empty <= PacketHead::LEN_MAX, "the head is bounded");
        let mut items = self.packets.items();
        calls.fill(now, bytes, limit, &mut items);
        self.replicas.fill(now, table, bytes, limit, &mut items);
        if probes {
            self.probe_at = Some(now + self.packets.wait());
        }
        if items.is_empty() && !probes {
            // Nothing that must be known to arrive: an acknowledgment, or what may be lost.
            head.number = 0;
            let frames = bytes.split_off(empty);
            begin_packet(is_datagram, &head, bytes);
            bytes.extend_from_slice(&frames);
        } else {
            self.packets.sent(now, items);
        }
        // What is left goes at once, if a budget does not forbid it: there is no point in waiting for the next tick.
        let is_over = !self.replicas.is_due() && calls.next_due(now, self.tick).is_none_or(|at| at > now);
        self.next_at = if is_over { now + self.tick } else { now };
        if let Some(allowance) = &mut self.allowance {
            allowance.bytes -= bytes.len() as f64 + OVERHEAD;
        }
        self.traffic.packets += 1;
        self.traffic.bytes += bytes.len() as u64;
        Some(is_datagram)
    }
}

fn settle(item: packets::Item, arrived: bool, replicas: &mut Replicas, calls: &mut CallsOut, now: LocalTime) {
    match item {
        packets::Item::State { slot, life, fields } => replicas.settle(slot, life, fields, arrived, now),
        item => calls.settle(item, arrived),
    }
}

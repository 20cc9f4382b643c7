//! One machine with its peers, and the law of the crank applied to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use evenkeel_core::{Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Rejected, Span};
use evenkeel_link::Fate;

use super::counters::{CrankCounters, Lateness, PeerCounters, add};
use super::inbox::Route;
use super::post::{self, Post};
use super::{NodeId, Sinks};
use crate::clock::LocalClock;
use crate::emulate::{Air, Emulation, UNDER_WAY_MAX, Way, local};
use crate::record::Tape;
use crate::transport::{CloseCode, CloseReason, Connection};

/// More messages than this from one call count as endless.
const TRANSMITS_MAX: u32 = 65_536;
/// A machine may catch up so many timeouts at once; then the others get their turn,
const OVERDUE_MAX: u32 = 64;
/// and it waits for so long.
const OVERDUE_PAUSE: Span = Span::from_millis(1);

/// What a machine is told.
pub(super) enum Told<'a, C> {
    Command(C),
    Message(PeerId, Channel, &'a [u8]),
    Peer(PeerChange),
    Timeout,
}

/// A message on an emulated link.
pub(super) struct Held {
    pub(super) route: Route,
    pub(super) way: Way,
    pub(super) channel: Channel,
    pub(super) bytes: Bytes,
}

/// What all nodes of a crank share.
pub(super) struct Desk<E: Endpoint> {
    pub(super) clock: LocalClock,
    /// Each node's deadline; the node knows its own entry.
    pub(super) timers: BTreeSet<(LocalTime, NodeId)>,
    pub(super) air: Air<Held>,
    pub(super) sinks: Sinks<E>,
    pub(super) tape: Option<Box<dyn Tape<E::Command>>>,
    pub(super) counters: Arc<CrankCounters>,
    pub(super) lateness: Arc<Lateness>,
    pub(super) outgoing: Vec<u8>,
    pub(super) post: Post,
}

/// A peer with its connection.
pub(super) struct Attached {
    pub(super) connection: Connection,
    pub(super) generation: u64,
    pub(super) emulation: Option<Emulation>,
    /// How many messages are on its emulated links.
    pub(super) under_way: usize,
    pub(super) counters: Arc<PeerCounters>,
}

pub(super) struct Node<E> {
    id: NodeId,
    pub(super) endpoint: E,
    latest: LocalTime,
    queued: Option<LocalTime>,
    overdue: u32,
    pub(super) peers: BTreeMap<PeerId, Attached>,
}

impl<E: Endpoint> Node<E> {
    pub(super) const fn new(id: NodeId, endpoint: E) -> Self {
        let peers = BTreeMap::new();
        Self { id, endpoint, latest: LocalTime::MIN, queued: None, overdue: 0, peers }
    }

    /// One call, and what the law asks for behind it.
    pub(super) fn tell(&mut self, desk: &mut Desk<E>, at: LocalTime, told: Told<'_, E::Command>) {
        let now = at.max(self.latest);
        self.latest = now;
        let is_timeout = matches!(told, Told::Timeout);
        match told {
            Told::Command(command) => {
                if let Some(tape) = &mut desk.tape {
                    tape.command(self.id, now, &command);
                }
                self.endpoint.handle_command(now, command);
            }
            Told::Message(from, channel, bytes) => self.tell_message(desk, now, from, channel, bytes),
            Told::Peer(change) => {
                if let Some(tape) = &mut desk.tape {
                    tape.peer(self.id, now, change);
                }
                self.endpoint.handle_peer(now, change);
            }
            Told::Timeout => {
                if let Some(tape) = &mut desk.tape {
                    tape.timeout(self.id, now);
                }
                add(&desk.counters.timeouts, 1);
                self.endpoint.handle_timeout(now);
            }
        }
        self.drain(desk, now);
        self.reschedule(desk, now, is_timeout);
    }

    fn tell_message(
        &mut self,
        desk: &mut Desk<E>,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) {
        if let Some(tape) = &mut desk.tape {
            tape.message(self.id, now, from, channel, bytes);
        }
        let taken = self.endpoint.handle_message(now, from, channel, bytes);
        match channel {
            Channel::Datagram => add(&desk.counters.datagrams_in, 1),
            Channel::Reliable => add(&desk.counters.reliable_in, 1),
        }
        if let Some(attached) = self.peers.get(&from) {
            let counters = &attached.counters;
            match channel {
                Channel::Datagram => add(&counters.datagrams_in, 1),
                Channel::Reliable => add(&counters.reliable_in, 1),
            }
            add(&counters.bytes_in, bytes.len() as u64);
            if let Err(rejected) = &taken {
                counters.reject(rejected);
            }
            if let Err(Rejected::Malformed(Malformed::Version { found: came, supported: spoken })) = &taken {
                let words = format!(
                    "a message of version {came} came, and version {spoken} is spoken here: update the older side"
                );
                attached.connection.close(CloseReason::new(CloseCode::VersionMismatch, words));
            }
        }
        if let Err(rejected) = &taken {
            desk.counters.reject(rejected);
        }
    }

    fn drain(&mut self, desk: &mut Desk<E>, now: LocalTime) {
        let mut bytes = std::mem::take(&mut desk.outgoing);
        let mut transmits = 0;
        while let Some((to, channel)) = self.endpoint.poll_transmit(now, &mut bytes) {
            if let Some(tape) = &mut desk.tape {
                tape.transmit(to, channel, &bytes);
            }
            match self.peers.get_mut(&to) {
                Some(attached) => attached.transmit(desk, self.id, to, now, channel, &bytes),
                None => add(&desk.counters.no_such_peer, 1),
            }
            transmits += 1;
            if transmits == TRANSMITS_MAX {
                add(&desk.counters.endless, 1);
                tracing::error!(node = self.id.0, "a machine does not stop transmitting");
                break;
            }
        }
        desk.outgoing = bytes;
        while let Some(event) = self.endpoint.poll_event() {
            (desk.sinks.on_event)(self.id, now, event);
        }
    }

    /// Notes the machine's deadline. Only after a timeout may it be blamed for one that is in the past: among inputs that
    /// waited, some are stamped earlier than what it has been told already, and its deadlines are served between them.
    pub(super) fn reschedule(&mut self, desk: &mut Desk<E>, now: LocalTime, is_timeout: bool) {
        let mut deadline = self.endpoint.poll_timeout();
        if deadline.is_some_and(|at| at <= now) {
            self.overdue += u32::from(is_timeout);
            if self.overdue > OVERDUE_MAX {
                self.overdue = 0;
                add(&desk.counters.overdue, 1);
                deadline = Some(now + OVERDUE_PAUSE);
            }
        } else {
            self.overdue = 0;
        }
        if deadline != self.queued {
            self.unschedule(desk);
            if let Some(at) = deadline {
                desk.timers.insert((at, self.id));
            }
            self.queued = deadline;
        }
    }

    pub(super) fn unschedule(&mut self, desk: &mut Desk<E>) {
        if let Some(at) = self.queued.take() {
            desk.timers.remove(&(at, self.id));
        }
    }
}

impl Attached {
    /// Sends what the machine wants sent, over the emulated link if there is one.
    fn transmit<E: Endpoint>(
        &mut self,
        desk: &mut Desk<E>,
        node: NodeId,
        to: PeerId,
        now: LocalTime,
        channel: Channel,
        bytes: &[u8],
    ) {
        match channel {
            Channel::Datagram => add(&desk.counters.datagrams_out, 1),
            Channel::Reliable => add(&desk.counters.reliable_out, 1),
        }
        if self.emulation.is_none() && channel == Channel::Datagram {
            return desk.post.leave_later(&self.connection, &self.counters, bytes);
        }
        let bytes = Bytes::copy_from_slice(bytes);
        if self.emulation.is_none() {
            return self.send(&desk.counters, channel, bytes);
        }
        let route = Route { node, peer: to, generation: self.generation };
        self.hold(&mut desk.air, now, Held { route, way: Way::Out, channel, bytes });
    }

    /// Puts a message on its emulated link.
    pub(super) fn hold(&mut self, air: &mut Air<Held>, now: LocalTime, held: Held) {
        let Some(emulation) = &mut self.emulation else { return };
        let fate = emulation.fate(held.way, held.channel, now, held.bytes.len());
        if fate == Fate::Lost {
            add(&self.counters.emulated_losses, 1);
            if held.channel == Channel::Reliable {
                self.connection.close(CloseReason::new(CloseCode::Done, "the emulated link is dead"));
            }
        }
        for at in fate.arrivals() {
            if self.under_way >= UNDER_WAY_MAX {
                add(&self.counters.emulated_overflows, 1);
                if held.channel == Channel::Reliable {
                    self.connection.close(CloseCode::TooSlow);
                }
                continue;
            }
            self.under_way += 1;
            let (route, way, channel) = (held.route, held.way, held.channel);
            air.push(local(at), Held { route, way, channel, bytes: held.bytes.clone() });
        }
    }

    /// Hands a message to the socket.
    pub(super) fn send(&self, totals: &CrankCounters, channel: Channel, bytes: Bytes) {
        post::send(&self.connection, &self.counters, totals, channel, bytes);
    }
}

//! One machine with its peers, driven by the law of endpoints: mutate, then drain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use evenkeel_core::{Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Rejected, Span};
use evenkeel_link::Fate;

use super::counters::{CrankCounters, LatenessHistogram, PeerCounters, add};
use super::inbox::Route;
use super::send_batcher::{self, SendBatcher};
use super::{Callbacks, NodeId};
use crate::clock::LocalClock;
use crate::emulate::{DelayQueue, Direction, Emulation, IN_FLIGHT_MAX, to_local};
use crate::record::CallRecorder;
use crate::transport::{CloseCode, CloseReason, Connection};

/// Messages a machine may transmit after one call before it counts as endless.
const TRANSMITS_MAX: u32 = 65_536;
/// Consecutive overdue timeouts of a machine before the others get their turn,
const CATCH_UP_MAX: u32 = 64;
/// and how long it then has to wait.
const CATCH_UP_PAUSE: Span = Span::from_millis(1);

/// A call to a machine.
pub(super) enum Call<'a, C> {
    Command(C),
    Message(PeerId, Channel, &'a [u8]),
    Peer(PeerChange),
    Timeout,
}

/// A message held back by an emulated link.
pub(super) struct HeldMessage {
    pub(super) route: Route,
    pub(super) direction: Direction,
    pub(super) channel: Channel,
    pub(super) bytes: Bytes,
}

/// What all nodes of a crank share.
pub(super) struct NodeEnvironment<E: Endpoint> {
    pub(super) clock: LocalClock,
    /// The deadline of each node; the node remembers its own entry.
    pub(super) timers: BTreeSet<(LocalTime, NodeId)>,
    pub(super) in_flight: DelayQueue<HeldMessage>,
    pub(super) callbacks: Callbacks<E>,
    pub(super) recorder: Option<Box<dyn CallRecorder<E::Command>>>,
    pub(super) counters: Arc<CrankCounters>,
    pub(super) lateness: Arc<LatenessHistogram>,
    pub(super) outgoing: Vec<u8>,
    pub(super) batcher: SendBatcher,
}

/// An attached peer.
pub(super) struct AttachedPeer {
    pub(super) connection: Connection,
    pub(super) generation: u64,
    pub(super) emulation: Option<Emulation>,
    /// Messages held on its emulated links.
    pub(super) in_flight: usize,
    pub(super) counters: Arc<PeerCounters>,
}

pub(super) struct Node<E> {
    id: NodeId,
    pub(super) endpoint: E,
    latest: LocalTime,
    queued: Option<LocalTime>,
    overdue: u32,
    pub(super) peers: BTreeMap<PeerId, AttachedPeer>,
}

impl<E: Endpoint> Node<E> {
    pub(super) const fn new(id: NodeId, endpoint: E) -> Self {
        let peers = BTreeMap::new();
        Self { id, endpoint, latest: LocalTime::MIN, queued: None, overdue: 0, peers }
    }

    /// Calls the machine, then drains it.
    pub(super) fn call(&mut self, env: &mut NodeEnvironment<E>, at: LocalTime, call: Call<'_, E::Command>) {
        let now = at.max(self.latest);
        self.latest = now;
        let is_timeout = matches!(call, Call::Timeout);
        match call {
            Call::Command(command) => {
                if let Some(recorder) = &mut env.recorder {
                    recorder.command(self.id, now, &command);
                }
                self.endpoint.handle_command(now, command);
            }
            Call::Message(from, channel, bytes) => self.deliver_message(env, now, from, channel, bytes),
            Call::Peer(change) => {
                if let Some(recorder) = &mut env.recorder {
                    recorder.peer(self.id, now, change);
                }
                self.endpoint.handle_peer(now, change);
            }
            Call::Timeout => {
                if let Some(recorder) = &mut env.recorder {
                    recorder.timeout(self.id, now);
                }
                add(&env.counters.timeouts, 1);
                self.endpoint.handle_timeout(now);
            }
        }
        self.drain(env, now);
        self.reschedule(env, now, is_timeout);
    }

    fn deliver_message(
        &mut self,
        env: &mut NodeEnvironment<E>,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) {
        if let Some(recorder) = &mut env.recorder {
            recorder.message(self.id, now, from, channel, bytes);
        }
        let taken = self.endpoint.handle_message(now, from, channel, bytes);
        match channel {
            Channel::Datagram => add(&env.counters.datagrams_in, 1),
            Channel::Reliable => add(&env.counters.reliable_in, 1),
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
            if let Err(Rejected::Malformed(Malformed::Version { found, supported })) = &taken {
                let message = format!(
                    "received a message of version {found}, expected {supported}: update the older side"
                );
                attached.connection.close(CloseReason::new(CloseCode::VersionMismatch, message));
            }
        }
        if let Err(rejected) = &taken {
            env.counters.reject(rejected);
        }
    }

    fn drain(&mut self, env: &mut NodeEnvironment<E>, now: LocalTime) {
        let mut bytes = std::mem::take(&mut env.outgoing);
        let mut transmits = 0;
        while let Some((to, channel)) = self.endpoint.poll_transmit(now, &mut bytes) {
            if let Some(recorder) = &mut env.recorder {
                recorder.transmit(to, channel, &bytes);
            }
            match self.peers.get_mut(&to) {
                Some(attached) => attached.transmit(env, self.id, to, now, channel, &bytes),
                None => add(&env.counters.no_such_peer, 1),
            }
            transmits += 1;
            if transmits == TRANSMITS_MAX {
                add(&env.counters.endless, 1);
                tracing::error!(node = self.id.0, "a machine does not stop transmitting");
                break;
            }
        }
        env.outgoing = bytes;
        while let Some(event) = self.endpoint.poll_event() {
            (env.callbacks.on_event)(self.id, now, event);
        }
    }

    /// Schedules the machine's deadline. Only a call to `handle_timeout` counts towards [`CATCH_UP_MAX`]: a queued input
    /// may carry an older stamp, and then a deadline in the past is no fault of the machine.
    pub(super) fn reschedule(&mut self, env: &mut NodeEnvironment<E>, now: LocalTime, is_timeout: bool) {
        let mut deadline = self.endpoint.poll_timeout();
        if deadline.is_some_and(|at| at <= now) {
            self.overdue += u32::from(is_timeout);
            if self.overdue > CATCH_UP_MAX {
                self.overdue = 0;
                add(&env.counters.overdue, 1);
                deadline = Some(now + CATCH_UP_PAUSE);
            }
        } else {
            self.overdue = 0;
        }
        if deadline != self.queued {
            self.unschedule(env);
            if let Some(at) = deadline {
                env.timers.insert((at, self.id));
            }
            self.queued = deadline;
        }
    }

    pub(super) fn unschedule(&mut self, env: &mut NodeEnvironment<E>) {
        if let Some(at) = self.queued.take() {
            env.timers.remove(&(at, self.id));
        }
    }
}

impl AttachedPeer {
    /// Sends a message of the machine, over the emulated link if there is one.
    fn transmit<E: Endpoint>(
        &mut self,
        env: &mut NodeEnvironment<E>,
        node: NodeId,
        to: PeerId,
        now: LocalTime,
        channel: Channel,
        bytes: &[u8],
    ) {
        match channel {
            Channel::Datagram => add(&env.counters.datagrams_out, 1),
            Channel::Reliable => add(&env.counters.reliable_out, 1),
        }
        if self.emulation.is_none() && channel == Channel::Datagram {
            return env.batcher.push(&self.connection, &self.counters, bytes);
        }
        let bytes = Bytes::copy_from_slice(bytes);
        if self.emulation.is_none() {
            return self.send(&env.counters, channel, bytes);
        }
        let route = Route { node, peer: to, generation: self.generation };
        self.hold(
            &mut env.in_flight,
            now,
            HeldMessage { route, direction: Direction::Outgoing, channel, bytes },
        );
    }

    /// Puts a message on its emulated link.
    pub(super) fn hold(
        &mut self,
        in_flight: &mut DelayQueue<HeldMessage>,
        now: LocalTime,
        held: HeldMessage,
    ) {
        let Some(emulation) = &mut self.emulation else { return };
        let fate = emulation.fate(held.direction, held.channel, now, held.bytes.len());
        if fate == Fate::Lost {
            add(&self.counters.emulated_losses, 1);
            if held.channel == Channel::Reliable {
                self.connection.close(CloseReason::new(CloseCode::Done, "the emulated link is dead"));
            }
        }
        for at in fate.arrivals() {
            if self.in_flight >= IN_FLIGHT_MAX {
                add(&self.counters.emulated_overflows, 1);
                if held.channel == Channel::Reliable {
                    self.connection.close(CloseCode::TooSlow);
                }
                continue;
            }
            self.in_flight += 1;
            let (route, direction, channel) = (held.route, held.direction, held.channel);
            in_flight
                .push(to_local(at), HeldMessage { route, direction, channel, bytes: held.bytes.clone() });
        }
    }

    /// Passes a message to the connection.
    pub(super) fn send(&self, totals: &CrankCounters, channel: Channel, bytes: Bytes) {
        send_batcher::send(&self.connection, &self.counters, totals, channel, bytes);
    }
}

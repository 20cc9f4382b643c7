//! What is ready to leave, per peer. Frames for one peer share datagrams as long as they fit, and at most one datagram
//! leaves for a peer per tick: the first at once, whatever follows within its tick together at the tick's end.
//!
//! A transport's cost is per packet, so pacing saves both bandwidth and processor time, and a lone frame still does not
//! wait. With a tick of zero every frame leaves at once.

use std::collections::{BTreeSet, VecDeque};

use evenkeel_core::{Channel, HalfHashed, Key, LocalTime, PeerId, SessionTime, Span};

use crate::envelope::{CLOCK_LEN_MAX, HEADER_LEN, Header};
use crate::id_map::PeerMap;

/// Full datagrams queued for one peer; beyond, the oldest is dropped, as a network would.
pub const DATAGRAMS_MAX: usize = 64;
/// Reliable messages queued for one peer. Beyond, the peer has stalled: nothing more is queued for it until it joins
/// again, because a reliable channel must have no gaps.
pub const RELIABLE_MAX: usize = 8192;

/// Room in every datagram for a clock probe and an echo.
const RIDERS_LEN: usize = 2 * CLOCK_LEN_MAX;
/// Capacity kept in a peer's empty reliable queue.
const RELIABLE_KEPT: usize = 8;
/// Datagram buffers are allocated in multiples of this.
const BUFFER_STEP: usize = 128;

/// When a peer is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Turn {
    #[default]
    Idle,
    Ready,
    /// At the end of its tick.
    Paced(LocalTime),
}

/// The datagrams that have left, and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Datagrams.
    pub datagrams: u64,
    /// Their bytes, without the headers of the transport.
    pub bytes: u64,
}

impl Traffic {
    #[inline]
    const fn count(&mut self, datagram: &[u8]) {
        self.datagrams += 1;
        self.bytes += datagram.len() as u64;
    }
}

/// What waits for one peer.
#[derive(Clone, Debug)]
struct Queue {
    datagram_max: usize,
    nonces: HalfHashed,
    /// The header of the datagram being filled.
    open: Option<Header>,
    /// The datagram being filled; otherwise a buffer for the next.
    bytes: Vec<u8>,
    /// Initial capacity of a buffer: about the length of the last datagram, because growing copies.
    capacity: usize,
    full: VecDeque<Vec<u8>>,
    reliable: VecDeque<Vec<u8>>,
    /// A datagram shall leave even if no frame waits: riders will fill it.
    requested: bool,
    /// No datagram leaves earlier.
    next_at: LocalTime,
    turn: Turn,
    stalled: bool,
}

impl Queue {
    #[inline]
    fn has_datagram(&self) -> bool {
        self.requested || self.open.is_some() || !self.full.is_empty()
    }

    /// Begins a datagram with its header.
    #[inline]
    fn begin(&mut self, format: u8, header: Header) {
        self.open = Some(header);
        self.bytes.clear();
        self.bytes.reserve(self.capacity);
        header.emit(format, &mut self.bytes);
    }

    /// Queues the datagram being filled. Returns the number of datagrams dropped to make room.
    #[cold]
    fn close(&mut self) -> u64 {
        self.open = None;
        let crowded_out = if self.full.len() == DATAGRAMS_MAX { self.full.pop_front() } else { None };
        self.full.push_back(core::mem::take(&mut self.bytes));
        u64::from(crowded_out.is_some())
    }

    /// Takes what precedes the datagram being filled: a reliable message or, if the tick allows, a full datagram.
    #[cold]
    fn take_before(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<Channel> {
        if let Some(message) = self.reliable.pop_front() {
            *bytes = message;
            if self.reliable.is_empty() {
                // A newcomer is told of everything at once, and of little afterwards.
                self.reliable.shrink_to(RELIABLE_KEPT);
            }
            return Some(Channel::Reliable);
        }
        if self.next_at > now {
            return None;
        }
        *bytes = self.full.pop_front()?;
        Some(Channel::Datagram)
    }
}

/// Which peer is served next.
#[derive(Clone, Debug)]
struct Schedule {
    now: LocalTime,
    /// Peers with something to send now, first come first served.
    ready: VecDeque<PeerId>,
    /// Peers whose tick has not ended, by its end.
    paced: BTreeSet<(LocalTime, PeerId)>,
}

impl Schedule {
    /// Schedules a peer: at once, or at the end of its tick.
    #[inline]
    fn list(&mut self, peer: PeerId, queue: &mut Queue, at_once: bool) {
        match queue.turn {
            Turn::Ready => {}
            Turn::Idle if at_once || queue.next_at <= self.now => {
                queue.turn = Turn::Ready;
                self.ready.push_back(peer);
            }
            Turn::Idle | Turn::Paced(_) => self.list_paced(peer, queue, at_once),
        }
    }

    #[inline(never)]
    fn list_paced(&mut self, peer: PeerId, queue: &mut Queue, at_once: bool) {
        let at_once = at_once || queue.next_at <= self.now;
        match queue.turn {
            Turn::Paced(at) if at_once => {
                self.paced.remove(&(at, peer));
                queue.turn = Turn::Ready;
                self.ready.push_back(peer);
            }
            Turn::Idle => {
                queue.turn = Turn::Paced(queue.next_at);
                self.paced.insert((queue.next_at, peer));
            }
            Turn::Paced(_) | Turn::Ready => {}
        }
    }

    /// Takes the served peer off the front; further datagrams wait for its tick.
    #[inline]
    fn unlist(&mut self, peer: PeerId, queue: &mut Queue) {
        self.ready.pop_front();
        queue.turn = Turn::Idle;
        if queue.has_datagram() {
            self.list(peer, queue, false);
        }
    }
}

/// The source of message headers.
#[derive(Clone, Debug)]
struct Headers {
    format: u8,
    key: Key,
    messages: u64,
    session: Option<SessionTime>,
}

impl Headers {
    #[inline]
    fn next(&mut self, nonces: &HalfHashed) -> Header {
        self.messages += 1;
        Header { nonce: nonces.hash(self.messages) as u32, stamp: self.session }
    }
}

/// The queues of all peers.
#[derive(Clone, Debug)]
pub struct Outbox {
    tick: Span,
    headers: Headers,
    crowded_out: u64,
    traffic: Traffic,
    queues: PeerMap<Queue>,
    schedule: Schedule,
    stalled: Vec<PeerId>,
}

impl Outbox {
    /// An outbox without peers, for messages of this format. Nonces come from the key.
    #[must_use]
    pub const fn new(format: u8, tick: Span, key: Key) -> Self {
        Self {
            tick,
            headers: Headers { format, key, messages: 0, session: None },
            crowded_out: 0,
            traffic: Traffic { datagrams: 0, bytes: 0 },
            queues: PeerMap::new(),
            schedule: Schedule { now: LocalTime::MIN, ready: VecDeque::new(), paced: BTreeSet::new() },
            stalled: Vec::new(),
        }
    }

    /// Datagrams dropped because more than [`DATAGRAMS_MAX`] waited for one peer.
    #[must_use]
    pub const fn crowded_out(&self) -> u64 {
        self.crowded_out
    }

    /// The datagrams taken to all peers.
    #[must_use]
    pub const fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Sets the time for everything put in from now on.
    pub const fn set_now(&mut self, now: LocalTime, session: Option<SessionTime>) {
        (self.schedule.now, self.headers.session) = (now, session);
    }

    /// Adds a peer. If it was here before, whatever waited for it is dropped.
    pub fn join(&mut self, peer: PeerId, datagram_max: usize) {
        self.leave(peer);
        let queue = Queue {
            datagram_max,
            nonces: self.headers.key.begin(u64::from(peer.0)),
            open: None,
            bytes: Vec::new(),
            capacity: BUFFER_STEP,
            full: VecDeque::new(),
            reliable: VecDeque::new(),
            requested: false,
            next_at: LocalTime::MIN,
            turn: Turn::Idle,
            stalled: false,
        };
        self.queues.insert(peer, queue);
    }

    /// Removes a peer.
    pub fn leave(&mut self, peer: PeerId) {
        if let Some(Queue { turn: Turn::Paced(at), .. }) = self.queues.remove(peer) {
            self.schedule.paced.remove(&(at, peer));
        }
        self.stalled.retain(|stalled| *stalled != peer);
        self.schedule.ready.retain(|ready| *ready != peer);
    }

    /// Whether the peer is here.
    #[must_use]
    pub fn has(&self, peer: PeerId) -> bool {
        self.queues.contains(peer)
    }

    /// How many bytes of frames fit a datagram to this peer.
    #[must_use]
    pub fn frames_max(&self, peer: PeerId) -> usize {
        self.queues.get(peer).map_or(0, |queue| frames_max(queue.datagram_max))
    }

    /// Puts a frame into the next datagram for a peer; `emit` gets the datagram's stamp. Returns the datagram's nonce, or
    /// `None` if the frame cannot be sent: the peer is not here, there is no session time, or the frame would never fit.
    pub fn datagram(&mut self, peer: PeerId, emit: impl Fn(SessionTime, &mut Vec<u8>)) -> Option<u32> {
        self.headers.session?;
        self.put::<true>(peer, |stamp, bytes| {
            if let Some(stamp) = stamp {
                emit(stamp, bytes);
            }
        })
    }

    /// Puts a frame that does without a session time into the next datagram for a peer; `emit` gets the datagram's stamp, if
    /// it has one. Returns the datagram's nonce, or `None` if the peer is not here or the frame would never fit.
    pub fn unstamped(
        &mut self,
        peer: PeerId,
        emit: impl Fn(Option<SessionTime>, &mut Vec<u8>),
    ) -> Option<u32> {
        self.put::<false>(peer, emit)
    }

    #[inline(always)]
    fn put<const NEEDS_STAMP: bool>(
        &mut self,
        peer: PeerId,
        emit: impl Fn(Option<SessionTime>, &mut Vec<u8>),
    ) -> Option<u32> {
        let queue = self.queues.get_mut(peer)?;
        let limit = HEADER_LEN + frames_max(queue.datagram_max);
        if let Some(header) = queue.open {
            let before = queue.bytes.len();
            if !NEEDS_STAMP || header.stamp.is_some() {
                emit(header.stamp, &mut queue.bytes);
                if queue.bytes.len() <= limit {
                    return Some(header.nonce);
                }
                queue.bytes.truncate(before);
            }
            self.crowded_out += queue.close();
        }
        let header = self.headers.next(&queue.nonces);
        queue.begin(self.headers.format, header);
        emit(header.stamp, &mut queue.bytes);
        if queue.bytes.len() > limit {
            queue.open = None;
            return None;
        }
        self.schedule.list(peer, queue, false);
        Some(header.nonce)
    }

    /// Requests a datagram for a peer, because a frame will ride in it.
    pub fn request(&mut self, peer: PeerId) {
        if let Some(queue) = self.queues.get_mut(peer) {
            queue.requested = true;
            self.schedule.list(peer, queue, false);
        }
    }

    /// Adds a frame that needs no session time to the datagram about to leave for a peer.
    pub fn ride(&mut self, peer: PeerId, emit: impl FnOnce(&mut Vec<u8>)) {
        let Some(queue) = self.queues.get_mut(peer) else { return };
        if queue.open.is_none() {
            let header = self.headers.next(&queue.nonces);
            queue.begin(self.headers.format, header);
        }
        emit(&mut queue.bytes);
    }

    /// Queues a frame on the reliable channel to a peer. Returns the nonce of its message.
    pub fn reliable(&mut self, peer: PeerId, emit: impl FnOnce(SessionTime, &mut Vec<u8>)) -> Option<u32> {
        let now = self.headers.session?;
        self.reliable_unstamped(peer, |_, bytes| emit(now, bytes))
    }

    /// Queues a frame that does without a session time on the reliable channel to a peer. Returns the nonce of its message.
    pub fn reliable_unstamped(
        &mut self,
        peer: PeerId,
        emit: impl FnOnce(Option<SessionTime>, &mut Vec<u8>),
    ) -> Option<u32> {
        let nonces = self.headers.key.begin(u64::from(peer.0));
        let header = self.headers.next(&nonces);
        let queue = self.queues.get_mut(peer)?;
        if queue.stalled || queue.reliable.len() == RELIABLE_MAX {
            if !core::mem::replace(&mut queue.stalled, true) {
                self.stalled.push(peer);
            }
            return None;
        }
        let mut message = Vec::new();
        header.emit(self.headers.format, &mut message);
        emit(header.stamp, &mut message);
        queue.reliable.push_back(message);
        self.schedule.list(peer, queue, true);
        Some(header.nonce)
    }

    /// Whether no peer has anything waiting.
    #[inline]
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.schedule.ready.is_empty() && self.schedule.paced.is_empty()
    }

    /// The next peer to serve, and whether its next datagram is its last for now, which riders should join.
    #[inline]
    pub fn due(&mut self) -> Option<(PeerId, bool)> {
        if !self.schedule.paced.is_empty() {
            self.wake_paced();
        }
        let now = self.schedule.now;
        let peer = *self.schedule.ready.front()?;
        let queue = self.queues.get(peer).expect("a scheduled peer is here");
        let last = queue.reliable.is_empty() && queue.full.is_empty() && queue.next_at <= now;
        Some((peer, last))
    }

    #[inline(never)]
    fn wake_paced(&mut self) {
        let now = self.schedule.now;
        while let Some((_, peer)) = self.next_paced().filter(|(at, _)| *at <= now) {
            let queue = self.queues.get_mut(peer).expect("a scheduled peer is here");
            self.schedule.list(peer, queue, true);
        }
    }

    /// Moves the next message for a due peer into `bytes`. Returns `None` if there is none.
    #[inline]
    pub fn take(&mut self, peer: PeerId, bytes: &mut Vec<u8>) -> Option<Channel> {
        let queue = self.queues.get_mut(peer)?;
        let now = self.schedule.now;
        if !(queue.reliable.is_empty() && queue.full.is_empty())
            && let Some(channel) = queue.take_before(now, bytes)
        {
            if channel == Channel::Datagram {
                self.traffic.count(bytes);
            }
            return Some(channel);
        }
        let mut taken = None;
        if queue.next_at <= now {
            queue.requested = false;
            if queue.open.take().is_some() {
                queue.capacity = queue.bytes.len().next_multiple_of(BUFFER_STEP);
                // The caller's buffer is reused for the next datagram.
                core::mem::swap(bytes, &mut queue.bytes);
                self.traffic.count(bytes);
                queue.next_at = now + self.tick;
                taken = Some(Channel::Datagram);
            }
        }
        self.schedule.unlist(peer, queue);
        taken
    }

    #[inline]
    fn next_paced(&self) -> Option<(LocalTime, PeerId)> {
        if self.schedule.paced.is_empty() { None } else { self.schedule.paced.first().copied() }
    }

    /// The end of the earliest tick that something waits for.
    #[must_use]
    pub fn next_timeout(&self) -> Option<LocalTime> {
        self.next_paced().map(|(at, _)| at)
    }

    /// A peer that has stalled since the last call.
    pub fn poll_stalled(&mut self) -> Option<PeerId> {
        self.stalled.pop()
    }
}

const fn frames_max(datagram_max: usize) -> usize {
    datagram_max.saturating_sub(HEADER_LEN + RIDERS_LEN)
}

//! What is ready to leave, per peer. Frames for one peer share datagrams as long as they fit, and at most one datagram
//! leaves for a peer per tick: the first at once, what comes within a tick of it together at the tick's end.
//!
//! A transport's cost is per packet, so this is where bandwidth and processor time are saved; a lone vector still does not
//! wait. With a tick of nought everything leaves when it comes.

use std::collections::{BTreeSet, VecDeque};

use evenkeel_core::{Channel, Key, LocalTime, PeerId, SessionTime, Span};

use crate::message::{CLOCK_LEN_MAX, HEADER_LEN, Header};
use crate::peers::Peers;

/// Full datagrams that wait for one peer; when there are more, the oldest is dropped, as a network would.
pub const DATAGRAMS_MAX: usize = 64;
/// Reliable messages that wait for one peer; with more it counts as stalled: nothing more is queued for it until it joins
/// again, because a reliable channel with a gap would be a lie.
pub const RELIABLE_MAX: usize = 8192;

/// In every datagram there is room for a probe and an echo.
const RIDERS_LEN: usize = 2 * CLOCK_LEN_MAX;

/// A datagram that is being filled.
#[derive(Clone, Debug)]
struct Open {
    header: Header,
    bytes: Vec<u8>,
}

impl Open {
    /// A datagram with nothing but its header, in a spare buffer if there is one.
    fn begin(header: Header, spare: &mut Vec<Vec<u8>>) -> Self {
        let mut bytes = spare.pop().unwrap_or_else(|| Vec::with_capacity(BUFFER_LEN));
        bytes.clear();
        header.emit(&mut bytes);
        Self { header, bytes }
    }
}

/// Whether a peer waits to be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Place {
    #[default]
    Idle,
    Ready,
    /// Until its next tick.
    Paced(LocalTime),
}

#[derive(Clone, Debug)]
struct Queue {
    datagram_max: usize,
    open: Option<Open>,
    full: VecDeque<Vec<u8>>,
    reliable: VecDeque<Vec<u8>>,
    /// A datagram is to leave even if so far there is nothing in it.
    wanted: bool,
    /// No datagram leaves before this.
    next_at: LocalTime,
    place: Place,
    stalled: bool,
}

impl Queue {
    fn has_datagram(&self) -> bool {
        self.wanted || self.open.is_some() || !self.full.is_empty()
    }

    /// Gives the number of datagrams that had to go for it.
    fn close(&mut self) -> u64 {
        let Some(open) = self.open.take() else { return 0 };
        let crowded_out = if self.full.len() == DATAGRAMS_MAX { self.full.pop_front() } else { None };
        self.full.push_back(open.bytes);
        u64::from(crowded_out.is_some())
    }
}

/// Whose turn it is.
#[derive(Clone, Debug)]
struct Turns {
    now: LocalTime,
    /// Peers with something to send now, in the order in which they came to have it.
    ready: VecDeque<PeerId>,
    /// Peers whose tick is not over, by its end.
    paced: BTreeSet<(LocalTime, PeerId)>,
}

impl Turns {
    /// Something is to leave for a peer: at once, or when its tick is over.
    fn list(&mut self, peer: PeerId, queue: &mut Queue, at_once: bool) {
        let at_once = at_once || queue.next_at <= self.now;
        match queue.place {
            Place::Ready => return,
            Place::Paced(_) if !at_once => return,
            Place::Paced(at) => _ = self.paced.remove(&(at, peer)),
            Place::Idle => {}
        }
        if at_once {
            queue.place = Place::Ready;
            self.ready.push_back(peer);
        } else {
            queue.place = Place::Paced(queue.next_at);
            self.paced.insert((queue.next_at, peer));
        }
    }

    /// The peer at the front has been served; if datagrams are left, they wait for its tick.
    fn unlist(&mut self, peer: PeerId, queue: &mut Queue) {
        self.ready.pop_front();
        queue.place = Place::Idle;
        if queue.has_datagram() {
            self.list(peer, queue, false);
        }
    }
}

/// What messages begin with.
#[derive(Clone, Debug)]
struct Headers {
    key: Key,
    messages: u64,
    session: Option<SessionTime>,
}

impl Headers {
    fn next(&mut self, peer: PeerId) -> Header {
        self.messages += 1;
        let nonce = self.key.hash(u64::from(peer.0), self.messages) as u32;
        Header { nonce, stamp: self.session }
    }
}

/// The queues of all peers.
#[derive(Clone, Debug)]
pub struct Outbox {
    tick: Span,
    headers: Headers,
    crowded_out: u64,
    queues: Peers<Queue>,
    turns: Turns,
    stalled: Vec<PeerId>,
    /// Buffers to fill again.
    spare: Vec<Vec<u8>>,
}

/// Room for so many reliable messages is kept for a peer that none waits for.
const RELIABLE_KEPT: usize = 8;
/// A new buffer has room for most datagrams.
const BUFFER_LEN: usize = 128;

impl Outbox {
    /// An outbox without peers, whose nonces come from this key.
    #[must_use]
    pub const fn new(tick: Span, key: Key) -> Self {
        Self {
            tick,
            headers: Headers { key, messages: 0, session: None },
            crowded_out: 0,
            queues: Peers::new(),
            turns: Turns { now: LocalTime::MIN, ready: VecDeque::new(), paced: BTreeSet::new() },
            stalled: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Full datagrams that were dropped because too many waited for one peer.
    #[must_use]
    pub const fn crowded_out(&self) -> u64 {
        self.crowded_out
    }

    /// What time it is for whatever is put in from now on.
    pub const fn set_now(&mut self, now: LocalTime, session: Option<SessionTime>) {
        (self.turns.now, self.headers.session) = (now, session);
    }

    /// A peer comes, or comes back: what waited for it before is void.
    pub fn join(&mut self, peer: PeerId, datagram_max: usize) {
        self.leave(peer);
        let queue = Queue {
            datagram_max,
            open: None,
            full: VecDeque::new(),
            reliable: VecDeque::new(),
            wanted: false,
            next_at: LocalTime::MIN,
            place: Place::Idle,
            stalled: false,
        };
        self.queues.insert(peer, queue);
    }

    /// A peer goes.
    pub fn leave(&mut self, peer: PeerId) {
        if let Some(Queue { place: Place::Paced(at), .. }) = self.queues.remove(peer) {
            self.turns.paced.remove(&(at, peer));
        }
        self.stalled.retain(|stalled| *stalled != peer);
        self.turns.ready.retain(|ready| *ready != peer);
    }

    /// Whether the peer is here.
    #[must_use]
    pub fn has(&self, peer: PeerId) -> bool {
        self.queues.contains(peer)
    }

    /// The bytes of frames that fit a datagram to a peer.
    #[must_use]
    pub fn frames_max(&self, peer: PeerId) -> usize {
        self.queues.get(peer).map_or(0, |queue| frames_max(queue.datagram_max))
    }

    /// Puts a frame into the next datagram for a peer; `emit` is told its stamp. Gives the nonce of that datagram; `None`
    /// if the frame can't be sent at all: the peer is not here, there is no session time, or it would never fit.
    pub fn datagram(&mut self, peer: PeerId, emit: impl Fn(SessionTime, &mut Vec<u8>)) -> Option<u32> {
        let now = self.headers.session?;
        let queue = self.queues.get_mut(peer)?;
        let limit = HEADER_LEN + frames_max(queue.datagram_max);
        if let Some(Open { header, bytes }) = &mut queue.open
            && let Some(stamp) = header.stamp
        {
            let before = bytes.len();
            emit(stamp, bytes);
            if bytes.len() <= limit {
                return Some(header.nonce);
            }
            bytes.truncate(before);
        }
        self.crowded_out += queue.close();
        let mut open = Open::begin(self.headers.next(peer), &mut self.spare);
        emit(now, &mut open.bytes);
        if open.bytes.len() > limit {
            return None;
        }
        let nonce = open.header.nonce;
        queue.open = Some(open);
        self.turns.list(peer, queue, false);
        Some(nonce)
    }

    /// A datagram should leave for a peer: there will be a rider.
    pub fn want(&mut self, peer: PeerId) {
        if let Some(queue) = self.queues.get_mut(peer) {
            queue.wanted = true;
            self.turns.list(peer, queue, false);
        }
    }

    /// Puts a frame that needs no session time into the datagram that is about to leave for a peer.
    pub fn ride(&mut self, peer: PeerId, emit: impl FnOnce(&mut Vec<u8>)) {
        let Some(queue) = self.queues.get_mut(peer) else { return };
        let begin = || Open::begin(self.headers.next(peer), &mut self.spare);
        emit(&mut queue.open.get_or_insert_with(begin).bytes);
    }

    /// Puts a frame on the reliable channel to a peer. Gives the nonce of its message.
    pub fn reliable(&mut self, peer: PeerId, emit: impl FnOnce(SessionTime, &mut Vec<u8>)) -> Option<u32> {
        let now = self.headers.session?;
        let header = self.headers.next(peer);
        let queue = self.queues.get_mut(peer)?;
        if queue.stalled || queue.reliable.len() == RELIABLE_MAX {
            if !core::mem::replace(&mut queue.stalled, true) {
                self.stalled.push(peer);
            }
            return None;
        }
        let mut message = Vec::new();
        header.emit(&mut message);
        emit(now, &mut message);
        queue.reliable.push_back(message);
        self.turns.list(peer, queue, true);
        Some(header.nonce)
    }

    /// The next peer that something may leave for now, and whether its next datagram is the last: then is the time for
    /// riders.
    pub fn due(&mut self) -> Option<(PeerId, bool)> {
        let now = self.turns.now;
        while let Some((_, peer)) = self.next_paced().filter(|(at, _)| *at <= now) {
            let queue = self.queues.get_mut(peer).expect("whoever waits is here");
            self.turns.list(peer, queue, true);
        }
        let peer = *self.turns.ready.front()?;
        let queue = self.queues.get(peer).expect("whoever waits is here");
        let last = queue.reliable.is_empty() && queue.full.is_empty() && queue.next_at <= now;
        Some((peer, last))
    }

    /// Takes the next message for a peer that is due; its bytes replace those in `bytes`. `None`: there is none.
    pub fn take(&mut self, peer: PeerId, bytes: &mut Vec<u8>) -> Option<Channel> {
        let spare_max = self.queues.len();
        let queue = self.queues.get_mut(peer)?;
        if let Some(message) = queue.reliable.pop_front() {
            *bytes = message;
            if queue.reliable.is_empty() {
                // Whoever comes in is told of everybody at once, and of little afterwards.
                queue.reliable.shrink_to(RELIABLE_KEPT);
            }
            return Some(Channel::Reliable);
        }
        let mut taken = None;
        if queue.next_at <= self.turns.now {
            if let Some(full) = queue.full.pop_front() {
                *bytes = full;
                return Some(Channel::Datagram);
            }
            queue.wanted = false;
            if let Some(mut open) = queue.open.take() {
                core::mem::swap(bytes, &mut open.bytes);
                // For as many as there are datagrams at a time.
                if self.spare.len() < spare_max && open.bytes.capacity() > 0 {
                    self.spare.push(open.bytes);
                }
                // The one that follows, at once or later, is due a tick from now.
                queue.next_at = self.turns.now + self.tick;
                taken = Some(Channel::Datagram);
            }
        }
        self.turns.unlist(peer, queue);
        taken
    }

    fn next_paced(&self) -> Option<(LocalTime, PeerId)> {
        if self.turns.paced.is_empty() { None } else { self.turns.paced.first().copied() }
    }

    /// When something that waits for its tick may leave.
    #[must_use]
    pub fn next_timeout(&self) -> Option<LocalTime> {
        self.next_paced().map(|(at, _)| at)
    }

    /// A peer that stalled since the last time that this was asked.
    pub fn poll_stalled(&mut self) -> Option<PeerId> {
        self.stalled.pop()
    }
}

const fn frames_max(datagram_max: usize) -> usize {
    datagram_max.saturating_sub(HEADER_LEN + RIDERS_LEN)
}

//! What is ready to leave, per peer. Frames for one peer share datagrams as long as they fit, and at most one datagram
//! leaves for a peer per tick: the first at once, what comes within a tick of it together at the tick's end.
//!
//! A transport's cost is per packet, so this is where bandwidth and processor time are saved; a lone vector still does not
//! wait. With a tick of nought everything leaves when it comes.

use std::collections::{BTreeSet, VecDeque};

use evenkeel_core::{Channel, HalfHashed, Key, LocalTime, PeerId, SessionTime, Span};

use crate::message::{CLOCK_LEN_MAX, HEADER_LEN, Header};
use crate::peers::Peers;

/// Full datagrams that wait for one peer; when there are more, the oldest is dropped, as a network would.
pub const DATAGRAMS_MAX: usize = 64;
/// Reliable messages that wait for one peer; with more it counts as stalled: nothing more is queued for it until it joins
/// again, because a reliable channel with a gap would be a lie.
pub const RELIABLE_MAX: usize = 8192;

/// In every datagram there is room for a probe and an echo.
const RIDERS_LEN: usize = 2 * CLOCK_LEN_MAX;

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
    /// Where its nonces come from.
    nonces: HalfHashed,
    /// The header of the datagram that is being filled.
    open: Option<Header>,
    /// That datagram; otherwise a buffer for the next.
    bytes: Vec<u8>,
    /// A buffer has room for so much at first: about what the last datagram took. A buffer that grows is copied each time.
    room: usize,
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
    #[inline]
    fn has_datagram(&self) -> bool {
        self.wanted || self.open.is_some() || !self.full.is_empty()
    }

    /// A datagram with nothing but its header.
    #[inline]
    fn begin(&mut self, header: Header) {
        self.open = Some(header);
        self.bytes.clear();
        self.bytes.reserve(self.room);
        header.emit(&mut self.bytes);
    }

    /// The datagram that is being filled is full. Gives the number of datagrams that had to go for it.
    #[cold]
    fn close(&mut self) -> u64 {
        self.open = None;
        let crowded_out = if self.full.len() == DATAGRAMS_MAX { self.full.pop_front() } else { None };
        self.full.push_back(core::mem::take(&mut self.bytes));
        u64::from(crowded_out.is_some())
    }

    /// Takes what comes before the datagram that is being filled: a reliable message, or now a full datagram.
    #[cold]
    fn take_before(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<Channel> {
        if let Some(message) = self.reliable.pop_front() {
            *bytes = message;
            if self.reliable.is_empty() {
                // Whoever comes in is told of everybody at once, and of little afterwards.
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
    #[inline]
    fn list(&mut self, peer: PeerId, queue: &mut Queue, at_once: bool) {
        match queue.place {
            Place::Ready => {}
            Place::Idle if at_once || queue.next_at <= self.now => {
                queue.place = Place::Ready;
                self.ready.push_back(peer);
            }
            Place::Idle | Place::Paced(_) => self.list_paced(peer, queue, at_once),
        }
    }

    #[inline(never)]
    fn list_paced(&mut self, peer: PeerId, queue: &mut Queue, at_once: bool) {
        let at_once = at_once || queue.next_at <= self.now;
        match queue.place {
            Place::Paced(at) if at_once => {
                self.paced.remove(&(at, peer));
                queue.place = Place::Ready;
                self.ready.push_back(peer);
            }
            Place::Idle => {
                queue.place = Place::Paced(queue.next_at);
                self.paced.insert((queue.next_at, peer));
            }
            Place::Paced(_) | Place::Ready => {}
        }
    }

    /// The peer at the front has been served; if datagrams are left, they wait for its tick.
    #[inline]
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
    queues: Peers<Queue>,
    turns: Turns,
    stalled: Vec<PeerId>,
}

/// Room for so many reliable messages is kept for a peer that none waits for.
const RELIABLE_KEPT: usize = 8;
/// A new buffer has room for so much, or for several times as much.
const BUFFER_STEP: usize = 128;

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
            nonces: self.headers.key.begin(u64::from(peer.0)),
            open: None,
            bytes: Vec::new(),
            room: BUFFER_STEP,
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
        if let Some(header) = queue.open {
            let before = queue.bytes.len();
            if let Some(stamp) = header.stamp {
                emit(stamp, &mut queue.bytes);
                if queue.bytes.len() <= limit {
                    return Some(header.nonce);
                }
                queue.bytes.truncate(before);
            }
            self.crowded_out += queue.close();
        }
        let header = self.headers.next(&queue.nonces);
        queue.begin(header);
        emit(now, &mut queue.bytes);
        if queue.bytes.len() > limit {
            queue.open = None;
            return None;
        }
        self.turns.list(peer, queue, false);
        Some(header.nonce)
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
        if queue.open.is_none() {
            let header = self.headers.next(&queue.nonces);
            queue.begin(header);
        }
        emit(&mut queue.bytes);
    }

    /// Puts a frame on the reliable channel to a peer. Gives the nonce of its message.
    pub fn reliable(&mut self, peer: PeerId, emit: impl FnOnce(SessionTime, &mut Vec<u8>)) -> Option<u32> {
        let now = self.headers.session?;
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
        header.emit(&mut message);
        emit(now, &mut message);
        queue.reliable.push_back(message);
        self.turns.list(peer, queue, true);
        Some(header.nonce)
    }

    /// Whether nothing is to leave now, and nothing waits for its tick.
    #[inline]
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.turns.ready.is_empty() && self.turns.paced.is_empty()
    }

    /// The next peer that something may leave for now, and whether its next datagram is the last: then is the time for
    /// riders.
    #[inline]
    pub fn due(&mut self) -> Option<(PeerId, bool)> {
        if !self.turns.paced.is_empty() {
            self.wake_paced();
        }
        let now = self.turns.now;
        let peer = *self.turns.ready.front()?;
        let queue = self.queues.get(peer).expect("whoever waits is here");
        let last = queue.reliable.is_empty() && queue.full.is_empty() && queue.next_at <= now;
        Some((peer, last))
    }

    #[inline(never)]
    fn wake_paced(&mut self) {
        let now = self.turns.now;
        while let Some((_, peer)) = self.next_paced().filter(|(at, _)| *at <= now) {
            let queue = self.queues.get_mut(peer).expect("whoever waits is here");
            self.turns.list(peer, queue, true);
        }
    }

    /// Takes the next message for a peer that is due; its bytes replace those in `bytes`. `None`: there is none.
    #[inline]
    pub fn take(&mut self, peer: PeerId, bytes: &mut Vec<u8>) -> Option<Channel> {
        let queue = self.queues.get_mut(peer)?;
        let now = self.turns.now;
        if !(queue.reliable.is_empty() && queue.full.is_empty())
            && let Some(channel) = queue.take_before(now, bytes)
        {
            return Some(channel);
        }
        let mut taken = None;
        if queue.next_at <= now {
            queue.wanted = false;
            if queue.open.take().is_some() {
                queue.room = queue.bytes.len().next_multiple_of(BUFFER_STEP);
                // What its caller had there is the buffer for the next.
                core::mem::swap(bytes, &mut queue.bytes);
                // The one that follows, at once or later, is due a tick from now.
                queue.next_at = now + self.tick;
                taken = Some(Channel::Datagram);
            }
        }
        self.turns.unlist(peer, queue);
        taken
    }

    #[inline]
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

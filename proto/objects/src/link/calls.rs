//! Messages on their way: what is guaranteed of each, beyond the life of a connection.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use evenkeel_core::{LocalTime, PeerId, Span};

use super::packets::Item;
use crate::delivery::{Call, Delivery, Target};

/// Unordered messages whose fate is unknown. Further ones wait.
const WINDOW: u64 = 512;
/// Messages that wait or are not acknowledged, and their bytes. Beyond, none is taken.
pub(crate) const CALLS_MAX: usize = 4_096;
pub(crate) const CALL_BYTES_MAX: usize = 1 << 20;
/// Of these, what one player has for another, and its bytes. All players together have half of it; the rest is the server's.
const SENDER_CALLS_MAX: usize = 512;
const SENDER_BYTES_MAX: usize = 1 << 17;
/// Most recent messages are kept for this many kinds and parties.
const RECENT_MAX: usize = 2_048;
/// Unreliable messages that wait for the next packet. Beyond, the oldest is dropped.
const LOOSE_MAX: usize = 128;
/// What a waiting message costs beside its bytes.
const COST: usize = 32;

/// How far an unordered message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Due,
    /// In a packet that left then.
    Sent(LocalTime),
    /// On the reliable channel.
    Streamed,
}

#[derive(Clone, Debug)]
struct Open {
    call: Call,
    fate: Fate,
    /// Whether it has ever left, so that it may have arrived.
    has_left: bool,
}

#[derive(Clone, Debug)]
struct Recent {
    version: u64,
    call: Call,
    fate: Fate,
}

/// Messages that wait or are not acknowledged, and what they cost.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    count: usize,
    bytes: usize,
}

impl Load {
    fn add(&mut self, call: &Call) {
        self.count += 1;
        self.bytes += COST + call.bytes.len();
    }

    fn remove(&mut self, call: &Call) {
        self.count -= 1;
        self.bytes -= COST + call.bytes.len();
    }

    const fn has_room(&self, call: &Call, count_max: usize, bytes_max: usize) -> bool {
        self.count < count_max && self.bytes + COST + call.bytes.len() <= bytes_max
    }
}

/// What one side has to say to the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallsOut {
    /// The number of the first unacknowledged ordered message.
    ordered_first: u64,
    ordered: VecDeque<Call>,
    /// How many of them are on the reliable channel of this connection.
    ordered_sent: usize,
    /// How many have ever been on one, so that they may have arrived.
    ordered_left: usize,
    next: u64,
    open: BTreeMap<u64, Open>,
    /// Open messages that are quick, and those that are due.
    quick: BTreeSet<u64>,
    due: BTreeSet<u64>,
    waiting: VecDeque<Call>,
    recent: BTreeMap<(u16, Target), Recent>,
    recent_due: BTreeSet<(u16, Target)>,
    versions: u64,
    loose: VecDeque<Call>,
    /// Whether packets travel on the reliable channel, where to repeat a quick message would only delay it.
    pub(crate) is_streamed: bool,
    /// Reliable messages from before the other side has said which machine it is.
    early: Vec<Call>,
    load: Load,
    /// At the server, what players have for this one: all of them, and each.
    load_of_players: Load,
    load_by_player: BTreeMap<PeerId, Load>,
}

impl CallsOut {
    /// Takes a message. Returns false if too many wait.
    #[must_use]
    pub(crate) fn push(&mut self, call: Call) -> bool {
        match call.delivery {
            Delivery::Unreliable => {
                if self.loose.len() == LOOSE_MAX {
                    self.loose.pop_front();
                }
                self.loose.push_back(call);
                return true;
            }
            Delivery::MostRecent => {
                let key = call.key();
                if self.recent.len() >= RECENT_MAX && !self.recent.contains_key(&key) {
                    return false;
                }
                self.versions += 1;
                self.recent_due.insert(key);
                self.recent.insert(key, Recent { version: self.versions, call, fate: Fate::Due });
                return true;
            }
            _ => {}
        }
        if !self.load.has_room(&call, CALLS_MAX, CALL_BYTES_MAX) {
            return false;
        }
        self.charge(&call);
        if call.delivery == Delivery::ReliableOrdered {
            self.ordered.push_back(call);
        } else {
            self.waiting.push_back(call);
            self.admit();
        }
        true
    }

    /// Numbers waiting messages as far as the window allows.
    fn admit(&mut self) {
        let first = self.open.first_key_value().map_or(self.next, |(number, _)| *number);
        while self.next < first + WINDOW
            && let Some(call) = self.waiting.pop_front()
        {
            if call.delivery == Delivery::Quickest {
                self.quick.insert(self.next);
            }
            self.due.insert(self.next);
            self.open.insert(self.next, Open { call, fate: Fate::Due, has_left: false });
            self.next += 1;
        }
    }

    /// At the server, whether there is room for a reliable message. Players' messages leave room for the server's, and those of one
    /// player for the others'.
    pub(crate) fn has_room(&self, call: &Call) -> bool {
        let Target::Player(sender) = call.party else {
            return self.load.has_room(call, CALLS_MAX, CALL_BYTES_MAX);
        };
        let its = self.load_by_player.get(&sender).copied().unwrap_or_default();
        its.has_room(call, SENDER_CALLS_MAX, SENDER_BYTES_MAX)
            && self.load_of_players.has_room(call, CALLS_MAX / 2, CALL_BYTES_MAX / 2)
            && self.load.has_room(call, CALLS_MAX, CALL_BYTES_MAX)
    }

    /// Keeps a reliable message for which there is room until the other side has said which machine it is.
    pub(crate) fn push_early(&mut self, call: Call) {
        self.charge(&call);
        self.early.push(call);
    }

    pub(crate) const fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// Takes the messages from before its greeting.
    pub(crate) fn take_early(&mut self) -> Vec<Call> {
        let early = core::mem::take(&mut self.early);
        early.iter().for_each(|call| self.release(call));
        early
    }

    fn charge(&mut self, call: &Call) {
        self.load.add(call);
        if let Target::Player(sender) = call.party {
            self.load_of_players.add(call);
            self.load_by_player.entry(sender).or_default().add(call);
        }
    }

    fn release(&mut self, call: &Call) {
        self.load.remove(call);
        if let Target::Player(sender) = call.party {
            self.load_of_players.remove(call);
            if let Entry::Occupied(mut its) = self.load_by_player.entry(sender) {
                its.get_mut().remove(call);
                if its.get().count == 0 {
                    its.remove();
                }
            }
        }
    }

    /// The next ordered message for the reliable channel.
    pub(crate) fn next_ordered(&mut self) -> Option<(u64, &Call)> {
        let call = self.ordered.get(self.ordered_sent)?;
        let number = self.ordered_first + self.ordered_sent as u64;
        self.ordered_sent += 1;
        self.ordered_left = self.ordered_left.max(self.ordered_sent);
        Some((number, call))
    }

    /// Takes the next due message that is too long for a packet, for the reliable channel.
    pub(crate) fn next_long(&mut self, len_max: usize) -> Option<(u64, Call)> {
        let number = self.due.iter().find(|number| self.open[*number].call.bytes.len() > len_max).copied()?;
        self.due.remove(&number);
        let open = self.open.get_mut(&number)?;
        (open.fate, open.has_left) = (Fate::Streamed, true);
        Some((number, open.call.clone()))
    }

    /// Ordered messages up to this number, exclusive, have arrived.
    pub(crate) fn ordered_arrived(&mut self, next: u64) {
        while self.ordered_first < next
            && let Some(call) = self.ordered.pop_front()
        {
            self.ordered_first += 1;
            self.ordered_sent = self.ordered_sent.saturating_sub(1);
            self.ordered_left = self.ordered_left.saturating_sub(1);
            self.release(&call);
        }
    }

    /// An unordered message has arrived.
    pub(crate) fn arrived(&mut self, number: u64) {
        if let Some(open) = self.open.remove(&number) {
            self.quick.remove(&number);
            self.due.remove(&number);
            self.release(&open.call);
            self.admit();
        }
    }

    /// Takes the fate of what a packet carried.
    pub(crate) fn settle(&mut self, item: Item, arrived: bool) {
        match item {
            Item::Call(number) if arrived => self.arrived(number),
            Item::Call(number) => {
                if let Some(open) = self.open.get_mut(&number)
                    && (self.is_streamed || !self.quick.contains(&number))
                {
                    open.fate = Fate::Due;
                    self.due.insert(number);
                }
            }
            Item::Recent { kind, party, version } => {
                let key = (kind, party);
                if self.recent.get(&key).is_some_and(|recent| recent.version == version) {
                    if arrived {
                        self.recent.remove(&key);
                        self.recent_due.remove(&key);
                    } else {
                        self.recent_due.insert(key);
                    }
                }
            }
            Item::State { .. } => {}
        }
    }

    /// Begins a new connection: whatever was under way is due again.
    pub(crate) fn reconnect(&mut self, received: u64) {
        self.ordered_arrived(received);
        self.ordered_sent = 0;
        for (number, open) in &mut self.open {
            open.fate = Fate::Due;
            self.due.insert(*number);
        }
        self.recent_due.extend(self.recent.keys());
    }

    /// Forgets what may have arrived at an earlier session, and renumbers the rest. Returns how many reliable messages are
    /// forgotten.
    pub(crate) fn start_over(&mut self) -> u64 {
        let old = core::mem::take(self);
        let mut lost = 0;
        for (place, call) in old.ordered.into_iter().enumerate() {
            if place < old.ordered_left {
                lost += 1;
            } else {
                let _ = self.push(call);
            }
        }
        for open in old.open.into_values() {
            if open.has_left {
                lost += 1;
            } else {
                let _ = self.push(open.call);
            }
        }
        for call in old.waiting.into_iter().chain(old.recent.into_values().map(|recent| recent.call)) {
            let _ = self.push(call);
        }
        lost
    }

    /// Whether ordered messages wait for the reliable channel.
    pub(crate) fn has_ordered(&self) -> bool {
        self.ordered.len() > self.ordered_sent
    }

    /// When the next packet should carry something: now, or when a quick message is to be repeated.
    pub(crate) fn next_due(&self, now: LocalTime, tick: Span) -> Option<LocalTime> {
        if !(self.due.is_empty() && self.recent_due.is_empty() && self.loose.is_empty()) {
            return Some(now);
        }
        let repeat = |number: &u64| match self.open[number].fate {
            Fate::Sent(at) if !self.is_streamed => Some(at + tick),
            Fate::Due => Some(now),
            Fate::Sent(_) | Fate::Streamed => None,
        };
        self.quick.iter().filter_map(repeat).min()
    }

    /// Appends messages up to `limit` bytes of the packet: the quickest, then by age.
    pub(crate) fn fill(&mut self, now: LocalTime, bytes: &mut Vec<u8>, limit: usize, items: &mut Vec<Item>) {
        let fits = |call: &Call, number: u64, bytes: &mut Vec<u8>| {
            let before = bytes.len();
            call.emit(number, bytes);
            let fits = bytes.len() <= limit;
            if !fits {
                bytes.truncate(before);
            }
            fits
        };
        let due: Vec<u64> = self.quick.iter().chain(self.due.difference(&self.quick)).copied().collect();
        for number in due {
            let Some(open) = self.open.get_mut(&number) else { continue };
            // One that left just now is in another packet of the same time.
            let is_under_way = match open.fate {
                Fate::Due => false,
                Fate::Sent(at) => at == now || self.is_streamed,
                Fate::Streamed => true,
            };
            if is_under_way {
                continue;
            }
            if fits(&open.call, number, bytes) {
                (open.fate, open.has_left) = (Fate::Sent(now), true);
                self.due.remove(&number);
                items.push(Item::Call(number));
            }
        }
        self.recent_due.retain(|key| {
            let Some(recent) = self.recent.get_mut(key) else { return false };
            let fits = fits(&recent.call, recent.version, bytes);
            if fits {
                recent.fate = Fate::Sent(now);
                items.push(Item::Recent { kind: key.0, party: key.1, version: recent.version });
            }
            !fits
        });
        while let Some(call) = self.loose.front() {
            if !fits(call, 0, bytes) {
                break;
            }
            self.loose.pop_front();
        }
    }
}

/// What one side has heard from the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallsIn {
    /// The next ordered message.
    pub(crate) ordered: u64,
    /// All unordered ones below have arrived,
    floor: u64,
    /// and these above it.
    seen: BTreeSet<u64>,
    recent: BTreeMap<(u16, Target), u64>,
}

impl CallsIn {
    /// Whether a message is to be handed to the game, once and in order.
    pub(crate) fn accept(&mut self, number: u64, call: &Call) -> bool {
        match call.delivery {
            Delivery::Unreliable => true,
            Delivery::ReliableOrdered => {
                let is_next = number == self.ordered;
                self.ordered += u64::from(is_next);
                is_next
            }
            Delivery::MostRecent => {
                if self.recent.len() >= RECENT_MAX && !self.recent.contains_key(&call.key()) {
                    return false;
                }
                let newest = self.recent.entry(call.key()).or_default();
                let is_new = number > *newest;
                *newest = number.max(*newest);
                is_new
            }
            Delivery::ReliableUnordered | Delivery::Quickest => {
                // No honest sender is further ahead.
                if number < self.floor || number >= self.floor + WINDOW || !self.seen.insert(number) {
                    return false;
                }
                while self.seen.remove(&self.floor) {
                    self.floor += 1;
                }
                true
            }
        }
    }
}

//! State changes: every author's, each once and in order, whoever brings them.
//!
//! A stream is what one author changed since it joined. Peers keep what they delivered, so that whoever missed something
//! while it was away, or because its author crashed while telling, gets it from anybody.

use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{LocalTime, Span};

use crate::control::{Known, STREAMS_MAX};
use crate::crypto::PublicKey;
use crate::proof::{Signed, Statement};

/// State changes kept of each stream; the oldest are forgotten.
const LOG_MAX: usize = 1_024;
/// State changes of a stream that wait for earlier ones. Beyond, later ones are dropped, and come again when asked for.
const EARLY_MAX: usize = 256;
/// How long a gap is waited for. Then whoever had it has forgotten it.
const GAP_MAX: Span = Span::from_secs(30);

/// What an author changed since it joined.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// The number of the next change to deliver.
    next: u64,
    /// The last ones delivered, up to `next`.
    log: VecDeque<Signed>,
    /// Changes that came before earlier ones.
    early: BTreeMap<u64, Signed>,
    /// Since when there are such.
    gap_since: Option<LocalTime>,
}

impl Stream {
    fn first(&self) -> u64 {
        self.next - self.log.len() as u64
    }

    fn keep(&mut self, signed: Signed) {
        self.next += 1;
        self.log.push_back(signed);
        if self.log.len() > LOG_MAX {
            self.log.pop_front();
        }
    }
}

/// What a state change turned out to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// It can be delivered, and whatever waited for it: take them with [`Streams::pop_ready`].
    Next,
    /// It is known already, or there is no room.
    Known,
    /// Earlier ones are missing: ask whoever sent it.
    Early,
    /// Its author signed another change with this number.
    Contradicted(Box<Signed>),
}

/// The state changes of all authors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    streams: BTreeMap<(PublicKey, u64), Stream>,
    ready: VecDeque<(PublicKey, Signed)>,
    pub(crate) lost: u64,
}

impl Streams {
    /// Takes a change whose signature is valid. `is_present` says whether an author takes part; others give way to them.
    pub(crate) fn take(
        &mut self,
        now: LocalTime,
        author: PublicKey,
        signed: Signed,
        is_present: impl Fn(&PublicKey) -> bool,
    ) -> Taken {
        let Statement::State { stream: name, number, .. } = signed.statement else { return Taken::Known };
        if !self.make_room((author, name), is_present) {
            return Taken::Known;
        }
        let stream = self.streams.entry((author, name)).or_default();
        let known = match number.checked_sub(stream.first()) {
            Some(place) if number < stream.next => {
                usize::try_from(place).ok().and_then(|at| stream.log.get(at))
            }
            Some(_) => stream.early.get(&number),
            None => return Taken::Known,
        };
        if let Some(known) = known {
            let is_same = known.statement == signed.statement;
            return if is_same { Taken::Known } else { Taken::Contradicted(Box::new(known.clone())) };
        }
        if number > stream.next {
            if stream.early.len() < EARLY_MAX {
                stream.early.insert(number, signed);
                stream.gap_since.get_or_insert(now);
            }
            return Taken::Early;
        }
        self.ready.push_back((author, signed.clone()));
        stream.keep(signed);
        stream.deliver_early(author, &mut self.ready);
        Taken::Next
    }

    fn make_room(&mut self, name: (PublicKey, u64), is_present: impl Fn(&PublicKey) -> bool) -> bool {
        if self.streams.contains_key(&name) || self.streams.len() < STREAMS_MAX {
            return true;
        }
        let absent = self.streams.keys().find(|(author, _)| !is_present(author)).copied();
        let Some(absent) = absent.filter(|_| is_present(&name.0)) else { return false };
        self.streams.remove(&absent);
        true
    }

    /// Keeps an own change, for those who will miss it.
    pub(crate) fn keep_own(&mut self, author: PublicKey, stream: u64, signed: Signed) {
        self.streams.entry((author, stream)).or_default().keep(signed);
    }

    /// The number of the next own change.
    pub(crate) fn next_own(&self, author: PublicKey, stream: u64) -> u64 {
        self.streams.get(&(author, stream)).map_or(0, |stream| stream.next)
    }

    pub(crate) fn pop_ready(&mut self) -> Option<(PublicKey, Signed)> {
        self.ready.pop_front()
    }

    /// How far each stream is known.
    pub(crate) fn known(&self) -> Vec<Known> {
        let known = |(name, stream): (&(PublicKey, u64), &Stream)| Known {
            author: name.0,
            stream: name.1,
            next: stream.next,
        };
        self.streams.iter().map(known).collect()
    }

    /// What somebody lacks who knows this much.
    pub(crate) fn beyond<'a>(&'a self, known: &'a [Known]) -> impl Iterator<Item = (PublicKey, &'a Signed)> {
        self.streams.iter().flat_map(move |((author, name), stream)| {
            let theirs = known.iter().find(|known| known.author == *author && known.stream == *name);
            let from = theirs.map_or(0, |known| known.next).saturating_sub(stream.first());
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            stream.log.iter().skip(from).map(|signed| (*author, signed))
        })
    }

    /// Gives up gaps that nobody fills. Returns whether there are any still to be asked for.
    pub(crate) fn review(&mut self, now: LocalTime) -> bool {
        let mut has_gap = false;
        for ((author, _), stream) in &mut self.streams {
            let Some(since) = stream.gap_since else { continue };
            if now - since >= GAP_MAX
                && let Some(number) = stream.early.keys().next().copied()
            {
                self.lost += number - stream.next;
                stream.next = number;
                stream.log.clear();
                stream.deliver_early(*author, &mut self.ready);
            }
            has_gap |= stream.gap_since.is_some();
        }
        has_gap
    }
}

impl Stream {
    fn deliver_early(&mut self, author: PublicKey, ready: &mut VecDeque<(PublicKey, Signed)>) {
        while let Some(signed) = self.early.remove(&self.next) {
            ready.push_back((author, signed.clone()));
            self.keep(signed);
        }
        if self.early.is_empty() {
            self.gap_since = None;
        }
    }
}

//! State changes: every author's, each once and in order, whoever brings them.
//!
//! A stream is what one author changed since it joined. Peers keep what they delivered, so that whoever missed something
//! while it was away, or because its author crashed while telling, gets it from anybody.

use std::collections::BTreeMap;

use evenkeel_core::LocalTime;

use crate::control::{Known, STREAMS_MAX};
use crate::crypto::{Chain, PublicKey};
use crate::proof::{Signed, Statement};

mod stream;

use stream::{Ready, Stream};

/// Streams kept of each author: it begins one whenever it comes back. Beyond, its oldest is forgotten.
const STREAMS_OF_AUTHOR_MAX: usize = 4;
/// Authors that are remembered to have given way to others. Beyond, no more do.
const DISPLACED_MAX: usize = 1_024;

/// The streams of one author.
#[derive(Clone, Debug, Default)]
struct Author {
    /// Streams below are forgotten, and not taken again: they would be delivered twice.
    floor: u64,
    streams: BTreeMap<u64, Stream>,
}

/// What a state change turned out to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// It can be delivered, and whatever waited for it: take them with [`Streams::pop_ready`].
    Next,
    /// It is known already.
    Known,
    /// There is no room for its stream.
    Refused,
    /// Earlier ones are missing: ask whoever sent it.
    Early,
    /// Its author signed another change with this number.
    Contradicted(Box<Signed>),
}

/// The state changes of all authors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    authors: BTreeMap<PublicKey, Author>,
    /// The floors of authors that gave way to others.
    displaced: BTreeMap<PublicKey, u64>,
    ready: Ready,
    pub(crate) lost: u64,
    pub(crate) refused: u64,
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
        if self.floor(&author) > name {
            return Taken::Known;
        }
        if !self.make_room(author, name, is_present) {
            self.refused += 1;
            return Taken::Refused;
        }
        let stream = self.stream_mut(author, name);
        if number < stream.first() {
            return Taken::Known;
        }
        if let Some(known) = stream.find(number) {
            let is_same = known.statement == signed.statement;
            return if is_same { Taken::Known } else { Taken::Contradicted(Box::new(known.clone())) };
        }
        if number > stream.next {
            stream.wait(now, number, signed);
            return Taken::Early;
        }
        let mut ready = std::mem::take(&mut self.ready);
        self.stream_mut(author, name).deliver(author, signed, &mut ready);
        self.ready = ready;
        Taken::Next
    }

    fn floor(&self, author: &PublicKey) -> u64 {
        let kept = self.authors.get(author).map(|author| author.floor);
        kept.or_else(|| self.displaced.get(author).copied()).unwrap_or(0)
    }

    fn stream_mut(&mut self, author: PublicKey, name: u64) -> &mut Stream {
        let floor = self.floor(&author);
        let author = self.authors.entry(author).or_insert_with(|| Author { floor, ..Author::default() });
        author.streams.entry(name).or_insert_with(Stream::beginning)
    }

    fn count(&self) -> usize {
        self.authors.values().map(|author| author.streams.len()).sum()
    }

    /// Makes room for a stream. Returns whether there is.
    fn make_room(&mut self, key: PublicKey, name: u64, is_present: impl Fn(&PublicKey) -> bool) -> bool {
        if let Some(author) = self.authors.get_mut(&key) {
            if author.streams.contains_key(&name) {
                return true;
            }
            if author.streams.len() >= STREAMS_OF_AUTHOR_MAX {
                return author.forget_before(name);
            }
        }
        if self.count() < STREAMS_MAX {
            return true;
        }
        let absent = self.authors.keys().find(|author| **author != key && !is_present(author)).copied();
        let Some(absent) = absent.filter(|_| is_present(&key)) else { return false };
        if self.displaced.len() >= DISPLACED_MAX {
            return false;
        }
        if let Some(author) = self.authors.remove(&absent) {
            let last = author.streams.keys().next_back().copied().unwrap_or(0);
            self.displaced.insert(absent, last.saturating_add(1));
        }
        true
    }

    /// Keeps an own change, for those who will miss it.
    pub(crate) fn keep_own(&mut self, author: PublicKey, name: u64, signed: &Signed) {
        self.stream_mut(author, name).keep(signed);
    }

    /// The number of the next own change.
    pub(crate) fn next_own(&self, author: PublicKey, name: u64) -> u64 {
        self.get(&author, name).map_or(0, |stream| stream.next)
    }

    fn get(&self, author: &PublicKey, name: u64) -> Option<&Stream> {
        self.authors.get(author)?.streams.get(&name)
    }

    fn iter(&self) -> impl Iterator<Item = (PublicKey, u64, &Stream)> {
        self.authors
            .iter()
            .flat_map(|(key, author)| author.streams.iter().map(|(name, stream)| (*key, *name, stream)))
    }

    pub(crate) fn pop_ready(&mut self) -> Option<(PublicKey, Signed)> {
        self.ready.pop_front()
    }

    /// How far each stream is known.
    pub(crate) fn known(&self) -> Vec<Known> {
        let known = |(author, name, stream): (PublicKey, u64, &Stream)| Known {
            author,
            stream: name,
            next: stream.next,
            chain: stream.chain.unwrap_or_default(),
        };
        self.iter().map(known).collect()
    }

    /// Whether somebody who knows a stream this far was told other changes.
    pub(crate) fn differs(&self, known: &Known) -> bool {
        let here = self.get(&known.author, known.stream).and_then(|stream| stream.chain_at(known.next));
        known.chain != Chain::default() && here.is_some_and(|here| here != known.chain)
    }

    /// The next changes that somebody lacks who knows this much, of about so many bytes together; notes that it has them.
    /// Nothing if it lacks none.
    pub(crate) fn beyond(&self, owed: &mut Vec<Known>, bytes: usize) -> Vec<(PublicKey, Signed)> {
        let (mut lacking, mut left) = (Vec::new(), bytes);
        for (author, name, stream) in self.iter() {
            let theirs = owed.iter().position(|known| known.author == author && known.stream == name);
            let from = theirs.map_or(0, |place| owed[place].next);
            // It has forgotten the oldest streams of an author of which it has as many as it keeps.
            let newer = owed.iter().filter(|known| known.author == author && known.stream > name).count();
            if theirs.is_none() && newer >= STREAMS_OF_AUTHOR_MAX {
                continue;
            }
            let skipped = usize::try_from(from.saturating_sub(stream.first())).unwrap_or(usize::MAX);
            let mut sent = 0;
            for (signed, _) in stream.log.iter().skip(skipped) {
                if left == 0 {
                    break;
                }
                left = left.saturating_sub(signed.size());
                sent += 1;
                lacking.push((author, signed.clone()));
            }
            let next = from.max(stream.first()) + sent;
            match theirs {
                Some(place) if sent > 0 => owed[place].next = next,
                None if sent > 0 && owed.len() < 2 * STREAMS_MAX => {
                    owed.push(Known { author, stream: name, next, chain: Chain::default() });
                }
                _ => {}
            }
        }
        lacking
    }

    /// Gives up gaps that nobody fills. Returns whether there are any still to be asked for.
    pub(crate) fn review(&mut self, now: LocalTime) -> bool {
        let mut has_gap = false;
        for (key, author) in &mut self.authors {
            for stream in author.streams.values_mut() {
                let lost = stream.give_up_gap(now, *key, &mut self.ready);
                self.lost = self.lost.saturating_add(lost);
                has_gap |= stream.has_gap();
            }
        }
        has_gap
    }
}

impl Author {
    /// Forgets its oldest stream for a newer one. Returns whether it is newer.
    fn forget_before(&mut self, name: u64) -> bool {
        let is_newer = self.streams.keys().next().is_some_and(|oldest| *oldest < name);
        if is_newer && let Some((oldest, _)) = self.streams.pop_first() {
            self.floor = oldest.saturating_add(1);
        }
        is_newer
    }
}

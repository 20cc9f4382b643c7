//! One stream: what its author changed since it joined, in order.

use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{LocalTime, Span, Wire};

use crate::crypto::{Chain, PublicKey, link};
use crate::proof::Signed;

/// State changes kept of each stream; the oldest are forgotten.
const LOG_MAX: usize = 1_024;
/// State changes of a stream that wait for earlier ones. Beyond, the furthest are dropped, and come again when asked for.
const EARLY_MAX: usize = 256;
/// How long a gap is waited for. Then whoever had it has forgotten it.
const GAP_MAX: Span = Span::from_secs(30);

/// Changes that can be delivered.
pub(super) type Ready = VecDeque<(PublicKey, Signed)>;

/// What an author changed since it joined.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    /// The number of the next change to deliver.
    pub(super) next: u64,
    /// What all changes before `next` were; absent if some were lost here.
    pub(super) chain: Option<Chain>,
    /// The last ones delivered, up to `next`, each with the chain that ends with it.
    pub(super) log: VecDeque<(Signed, Option<Chain>)>,
    /// Changes that came before earlier ones.
    early: BTreeMap<u64, Signed>,
    /// Since when there are such.
    gap_since: Option<LocalTime>,
}

impl Stream {
    pub(super) fn beginning() -> Self {
        Self { chain: Some(Chain::START), ..Self::default() }
    }

    pub(super) fn first(&self) -> u64 {
        self.next - self.log.len() as u64
    }

    pub(super) fn keep(&mut self, signed: &Signed) {
        let mut bytes = Vec::new();
        signed.statement.emit(&mut bytes);
        self.next += 1;
        self.chain = self.chain.map(|chain| link(chain, &bytes));
        self.log.push_back((signed.clone(), self.chain));
        if self.log.len() > LOG_MAX {
            self.log.pop_front();
        }
    }

    /// The chain of the changes before this number, if it is known here.
    pub(super) fn chain_at(&self, next: u64) -> Option<Chain> {
        let place = usize::try_from(next.checked_sub(1)?.checked_sub(self.first())?).ok()?;
        self.log.get(place)?.1
    }

    /// The change with this number, if it is kept here.
    pub(super) fn find(&self, number: u64) -> Option<&Signed> {
        if number >= self.next {
            return self.early.get(&number);
        }
        let place = usize::try_from(number.checked_sub(self.first())?).ok()?;
        self.log.get(place).map(|(known, _)| known)
    }

    /// Keeps a change that came before earlier ones.
    pub(super) fn wait(&mut self, now: LocalTime, number: u64, signed: Signed) {
        self.early.insert(number, signed);
        if self.early.len() > EARLY_MAX {
            self.early.pop_last();
        }
        self.gap_since.get_or_insert(now);
    }

    pub(super) const fn has_gap(&self) -> bool {
        self.gap_since.is_some()
    }

    /// Goes on beyond a gap that nobody has filled. Returns how many changes are lost.
    pub(super) fn give_up_gap(&mut self, now: LocalTime, author: PublicKey, ready: &mut Ready) -> u64 {
        let Some(number) = self.early.keys().next().copied() else { return 0 };
        if self.gap_since.is_none_or(|since| now - since < GAP_MAX) {
            return 0;
        }
        let lost = number - self.next;
        self.next = number;
        self.chain = None;
        self.log.clear();
        self.deliver_early(author, ready);
        lost
    }

    /// Delivers the next change, and what waited for it.
    pub(super) fn deliver(&mut self, author: PublicKey, signed: Signed, ready: &mut Ready) {
        self.keep(&signed);
        ready.push_back((author, signed));
        self.deliver_early(author, ready);
    }

    fn deliver_early(&mut self, author: PublicKey, ready: &mut Ready) {
        while let Some(signed) = self.early.remove(&self.next) {
            self.keep(&signed);
            ready.push_back((author, signed));
        }
        if self.early.is_empty() {
            self.gap_since = None;
        }
    }
}

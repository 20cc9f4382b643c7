//! The vector that a receiver shows, and the state that few accounts have. A shown vector is stored in the history, unless it
//! differs from the exported one.

use std::collections::VecDeque;

use super::{Account, AccountMut, Dispatch, Presumed};
use crate::ledger::cursor::{Cursor, Point, Walk};
use crate::ledger::exported_path::ExportedPath;
use crate::motion::vector::{DrSeq, DrVector, MotionKind};

/// The kinds of motion as which a receiver is sent vectors; `None` means as exported.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct KindCut {
    before: Option<MotionKind>,
    from: DrSeq,
    after: Option<MotionKind>,
}

/// State that few accounts have.
#[derive(Clone, Debug, Default)]
pub(in crate::ledger) struct RareState {
    held: Option<Dispatch>,
    cut: KindCut,
    /// The settled error at the generation of each exported vector, from the placed one on. Only some policies need it.
    pub(super) marks: Option<VecDeque<(DrSeq, f64)>>,
    /// Where estimates begin while a long stretch is unsettled.
    presumed: Option<Box<Presumed>>,
    /// The placed vector, if it is not the one in the history.
    own: Option<Box<DrVector>>,
}

impl RareState {
    fn is_bare(&self) -> bool {
        let Self { held, cut, marks, presumed, own } = self;
        let bare = held.is_none() && marks.is_none() && presumed.is_none() && own.is_none();
        bare && *cut == KindCut::default()
    }
}

impl Account<'_> {
    pub(super) fn cut(&self) -> KindCut {
        self.rare().map_or_else(KindCut::default, |rare| rare.cut)
    }

    pub(super) fn presumed(&self) -> Option<&Presumed> {
        self.rare()?.presumed.as_deref()
    }

    fn own(&self) -> Option<&DrVector> {
        self.rare()?.own.as_deref()
    }

    pub(crate) fn held(&self) -> Option<Dispatch> {
        self.rare()?.held
    }

    /// Up to where the error is settled, with the vector that is placed there.
    pub(crate) fn cursor(&self, history: &ExportedPath) -> Option<Cursor> {
        let Point { at, exported, placed } = self.point(history)?;
        let (vector, error) = (self.shown(history, placed), self.settled_error());
        Some(Cursor { at, exported, placed, vector, error })
    }

    /// A settlement's walk from where the error is settled; `None` before the first arrival.
    pub(super) fn walk_from_settled(&self, history: &ExportedPath, is_plain: bool) -> Option<Walk> {
        if is_plain { self.point(history).map(Walk::Plain) } else { self.cursor(history).map(Walk::Own) }
    }

    pub(super) fn shown(&self, history: &ExportedPath, placed: DrSeq) -> DrVector {
        match self.own() {
            Some(own) => *own,
            // The history keeps every vector that some receiver shows, so it is never missing.
            None => history.shown(placed).map_or(*history.newest().1, |vector| self.as_sent(placed, vector)),
        }
    }

    /// The number of the vector that is placed, if it is one of the history.
    pub(crate) fn shows(&self) -> Option<DrSeq> {
        (self.settled().is_some() && self.own().is_none()).then(|| self.placed_number())
    }

    pub(crate) fn as_sent(&self, seq: DrSeq, vector: &DrVector) -> DrVector {
        DrVector { kind: self.kind_as_sent(seq, vector.kind), ..*vector }
    }

    #[inline]
    pub(crate) fn kind_as_sent(&self, seq: DrSeq, kind: MotionKind) -> MotionKind {
        let KindCut { before, from, after } = self.cut();
        (if seq < from { before } else { after }).unwrap_or(kind)
    }
}

impl AccountMut<'_> {
    pub(super) fn rare(&mut self) -> &mut RareState {
        self.pairs.sparse.rare.entry(self.link).or_default()
    }

    /// Sets or clears a field of the rare state.
    pub(super) fn set_rare(&mut self, is_set: bool, set: impl FnOnce(&mut RareState)) {
        if is_set || self.read().rare().is_some() {
            set(self.rare());
            if self.rare().is_bare() {
                self.pairs.sparse.rare.remove(&self.link);
            }
        }
    }

    pub(super) fn set_presumed(&mut self, presumed: Option<Presumed>) {
        self.set_rare(presumed.is_some(), |rare| rare.presumed = presumed.map(Box::new));
    }

    fn set_own(&mut self, vector: Option<DrVector>) {
        self.set_rare(vector.is_some(), |rare| rare.own = vector.map(Box::new));
    }

    /// Holds a vector until its time, in place of another, or none.
    pub(crate) fn hold(&mut self, dispatch: Option<Dispatch>) {
        self.set_rare(dispatch.is_some(), |rare| rare.held = dispatch);
    }

    /// Stores the vector placed by a cursor, unless the history has an identical one.
    pub(super) fn set_own_unless_shared(&mut self, cursor: &Cursor, history: &ExportedPath) {
        let shared = history.shown(cursor.placed).map(|vector| self.read().as_sent(cursor.placed, vector));
        self.set_own(Some(cursor.vector).filter(|vector| shared != Some(*vector)));
    }

    pub(super) fn marks_mut(&mut self) -> Option<&mut VecDeque<(DrSeq, f64)>> {
        self.pairs.sparse.rare.get_mut(&self.link)?.marks.as_mut()
    }

    /// Sends the receiver vectors as a kind from this one on, which has not been sent yet; unless the fate of vectors from
    /// before the last change is still unknown.
    pub(crate) fn tailor(&mut self, history: &ExportedPath, seq: DrSeq, kind: MotionKind) {
        let account = self.read();
        let KindCut { before, from, after } = account.cut();
        let sent = account.last_sent().map(|dispatch| dispatch.seq);
        let pending = account.dispatches().filter(|d| account.is_news(d.seq)).map(|d| d.seq);
        let settled = pending.chain(account.arrivals().map(|(seq, _)| seq)).all(|seq| seq >= from);
        if after == Some(kind) || !settled || sent >= Some(seq) {
            return;
        }
        // The last kind need not be remembered if nothing was sent as it.
        let before = if sent < Some(from) { before } else { after };
        if account.settled().is_some() && account.own().is_none() {
            let shown = account.shown(history, account.placed_number());
            self.set_own(Some(shown));
        }
        self.rare().cut = KindCut { before, from: seq, after: Some(kind) };
    }
}

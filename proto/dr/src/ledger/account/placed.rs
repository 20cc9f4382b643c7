//! What a receiver shows, and what few accounts have. There are very many accounts: a vector that many receivers show is in the
//! history and nowhere else, and what is rare takes no room.

use std::collections::VecDeque;

use super::{Account, AccountMut, Dispatch, Presumed};
use crate::history::History;
use crate::ledger::cursor::{Cursor, Settled};
use crate::vector::{DrSeq, DrVector, MotionKind};

/// As which kinds of motion a receiver is sent vectors; `None`: as they were exported.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct Cut {
    before: Option<MotionKind>,
    /// From this number on.
    from: DrSeq,
    after: Option<MotionKind>,
}

/// What few accounts have.
#[derive(Clone, Debug, Default)]
pub(in crate::ledger) struct Rare {
    held: Option<Dispatch>,
    /// As which kinds it is sent vectors.
    cut: Cut,
    /// The settled error at the generation of each exported vector, from the placed one on. Only some policies ask for it.
    pub(super) marks: Option<VecDeque<(DrSeq, f64)>>,
    /// Where estimates begin while very much is unsettled: what was expected then is not walked along again.
    presumed: Option<Box<Presumed>>,
    /// The vector that is placed, if it is not the one in the history.
    own: Option<Box<DrVector>>,
}

impl Rare {
    fn is_bare(&self) -> bool {
        let Self { held, cut, marks, presumed, own } = self;
        let bare = held.is_none() && marks.is_none() && presumed.is_none() && own.is_none();
        bare && *cut == Cut::default()
    }
}

impl Account<'_> {
    pub(super) fn cut(&self) -> Cut {
        self.rare().map_or_else(Cut::default, |rare| rare.cut)
    }

    pub(super) fn presumed(&self) -> Option<&Presumed> {
        self.rare()?.presumed.as_deref()
    }

    fn own(&self) -> Option<&DrVector> {
        self.rare()?.own.as_deref()
    }

    /// The vector that waits for its time.
    pub(crate) fn held(&self) -> Option<Dispatch> {
        self.rare()?.held
    }

    /// Where the error is settled, with the vector that is placed there.
    pub(crate) fn cursor(&self, history: &History) -> Option<Cursor> {
        let Settled { at, exported, placed } = self.point(history)?;
        let (vector, error) = (self.shown(history, placed), self.settled_error());
        Some(Cursor { at, exported, placed, vector, error })
    }

    /// The vector that is placed.
    pub(super) fn shown(&self, history: &History, placed: DrSeq) -> DrVector {
        match self.own() {
            Some(own) => *own,
            // It can't be missing: the history is told who shows what before it gives anything up.
            None => history.shown(placed).map_or(*history.newest().1, |vector| self.as_sent(placed, vector)),
        }
    }

    /// The number of the vector that is placed, if it is one of the history.
    pub(crate) fn shows(&self) -> Option<DrSeq> {
        (self.settled().is_some() && self.own().is_none()).then(|| self.placed_number())
    }

    /// A vector as the receiver is sent it.
    pub(crate) fn as_sent(&self, seq: DrSeq, vector: &DrVector) -> DrVector {
        DrVector { kind: self.kind_as_sent(seq, vector.kind), ..*vector }
    }

    /// As which kind the receiver is sent a vector of this one.
    #[inline]
    pub(crate) fn kind_as_sent(&self, seq: DrSeq, kind: MotionKind) -> MotionKind {
        let Cut { before, from, after } = self.cut();
        (if seq < from { before } else { after }).unwrap_or(kind)
    }
}

impl AccountMut<'_> {
    pub(super) fn rare(&mut self) -> &mut Rare {
        self.pairs.few.rare.entry(self.link)
    }

    fn has_rare(&self) -> bool {
        self.read().rare().is_some()
    }

    /// Gives the room back if nothing is in it.
    pub(super) fn tidy(&mut self) {
        self.pairs.few.rare.clear_if(self.link, Rare::is_bare);
    }

    pub(super) fn set_presumed(&mut self, presumed: Option<Presumed>) {
        if presumed.is_some() || self.has_rare() {
            self.rare().presumed = presumed.map(Box::new);
            self.tidy();
        }
    }

    fn set_own(&mut self, vector: Option<DrVector>) {
        if vector.is_some() || self.has_rare() {
            let own = &mut self.rare().own;
            match (own.as_deref_mut(), vector) {
                (Some(own), Some(vector)) => *own = vector,
                (_, vector) => *own = vector.map(Box::new),
            }
            self.tidy();
        }
    }

    /// Another one waits for its time, or none.
    pub(crate) fn hold(&mut self, dispatch: Option<Dispatch>) {
        if dispatch.is_some() || self.has_rare() {
            self.rare().held = dispatch;
            self.tidy();
        }
    }

    pub(super) fn set_cursor(&mut self, cursor: &Cursor, history: &History) {
        self.set_point(Settled::new(cursor));
        self.folio().set_settled_error(cursor.error);
        let shared = history.shown(cursor.placed).map(|vector| self.read().as_sent(cursor.placed, vector));
        self.set_own(Some(cursor.vector).filter(|vector| shared != Some(*vector)));
    }

    /// Keeps the vector that is placed.
    fn keep_own(&mut self, history: &History, placed: DrSeq) {
        if self.read().own().is_none() {
            self.set_own(Some(self.read().shown(history, placed)));
        }
    }

    pub(super) fn marks_mut(&mut self) -> Option<&mut VecDeque<(DrSeq, f64)>> {
        self.pairs.few.rare.get_mut(self.link)?.marks.as_mut()
    }

    /// From this vector on, which has not been sent yet, the receiver is sent such a kind; unless it is still unknown what
    /// has become of vectors from before the last change.
    pub(crate) fn tailor(&mut self, history: &History, seq: DrSeq, kind: MotionKind) {
        let account = self.read();
        let Cut { before, from, after } = account.cut();
        let sent = account.last_sent().map(|dispatch| dispatch.seq);
        let pending = account.dispatches().filter(|d| account.is_news(d.seq)).map(|d| d.seq);
        let settled = pending.chain(account.arrivals().map(|(seq, _)| seq)).all(|seq| seq >= from);
        if after == Some(kind) || !settled || sent >= Some(seq) {
            return;
        }
        // What was never sent in the last kind does not need to be remembered in it.
        let before = if sent < Some(from) { before } else { after };
        if account.settled().is_some() {
            let placed = account.placed_number();
            self.keep_own(history, placed);
        }
        self.rare().cut = Cut { before, from: seq, after: Some(kind) };
        self.change();
    }
}

//! What an account keeps of its last answers. Few accounts are asked: it takes no room of its own.

use core::cell::Cell;
use core::fmt;

use super::{Memo, Resume};
use crate::ledger::cursor::Cursor;

/// What was answered.
#[derive(Clone, Debug, Default)]
struct Answers {
    memo: Option<Box<Memo>>,
    resume: Option<Resume>,
}

/// The last answers, if there were any; whoever only asks can put them in place.
#[derive(Default)]
pub(super) struct Asked(Cell<Option<Box<Answers>>>);

impl Asked {
    fn read<T>(&self, read: impl FnOnce(&Answers) -> Option<T>) -> Option<T> {
        let answers = self.0.take()?;
        let value = read(&answers);
        self.0.set(Some(answers));
        value
    }

    fn write(&self, write: impl FnOnce(&mut Answers)) {
        let mut answers = self.0.take().unwrap_or_default();
        write(&mut answers);
        self.0.set(Some(answers));
    }

    /// The estimate that was made under what is asked for.
    pub(super) fn estimate(&self, is_it: impl FnOnce(&Memo) -> bool) -> Option<Cursor> {
        self.read(|answers| answers.memo.as_deref().filter(|memo| is_it(memo)).map(|memo| memo.cursor))
    }

    pub(super) fn keep_estimate(&self, memo: Memo) {
        self.write(|answers| match answers.memo.as_deref_mut() {
            Some(place) => *place = memo,
            None => answers.memo = Some(Box::new(memo)),
        });
    }

    /// Where a look can go on from.
    pub(super) fn resume(&self) -> Option<Resume> {
        self.read(|answers| answers.resume)
    }

    pub(super) fn keep_resume(&self, resume: Resume) {
        self.write(|answers| answers.resume = Some(resume));
    }

    /// The next look does not go on from this one.
    pub(super) fn forget_resume(&self) {
        if let Some(mut answers) = self.0.take() {
            answers.resume = None;
            self.0.set(Some(answers));
        }
    }

    /// The last estimate is void.
    pub(super) fn forget_estimate(&mut self) {
        if let Some(answers) = self.0.get_mut() {
            answers.memo = None;
        }
    }

    /// All answers are void.
    pub(super) fn forget(&mut self) {
        if let Some(answers) = self.0.get_mut() {
            (answers.memo, answers.resume) = (None, None);
        }
    }
}

impl Clone for Asked {
    fn clone(&self) -> Self {
        Self(Cell::new(self.read(|answers| Some(Box::new(answers.clone())))))
    }
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read(|answers| Some(answers.clone())).fmt(f)
    }
}

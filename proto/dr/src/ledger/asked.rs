//! What accounts keep of their last answers. Few are asked, and those who only ask can put answers in place.

use core::cell::RefCell;

use super::account::{Memo, Resume};
use super::cursor::Cursor;

/// What was answered.
#[derive(Clone, Debug, Default)]
struct Answers {
    memo: Option<Box<Memo>>,
    resume: Option<Resume>,
}

/// The last answers by the places of the receivers, if there were any.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked(
    // Boxed: most that are there are of those who were never asked.
    #[allow(clippy::vec_box)] RefCell<Vec<Option<Box<Answers>>>>,
);

impl Asked {
    fn read<T>(&self, link: u32, read: impl FnOnce(&Answers) -> Option<T>) -> Option<T> {
        self.0.borrow().get(link as usize)?.as_deref().and_then(read)
    }

    fn write(&self, link: u32, write: impl FnOnce(&mut Answers)) {
        let (mut all, place) = (self.0.borrow_mut(), link as usize);
        if all.len() <= place {
            all.resize_with(place + 1, || None);
        }
        write(all[place].get_or_insert_default());
    }

    /// The estimate that was made under what is asked for.
    pub(super) fn estimate(&self, link: u32, is_it: impl FnOnce(&Memo) -> bool) -> Option<Cursor> {
        self.read(link, |answers| answers.memo.as_deref().filter(|memo| is_it(memo)).map(|memo| memo.cursor))
    }

    pub(super) fn keep_estimate(&self, link: u32, memo: Memo) {
        self.write(link, |answers| match answers.memo.as_deref_mut() {
            Some(place) => *place = memo,
            None => answers.memo = Some(Box::new(memo)),
        });
    }

    /// Where a look can go on from.
    pub(super) fn resume(&self, link: u32) -> Option<Resume> {
        self.read(link, |answers| answers.resume)
    }

    pub(super) fn keep_resume(&self, link: u32, resume: Resume) {
        self.write(link, |answers| answers.resume = Some(resume));
    }

    /// The next look does not go on from this one.
    pub(super) fn forget_resume(&self, link: u32) {
        if let Some(Some(answers)) = self.0.borrow_mut().get_mut(link as usize) {
            answers.resume = None;
        }
    }

    /// The last estimate is void.
    pub(super) fn forget_estimate(&mut self, link: u32) {
        if let Some(Some(answers)) = self.0.get_mut().get_mut(link as usize) {
            answers.memo = None;
        }
    }

    /// All answers are void.
    pub(super) fn forget(&mut self, link: u32) {
        if let Some(Some(answers)) = self.0.get_mut().get_mut(link as usize) {
            (answers.memo, answers.resume) = (None, None);
        }
    }
}

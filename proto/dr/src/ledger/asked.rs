//! What accounts keep of their last answers. Few are asked, and those who only ask can put answers in place.

use core::cell::{Cell, RefCell};
use core::mem::offset_of;

use super::account::{Memo, Resume};
use super::cursor::Cursor;

/// What was answered.
#[derive(Clone, Debug, Default)]
struct Answers {
    memo: Option<Memo>,
    resume: Option<Resume>,
}

impl Answers {
    const fn are_void(&self) -> bool {
        self.memo.is_none() && self.resume.is_none()
    }
}

/// The last answers by the places of the receivers, if there were any.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Asked {
    /// How many there are. Mostly none, and whoever is to forget them need not look for them.
    count: Cell<u32>,
    // Boxed: most that are there are of those who were never asked.
    #[allow(clippy::vec_box)]
    all: RefCell<Vec<Option<Box<Answers>>>>,
}

impl Asked {
    /// Where that ends which tells that there are none.
    pub(super) const NEEDED_END: usize = offset_of!(Self, all);

    fn read<T>(&self, link: u32, read: impl FnOnce(&Answers) -> Option<T>) -> Option<T> {
        self.all.borrow().get(link as usize)?.as_deref().and_then(read)
    }

    fn write(&self, link: u32, write: impl FnOnce(&mut Answers)) {
        let (mut all, place) = (self.all.borrow_mut(), link as usize);
        if all.len() <= place {
            all.resize_with(place + 1, || None);
        }
        self.count.update(|count| count + u32::from(all[place].is_none()));
        write(all[place].get_or_insert_default());
    }

    /// Forgets something, and gives the room back if nothing is left.
    #[inline]
    fn strike(&self, link: u32, strike: impl FnOnce(&mut Answers)) {
        if self.count.get() > 0
            && let Some(place) = self.all.borrow_mut().get_mut(link as usize)
            && let Some(answers) = place
        {
            strike(answers);
            if answers.are_void() {
                *place = None;
                self.count.update(|count| count - 1);
            }
        }
    }

    /// The estimate that was made under what is asked for.
    pub(super) fn estimate(&self, link: u32, is_it: impl FnOnce(&Memo) -> bool) -> Option<Cursor> {
        self.read(link, |answers| answers.memo.as_ref().filter(|memo| is_it(memo)).map(|memo| memo.cursor))
    }

    pub(super) fn keep_estimate(&self, link: u32, memo: Memo) {
        self.write(link, |answers| answers.memo = Some(memo));
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
        self.strike(link, |answers| answers.resume = None);
    }

    /// The last estimate is void.
    pub(super) fn forget_estimate(&mut self, link: u32) {
        self.strike(link, |answers| answers.memo = None);
    }

    /// All answers are void.
    #[inline]
    pub(super) fn forget(&mut self, link: u32) {
        self.strike(link, |answers| *answers = Answers::default());
    }
}

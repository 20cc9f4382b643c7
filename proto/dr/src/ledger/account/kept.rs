//! What an account keeps of its last answers. Few accounts have any: it takes no room of its own.

use core::cell::Cell;
use core::fmt;

/// Something, or nothing, that can be put in place by whoever only asks.
pub(super) struct Kept<T>(Cell<Option<Box<T>>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Cell::new(None))
    }
}

impl<T: Copy> Kept<T> {
    /// What is kept.
    pub(super) fn get(&self) -> Option<T> {
        let kept = self.0.take();
        let value = kept.as_deref().copied();
        self.0.set(kept);
        value
    }

    /// Keeps something else, in the same room if there is some.
    pub(super) fn set(&self, value: T) {
        let mut kept = self.0.take();
        match kept.as_deref_mut() {
            Some(place) => *place = value,
            None => kept = Some(Box::new(value)),
        }
        self.0.set(kept);
    }

    /// Keeps nothing.
    pub(super) fn clear(&self) {
        self.0.set(None);
    }
}

impl<T: Copy> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self(Cell::new(self.get().map(Box::new)))
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

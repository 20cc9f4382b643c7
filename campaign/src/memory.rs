//! The memory that a game holds, counted by the allocator.

// Implementing an allocator takes unsafe code.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    // A game runs on one thread. Neither cell needs a destructor, so the allocator may use them at any time.
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: i64) {
    let held = HELD.get() + bytes;
    HELD.set(held);
    if held > PEAK.get() {
        PEAK.set(held);
    }
}

// SAFETY: every call is forwarded to the system allocator. Counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller upholds the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller upholds the same contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Begins a count: returns what this thread holds now.
pub(crate) fn mark() -> i64 {
    let held = HELD.get();
    PEAK.set(held);
    held
}

/// The most that this thread has held since a mark, beyond what it held then.
pub(crate) fn peak_since(mark: i64) -> i64 {
    PEAK.get() - mark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_freed_still_counts_for_the_peak() {
        let before = mark();
        drop(vec![0_u8; 100_000]);
        let held = vec![0_u8; 10];
        assert!((100_000..110_000).contains(&peak_since(before)));
        drop(held);
    }
}

//! Prefetches memory. What an acknowledgment or a look reads lies far apart, so what a whole message or tick reads is prefetched
//! first. Results do not depend on it.

// A prefetch takes any address, which the compiler can't check.
#![allow(unsafe_code)]

/// Bytes per cache line.
pub(crate) const LINE: usize = 64;

/// Prefetches this many cache lines from the beginning of a value on.
#[inline(always)]
pub(crate) fn prefetch<const LINES: usize, T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..LINES {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = core::ptr::from_ref(value).cast::<i8>().wrapping_add(LINE * line);
        // SAFETY: a prefetch is no access, so any address will do, and every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

//! Prefetches memory. What one acknowledgment needs is scattered, and waiting for memory would take most of its time,
//! so everything that a whole message needs is requested first. Only timing depends on it.

// The intrinsic takes a raw pointer, which the compiler cannot check.
#![allow(unsafe_code)]

/// The size of a cache line in bytes.
pub(crate) const CACHE_LINE: usize = 64;

/// Prefetches the first `LINES` cache lines of a value, without waiting for them.
#[inline(always)]
pub(crate) fn prefetch<const LINES: usize, T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..LINES {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = core::ptr::from_ref(value).cast::<i8>().wrapping_add(CACHE_LINE * line);
        // SAFETY: a prefetch is a hint and no access: it is valid for any address, and every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
    }
    // Other processors load what they need when they need it.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

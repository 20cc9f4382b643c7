//! Asks for memory ahead. What an acknowledgment needs lies far apart, and to wait for it is most of what one would take: so what all of
//! a message need is asked for first. Nothing depends on it but time.

// To ask takes any address, and so the compiler can't check it.
#![allow(unsafe_code)]

/// So many bytes come from memory together.
pub(crate) const LINE: usize = 64;

/// So many lines from where a value begins will be needed. Nobody waits for them.
#[inline(always)]
pub(crate) fn prefetch<const LINES: usize, T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..LINES {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = core::ptr::from_ref(value).cast::<i8>().wrapping_add(LINE * line);
        // SAFETY: this is no access: it is right for any address, and every processor of this kind has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
    }
    // Others find what they need when they need it.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

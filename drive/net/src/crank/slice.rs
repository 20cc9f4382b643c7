//! Short turns on the processor, for a thread that must be on time.
//!
//! Where more threads want to run than there are cores, the scheduler of Linux (6.12 and later) lets a thread that asks
//! for short turns go before others that have had as much: it gets no more of the processor, only sooner. Nobody needs a
//! privilege to ask. Elsewhere nothing is asked, and deadlines are as late as the system makes them.

#![allow(unsafe_code)]

/// The shortest turn that may be asked for, in nanoseconds.
#[cfg(target_os = "linux")]
const TURN_NANOS: u64 = 100_000;

/// Asks for short turns for this thread. `false`: the system does not grant them, or it runs in a class of its own.
#[cfg(target_os = "linux")]
pub(super) fn ask_for_short_turns() -> bool {
    let len = size_of::<libc::sched_attr>();
    let mut attributes = libc::sched_attr {
        size: len as u32,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: 0 is this thread; the kernel writes at most `len` bytes, which is what the structure has.
    let got =
        unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, len as libc::c_uint, 0) };
    if got != 0 || attributes.sched_policy != libc::SCHED_OTHER as u32 {
        return false;
    }
    attributes.sched_runtime = TURN_NANOS;
    // SAFETY: 0 is this thread; the kernel reads `size` bytes, which is what the structure has.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) == 0 }
}

/// There is nothing to ask for.
#[cfg(not(target_os = "linux"))]
pub(super) const fn ask_for_short_turns() -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn who_asks_has_short_turns_and_its_old_class() {
        // A sandbox may forbid it; then nothing has changed.
        let granted = ask_for_short_turns();
        let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux tells of threads");
        let (_, fields) = stat.rsplit_once(')').expect("a name in parentheses");
        let policy = fields.split_whitespace().nth(38).expect("the 41st field");
        assert_eq!(policy, "0", "granted: {granted}");
    }
}

//! A process's memory and processor time, from Linux's `/proc`. Other systems give none.

use std::time::Duration;

/// The unit of processor times in `/proc`, the same on every Linux.
const TICKS_PER_SECOND: u64 = 100;

/// The resources that a process uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Usage {
    /// Resident memory, in bytes.
    pub(crate) memory: u64,
    /// Processor time of all threads since the start.
    pub(crate) cpu: Duration,
}

/// Reads the usage of a process; `None` if it has ended, or there is no `/proc`.
pub(crate) fn usage(process: u32) -> Option<Usage> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(Usage { memory: memory(&status)?, cpu: cpu(&stat)? })
}

fn memory(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Counts fields from the closing bracket of the second one: that is a name, which may hold spaces and brackets.
fn cpu(stat: &str) -> Option<Duration> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_linux_writes() {
        assert_eq!(memory("Name:\tx\nVmRSS:\t  1024 kB\nThreads:\t3\n"), Some(1024 * 1024));
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 20 0 0 0 150 50 0 0 20 0 3 0 99 1 2";
        assert_eq!(cpu(stat), Some(Duration::from_secs(2)));
    }
}

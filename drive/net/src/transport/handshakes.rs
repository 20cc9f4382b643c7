//! Limits on handshakes in progress, in total and per address, so that no address can take all slots.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::limits::Limits;

/// HandshakeCounts handshakes in progress. Clones share the counts.
#[derive(Clone, Debug)]
pub(super) struct HandshakeLimiter {
    limits: Limits,
    counts: Arc<Mutex<HandshakeCounts>>,
}

#[derive(Debug, Default)]
struct HandshakeCounts {
    total: usize,
    /// Only addresses with a handshake in progress, which bounds the map.
    by_address: BTreeMap<IpAddr, usize>,
}

/// A handshake in progress; ends on drop.
#[derive(Debug)]
pub(super) struct Handshake {
    address: Option<IpAddr>,
    counts: Arc<Mutex<HandshakeCounts>>,
}

impl HandshakeLimiter {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, counts: Arc::default() }
    }

    /// Whether half the total limit or half of this address's limit is in use, so that the next client has to prove its
    /// address first. Otherwise others could use up an address's share by spoofing it.
    pub(super) fn is_busy(&self, address: IpAddr) -> bool {
        let (counts, limits) = (lock(&self.counts), &self.limits);
        let from_address = counting_key(address).and_then(|address| counts.by_address.get(&address));
        let is_half = |count: usize, max: usize| count * 2 > max;
        is_half(counts.total, limits.handshakes_max)
            || from_address.is_some_and(|count| is_half(*count, limits.handshakes_per_address_max))
    }

    /// Begins a handshake; `None` if a limit is reached.
    pub(super) fn begin(&self, address: IpAddr) -> Option<Handshake> {
        let mut counts = lock(&self.counts);
        if counts.total >= self.limits.handshakes_max {
            return None;
        }
        let address = counting_key(address);
        if let Some(address) = address {
            let before = counts.by_address.get(&address).copied().unwrap_or(0);
            if before >= self.limits.handshakes_per_address_max {
                return None;
            }
            counts.by_address.insert(address, before + 1);
        }
        counts.total += 1;
        Some(Handshake { address, counts: self.counts.clone() })
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        counts.total -= 1;
        if let Some(address) = self.address
            && let Some(count) = counts.by_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                counts.by_address.remove(&address);
            }
        }
    }
}

fn lock(counts: &Mutex<HandshakeCounts>) -> MutexGuard<'_, HandshakeCounts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the key by which an address is counted: an IPv6 address by its /64, which belongs to one customer. Loopback is
/// not counted, because hundreds of bots connect from there at once, and local programs have simpler ways to do harm.
fn counting_key(address: IpAddr) -> Option<IpAddr> {
    match address.to_canonical() {
        address if address.is_loopback() => None,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Some(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into())
        }
        address => Some(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshakes() -> HandshakeLimiter {
        HandshakeLimiter::new(Limits {
            handshakes_max: 100,
            handshakes_per_address_max: 8,
            ..Limits::default()
        })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn begin(handshakes: &HandshakeLimiter, from: &str, count: usize) -> Vec<Handshake> {
        (0..count).filter_map(|_| handshakes.begin(address(from))).collect()
    }

    #[test]
    fn one_address_cannot_lock_the_others_out() {
        let handshakes = handshakes();
        let stalled = begin(&handshakes, "192.0.2.1", 1_000);
        assert_eq!(stalled.len(), 8);
        assert_eq!(begin(&handshakes, "::ffff:192.0.2.1", 1).len(), 0, "the same address");
        assert_eq!(begin(&handshakes, "192.0.2.2", 3).len(), 3);
        drop(stalled);
        assert_eq!(begin(&handshakes, "192.0.2.1", 8).len(), 8);
    }

    #[test]
    fn an_ipv6_network_of_one_customer_counts_as_one_address() {
        let handshakes = handshakes();
        let stalled: Vec<_> =
            (0..100).flat_map(|host| begin(&handshakes, &format!("2001:db8:1:2::{host:x}"), 1)).collect();
        assert_eq!(stalled.len(), 8);
        assert_eq!(begin(&handshakes, "2001:db8:1:3::1", 1).len(), 1);
    }

    #[test]
    fn addresses_must_be_proven_from_half_the_limit_on() {
        let handshakes = handshakes();
        let mut coming = begin(&handshakes, "192.0.2.1", 4);
        assert!(!handshakes.is_busy(address("192.0.2.1")));
        coming.extend(begin(&handshakes, "192.0.2.1", 1));
        assert!(handshakes.is_busy(address("192.0.2.1")));
        assert!(!handshakes.is_busy(address("192.0.2.2")));
        coming.extend((10..30).flat_map(|host| begin(&handshakes, &format!("192.0.2.{host}"), 3)));
        assert!(handshakes.is_busy(address("192.0.2.2")), "too many in total");
    }

    #[test]
    fn loopback_counts_only_towards_the_total() {
        let handshakes = handshakes();
        let bots = begin(&handshakes, "127.0.0.1", 60);
        let more = begin(&handshakes, "::1", 60);
        assert_eq!((bots.len(), more.len()), (60, 40));
        assert_eq!(begin(&handshakes, "192.0.2.1", 1).len(), 0);
    }

    #[test]
    fn finished_handshakes_leave_nothing_behind() {
        let handshakes = handshakes();
        for host in 0..=255 {
            drop(begin(&handshakes, &format!("192.0.2.{host}"), 2));
        }
        let counts = lock(&handshakes.counts);
        assert_eq!((counts.total, counts.by_address.len()), (0, 0));
    }
}

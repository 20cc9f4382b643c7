//! Who is on its way in, counted in all and by address, so that nobody takes every place in front of the gate.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::limits::Limits;

/// How many clients are on their way in. Clones count the same ones.
#[derive(Clone, Debug)]
pub(super) struct Handshakes {
    limits: Limits,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    /// Only addresses from which somebody is on its way in, so it is as bounded as they are.
    by_address: BTreeMap<IpAddr, usize>,
}

/// A client on its way in, until this is dropped.
#[derive(Debug)]
pub(super) struct Handshake {
    address: Option<IpAddr>,
    counts: Arc<Mutex<Counts>>,
}

impl Handshakes {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, counts: Arc::default() }
    }

    /// Whether so many are on their way in, or so many from this address, that the next has to prove its address first.
    /// Without the proof for the sake of the address, somebody else could use up its share in its name.
    pub(super) fn is_busy(&self, address: IpAddr) -> bool {
        let (counts, limits) = (lock(&self.counts), &self.limits);
        let of_address = counted(address).and_then(|address| counts.by_address.get(&address));
        let is_half = |count: usize, max: usize| count * 2 > max;
        is_half(counts.all, limits.handshakes_max)
            || of_address.is_some_and(|count| is_half(*count, limits.handshakes_per_address_max))
    }

    /// One more from this address; `None` if there are as many as may be.
    pub(super) fn begin(&self, address: IpAddr) -> Option<Handshake> {
        let mut counts = lock(&self.counts);
        if counts.all >= self.limits.handshakes_max {
            return None;
        }
        let address = counted(address);
        if let Some(address) = address {
            let before = counts.by_address.get(&address).copied().unwrap_or(0);
            if before >= self.limits.handshakes_per_address_max {
                return None;
            }
            counts.by_address.insert(address, before + 1);
        }
        counts.all += 1;
        Some(Handshake { address, counts: self.counts.clone() })
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        counts.all -= 1;
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

fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As what an address is counted: an IPv6 one as its /64, all of which one customer has. Loopback is not: bots come from
/// there by the hundred at once, and a program on this machine has simpler ways to keep it busy.
fn counted(address: IpAddr) -> Option<IpAddr> {
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

    fn handshakes() -> Handshakes {
        Handshakes::new(Limits { handshakes_max: 100, handshakes_per_address_max: 8, ..Limits::default() })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn begin(handshakes: &Handshakes, from: &str, count: usize) -> Vec<Handshake> {
        (0..count).filter_map(|_| handshakes.begin(address(from))).collect()
    }

    #[test]
    fn one_address_does_not_lock_the_others_out() {
        let handshakes = handshakes();
        let stalled = begin(&handshakes, "192.0.2.1", 1_000);
        assert_eq!(stalled.len(), 8);
        assert_eq!(begin(&handshakes, "::ffff:192.0.2.1", 1).len(), 0, "the same one");
        assert_eq!(begin(&handshakes, "192.0.2.2", 3).len(), 3);
        drop(stalled);
        assert_eq!(begin(&handshakes, "192.0.2.1", 8).len(), 8);
    }

    #[test]
    fn a_network_of_one_customer_is_one_address() {
        let handshakes = handshakes();
        let stalled: Vec<_> =
            (0..100).flat_map(|host| begin(&handshakes, &format!("2001:db8:1:2::{host:x}"), 1)).collect();
        assert_eq!(stalled.len(), 8);
        assert_eq!(begin(&handshakes, "2001:db8:1:3::1", 1).len(), 1);
    }

    #[test]
    fn from_half_of_its_share_on_an_address_is_to_be_proven() {
        let handshakes = handshakes();
        let mut coming = begin(&handshakes, "192.0.2.1", 4);
        assert!(!handshakes.is_busy(address("192.0.2.1")));
        coming.extend(begin(&handshakes, "192.0.2.1", 1));
        assert!(handshakes.is_busy(address("192.0.2.1")));
        assert!(!handshakes.is_busy(address("192.0.2.2")));
        coming.extend((10..30).flat_map(|host| begin(&handshakes, &format!("192.0.2.{host}"), 3)));
        assert!(handshakes.is_busy(address("192.0.2.2")), "too many in all");
    }

    #[test]
    fn loopback_has_no_share_of_its_own_but_counts() {
        let handshakes = handshakes();
        let bots = begin(&handshakes, "127.0.0.1", 60);
        let more = begin(&handshakes, "::1", 60);
        assert_eq!((bots.len(), more.len()), (60, 40));
        assert_eq!(begin(&handshakes, "192.0.2.1", 1).len(), 0);
    }

    #[test]
    fn nothing_is_remembered_of_who_is_done() {
        let handshakes = handshakes();
        for host in 0..=255 {
            drop(begin(&handshakes, &format!("192.0.2.{host}"), 2));
        }
        let counts = lock(&handshakes.counts);
        assert_eq!((counts.all, counts.by_address.len()), (0, 0));
    }
}

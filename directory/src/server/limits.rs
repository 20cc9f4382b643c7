//! How often an address may ask: a bucket per address, in bounds.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

/// The most addresses that are told apart. Beyond that, those that are due everything again are forgotten first.
const ADDRESSES_MAX: usize = 20_000;

/// Requests per minute and address. A whole minute's worth may come at once.
#[derive(Debug)]
pub(crate) struct RateLimit {
    per_minute: f64,
    buckets: BTreeMap<IpAddr, (f64, Instant)>,
}

impl RateLimit {
    pub(crate) fn new(per_minute: u32) -> Self {
        Self { per_minute: f64::from(per_minute), buckets: BTreeMap::new() }
    }

    /// Takes one from an address's bucket. Returns false if it is empty.
    pub(crate) fn take(&mut self, from: IpAddr, now: Instant) -> bool {
        let from = subscriber(from);
        if self.buckets.len() >= ADDRESSES_MAX && !self.buckets.contains_key(&from) {
            let full = self.per_minute;
            self.buckets.retain(|_, (left, at)| refilled(*left, *at, now, full) < full);
            if self.buckets.len() >= ADDRESSES_MAX {
                return false;
            }
        }
        let (left, at) = self.buckets.entry(from).or_insert((self.per_minute, now));
        *left = refilled(*left, *at, now, self.per_minute);
        *at = now;
        if *left < 1.0 {
            return false;
        }
        *left -= 1.0;
        true
    }
}

fn refilled(left: f64, at: Instant, now: Instant, per_minute: f64) -> f64 {
    (left + now.saturating_duration_since(at).as_secs_f64() * per_minute / 60.0).min(per_minute)
}

/// Whoever has an IPv6 address has all of its /64.
fn subscriber(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_address_may_ask_so_often_and_again_later() {
        let (mut limit, now) = (RateLimit::new(3), Instant::now());
        let [one, other]: [IpAddr; 2] =
            ["10.0.0.1", "10.0.0.2"].map(|text| text.parse().expect("an address"));
        assert_eq!([0; 4].map(|_| limit.take(one, now)), [true, true, true, false]);
        assert!(limit.take(other, now));
        assert!(!limit.take(one, now + Duration::from_secs(19)));
        assert!(limit.take(one, now + Duration::from_secs(40)));
    }

    #[test]
    fn a_flood_of_addresses_is_bounded_and_a_network_is_one() {
        let (mut limit, now) = (RateLimit::new(1), Instant::now());
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        let taken = (0..30_000).filter(|number| limit.take(address(*number), now)).count();
        assert_eq!((taken, limit.buckets.len()), (ADDRESSES_MAX, ADDRESSES_MAX));
        assert!(limit.take(address(99_999_999), now + Duration::from_secs(61)), "old ones make room");
        let mut limit = RateLimit::new(1);
        assert!(limit.take("2001:db8::1".parse().expect("an address"), now));
        assert!(!limit.take("2001:db8::ffff:1".parse().expect("an address"), now));
    }
}

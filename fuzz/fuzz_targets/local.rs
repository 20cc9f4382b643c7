//! A relay's local HTTP: any answer parses as certificate hashes or is rejected, and only local requests may change
//! something.

#![no_main]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use evenkeel_fuzz::feed::Feed;
use evenkeel_net::transport::parse_published_hashes;
use evenkeel_serve::authorize_change;
use libfuzzer_sys::fuzz_target;

const ADDRESSES: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
    IpAddr::V4(Ipv4Addr::new(192, 168, 0, 2)),
    IpAddr::V6(Ipv4Addr::new(192, 168, 0, 2).to_ipv6_mapped()),
];

fn check_change(from: IpAddr, host: &str, origin: Option<&str>) {
    if authorize_change(SocketAddr::new(from, 9), host, origin).is_err() {
        return;
    }
    assert!(from.is_loopback(), "from {from}");
    let name = ["localhost", "127.0.0.1", "[::1]"].into_iter().find_map(|name| host.strip_prefix(name));
    let port = name.unwrap_or_else(|| panic!("for the host {host}"));
    let digits = port.strip_prefix(':').unwrap_or(port);
    assert!(digits.bytes().all(|byte| byte.is_ascii_digit()), "for the host {host}");
    assert!(port.is_empty() || port.starts_with(':'), "for the host {host}");
    assert!(origin.is_none_or(|origin| origin == format!("http://{host}")), "by a page of {origin:?}");
}

fuzz_target!(|bytes: &[u8]| {
    let mut feed = Feed::new(bytes);
    let (which, from) = (feed.below(2), feed.pick(&ADDRESSES));
    let Ok(text) = std::str::from_utf8(feed.slice(usize::MAX)) else { return };
    if which == 0 {
        let hashes = parse_published_hashes(text).unwrap_or_default();
        assert!(hashes.iter().all(|hash| text.len() > hash.to_string().len()));
    } else {
        match text.split_once('\n') {
            Some((host, origin)) => check_change(from, host, Some(origin)),
            None => check_change(from, text, None),
        }
    }
});

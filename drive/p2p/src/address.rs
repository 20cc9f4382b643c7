//! Where a peer can be reached, and its layout in tickets and greetings.
//!
//! Layout: the key (32 bytes), the number of addresses (1 byte), then each: 4 with four bytes and a port, 6 with sixteen
//! bytes and a port, or 0 with the length of a relay's URL and the URL. Numbers are little-endian.

use std::net::{IpAddr, SocketAddr};

use evenkeel_core::{Malformed, Reader, Wire};
use iroh::{EndpointAddr, RelayUrl, TransportAddr};

use crate::identity::PeerKey;

/// Addresses of one peer that are passed on; others are left out.
pub const ADDRESSES_MAX: usize = 12;
/// The longest URL of a relay that is passed on, in bytes.
const URL_BYTES_MAX: usize = 200;

const RELAY: u8 = 0;
const V4: u8 = 4;
const V6: u8 = 6;

/// A peer's key with the addresses where it can be reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerAddress(pub(crate) EndpointAddr);

impl PeerAddress {
    /// A peer at these addresses.
    #[must_use]
    pub fn new(key: PeerKey, addresses: &[SocketAddr]) -> Self {
        let addresses = addresses.iter().map(|address| TransportAddr::Ip(*address));
        Self(EndpointAddr::from_parts(key.0, addresses.take(ADDRESSES_MAX)))
    }

    /// Returns the peer's key.
    #[must_use]
    pub fn key(&self) -> PeerKey {
        PeerKey(self.0.id)
    }

    /// Returns its socket addresses.
    #[must_use]
    pub fn sockets(&self) -> Vec<SocketAddr> {
        self.0.ip_addrs().copied().collect()
    }

    /// Whether there is any way to reach it.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        !self.0.is_empty()
    }
}

impl Wire for PeerAddress {
    fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.0.id.as_bytes());
        let count_at = bytes.len();
        bytes.push(0);
        // Relays first, as they always work.
        let relays = self.0.addrs.iter().filter(|address| address.is_relay());
        let others = self.0.addrs.iter().filter(|address| !address.is_relay());
        for address in relays.chain(others) {
            if usize::from(bytes[count_at]) < ADDRESSES_MAX && emit_address(address, bytes) {
                bytes[count_at] += 1;
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let key = PeerKey::from_bytes(reader.take_array()?).ok_or(Malformed::Field)?;
        let count = usize::from(reader.take_array::<1>()?[0]);
        if count > ADDRESSES_MAX {
            return Err(Malformed::Field);
        }
        let addresses: Result<Vec<_>, _> = (0..count).map(|_| parse_address(reader)).collect();
        Ok(Self(EndpointAddr::from_parts(key.0, addresses?)))
    }
}

/// Appends an address; returns false if it cannot be passed on.
fn emit_address(address: &TransportAddr, bytes: &mut Vec<u8>) -> bool {
    match address {
        TransportAddr::Ip(address) => {
            match address.ip() {
                IpAddr::V4(ip) => {
                    bytes.push(V4);
                    bytes.extend_from_slice(&ip.octets());
                }
                IpAddr::V6(ip) => {
                    bytes.push(V6);
                    bytes.extend_from_slice(&ip.octets());
                }
            }
            bytes.extend_from_slice(&address.port().to_le_bytes());
            true
        }
        TransportAddr::Relay(url) if url.as_str().len() <= URL_BYTES_MAX => {
            bytes.extend_from_slice(&[RELAY, url.as_str().len() as u8]);
            bytes.extend_from_slice(url.as_str().as_bytes());
            true
        }
        _ => false,
    }
}

fn parse_address(reader: &mut Reader<'_>) -> Result<TransportAddr, Malformed> {
    let ip: IpAddr = match reader.take_array::<1>()?[0] {
        V4 => (*reader.take_array::<4>()?).into(),
        V6 => (*reader.take_array::<16>()?).into(),
        RELAY => {
            let len = usize::from(reader.take_array::<1>()?[0]);
            let url = std::str::from_utf8(reader.take(len)?).map_err(|_| Malformed::Field)?;
            let url: RelayUrl = url.parse().map_err(|_| Malformed::Field)?;
            return Ok(TransportAddr::Relay(url));
        }
        tag => return Err(Malformed::UnknownTag(tag)),
    };
    let port = u16::from_le_bytes(*reader.take_array()?);
    Ok(TransportAddr::Ip((ip, port).into()))
}

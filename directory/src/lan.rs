//! The local network: who is there, by mDNS (DNS-SD).
//!
//! Directories announce `_evenkeel-dir._tcp`, relays `_evenkeel._udp`. What is found is a hint from whoever is on the network:
//! a relay's certificate hash protects the connection to it, and the issuer's key decides who may enter.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use mdns_sd::{IfKind, ScopedIp, ServiceDaemon, ServiceEvent, ServiceInfo};

/// The most services that are kept while looking.
const FOUND_MAX: usize = 256;
/// The longest value of a property.
const VALUE_BYTES_MAX: usize = 200;

/// What is announced and looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Service {
    /// A directory; its port is HTTP's.
    Directory,
    /// A relay; its port is the players' (UDP). Its property `sha256` has a hash to pin, if there is one.
    Relay,
}

impl Service {
    const fn domain(self) -> &'static str {
        match self {
            Self::Directory => "_evenkeel-dir._tcp.local.",
            Self::Relay => "_evenkeel._udp.local.",
        }
    }
}

/// Why the local network cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the local network cannot be searched (mDNS): {0}")]
pub struct LanError(String);

impl From<mdns_sd::Error> for LanError {
    fn from(error: mdns_sd::Error) -> Self {
        Self(error.to_string())
    }
}

/// A service on the local network.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Its addresses, IPv4 first.
    pub addresses: Vec<SocketAddr>,
    /// What else it says of itself.
    pub properties: BTreeMap<String, String>,
}

/// Where to look and announce.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reach {
    /// On all networks of this machine.
    #[default]
    Network,
    /// On this machine only, for tests.
    Machine,
}

fn daemon(reach: Reach) -> Result<ServiceDaemon, LanError> {
    let daemon = ServiceDaemon::new()?;
    if reach == Reach::Machine {
        daemon.disable_interface(IfKind::All)?;
        daemon.enable_interface(IfKind::LoopbackV4)?;
    }
    Ok(daemon)
}

/// An announced service. Dropping it takes the announcement back.
pub struct Announcement {
    daemon: ServiceDaemon,
    full_name: String,
}

impl fmt::Debug for Announcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Announcement({})", self.full_name)
    }
}

impl Announcement {
    /// Announces a service at this port of this machine.
    ///
    /// # Errors
    /// [`LanError`] if the network cannot be used.
    pub fn start(
        service: Service,
        name: &str,
        port: u16,
        properties: &[(&str, &str)],
        reach: Reach,
    ) -> Result<Self, LanError> {
        let daemon = daemon(reach)?;
        // A host of its own: services of one machine must not answer for one another's addresses.
        let host = format!("evenkeel-{}-{port}.local.", std::process::id());
        let properties: Vec<(&str, &str)> =
            properties.iter().copied().filter(|(_, value)| value.len() <= VALUE_BYTES_MAX).collect();
        let mut info = match reach {
            Reach::Network => {
                ServiceInfo::new(service.domain(), name, &host, (), port, &properties[..])?.enable_addr_auto()
            }
            Reach::Machine => {
                ServiceInfo::new(service.domain(), name, &host, "127.0.0.1", port, &properties[..])?
            }
        };
        if reach == Reach::Machine {
            info.set_requires_probe(false);
        }
        let full_name = info.get_fullname().to_owned();
        daemon.register(info)?;
        Ok(Self { daemon, full_name })
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        if let Ok(done) = self.daemon.unregister(&self.full_name) {
            let _ = done.recv_timeout(Duration::from_millis(500));
        }
        let _ = self.daemon.shutdown();
    }
}

/// Looks for services for at most this long, and returns early once `is_enough`. Blocks; on an async runtime use
/// `spawn_blocking`.
///
/// # Errors
/// [`LanError`] if the network cannot be used.
pub fn find(
    service: Service,
    wait: Duration,
    reach: Reach,
    is_enough: impl Fn(&[Found]) -> bool,
) -> Result<Vec<Found>, LanError> {
    let daemon = daemon(reach)?;
    let events = daemon.browse(service.domain())?;
    let (start, mut found) = (Instant::now(), BTreeMap::new());
    let mut listed: Vec<Found> = Vec::new();
    while let Some(left) = wait.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
        let Ok(event) = events.recv_timeout(left) else { break };
        match event {
            ServiceEvent::ServiceResolved(resolved) if found.len() < FOUND_MAX => {
                let name = resolved.fullname.trim_end_matches(service.domain()).trim_end_matches('.');
                let mut addresses: Vec<SocketAddr> =
                    resolved.addresses.iter().map(|ip| (address(ip), resolved.port).into()).collect();
                addresses.sort_unstable_by_key(|address| (address.is_ipv6(), *address));
                let properties = resolved.txt_properties.iter();
                let properties = properties
                    .map(|property| (property.key().to_owned(), property.val_str().to_owned()))
                    .collect();
                let one = Found { name: name.to_owned(), addresses, properties };
                found.insert(resolved.fullname.clone(), one);
            }
            ServiceEvent::ServiceRemoved(_, full_name) => {
                found.remove(&full_name);
            }
            _ => continue,
        }
        listed = found.values().cloned().collect();
        if is_enough(&listed) {
            break;
        }
    }
    let _ = daemon.shutdown();
    Ok(listed)
}

fn address(ip: &ScopedIp) -> IpAddr {
    ip.to_ip_addr()
}

/// Looks for a directory for at most this long. Returns its address for [`DirectoryClient`](crate::DirectoryClient), if
/// there is one.
///
/// # Errors
/// [`LanError`] if the network cannot be used.
pub async fn find_directory(wait: Duration, reach: Reach) -> Result<Option<String>, LanError> {
    let look = move || find(Service::Directory, wait, reach, |found| !found.is_empty());
    let found = tokio::task::spawn_blocking(look).await.map_err(|error| LanError(error.to_string()))??;
    let address = found.first().and_then(|directory| directory.addresses.first());
    Ok(address.map(|address| format!("http://{address}")))
}

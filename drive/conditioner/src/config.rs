//! The settings of a conditioner, and why it may not start.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_link::{LinkFaultError, LinkFaults};

/// The faults of one client's links.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Profile {
    /// From the client to the server.
    pub to_server: LinkFaults,
    /// From the server to the client.
    pub to_client: LinkFaults,
}

impl Profile {
    /// The same faults in both directions, with draws of their own.
    #[must_use]
    pub fn both_ways(faults: LinkFaults) -> Self {
        Self { to_server: faults.clone(), to_client: faults }
    }

    /// Checks the faults.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first invalid field.
    pub fn validate(&self) -> Result<(), LinkFaultError> {
        self.to_server.validate().and_then(|()| self.to_client.validate())
    }
}

/// The settings of a conditioner.
#[derive(Clone, PartialEq, Debug)]
pub struct ConditionerConfig {
    /// Where clients send to (UDP). Port 0 takes a free one.
    pub listen: SocketAddr,
    /// The server.
    pub to: SocketAddr,
    /// The clients' links: the n-th client has the n-th profile; beyond the last, they start over.
    pub profiles: Vec<Profile>,
    /// The seed of all draws.
    pub seed: u64,
    /// The most clients at a time. Datagrams of others are dropped and counted.
    pub clients_max: usize,
    /// A client is forgotten after this much silence in both directions.
    pub idle: Duration,
}

impl ConditionerConfig {
    /// Settings for clients that are all alike.
    #[must_use]
    pub fn new(listen: SocketAddr, to: SocketAddr, profile: Profile) -> Self {
        let (clients_max, idle) = (256, Duration::from_secs(60));
        Self { listen, to, profiles: vec![profile], seed: 1, clients_max, idle }
    }
}

/// Why a conditioner did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is no profile.
    #[error("there is no profile: name at least one link")]
    NoProfile,
    /// No client would be let in.
    #[error("clients_max is 0: nobody could connect")]
    NoClients,
    /// A profile is invalid.
    #[error(transparent)]
    Faults(#[from] LinkFaultError),
    /// The conditioner would send to itself.
    #[error("{0} is where the conditioner listens: name the server's own address")]
    Loop(SocketAddr),
    /// The address is in use.
    #[error("{0} is taken: stop the other program, or listen elsewhere")]
    Taken(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused a thread or its means to wait.
    #[error("the conditioner's threads could not be started: {0}")]
    Thread(io::Error),
}

impl ConditionerConfig {
    pub(crate) fn check(&self) -> Result<(), StartError> {
        if self.profiles.is_empty() {
            return Err(StartError::NoProfile);
        }
        if self.clients_max == 0 {
            return Err(StartError::NoClients);
        }
        if self.listen == self.to {
            return Err(StartError::Loop(self.to));
        }
        Ok(self.profiles.iter().try_for_each(Profile::validate)?)
    }
}

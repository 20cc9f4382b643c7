//! A link conditioner: a UDP proxy that makes a good network bad, reproducibly.
//!
//! Clients send to the conditioner instead of the server. It decides each datagram's fate with the [`Link`] of the simulator,
//! holds it for as long as the link would, and passes it on; answers take the same way back. Every client has links of its
//! own in both directions, seeded by its number in order of appearance, and a socket of its own towards the server, which
//! therefore tells the clients apart.
//!
//! The fate of a client's n-th datagram in one direction is a function of the seed, the client's number and n. So two runs
//! with one seed lose and delay the same datagrams, although no two runs send at the same nanosecond. Bursts of loss, steps
//! and recorded delays go by the time since the client's first datagram, and rate limits by the traffic.
//!
//! ```
//! use std::net::UdpSocket;
//! use evenkeel_conditioner::{Conditioner, ConditionerConfig, Profile};
//! use evenkeel_core::Span;
//! use evenkeel_link::LinkFaults;
//!
//! let server = UdpSocket::bind("127.0.0.1:0")?;
//! let far = Profile::both_ways(LinkFaults::constant(Span::from_millis(30)));
//! let config = ConditionerConfig::new("127.0.0.1:0".parse()?, server.local_addr()?, far);
//! let conditioner = Conditioner::start(config)?;
//!
//! let client = UdpSocket::bind("127.0.0.1:0")?;
//! client.send_to(b"hello", conditioner.address())?;
//! let mut buffer = [0; 16];
//! let (len, _) = server.recv_from(&mut buffer)?; // 30 ms later
//! assert_eq!(&buffer[..len], b"hello");
//! assert_eq!(conditioner.report().clients[0].to_server.received, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two threads do the work: one receives and decides, one releases what is due. Every queue and table has a limit
//! ([`IN_FLIGHT_MAX`], [`BYTES_MAX`], [`ConditionerConfig::clients_max`]); what is beyond is dropped and counted.
//!
//! [`Link`]: evenkeel_link::Link

mod clients;
mod config;
mod counters;
mod flight;
mod inbound;
pub mod parse;
mod release;
mod start;

pub use config::{ConditionerConfig, Profile, StartError};
pub use counters::{ClientReport, DirectionReport, Report};
pub use flight::{BYTES_MAX, CLIENT_BYTES_MAX, IN_FLIGHT_MAX};
pub use start::Conditioner;

// The program in the documentation is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/link.md")]
mod docs {}

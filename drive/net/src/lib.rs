//! Real sockets for any endpoint.
pub mod certificate;
pub mod token;
pub mod transport;

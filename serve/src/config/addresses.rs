//! Addresses in a relay's configuration. Errors name the key and the expected form, which the library's errors do not.

use std::net::SocketAddr;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

pub(super) fn listen<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SocketAddr>, D::Error> {
    read("listen", deserializer)
}

pub(super) fn http<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SocketAddr>, D::Error> {
    read("http", deserializer)
}

pub(super) fn https<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SocketAddr>, D::Error> {
    read("pages.https", deserializer)
}

fn read<'de, D: Deserializer<'de>>(key: &str, deserializer: D) -> Result<Vec<SocketAddr>, D::Error> {
    let address = |text: &String| {
        let wrong = || {
            D::Error::custom(format!(
                "{key}: \"{text}\" is not an address: write an IP address and a port up to 65535, like \"127.0.0.1:7878\" or \"[::1]:7878\""
            ))
        };
        text.parse().map_err(|_| wrong())
    };
    Vec::<String>::deserialize(deserializer)?.iter().map(address).collect()
}

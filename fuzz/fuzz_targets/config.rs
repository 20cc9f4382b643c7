//! Any text parses as a relay's configuration, whose rooms can be made, or is rejected with its place.

#![no_main]

use std::collections::BTreeSet;
use std::path::Path;

use evenkeel_core::{Seed, ServerClock, Wire};
use evenkeel_dr::{DrConfig, DrRelay};
use evenkeel_fuzz::wire::check_wire;
use evenkeel_serve::{ConfigError, RelayConfig, RoomConfig};
use libfuzzer_sys::fuzz_target;

const PATH: &str = "my.toml";

/// A room's machine can be made, and its settings round-trip through a recording.
fn check_room(room: &RoomConfig) {
    let settings = room.machine(Seed::new(0));
    let mut bytes = Vec::new();
    settings.emit(&mut bytes);
    assert_eq!(check_wire::<DrConfig>(&bytes), Some((settings, bytes.len())));
    assert_eq!(settings.policy.to_string().parse(), Ok(settings.policy), "{}", room.policy);
    let _ = DrRelay::with_clock(&settings, ServerClock::default());
}

/// An error names the file, then the line or the key, then what is wrong.
fn check_error(text: &str, error: &ConfigError) {
    let words = error.to_string();
    let mut parts = words.splitn(3, ": ");
    assert_eq!(parts.next(), Some(PATH), "{words}");
    let place = parts.next().unwrap_or_default();
    assert!(parts.next().is_some_and(|what| !what.trim().is_empty()), "{words}");
    if let ConfigError::NotToml { .. } = error {
        let line: usize = place.strip_prefix("line ").and_then(|line| line.parse().ok()).unwrap_or(0);
        assert!((1..=1 + text.matches('\n').count()).contains(&line), "{words}");
    }
}

/// A room without keys has the defaults of all rooms.
fn check_inherited(text: &str) {
    let longer = format!("{text}\n[rooms.another]\n");
    if let Ok(config) = RelayConfig::parse(&longer, Path::new(PATH)) {
        assert_eq!(config.rooms.get("another"), Some(&config.room));
    }
}

fuzz_target!(|text: &str| {
    let config = match RelayConfig::parse(text, Path::new(PATH)) {
        Ok(config) => config,
        Err(error) => return check_error(text, &error),
    };
    check_inherited(text);
    check_room(&config.room);
    config.rooms.values().for_each(check_room);
    let addresses = config.http_addresses(1);
    assert!(!addresses.is_empty(), "nothing to listen on");
    if config.http.is_empty() {
        let different: BTreeSet<_> = addresses.iter().collect();
        assert_eq!(different.len(), addresses.len(), "an address is listened on twice: {addresses:?}");
    }
});

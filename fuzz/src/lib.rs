//! What the fuzz targets have in common: bytes that decide, messages that are almost honest, and a room of machines.
//!
//! `cargo xtask fuzz` runs every target in `fuzz_targets/` for a while. A target takes any bytes at all, so each of them
//! is a list of decisions, read by a [`Feed`](feed::Feed), which never runs out: behind the end there are zeros.

#![forbid(unsafe_code)]

pub mod clocks;
pub mod feed;
pub mod forge;
pub mod motion;
pub mod node;
pub mod settings;
pub mod wire;
pub mod world;

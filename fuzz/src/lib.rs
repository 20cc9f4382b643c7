//! Shared parts of the fuzz targets: decisions read from bytes, forged messages, and a room of machines.
//!
//! `cargo xtask fuzz` runs every target in `fuzz_targets/` for a while. Targets of text or wire bytes parse the input;
//! the others read it as a list of decisions through a [`Feed`](feed::Feed), which never runs out.

#![forbid(unsafe_code)]

pub mod clocks;
pub mod feed;
pub mod forge;
pub mod motion;
pub mod node;
pub mod play;
pub mod settings;
pub mod ships;
pub mod wire;
pub mod world;

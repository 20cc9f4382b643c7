//! The plugins, headless.

#[cfg(feature = "replicon")]
mod objects;
#[cfg(feature = "replicon")]
mod replicon;
#[cfg(feature = "client")]
mod room;

//! The promise of everything on the wire.

use evenkeel_core::{Reader, Wire};

/// What bytes begin with, if that is such a value and comes back byte for byte, and how many bytes it has.
///
/// # Panics
/// If it is emitted otherwise than it was parsed.
pub fn check_wire<T: Wire>(bytes: &[u8]) -> Option<(T, usize)> {
    let mut reader = Reader::new(bytes);
    let value: T = reader.read().ok()?;
    let len = bytes.len() - reader.remaining();
    let mut again = Vec::new();
    value.emit(&mut again);
    assert_eq!(again, bytes[..len], "it is emitted otherwise than it was parsed");
    Some((value, len))
}

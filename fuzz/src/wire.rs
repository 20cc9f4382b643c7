//! The contract of wire formats.

use evenkeel_core::{Reader, Wire};

/// Parses a value from the beginning of the bytes and checks that it is emitted byte for byte. Returns it and its length,
/// or `None` if the bytes begin with none.
///
/// # Panics
/// If it is emitted differently than it was parsed.
pub fn check_wire<T: Wire>(bytes: &[u8]) -> Option<(T, usize)> {
    let mut reader = Reader::new(bytes);
    let value: T = reader.read().ok()?;
    let len = bytes.len() - reader.remaining();
    let mut again = Vec::new();
    value.emit(&mut again);
    assert_eq!(again, bytes[..len], "a value is emitted differently than it was parsed");
    Some((value, len))
}

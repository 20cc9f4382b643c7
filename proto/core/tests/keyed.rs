//! The keyed hash matches the reference implementation of SipHash-2-4.

use evenkeel_core::Key;

#[test]
fn the_reference_vector_is_reproduced() {
    let word = |from: u8| u64::from_le_bytes(core::array::from_fn(|i| from + i as u8));
    // The bytes 0 to 15 under the key 0 to 15.
    assert_eq!(Key::new(word(0), word(8)).hash(word(0), word(8)), 0x3f2a_cc7f_57c2_9bdb);
}

#[test]
fn debug_output_does_not_reveal_the_key() {
    assert_eq!(format!("{:?}", Key::new(1, 2)), "Key(..)");
}

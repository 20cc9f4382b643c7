//! The keyed numbers are those of the reference implementation.

use evenkeel_core::Key;

#[test]
fn the_number_of_the_reference_vector_comes_out() {
    let word = |from: u8| u64::from_le_bytes(core::array::from_fn(|i| from + i as u8));
    // SipHash-2-4 of the bytes 0 to 15 under the key 0 to 15.
    assert_eq!(Key::new(word(0), word(8)).hash(word(0), word(8)), 0x3f2a_cc7f_57c2_9bdb);
}

#[test]
fn a_key_does_not_show_itself() {
    assert_eq!(format!("{:?}", Key::new(1, 2)), "Key(..)");
}

//! Any bytes are a command or a configuration, or are not; those that are come back byte for byte.

#![no_main]

use evenkeel_core::{Reader, Wire};
use evenkeel_dr::{DrCommand, DrConfig, RelayCommand};
use libfuzzer_sys::fuzz_target;

fn check<T: Wire>(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let Ok(value) = reader.read::<T>() else { return };
    let mut again = Vec::new();
    value.emit(&mut again);
    assert_eq!(
        again,
        bytes[..bytes.len() - reader.remaining()],
        "it is emitted otherwise than it was parsed"
    );
}

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    match which % 3 {
        0 => check::<DrCommand>(bytes),
        1 => check::<RelayCommand>(bytes),
        _ => check::<DrConfig>(bytes),
    }
});

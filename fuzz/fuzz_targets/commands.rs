//! Any bytes parse as a command or a configuration, which is emitted byte for byte, or are rejected.

#![no_main]

use evenkeel_dr::{DrCommand, DrConfig, RelayCommand};
use evenkeel_fuzz::wire::check_wire;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    match which % 3 {
        0 => drop(check_wire::<DrCommand>(bytes)),
        1 => drop(check_wire::<RelayCommand>(bytes)),
        _ => drop(check_wire::<DrConfig>(bytes)),
    }
});

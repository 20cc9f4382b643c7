//! Any bytes parse as a certificate's validity, and any text as a certificate's hash, or are rejected.

#![no_main]

use evenkeel_net::certificate::{CertificateHash, Validity};
use libfuzzer_sys::fuzz_target;

/// The last second of the year 9999, the latest date of a certificate.
const END: u64 = 253_402_300_799;

fuzz_target!(|bytes: &[u8]| {
    if let Some(validity) = Validity::of(bytes) {
        assert!(validity.not_before <= END && validity.not_after <= END, "{validity:?}");
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(hash) = CertificateHash::parse(text) {
        assert_eq!(hash.to_string(), text.replace(':', "").to_ascii_lowercase());
        assert_eq!(CertificateHash::parse(&hash.to_string()), Ok(hash));
    }
});

//! Wire primitives: values survive the round trip, and reading never goes beyond the input.

use evenkeel_core::{Channel, LocalTime, Malformed, Reader, Scratch, SessionTime, Varint, Vec3, Wire};
use proptest::collection::vec;
use proptest::prelude::*;

/// Checks that a value has this length, survives the round trip, and is rejected when truncated.
fn check<T: Wire + PartialEq + core::fmt::Debug>(value: &T, len: usize) -> Result<(), TestCaseError> {
    let mut bytes = Vec::new();
    value.emit(&mut bytes);
    prop_assert_eq!(bytes.len(), len);
    let mut reader = Reader::new(&bytes);
    let read = reader.read::<T>();
    prop_assert_eq!(read.as_ref(), Ok(value));
    prop_assert_eq!(reader.finish(), Ok(()));
    for cut in 0..len {
        prop_assert_eq!(Reader::new(&bytes[..cut]).read::<T>(), Err(Malformed::Truncated));
    }
    Ok(())
}

/// Checks that bytes which parse are emitted unchanged.
fn reread<T: Wire>(bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut reader = Reader::new(bytes);
    if let Ok(value) = reader.read::<T>() {
        let mut again = Vec::new();
        value.emit(&mut again);
        prop_assert_eq!(&again[..], &bytes[..bytes.len() - reader.remaining()]);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_survive_the_round_trip(a: u8, b: u16, c: u32, d: u64, e: i64, x: f64) {
        check(&a, 1)?;
        check(&b, 2)?;
        check(&c, 4)?;
        check(&d, 8)?;
        check(&e, 8)?;
        check(&x, 8)?;
        check(&LocalTime::from_nanos(e), 8)?;
        check(&SessionTime::from_nanos(e), 8)?;
        check(&Vec3::new(x, -x, 1.0), 24)?;
        check(&if a % 2 == 0 { Channel::Datagram } else { Channel::Reliable }, 1)?;
    }

    #[test]
    fn any_bytes_are_parsed_or_rejected(bytes in vec(any::<u8>(), 0..40)) {
        reread::<u8>(&bytes)?;
        reread::<u16>(&bytes)?;
        reread::<u32>(&bytes)?;
        reread::<u64>(&bytes)?;
        reread::<i64>(&bytes)?;
        reread::<f64>(&bytes)?;
        reread::<LocalTime>(&bytes)?;
        reread::<SessionTime>(&bytes)?;
        reread::<Vec3>(&bytes)?;
        reread::<Channel>(&bytes)?;
    }

    #[test]
    fn a_reader_takes_no_more_than_its_input(
        bytes in vec(any::<u8>(), 0..40), lens in vec(prop_oneof![0..20usize, Just(usize::MAX)], 0..10),
    ) {
        let mut reader = Reader::new(&bytes);
        let mut taken = 0;
        for len in lens {
            match reader.take(len) {
                Ok(part) => {
                    prop_assert_eq!(part, &bytes[taken..taken + len]);
                    taken += len;
                }
                Err(error) => {
                    prop_assert_eq!(error, Malformed::Truncated);
                    prop_assert!(len > bytes.len() - taken);
                }
            }
            prop_assert_eq!(reader.remaining(), bytes.len() - taken);
        }
        prop_assert_eq!(reader.is_empty(), reader.finish().is_ok());
    }
}

#[test]
fn numbers_are_little_endian() {
    let mut bytes = Vec::new();
    0x0102_0304u32.emit(&mut bytes);
    assert_eq!(bytes, [4, 3, 2, 1]);
}

proptest! {
    /// Varints of every length, with and without bytes behind them.
    #[test]
    fn varints_survive_the_round_trip_in_their_only_form(value: u64, fewer in 0u32..64, behind in 0usize..10, signed: i64) {
        let value = value >> fewer;
        let mut bytes = Vec::new();
        Varint(value).emit(&mut bytes);
        prop_assert_eq!(&bytes, &leb128(value));
        bytes.resize(bytes.len() + behind, 0x80);
        let mut reader = Reader::new(&bytes);
        prop_assert_eq!((reader.read(), reader.remaining()), (Ok(Varint(value)), behind));
        let mut reader = Reader::new(&bytes);
        prop_assert_eq!((Varint::parse_long(&mut reader), reader.remaining()), (Ok(Varint(value)), behind));
        bytes.clear();
        Varint(value).emit_long(&mut bytes);
        prop_assert_eq!(&bytes, &leb128(value));
        let mut scratch = Scratch::<32>::default();
        scratch.push(7, 1);
        scratch.push_varint(Varint(value));
        prop_assert_eq!(scratch.len(), 1 + bytes.len());
        scratch.drain_to(&mut bytes);
        prop_assert!(scratch.is_empty());
        prop_assert_eq!(bytes, [leb128(value), vec![7], leb128(value)].concat());
        let word = Varint(value).word();
        prop_assert_eq!(word.map(|(word, _)| Varint::from_word(word)), word.map(|_| Varint(value)));
        prop_assert_eq!(Varint::signed(signed).to_signed(), signed);
    }

    #[test]
    fn parsed_varints_are_emitted_unchanged(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
        let mut reader = Reader::new(&bytes);
        if let Ok(value) = reader.read::<Varint>() {
            let mut again = Vec::new();
            value.emit(&mut again);
            prop_assert_eq!(&bytes[..bytes.len() - reader.remaining()], &again[..]);
        }
    }

    /// A final zero byte makes a longer form of the same number.
    #[test]
    fn a_varint_with_a_shorter_form_is_rejected(value: u64, fewer in 1u32..64, behind in 0usize..10) {
        let mut bytes = leb128(value >> fewer);
        *bytes.last_mut().expect("there is a byte") |= 0x80;
        bytes.push(0);
        bytes.resize(bytes.len() + behind, 7);
        prop_assert_eq!(Reader::new(&bytes).read::<Varint>(), Err(Malformed::Field));
        prop_assert_eq!(Varint::parse_long(&mut Reader::new(&bytes)), Err(Malformed::Field));
    }
}

fn leb128(mut rest: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

#[test]
fn signed_numbers_near_zero_have_short_varints() {
    for (value, len) in
        [(0i64, 1), (-1, 1), (63, 1), (-64, 1), (64, 2), (-8192, 2), (8192, 3), (i64::MIN, 10)]
    {
        let mut bytes = Vec::new();
        Varint::signed(value).emit(&mut bytes);
        assert_eq!(bytes.len(), len, "{value}");
    }
}

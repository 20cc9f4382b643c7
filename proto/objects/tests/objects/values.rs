//! Values of fields: each form reads back, and nothing from outside makes reading panic.

use evenkeel_core::{PeerId, Reader, SessionTime, Span, Vec3, Wire};
use evenkeel_objects::{Call, Field, ObjectCommand, ObjectId, Orientation, Owner, Spin, Target};
use proptest::prelude::*;

fn assert_reads_back<T: Field + PartialEq + std::fmt::Debug>(value: &T) {
    let mut bytes = Vec::new();
    value.emit(&mut bytes);
    let mut reader = Reader::new(&bytes);
    assert_eq!(T::parse(&mut reader).as_ref(), Ok(value));
    assert!(reader.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_read_back(number in any::<u64>(), signed in any::<i64>(), text in ".{0,100}", list in prop::collection::vec(any::<u32>(), 0..50)) {
        assert_reads_back(&(number as u8));
        assert_reads_back(&(number as u16));
        assert_reads_back(&(number as u32));
        assert_reads_back(&number);
        assert_reads_back(&(signed as i8));
        assert_reads_back(&(signed as i16));
        assert_reads_back(&(signed as i32));
        assert_reads_back(&signed);
        assert_reads_back(&(number as f32));
        assert_reads_back(&(number as f64));
        assert_reads_back(&(number % 2 == 0));
        assert_reads_back(&ObjectId(number as u32));
        assert_reads_back(&PeerId(number as u32));
        assert_reads_back(&Some(text.clone()));
        assert_reads_back(&None::<u8>);
        assert_reads_back(&(text, list));
        assert_reads_back(&Vec3::new(1.0, -2.0, signed as f64));
    }

    #[test]
    fn reading_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = String::parse(&mut Reader::new(&bytes));
        let _ = Vec::<Option<String>>::parse(&mut Reader::new(&bytes));
        let _ = Spin::parse(&mut Reader::new(&bytes));
        let _ = ObjectCommand::parse(&mut Reader::new(&bytes));
    }

    #[test]
    fn orientations_are_kept_to_a_hundredth_of_a_degree(x in -4.0..4.0, y in -4.0..4.0, z in -4.0..4.0) {
        let orientation = Orientation::turned(Vec3::new(x, y, z));
        let mut bytes = Vec::new();
        orientation.emit(&mut bytes);
        let read = Orientation::parse(&mut Reader::new(&bytes)).expect("it reads back");
        prop_assert!(read.angle_to(orientation).to_degrees() < 0.01);
    }

    #[test]
    fn commands_read_back(object in any::<u32>(), kind in any::<u16>(), value in prop::collection::vec(any::<u8>(), 0..9)) {
        let object = ObjectId(object);
        let party = Target::Player(PeerId(7));
        let delivery = evenkeel_objects::Delivery::Quickest;
        for command in [
            ObjectCommand::Create { object, kind, values: vec![value.clone().into()] },
            ObjectCommand::Set { object, values: vec![(3, value.clone().into())] },
            ObjectCommand::Destroy { object },
            ObjectCommand::Give { object, to: Owner::Player(PeerId(3)) },
            ObjectCommand::Call(Call { delivery, party, kind, bytes: value.clone() }),
        ] {
            let mut bytes = Vec::new();
            Wire::emit(&command, &mut bytes);
            prop_assert_eq!(ObjectCommand::parse(&mut Reader::new(&bytes)), Ok(command));
        }
    }
}

#[test]
fn spin_turns_about_any_axis() {
    let start = SessionTime::from_nanos(0);
    let quarter = core::f64::consts::FRAC_PI_2;
    // A quarter turn per second about the axis x, from a nose that points up.
    let spin = Spin { from: Orientation::default(), rate: Vec3::new(quarter, 0.0, 0.0), at: start };
    let nose = spin.project(start + Span::from_secs(1)).applied_to(Vec3::new(0.0, 0.0, 1.0));
    assert!(nose.distance(Vec3::new(0.0, -1.0, 0.0)) < 1e-9, "{nose:?}");
    let half = spin.project(start + Span::from_secs(2));
    assert!((half.angle_to(spin.from) - 2.0 * quarter).abs() < 1e-6);
}

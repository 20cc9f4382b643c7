//! Errors in recordings name the place and the problem.

use evenkeel_games::{Trace, TraceError};
use proptest::prelude::*;

const HEADER: &str = "t_s,tank,status,x,y,z,vx,vy,vz,turn_rate_rad_s";

fn error(rows: &str) -> String {
    Trace::parse(&format!("{HEADER}\n{rows}")).expect_err("an invalid recording").to_string()
}

#[test]
fn an_invalid_number_is_named_with_line_and_column() {
    let row = "0.5,0,1,0,0,0,0,0,0,0\n";
    assert_eq!(error(&format!("{row}1,0,1,0,oops,0,0,0,0,0")), r#"line 3, column y: "oops" is not a number"#);
    assert_eq!(error("1,0,1,0,0,0,NaN,0,0,0"), r#"line 2, column vx: "NaN" is not a finite number"#);
    assert_eq!(error("1,0,1,0,0,0,0,-inf,0,0"), r#"line 2, column vy: "-inf" is not a finite number"#);
    assert_eq!(error("1,0,1,0,0,1e999,0,0,0,0"), r#"line 2, column z: "1e999" is not a finite number"#);
    assert_eq!(error("1,0,1,0,0,0,0,0,0,"), r#"line 2, column turn_rate_rad_s: "" is not a number"#);
    assert_eq!(
        error("1,0,1,2e9,0,0,0,0,0,0"),
        r#"line 2, column x: "2e9" is not between -1000000000 and 1000000000"#
    );
    assert_eq!(error("-1,0,1,0,0,0,0,0,0,0"), r#"line 2, column t_s: "-1" is not between 0 and 1000000"#);
}

#[test]
fn the_number_of_a_tank_must_be_whole() {
    for tank in ["1.5", "-1", "65536", "red", ""] {
        let expected = format!("line 2, column tank: {tank:?} is not a whole number from 0 to 65535");
        assert_eq!(error(&format!("0,{tank},1,0,0,0,0,0,0,0")), expected);
    }
    assert_eq!(
        error("0,0,1.0,0,0,0,0,0,0,0"),
        r#"line 2, column status: "1.0" is not a whole number from 0 to 4294967295"#
    );
}

#[test]
fn a_missing_or_repeated_column_is_named() {
    let missing = Trace::parse("t_s,tank,status,x,y,z,vx,vy,turn_rate_rad_s\n").expect_err("no vz");
    assert_eq!(missing, TraceError::MissingColumn { line: 1, column: "vz" });
    assert!(
        missing
            .to_string()
            .starts_with("line 1: the header has no column vz; the required columns are t_s,tank,")
    );
    let doubled = Trace::parse(&format!("\n{HEADER},x\n")).expect_err("two x");
    assert_eq!(doubled, TraceError::RepeatedColumn { line: 2, column: "x" });
}

#[test]
fn a_line_with_too_few_or_too_many_fields_is_named() {
    assert_eq!(
        error("0,0,1,0,0,0,0,0"),
        "line 2, column vz: missing; the line has 8 fields and the header 10"
    );
    assert_eq!(error("0,0,1,0,0,0,0,0,0,0,0"), "line 2: 11 fields, but the header has 10");
}

#[test]
fn time_must_not_go_backwards_within_a_tank() {
    let rows = "2,0,1,0,0,0,0,0,0,0\n1,1,1,0,0,0,0,0,0,0\n1.5,0,0,0,0,0,0,0,0,0\n";
    assert_eq!(error(rows), "line 4, column t_s: 1.5 s is before the 2 s of the row of tank 0 above it");
}

#[test]
fn a_recording_without_life_is_rejected() {
    let empty = Trace::parse(" \n\n").expect_err("nothing there").to_string();
    assert!(empty.starts_with("the trace is empty"), "{empty}");
    assert_eq!(Trace::parse(HEADER).expect_err("no row"), TraceError::NoAliveRow);
    assert!(error("0,0,0,0,0,0,0,0,0,0\n1,0,2,0,0,0,0,0,0,0").contains("no row has bit 0 set"));
    assert!(error("0,0,1,0,0,0,0,0,0,0\n3,0,1,0,0,0,0,0,0,0").contains("no tank has two alive rows"));
}

#[test]
fn binary_data_is_rejected_with_its_character() {
    assert_eq!(
        error("0,0,1,0,0\0,0,0,0,0,0"),
        "line 2: '\\0' does not belong in a text file; is this a CSV file?"
    );
    let lossy = String::from_utf8_lossy(b"\x89PNG\r\n\x1a\n").into_owned();
    assert_eq!(
        Trace::parse(&lossy).expect_err("a picture"),
        TraceError::NotText { line: 1, character: '\u{fffd}' }
    );
}

#[test]
fn columns_may_come_in_any_order_with_others_between_them() {
    let plain = format!("{HEADER}\n0,3,1,1,2,3,4,5,6,7\n1,3,1,9,8,7,6,5,4,3\n");
    let other = "\u{feff}note, turn_rate_rad_s ,vz,vy,vx,z,y,x,status,tank,t_s\r\n\
                 a,7,6,5,4,3,2,1,1,3,0\r\n\r\nb,3,4,5,6,7,8,9,1,3,1\r\n";
    let sample = |csv: &str| Trace::parse(csv).expect("well-formed").tank(3).expect("it lives").sample(0.25);
    assert!(sample(&plain).is_some());
    assert_eq!(sample(&plain), sample(other));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_parser_panic(rows in "([0-9]{0,3}[,.\\-e\n\u{0}a]){0,200}", junk in any::<String>()) {
        let _ = Trace::parse(&junk);
        let _ = Trace::parse(&format!("{HEADER}\n{rows}"));
    }

    #[test]
    fn parsed_motion_is_finite_at_every_time(
        rows in prop::collection::vec((0u32..5, 0u32..2, -1e9f64..=1e9, -1e9f64..=1e9), 1..20),
        times in prop::collection::vec(-1.0f64..1e7, 20)
    ) {
        let mut csv = format!("{HEADER}\n");
        let mut nanos = 0;
        for (pause, status, x, vx) in rows {
            nanos += [0, 1, 1_000, 500_000_000, 3_000_000_000_u64][pause as usize];
            csv += &format!("{}.{:09},0,{status},{x},{vx},{x},{vx},{x},{vx},0\n", nanos / 1_000_000_000, nanos % 1_000_000_000);
        }
        if let Ok(trace) = Trace::parse(&csv) {
            let tank = trace.tank(0).expect("the only one");
            for seconds in times.iter().chain(&[0.0, 1e-9, 1e-6]) {
                let Some(sample) = tank.sample(*seconds) else { continue };
                prop_assert!(sample.state.position.within(1e300) && sample.state.velocity.within(1e300));
                prop_assert!(sample.state.acceleration.within(1e300) && sample.state.turn_rate.abs() < 13.0);
            }
        }
    }
}

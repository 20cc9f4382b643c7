//! Messages of every kind, usual and extreme.

use evenkeel_core::{ClockFrame, LocalTime, SessionTime, Span, Vec3};
use evenkeel_dr::message::{Arrival, ConfirmFrame, Frame, Header, VERSION, VectorFrame, emit_feedback};
use evenkeel_dr::vector::MAGNITUDE_MAX;
use evenkeel_dr::{DrSeq, DrVector, EntityId, MotionKind, MotionState, Threshold};
use evenkeel_session::envelope::TIME_MAX;

use crate::json::{Content, FrameJson, Message, hex};

/// Two minutes and a bit into the session: not a whole number of microseconds.
pub(crate) const STAMP: SessionTime = SessionTime::from_nanos(123_456_789_012);
pub(crate) const NONCE: u32 = 0x1234_5678;

/// A frame to be said. Feedback can only be emitted and parsed, not made.
enum Said {
    Frame(Frame<'static>),
    Feedback { oldest: u64, first: u64, arrivals: Vec<Arrival> },
}

fn message_with(name: &'static str, header: Header, said: Vec<Said>) -> Message {
    let mut bytes = Vec::new();
    header.emit(VERSION, &mut bytes);
    let stamp = header.stamp.unwrap_or_default();
    let mut frames = Vec::new();
    for said in said {
        match said {
            Said::Frame(frame) => {
                frame.emit(stamp, &mut bytes);
                frames.push(FrameJson::from(frame));
            }
            Said::Feedback { oldest, first, arrivals } => {
                emit_feedback(oldest, first, stamp, arrivals.iter(), &mut bytes);
                frames.push(FrameJson::feedback(oldest, first, arrivals.iter()));
            }
        }
    }
    Message { name, hex: hex(&bytes), content: Content::new(header, frames) }
}

fn message(name: &'static str, said: Vec<Said>) -> Message {
    message_with(name, Header { nonce: NONCE, stamp: Some(STAMP) }, said)
}

fn one(name: &'static str, frame: Frame<'static>) -> Message {
    message(name, vec![Said::Frame(frame)])
}

fn state(position: [f64; 3], velocity: [f64; 3], acceleration: [f64; 3], turn_rate: f64) -> MotionState {
    let vec3 = |[x, y, z]: [f64; 3]| Vec3::new(x, y, z);
    MotionState {
        position: vec3(position),
        velocity: vec3(velocity),
        acceleration: vec3(acceleration),
        turn_rate,
    }
}

/// A tank as it drives.
fn tank() -> MotionState {
    state([104.5, -37.25, 0.0], [8.0, -3.5, 0.0], [0.5, 1.25, 0.0], -0.75)
}

fn vector(state: MotionState, kind: MotionKind, age: Span) -> VectorFrame {
    VectorFrame {
        entity: EntityId(5),
        first: DrSeq(10),
        seq: DrSeq(17),
        sent: STAMP,
        vector: DrVector { generated: STAMP - age, state, kind }.quantized(),
    }
}

fn usual(kind: MotionKind) -> VectorFrame {
    vector(tank(), kind, Span::from_millis(12))
}

fn arrival(entity: u32, seq: u32, ago: Span, nonce: u32) -> Arrival {
    Arrival { entity: EntityId(entity), seq: DrSeq(seq), at: STAMP - ago, nonce }
}

fn headers() -> Vec<Message> {
    let probe = || vec![Said::Frame(Frame::Clock(ClockFrame::Probe { sent: LocalTime::from_nanos(5) }))];
    let header = |nonce, stamp: Option<i64>| Header { nonce, stamp: stamp.map(SessionTime::from_nanos) };
    vec![
        message_with("a header alone", header(NONCE, Some(0)), vec![]),
        message_with("no session time: a probe", header(0, None), probe()),
        message_with("the largest nonce and the latest stamp", header(u32::MAX, Some(TIME_MAX)), probe()),
        message_with("the earliest stamp", header(1, Some(-TIME_MAX)), vec![]),
    ]
}

fn clocks() -> Vec<Message> {
    let (least, most) = (LocalTime::MIN, LocalTime::MAX);
    let echo = |probe, arrived, held| {
        let (arrived, held) = (SessionTime::from_nanos(arrived), Span::from_nanos(held));
        Frame::Clock(ClockFrame::Echo { probe, arrived, held })
    };
    let sent = LocalTime::from_nanos(987_654_321);
    vec![
        one("probe", Frame::Clock(ClockFrame::Probe { sent })),
        one("probe: the earliest time", Frame::Clock(ClockFrame::Probe { sent: least })),
        one("echo", echo(sent, STAMP.as_nanos() - 4_000_000, 3_999_871)),
        one("echo: extremes", echo(most, i64::MIN, i64::MAX)),
        one("echo: held not at all", echo(least, -1, 0)),
    ]
}

fn vectors() -> Vec<Message> {
    let age = Span::from_millis(12);
    let linear = |state| vector(state, MotionKind::Linear, age);
    let one_number = |x: f64| linear(state([x, 0.0, 0.0], [x, 0.0, 0.0], [x, 0.0, 0.0], 0.0));
    let numbered = |entity, first, seq| VectorFrame {
        entity: EntityId(entity),
        first: DrSeq(first),
        seq: DrSeq(seq),
        ..usual(MotionKind::Linear)
    };
    let most = MAGNITUDE_MAX;
    // The largest that is still no larger when it is rounded to 16 bits.
    let fastest = 30_517.0 * 32_768.0;
    let largest = state([most, -most, 1.0], [-fastest, fastest, 0.0], [0.0, 0.0, -fastest], 100.0);
    vec![
        one("vector: linear", Frame::Vector(usual(MotionKind::Linear))),
        one("vector: quadratic", Frame::Vector(usual(MotionKind::Quadratic))),
        one("vector: circular", Frame::Vector(usual(MotionKind::Circular))),
        one("vector: damped", Frame::Vector(usual(MotionKind::Damped))),
        one("vector: at rest at the origin", Frame::Vector(linear(MotionState::default()))),
        one("vector: the smallest number", Frame::Vector(one_number(1.0 / 18_446_744_073_709_551_616.0))),
        one("vector: rounded up to one bit more", Frame::Vector(one_number(-8_388_607.75))),
        one("vector: the largest numbers", Frame::Vector(linear(largest))),
        one(
            "vector: turning right as fast as can be",
            Frame::Vector(linear(state([0.0; 3], [1.0 / 3.0; 3], [0.0; 3], -100.0))),
        ),
        one(
            "vector: from the future",
            Frame::Vector(vector(tank(), MotionKind::Linear, Span::from_millis(-250))),
        ),
        one("vector: an hour old", Frame::Vector(vector(tank(), MotionKind::Linear, Span::from_secs(3_600)))),
        one("vector: the first of its life", Frame::Vector(numbered(0, 0, 0))),
        one("vector: the largest name and number", Frame::Vector(numbered(u32::MAX, 0, u32::MAX - 1))),
        one("vector: a life that began late", Frame::Vector(numbered(128, u32::MAX - 1, u32::MAX - 1))),
    ]
}

fn introductions() -> Vec<Message> {
    let introduce =
        |distance, time| Frame::Introduce(usual(MotionKind::Circular), Threshold { distance, time });
    vec![
        one("introduce", introduce(0.09, Some(Span::from_secs(1)))),
        one("introduce: no heartbeat", introduce(0.5, None)),
        one("introduce: extremes", introduce(f64::MAX, Some(Span::MAX))),
        one("introduce: every observation is a trigger", introduce(0.0, Some(Span::from_nanos(1)))),
    ]
}

fn feedback() -> Vec<Message> {
    let millis = Span::from_millis;
    let together = |seq: u32| arrival(3, seq, millis(7), 0xcafe_0001);
    let runs = vec![
        arrival(3, 40, millis(31), 0xcafe_0000),
        together(41),
        arrival(9, 12, millis(7), 0xcafe_0001),
        arrival(300, 70_000, millis(7), 0xcafe_0001),
        // The same nonce at another time is another run: a datagram may arrive twice.
        arrival(3, 42, millis(2), 0xcafe_0001),
        arrival(3, 43, millis(2), 0xcafe_0002),
    ];
    let extremes = vec![
        arrival(u32::MAX, u32::MAX, STAMP - SessionTime::from_nanos(TIME_MAX), u32::MAX),
        arrival(0, 0, STAMP - SessionTime::from_nanos(-TIME_MAX), 0),
    ];
    let last = u64::MAX / 2;
    vec![
        message("feedback: nothing", vec![Said::Feedback { oldest: 0, first: 0, arrivals: vec![] }]),
        message(
            "feedback: one arrival",
            vec![Said::Feedback { oldest: 7, first: 7, arrivals: vec![together(1)] }],
        ),
        message("feedback: runs", vec![Said::Feedback { oldest: 1_000, first: 1_300, arrivals: runs }]),
        message(
            "feedback: extremes",
            vec![Said::Feedback { oldest: last - 1, first: last, arrivals: extremes }],
        ),
    ]
}

fn answers() -> Vec<Message> {
    let confirm = |next, ago: Span, held, hole| {
        Frame::Confirm(ConfirmFrame { next, stamp: STAMP - ago, held: Span::from_nanos(held), hole })
    };
    let recorded = |entity, contiguous, newest| Frame::Recorded {
        entity: EntityId(entity),
        contiguous: DrSeq(contiguous),
        newest: DrSeq(newest),
    };
    let ended = |entity, last, at| Frame::Ended { entity: EntityId(entity), last: DrSeq(last), at };
    vec![
        one("confirm", confirm(1_306, Span::from_millis(45), 200_000_000, false)),
        one("confirm: a hole", confirm(1_301, Span::from_millis(45), 0, true)),
        one(
            "confirm: extremes",
            confirm(u64::MAX, STAMP - SessionTime::from_nanos(-TIME_MAX), i64::MAX, true),
        ),
        one("recorded", recorded(5, 16, 17)),
        one("recorded: extremes", recorded(u32::MAX, 0, u32::MAX)),
        one("ended", ended(5, 17, STAMP - Span::from_millis(1))),
        one("ended: extremes", ended(u32::MAX, u32::MAX, SessionTime::from_nanos(TIME_MAX))),
    ]
}

/// Frames that share a message, as they usually do.
fn mixtures() -> Vec<Message> {
    let frame = Said::Frame;
    let probe = ClockFrame::Probe { sent: LocalTime::from_nanos(1_000_000_007) };
    let echo = ClockFrame::Echo {
        probe: LocalTime::from_nanos(900_000_000),
        arrived: STAMP - Span::from_millis(3),
        held: Span::from_millis(3),
    };
    let confirm =
        ConfirmFrame { next: 12, stamp: STAMP - Span::from_millis(80), held: Span::ZERO, hole: false };
    let other = VectorFrame { entity: EntityId(6), ..usual(MotionKind::Linear) };
    let arrivals =
        vec![arrival(1_029, 4, Span::ZERO, 0xfeed_0001), arrival(2_053, 9, Span::ZERO, 0xfeed_0001)];
    vec![
        message(
            "from a relay: a confirmation, two vectors and an echo",
            vec![
                frame(Frame::Confirm(confirm)),
                frame(Frame::Vector(usual(MotionKind::Circular))),
                frame(Frame::Vector(other)),
                frame(Frame::Clock(echo)),
            ],
        ),
        message(
            "from a player: a vector, arrivals and a probe",
            vec![
                frame(Frame::Vector(usual(MotionKind::Circular))),
                Said::Feedback { oldest: 12, first: 12, arrivals },
                frame(Frame::Clock(probe)),
            ],
        ),
    ]
}

pub(crate) fn all() -> Vec<Message> {
    [headers(), clocks(), vectors(), introductions(), feedback(), answers(), mixtures()]
        .into_iter()
        .flatten()
        .collect()
}

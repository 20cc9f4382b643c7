//! Messages as JSON. 64-bit numbers are decimal text, which every language reads without loss.

use evenkeel_core::{ClockFrame, SessionTime, Vec3};
use evenkeel_dr::message::{Arrival, Frame, Header, VectorFrame};
use evenkeel_dr::{DrVector, MotionState};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct WireFile {
    pub(crate) version: u8,
    pub(crate) messages: Vec<Message>,
    pub(crate) refused: Vec<Refused>,
}

#[derive(Serialize)]
pub(crate) struct Message {
    pub(crate) name: &'static str,
    pub(crate) hex: String,
    pub(crate) content: Content,
}

#[derive(Serialize)]
pub(crate) struct Refused {
    pub(crate) name: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) hex: String,
}

#[derive(Serialize)]
pub(crate) struct Content {
    nonce: u32,
    stamp: Option<String>,
    frames: Vec<FrameJson>,
}

impl Content {
    pub(crate) fn new(header: Header, frames: Vec<FrameJson>) -> Self {
        Self { nonce: header.nonce, stamp: header.stamp.map(nanos), frames }
    }
}

#[derive(Serialize)]
#[serde(tag = "frame", rename_all = "snake_case")]
pub(crate) enum FrameJson {
    Vector(VectorJson),
    Introduce {
        #[serde(flatten)]
        vector: VectorJson,
        distance: f64,
        heartbeat: Option<String>,
    },
    Feedback {
        oldest: String,
        first: String,
        arrivals: Vec<ArrivalJson>,
    },
    Confirm {
        next: String,
        stamp: String,
        held: String,
        hole: bool,
    },
    Recorded {
        entity: u32,
        contiguous: u32,
        newest: u32,
    },
    Ended {
        entity: u32,
        last: u32,
        at: String,
    },
    Probe {
        sent: String,
    },
    Echo {
        probe: String,
        arrived: String,
        held: String,
    },
}

#[derive(Serialize)]
pub(crate) struct VectorJson {
    entity: u32,
    first: u32,
    seq: u32,
    #[serde(flatten)]
    motion: MotionJson,
}

#[derive(Serialize)]
pub(crate) struct MotionJson {
    kind: &'static str,
    generated: String,
    #[serde(flatten)]
    state: StateJson,
}

#[derive(Serialize)]
pub(crate) struct StateJson {
    position: [f64; 3],
    velocity: [f64; 3],
    acceleration: [f64; 3],
    turn_rate: f64,
}

#[derive(Serialize)]
pub(crate) struct ArrivalJson {
    entity: u32,
    seq: u32,
    at: String,
    nonce: u32,
}

pub(crate) fn nanos(at: SessionTime) -> String {
    at.as_nanos().to_string()
}

pub(crate) const fn axes(v: Vec3) -> [f64; 3] {
    [v.x, v.y, v.z]
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl From<&MotionState> for StateJson {
    fn from(state: &MotionState) -> Self {
        Self {
            position: axes(state.position),
            velocity: axes(state.velocity),
            acceleration: axes(state.acceleration),
            turn_rate: state.turn_rate,
        }
    }
}

impl From<&DrVector> for MotionJson {
    fn from(vector: &DrVector) -> Self {
        Self {
            kind: vector.kind.name(),
            generated: nanos(vector.generated),
            state: StateJson::from(&vector.state),
        }
    }
}

impl From<&VectorFrame> for VectorJson {
    fn from(frame: &VectorFrame) -> Self {
        let motion = MotionJson::from(&frame.vector);
        Self { entity: frame.entity.0, first: frame.first.0, seq: frame.seq.0, motion }
    }
}

impl From<&Arrival> for ArrivalJson {
    fn from(arrival: &Arrival) -> Self {
        let Arrival { entity, seq, at, nonce } = *arrival;
        Self { entity: entity.0, seq: seq.0, at: nanos(at), nonce }
    }
}

impl FrameJson {
    pub(crate) fn feedback<'a>(oldest: u64, first: u64, all: impl Iterator<Item = &'a Arrival>) -> Self {
        let arrivals = all.map(ArrivalJson::from).collect();
        Self::Feedback { oldest: oldest.to_string(), first: first.to_string(), arrivals }
    }
}

impl From<Frame<'_>> for FrameJson {
    fn from(frame: Frame<'_>) -> Self {
        match frame {
            Frame::Vector(frame) => Self::Vector(VectorJson::from(&frame)),
            Frame::Introduce(frame, threshold) => Self::Introduce {
                vector: VectorJson::from(&frame),
                distance: threshold.distance,
                heartbeat: threshold.time.map(|time| time.as_nanos().to_string()),
            },
            Frame::Feedback(feedback) => {
                let arrivals: Vec<Arrival> = feedback.arrivals().map(|(_, arrival)| arrival).collect();
                Self::feedback(feedback.oldest, feedback.first, arrivals.iter())
            }
            Frame::Confirm(confirm) => Self::Confirm {
                next: confirm.next.to_string(),
                stamp: nanos(confirm.stamp),
                held: confirm.held.as_nanos().to_string(),
                hole: confirm.hole,
            },
            Frame::Recorded { entity, contiguous, newest } => {
                Self::Recorded { entity: entity.0, contiguous: contiguous.0, newest: newest.0 }
            }
            Frame::Ended { entity, last, at } => {
                Self::Ended { entity: entity.0, last: last.0, at: nanos(at) }
            }
            Frame::Clock(ClockFrame::Probe { sent }) => Self::Probe { sent: sent.as_nanos().to_string() },
            Frame::Clock(ClockFrame::Echo { probe, arrived, held }) => Self::Echo {
                probe: probe.as_nanos().to_string(),
                arrived: nanos(arrived),
                held: held.as_nanos().to_string(),
            },
        }
    }
}

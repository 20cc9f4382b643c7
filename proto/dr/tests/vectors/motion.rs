//! The positions of vectors at session times, and states before and after quantization.

use evenkeel_core::{SessionTime, Span, Vec3};
use evenkeel_dr::motion::quantize::encode_state;
use evenkeel_dr::{DrVector, MotionKind, MotionState};
use serde::Serialize;

use crate::json::{MotionJson, axes, hex, nanos};

#[derive(Serialize)]
pub(crate) struct MotionFile {
    paths: Vec<Path>,
    quantized: Vec<Quantized>,
}

/// A vector from the wire, and points on its path.
#[derive(Serialize)]
struct Path {
    name: &'static str,
    vector: MotionJson,
    points: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    at: String,
    position: [f64; 3],
    velocity: [f64; 3],
}

/// A vector before and after quantization, and the bytes of its state.
#[derive(Serialize)]
struct Quantized {
    name: &'static str,
    exact: MotionJson,
    quantized: MotionJson,
    state_hex: String,
}

const START: SessionTime = SessionTime::from_nanos(60_000_001_234);

fn state(position: [f64; 3], velocity: [f64; 3], acceleration: [f64; 3], turn_rate: f64) -> MotionState {
    let vec3 = |[x, y, z]: [f64; 3]| Vec3::new(x, y, z);
    MotionState {
        position: vec3(position),
        velocity: vec3(velocity),
        acceleration: vec3(acceleration),
        turn_rate,
    }
}

fn path(name: &'static str, kind: MotionKind, state: MotionState) -> Path {
    let vector = DrVector { generated: START, state, kind }.quantized();
    let spans = [0, 1, 16_666_667, 250_000_000, 1_000_000_000, 7_300_000_000, -40_000_000, 3_600_000_000_000];
    let point = |nanoseconds| {
        let at = vector.generated + Span::from_nanos(nanoseconds);
        Point { at: nanos(at), position: axes(vector.project(at)), velocity: axes(vector.velocity(at)) }
    };
    Path { name, vector: MotionJson::from(&vector), points: spans.map(point).into() }
}

fn quantized(name: &'static str, generated: SessionTime, state: MotionState) -> Quantized {
    let exact = DrVector { generated, state, kind: MotionKind::Linear };
    let vector = exact.quantized();
    let (exact, quantized) = (MotionJson::from(&exact), MotionJson::from(&vector));
    Quantized { name, exact, quantized, state_hex: hex(&encode_state(&vector.state)) }
}

pub(crate) fn file() -> MotionFile {
    use MotionKind::{Circular, Damped, Linear, Quadratic};
    let tank = state([104.53, -37.21, 0.0], [8.1, -3.7, 0.0], [0.5, 1.3, 0.0], -0.75);
    let flyer = state([1.5, 2.5, 300.0], [40.0, -9.0, 6.5], [0.1, -0.2, -9.81], 0.3);
    let straight = MotionState { turn_rate: 0.0, ..tank };
    let barely = MotionState { turn_rate: 1.0 / 65_536.0, ..tank };
    let spinning = MotionState { turn_rate: 100.0, ..tank };
    let starting = MotionState { velocity: Vec3::ZERO, ..tank };
    let coasting = MotionState { acceleration: Vec3::ZERO, ..tank };
    let on_time = SessionTime::from_nanos(5_000_000);
    MotionFile {
        paths: vec![
            path("at rest", Linear, MotionState::default()),
            path("a tank, linear", Linear, tank),
            path("a tank, quadratic: the turn rate is part of the acceleration", Quadratic, tank),
            path("a tank, circular", Circular, tank),
            path("a flyer, linear", Linear, flyer),
            path("a flyer, quadratic", Quadratic, flyer),
            path("a flyer, circular: up and down it goes straight", Circular, flyer),
            path("circular without turning", Circular, straight),
            path("circular, turning as little as can be", Circular, barely),
            path("circular, turning as much as can be", Circular, spinning),
            path("a tank, damped", Damped, tank),
            path("a flyer, damped", Damped, flyer),
            path("damped without turning", Damped, straight),
            path("damped, turning as little as can be", Damped, barely),
            path("damped, turning as much as can be", Damped, spinning),
            path("damped from rest", Damped, starting),
            path("damped without acceleration: circular", Damped, coasting),
        ],
        quantized: vec![
            quantized("nothing", on_time, MotionState::default()),
            quantized("a tank", on_time, tank),
            quantized("a tank between two microseconds", START, tank),
            quantized("a flyer, before the origin of time", SessionTime::from_nanos(-1), flyer),
            quantized(
                "ties go away from nought",
                on_time,
                state(
                    [4_194_304.25, -4_194_304.75, 0.25],
                    [16_384.5, -16_384.5, 0.5],
                    [0.0; 3],
                    0.5 / 65_536.0,
                ),
            ),
            quantized(
                "rounded up to one bit more",
                on_time,
                state([8_388_607.5, 1.0, -1.0], [-32_767.5, 0.0, 0.0], [32_767.4, 0.0, 0.0], 0.0),
            ),
            quantized(
                "too small to be told",
                on_time,
                state([1e-20, -1e-20, 1e-25], [1e-300, 0.0, 0.0], [5e-20, 0.0, 0.0], 1e-9),
            ),
        ],
    }
}

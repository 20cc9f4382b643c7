//! The cost of the export error: our closed form, the papers' closed form, and quadrature.
//!
//! Run with `cargo bench -p evenkeel-dr`. The papers' form is that of the thesis' appendix B, with its misprints
//! corrected. It is wrong where paths are collinear, and only here to compare the cost.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use evenkeel_core::{Seed, Vec3};
use evenkeel_dr::Divergence;
use evenkeel_dr::motion::linear::bulk::{Intervals, Start, Width};
use evenkeel_dr::motion::linear::{integral, inverse};

fn main() {
    divan::main();
}

const COUNT: usize = 1000;

fn inputs() -> Vec<(Vec3, Vec3, f64)> {
    let mut draws = Seed::new(7).draws();
    let mut vec = |size: f64| Vec3::xy(draws.uniform(-size, size), draws.uniform(-size, size));
    let pairs: Vec<_> = (0..COUNT).map(|_| (vec(1.0), vec(25.0))).collect();
    let mut draws = Seed::new(8).draws();
    pairs.into_iter().map(|(p, v)| (p, v, draws.uniform(0.01, 0.8))).collect()
}

/// The papers' closed form.
fn papers(p: Vec3, v: Vec3, h: f64) -> f64 {
    let (a, b, c) = (v.length_squared(), 2.0 * p.dot(v), p.length_squared());
    let root = a.sqrt();
    let at = |t: f64| {
        let distance = (a * t * t + b * t + c).sqrt();
        let log = libm::log((0.5 * b + a * t) / root + distance);
        (2.0 * a * t + b) * distance / (4.0 * a) + 0.5 * log * c / root - 0.125 * log * b * b / (a * root)
    };
    at(h) - at(0.0)
}

fn each(bencher: Bencher<'_, '_>, work: impl Fn(&(Vec3, Vec3, f64)) -> f64 + Sync) {
    let inputs = inputs();
    bencher.counter(ItemsCount::new(COUNT)).bench(|| black_box(&inputs).iter().map(&work).sum::<f64>());
}

#[divan::bench]
fn linear_closed_form(bencher: Bencher<'_, '_>) {
    each(bencher, |(p, v, h)| integral(*p, *v, *h));
}

/// Arbitrary paths, and paths as close to each other, for times as short, as when `even` looks at many receivers.
const PATHS: [&str; 2] = ["any", "near"];

fn in_bulk(bencher: Bencher<'_, '_>, width: Option<Width>, paths: &str) {
    let Some(width) = width else { return };
    let [slower, shorter] = if paths == "near" { [0.2, 0.25] } else { [1.0; 2] };
    let (mut intervals, mut errors, inputs) = (Intervals::default(), Vec::new(), inputs());
    let starts: Vec<Start> = inputs.iter().map(|(p, v, _)| Start::new(*p, *v * slower)).collect();
    (0..).zip(&inputs).for_each(|(place, (_, _, h))| intervals.push(place, *h * shorter));
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        black_box(&mut intervals).integrate_by(width, black_box(&starts), &mut errors);
        errors.last().copied()
    });
}

#[divan::bench(args = PATHS)]
fn linear_in_bulk_avx512(bencher: Bencher<'_, '_>, paths: &str) {
    in_bulk(bencher, Width::avx512(), paths);
}

#[divan::bench(args = PATHS)]
fn linear_in_bulk_avx2(bencher: Bencher<'_, '_>, paths: &str) {
    in_bulk(bencher, Width::avx2(), paths);
}

#[divan::bench(args = PATHS)]
fn linear_in_bulk_on_any_processor(bencher: Bencher<'_, '_>, paths: &str) {
    in_bulk(bencher, Some(Width::ANY), paths);
}

#[divan::bench]
fn linear_as_the_papers_meant(bencher: Bencher<'_, '_>) {
    each(bencher, |(p, v, h)| papers(*p, *v, *h));
}

#[divan::bench]
fn linear_inverse(bencher: Bencher<'_, '_>) {
    each(bencher, |(p, v, h)| inverse(*p, *v, 0.5 * integral(*p, *v, *h), *h).unwrap_or(0.0));
}

#[divan::bench]
fn arcs_by_quadrature(bencher: Bencher<'_, '_>) {
    each(bencher, |(p, v, h)| {
        let divergence = Divergence {
            position: *p,
            velocity: *v,
            second_velocity: Vec3::xy(20.0, 0.0),
            turn_rates: [0.7, 0.0],
            ..Divergence::default()
        };
        divergence.integral(*h)
    });
}

#[divan::bench]
fn damped_by_quadrature(bencher: Bencher<'_, '_>) {
    each(bencher, |(p, v, h)| {
        let divergence = Divergence {
            position: *p,
            velocity: *v,
            second_velocity: Vec3::xy(20.0, 0.0),
            fading: Vec3::xy(12.0, 5.0),
            turn_rates: [0.7, 0.0],
            ..Divergence::default()
        };
        divergence.integral(*h)
    });
}

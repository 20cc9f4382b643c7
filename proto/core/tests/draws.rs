//! Seeded random numbers: reproducible, unrelated under different labels, and distributed as documented.

use evenkeel_core::{Draws, Seed};

const COUNT: usize = 200_000;

/// Returns the mean, variance and third central moment of many draws.
fn moments(label: u64, mut draw: impl FnMut(&mut Draws) -> f64) -> (f64, f64, f64) {
    let mut draws = Seed::new(2005).child(label).draws();
    let values: Vec<f64> = (0..COUNT).map(|_| draw(&mut draws)).collect();
    let mean = values.iter().sum::<f64>() / COUNT as f64;
    let second = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / COUNT as f64;
    let third = values.iter().map(|x| (x - mean) * (x - mean) * (x - mean)).sum::<f64>() / COUNT as f64;
    (mean, second, third)
}

/// Callers allow about five standard errors.
#[track_caller]
fn near(found: f64, expected: f64, allowed: f64) {
    assert!((found - expected).abs() <= allowed, "{found} instead of {expected}");
}

#[test]
fn uniform_numbers_have_their_moments_and_stay_in_range() {
    let (mean, variance, third) = moments(1, |draws| draws.uniform(-2.0, 4.0));
    near(mean, 1.0, 0.02);
    near(variance, 3.0, 0.03);
    near(third, 0.0, 0.1);
    let mut draws = Seed::new(3).draws();
    assert!((0..COUNT).all(|_| (0.0..1.0).contains(&draws.unit())));
}

#[test]
fn exponential_numbers_have_their_moments() {
    let (mean, variance, third) = moments(2, |draws| draws.exponential(1.5));
    near(mean, 1.5, 0.02);
    near(variance, 2.25, 0.08);
    near(third, 6.75, 0.9);
}

#[test]
fn extreme_values_have_their_moments_and_lean_to_the_right() {
    let (mean, variance, third) = moments(8, |draws| draws.extreme_value(18.0, 1.0));
    near(mean, 18.0, 0.012);
    near(variance, 1.0, 0.025);
    // The skewness of the distribution of maxima.
    near(third, 1.1395, 0.12);
}

#[test]
fn normal_numbers_have_their_moments() {
    let (mean, variance, third) = moments(3, Draws::normal);
    near(mean, 0.0, 0.012);
    near(variance, 1.0, 0.016);
    near(third, 0.0, 0.05);
}

#[test]
fn gamma_numbers_have_their_moments_above_and_below_shape_one() {
    for (label, shape) in [(4, 0.3), (5, 1.0), (6, 2.5), (7, 40.0)] {
        let scale = 0.7;
        let (mean, variance, _) = moments(label, |draws| draws.gamma(shape, scale));
        let sd = (shape * scale * scale).sqrt();
        near(mean, shape * scale, 0.012 * sd);
        near(variance, sd * sd, 0.06 * sd * sd);
    }
}

#[test]
fn integers_are_uniform_below_their_bound() {
    let mut draws = Seed::new(11).draws();
    let mut counts = [0u32; 7];
    for _ in 0..COUNT {
        counts[draws.below(7) as usize] += 1;
    }
    assert!(counts.iter().all(|count| count.abs_diff(28_571) < 800), "{counts:?}");
    assert!((0..1000).all(|_| draws.below(1) == 0));
    assert!((0..1000).all(|_| draws.below(u64::MAX) < u64::MAX));
}

#[test]
fn chance_has_the_given_probability() {
    let mut draws = Seed::new(12).draws();
    let hits = (0..COUNT).filter(|_| draws.chance(0.3)).count();
    assert!(hits.abs_diff(60_000) < 1_100, "{hits}");
    assert!(!(0..1000).any(|_| draws.chance(0.0)));
    assert!((0..1000).all(|_| draws.chance(1.0)));
}

#[test]
fn streams_depend_on_seed_and_label_alone() {
    let stream = |seed: Seed| -> Vec<u64> {
        let mut draws = seed.draws();
        (0..8).map(|_| draws.bits()).collect()
    };
    let seed = Seed::new(42);
    assert_eq!(stream(seed), stream(Seed::new(42)));
    assert_ne!(stream(seed), stream(Seed::new(43)));
    assert_ne!(stream(seed.child(1)), stream(seed.child(2)));
    assert_ne!(stream(seed.child(1).child(2)), stream(seed.child(2).child(1)));
}

#[test]
fn neighbouring_labels_are_not_correlated() {
    let seed = Seed::new(9);
    let pairs = 100_000;
    let product = |label: u64| {
        let unit = |label| seed.child(label).draws().unit() - 0.5;
        unit(label) * unit(label + 1)
    };
    let correlation = 12.0 * (0..pairs).map(product).sum::<f64>() / pairs as f64;
    near(correlation, 0.0, 0.016);
}

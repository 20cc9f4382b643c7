//! The statistics of figures: mean, standard deviation, percentile.

/// The arithmetic mean; 0 if there are no values.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The standard deviation of the population; 0 if there are no values.
#[must_use]
pub fn population_sd(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - centre) * (value - centre)).collect();
    mean(&squares).sqrt()
}

/// The 95th percentile; `None` if there are no values.
#[must_use]
pub fn p95(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() * 95 / 100).copied()
}

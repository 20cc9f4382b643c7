//! The few statistics that the papers use.

/// The arithmetic mean; 0 of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The standard deviation of the population; 0 of nothing.
#[must_use]
pub fn population_sd(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - centre) * (value - centre)).collect();
    mean(&squares).sqrt()
}

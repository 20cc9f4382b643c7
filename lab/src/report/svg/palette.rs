//! Colours, dashes and marks of series. A policy looks the same in every figure of every page.
//!
//! Policies have saturated colours, one hue per family; everything else (players, bounds, clocks, settings) has muted
//! ones, so that the two are not mistaken for each other.

use core::fmt::Write as _;

/// The look of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SeriesStyle {
    /// CSS variable of the colour.
    pub(super) colour: &'static str,
    /// The line's dashes.
    pub(super) dash: &'static str,
    /// The mark's shape.
    pub(super) shape: usize,
}

/// A colour on a light and on a dark ground.
struct Colour {
    name: &'static str,
    light: &'static str,
    dark: &'static str,
}

const fn colour(name: &'static str, light: &'static str, dark: &'static str) -> Colour {
    Colour { name, light, dark }
}

const COLOURS: [Colour; 36] = [
    colour("--even", "#0b6e99", "#56b4dd"),
    colour("--base", "#334155", "#cbd5e1"),
    colour("--base-k", "#7b8794", "#8492a1"),
    colour("--chance-k", "#8d7f6d", "#b5a58f"),
    colour("--matched", "#c2410c", "#fb923c"),
    colour("--netgames05", "#b7860b", "#eab308"),
    colour("--consistent", "#854d0e", "#fde68a"),
    colour("--scheduling-1", "#6d28d9", "#b794f6"),
    colour("--scheduling-1-estimate", "#a78bfa", "#8b5cf6"),
    colour("--scheduling-2", "#4338ca", "#818cf8"),
    colour("--scheduling-2-newest", "#a21caf", "#e879f9"),
    colour("--probabilistic-pa", "#be185d", "#f472b6"),
    colour("--probabilistic-pi", "#f43f5e", "#fb7185"),
    colour("--probabilistic-pt", "#881337", "#fecdd3"),
    colour("--probabilistic-mix", "#db7fa8", "#d0608f"),
    colour("--probabilistic-halves", "#9f5f80", "#f0abcf"),
    colour("--probabilistic-one", "#e11d8f", "#ff4fb0"),
    colour("--deterministic-pa", "#15803d", "#4ade80"),
    colour("--deterministic-pi", "#76a30b", "#a3e635"),
    colour("--deterministic-pt", "#0d9488", "#2dd4bf"),
    colour("--deterministic-mix", "#14532d", "#bbf7d0"),
    colour("--no-sync", "#57534e", "#a8a29e"),
    colour("--half-sync", "#9a8f85", "#78716c"),
    colour("--max-wait", "#1d4ed8", "#60a5fa"),
    colour("--select-wait", "#047857", "#34d399"),
    colour("--toss-wait", "#b45309", "#fbbf24"),
    colour("--reaction", "#be123c", "#fda4af"),
    colour("--far", "#8a3b5e", "#e09aac"),
    colour("--middle", "#7a6a2f", "#d0c06a"),
    colour("--near", "#2f7a73", "#7cc4bb"),
    colour("--other-0", "#5b7083", "#9fb4c7"),
    colour("--other-1", "#9c6644", "#d4a276"),
    colour("--other-2", "#7a5c8e", "#c1a3d6"),
    colour("--other-3", "#5f6f3a", "#b9c98a"),
    colour("--other-4", "#a4596b", "#e0a0ae"),
    colour("--bound", "#6b7280", "#9ca3af"),
];

const SOLID: &str = "none";

/// Series of fixed look: label, colour, dash, shape.
const FIXED: [(&str, &str, &str, usize); 47] = [
    ("even", "--even", SOLID, 0),
    ("even, by phi", "--even", SOLID, 0),
    ("base", "--base", SOLID, 1),
    ("1/3 base", "--base-k", "7 3", 3),
    ("1/m base", "--base-k", "7 3", 3),
    ("1/3 probabilistic", "--chance-k", "2 3", 2),
    ("base-matched", "--matched", SOLID, 2),
    ("base-matched (calibrated)", "--matched", "7 3", 4),
    ("netgames05", "--netgames05", "4 4", 2),
    ("netgames05-consistent", "--consistent", "9 3 2 3", 4),
    ("scheduling-1", "--scheduling-1", "7 3", 0),
    ("scheduling-1-estimate", "--scheduling-1-estimate", "2 3", 1),
    ("scheduling-2", "--scheduling-2", "4 4", 2),
    ("scheduling-2-newest", "--scheduling-2-newest", "12 3", 3),
    ("probabilistic (PA)", "--probabilistic-pa", "7 3", 2),
    ("probabilistic (PI)", "--probabilistic-pi", "2 3", 0),
    ("probabilistic (PT)", "--probabilistic-pt", "4 4", 1),
    ("probabilistic (thirds)", "--probabilistic-mix", "12 3", 3),
    ("probabilistic (PA, PI)", "--probabilistic-halves", "9 3 2 3", 4),
    ("probabilistic (one)", "--probabilistic-one", "1 4", 1),
    ("deterministic (PA)", "--deterministic-pa", "9 3 2 3", 3),
    ("deterministic (PI)", "--deterministic-pi", "2 3", 1),
    ("deterministic (PT)", "--deterministic-pt", "4 4", 2),
    ("deterministic (thirds)", "--deterministic-mix", "12 3", 0),
    ("NsoNsi", "--no-sync", SOLID, 0),
    ("NsoWsi", "--half-sync", "7 3", 1),
    ("WsoNsi", "--half-sync", "2 3", 2),
    ("MaxWait", "--max-wait", SOLID, 0),
    ("MaxWait/Estimate", "--max-wait", SOLID, 1),
    ("MaxWait/Exact", "--max-wait", "7 3", 2),
    ("SelectWait", "--select-wait", SOLID, 0),
    ("SelectWait/Estimate", "--select-wait", SOLID, 1),
    ("SelectWait/Exact", "--select-wait", "7 3", 2),
    ("TossWait1", "--toss-wait", SOLID, 0),
    ("TossWait2", "--toss-wait", "7 3", 1),
    ("TossWait3", "--toss-wait", "2 3", 2),
    ("Reaction", "--reaction", SOLID, 0),
    ("clairvoyant", "--bound", "7 3", 1),
    ("far", "--far", SOLID, 0),
    ("middle", "--middle", "7 3", 1),
    ("near", "--near", "2 3", 2),
    ("mean", "--other-0", SOLID, 3),
    ("clairvoyant, equal errors", "--bound", SOLID, 4),
    ("clairvoyant, least mean", "--bound", "2 3", 2),
    ("farthest player, sent every vector", "--far", "4 4", 0),
    ("as many vectors as 1/3 base", "--base-k", SOLID, 1),
    ("more vectors", "--base-k", SOLID, 2),
];

/// Dashes of series without a fixed look, in order.
const DASHES: [&str; 5] = [SOLID, "7 3", "2 3", "9 3 2 3", "4 4"];
/// Their colours, in order.
const OTHERS: [&str; 5] = ["--other-0", "--other-1", "--other-2", "--other-3", "--other-4"];

/// Returns the look of the series with this name. A series that is neither a policy nor a player gets its look by its
/// place among such series in the figure.
pub(super) fn style(names: &[&str], name: &str) -> SeriesStyle {
    if let Some(fixed) = fixed(name) {
        return fixed;
    }
    let place = names.iter().filter(|name| fixed_place(name).is_none()).position(|known| *known == name);
    let index = place.unwrap_or(0) % OTHERS.len();
    SeriesStyle { colour: OTHERS[index], dash: DASHES[index], shape: index % 5 }
}

/// Returns the look of a policy, player or bound.
pub(super) fn fixed(name: &str) -> Option<SeriesStyle> {
    let (colour, dash, shape) = fixed_place(name)?;
    Some(SeriesStyle { colour, dash, shape })
}

fn fixed_place(name: &str) -> Option<(&'static str, &'static str, usize)> {
    let known = FIXED.iter().find(|(known, ..)| *known == name);
    if let Some((_, colour, dash, shape)) = known {
        return Some((colour, dash, *shape));
    }
    // Settings of `even` and base with other thresholds are variants of one policy.
    match name {
        _ if name.starts_with("even:") => Some(("--even", "7 3", 0)),
        _ if name.starts_with("base, ") => Some(("--matched", "9 3 2 3", 4)),
        _ => None,
    }
}

/// Returns the CSS declarations of all colours.
pub(super) fn declarations(is_dark: bool) -> String {
    COLOURS.iter().fold(String::new(), |mut css, one| {
        let _ = write!(css, "{}:{};", one.name, if is_dark { one.dark } else { one.light });
        css
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fixed_look_has_a_colour_and_is_the_only_one_of_its_kind() {
        for (name, colour, dash, shape) in FIXED {
            assert!(COLOURS.iter().any(|one| one.name == colour), "{name}");
            let alike = FIXED.iter().filter(|one| (one.1, one.2, one.3) == (colour, dash, shape));
            let is_alias = ["even, by phi", "even", "1/m base", "1/3 base"].contains(&name);
            assert_eq!(alike.count(), if is_alias { 2 } else { 1 }, "{name}");
        }
        for (index, one) in COLOURS.iter().enumerate() {
            let rest = &COLOURS[index + 1..];
            assert!(
                rest.iter().all(|other| other.light != one.light && other.dark != one.dark),
                "{}",
                one.name
            );
        }
    }

    #[test]
    fn a_policy_looks_the_same_whatever_is_beside_it() {
        let alone = style(&["deterministic (PA)"], "deterministic (PA)");
        assert_eq!(alone, style(&["a clock", "base", "deterministic (PA)"], "deterministic (PA)"));
        assert_eq!(style(&["even"], "even").colour, style(&["even:phi=1"], "even:phi=1").colour);
        assert_ne!(style(&["even"], "even").dash, style(&["even:phi=1"], "even:phi=1").dash);
    }

    #[test]
    fn other_series_differ_from_each_other_and_from_policies() {
        let names = ["base", "a clock", "another clock"];
        let styles = names.map(|name| style(&names, name));
        assert!(styles[1].colour != styles[2].colour && styles[0].colour != styles[1].colour);
    }
}

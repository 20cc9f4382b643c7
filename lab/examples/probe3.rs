//! probe
use evenkeel_core::Span;
use evenkeel_lab::{dr::run, scenario::Scenario};
fn main() {
    let s = Scenario::papers(Span::from_millis(100), 0.09);
    for p in ["base", "netgames05-consistent", "scheduling-1", "deterministic-budget"] {
        let t = std::time::Instant::now();
        let mut ev = 0;
        for seed in 1..=20 {
            ev += run(&s, p.parse().unwrap(), seed, None).events;
        }
        println!(
            "{p} {:.2} M/s {:.1} ms/run {} ev/run",
            ev as f64 / t.elapsed().as_secs_f64() / 1e6,
            t.elapsed().as_secs_f64() * 50.0,
            ev / 20
        );
    }
}

//! probe
use evenkeel_core::Span;
use evenkeel_lab::{dr::run, scenario::Scenario};
fn main() {
    let n: u64 = std::env::args().nth(1).map_or(5, |a| a.parse().unwrap());
    for d in [0.09, 1.0] {
        let mut s = Scenario::papers(Span::from_millis(100), d);
        s.seeds = (1..=n).collect();
        let t = std::time::Instant::now();
        let mut ev = 0;
        let mut base = (0.0, 0.0, 0.0);
        let mut rows = vec![];
        for p in s.policies.clone() {
            let (mut sd, mut me, mut se, mut kn, mut tr) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for &seed in &s.seeds {
                let r = run(&s, p, seed, None);
                sd += r.std_aee();
                me += r.mean_aee();
                se += r.sent as f64;
                ev += r.events;
                tr += r.triggers as f64;
                kn += r.receivers.iter().map(|r| r.known_aee).sum::<f64>() / 3.0;
            }
            if p.to_string() == "base-1/3" {
                base = (sd, me, se);
            }
            rows.push((p.to_string(), sd, me, se, kn, tr));
        }
        for (name, sd, me, se, kn, tr) in rows {
            println!(
                "{d} {name:28} std {:.3} mean {:.3} sent {:.2} known/true {:.4}  mean {:.1} trig {}",
                sd / base.0,
                me / base.1,
                se / base.2,
                kn / me,
                me / n as f64,
                tr / n as f64
            );
        }
        println!(
            "{} events in {:?}: {:.2} M/s",
            ev,
            t.elapsed(),
            ev as f64 / t.elapsed().as_secs_f64() / 1e6
        );
    }
}

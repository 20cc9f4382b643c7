//! probe
use evenkeel_core::Span;
use evenkeel_lab::{dr::run, scenario::Scenario};
fn main() {
    for p in std::env::args().skip(1) {
        for d in [0.09, 1.0] {
            let s = Scenario::papers(Span::from_millis(100), d);
            let r = run(&s, p.parse().unwrap(), 1, None);
            println!("{p} {d} trig {}", r.triggers);
            for r in r.receivers {
                println!("   aee {:.1} sent {} delivered {}", r.aee, r.sent, r.delivered);
            }
        }
    }
}

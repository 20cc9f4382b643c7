//! Tests batches of runs: their order, their floors, and cancellation.

use evenkeel_core::Span;
use evenkeel_lab::batch::{run_all, run_all_on_sockets};
use evenkeel_lab::dr::run;
use evenkeel_lab::dr::sockets::SocketsError;
use evenkeel_lab::parallel::{Cancelled, Progress};
use evenkeel_lab::scenario::{Scenario, ScenarioOutcome, ScenarioSummary, parse};

const TEXT: &str = "duration_s = 4\nseeds = [3, 1, 2]\npolicy.names = [\"base-1/2\", \"deterministic-budget\"]\n\
                    [[receiver]]\nname = \"far\"\ndelay_ms = 300\n[[receiver]]\nname = \"near\"\ndelay_ms = 30\n";

fn scenario() -> Scenario {
    parse(TEXT, "test", |_| Err("no files".to_owned())).expect("the scenario is valid")
}

#[test]
fn batched_runs_are_in_order_and_equal_single_runs() {
    let scenario = scenario();
    let progress = Progress::default();
    let batch = run_all(&scenario, &progress).expect("not cancelled");
    let order: Vec<_> = batch.runs.iter().map(|run| (run.policy, run.seed)).collect();
    let expected = scenario.policies.iter().flat_map(|policy| [3, 1, 2].map(|seed| (*policy, seed)));
    assert_eq!(order, expected.collect::<Vec<_>>());
    for alone in &batch.runs {
        assert_eq!(run(&scenario, alone.policy, alone.seed, None), *alone);
    }
    assert_eq!((progress.done(), progress.total()), (9, 9), "the floors take one run per seed");
}

#[test]
fn floors_are_the_errors_under_base_even_if_base_is_not_selected() {
    let mut scenario = scenario();
    let floors = run_all(&scenario, &Progress::default()).expect("not cancelled").floors;
    assert_eq!(floors.iter().map(|floor| floor.seed).collect::<Vec<_>>(), [3, 1, 2]);
    let policies = ["deterministic-budget", "base"].map(|name| name.parse().expect("a policy")).to_vec();
    scenario.replace_policies(policies).expect("they differ");
    let batch = run_all(&scenario, &Progress::default()).expect("not cancelled");
    assert_eq!(batch.floors, floors);
    let base: Vec<f64> = batch.runs[3].receivers.iter().map(|receiver| receiver.aee).collect();
    assert_eq!(base, floors[0].aee);
}

#[test]
fn a_batch_cancelled_during_a_run_has_no_results() {
    let mut scenario = scenario();
    scenario.duration = Span::from_secs(86_400);
    let progress = Progress::default();
    let result = std::thread::scope(|scope| {
        let batch = scope.spawn(|| run_all(&scenario, &progress));
        while progress.total() == 0 {
            std::thread::yield_now();
        }
        progress.cancel();
        batch.join().expect("no panic")
    });
    assert_eq!(result, Err(Cancelled { done: 0, total: 9 }));
}

#[test]
fn a_cancelled_batch_over_sockets_counts_no_run_as_done() {
    let text = format!("topology = \"relay\"\nuplink_ms = 20\n{TEXT}");
    let mut scenario = parse(&text, "test", |_| Err("no files".to_owned())).expect("the scenario is valid");
    scenario.seeds.truncate(1);
    let progress = Progress::default();
    progress.cancel();
    assert!(matches!(run_all_on_sockets(&scenario, &progress), Err(SocketsError::Cancelled)));
    assert_eq!(progress.cancelled(), Cancelled { done: 0, total: 2 });
}

#[test]
fn ratios_are_relative_to_the_first_thinned_base() {
    let scenario = scenario();
    let batch = run_all(&scenario, &Progress::default()).expect("nobody cancels it");
    let summary = ScenarioSummary::new(&ScenarioOutcome::new(&scenario, &batch));
    assert_eq!(summary.reference.as_deref(), Some("base-1/2"));
    assert_eq!(summary.policies[0].std_ratio, Some(1.0));
    let expected = summary.policies[1].mean_real_error / summary.policies[0].mean_real_error;
    assert_eq!(summary.policies[1].mean_ratio, Some(expected));
}

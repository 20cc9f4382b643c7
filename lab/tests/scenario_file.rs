//! Scenario files: what they mean, and the errors of invalid ones.

use std::fs;
use std::path::Path;

use evenkeel_core::Span;
use evenkeel_dr::{Content, Placement, PolicyKind};
use evenkeel_lab::batch::run_all;
use evenkeel_lab::clock::Filter;
use evenkeel_lab::parallel::Progress;
use evenkeel_lab::scenario::{
    Motion, Scenario, ScenarioClock, ScenarioError, ScenarioOutcome, ScenarioTopology, load, parse,
};
use evenkeel_link::{ClockFaults, ClockStep, Jitter, Loss, TrueTime};

const TRACE: &str = "t_s,tank,status,x,y,z,vx,vy,vz,turn_rate_rad_s\n\
                     0,3,1,0,0,0,1,0,0,0\n1,3,1,1,0,0,1,0,0,0\n\
                     0,7,1,0,0,0,1,0,0,0\n1,7,1,1,0,0,1,0,0,0\n";

/// Parses a scenario with these lines at its top and one receiver.
fn with(top: &str) -> Result<Scenario, ScenarioError> {
    read(&format!("{top}\n[[receiver]]\nname = \"a\"\ndelay_ms = 50\n"))
}

/// Parses a scenario whose one receiver has these lines, from line 5 on.
fn receiving(lines: &str) -> Result<Scenario, ScenarioError> {
    read(&format!("duration_s = 10\n[[receiver]]\nname = \"a\"\ndelay_ms = 50\n{lines}\n"))
}

fn read(text: &str) -> Result<Scenario, ScenarioError> {
    parse(text, "my.toml", |path| match path.to_str() {
        Some("tanks.csv") => Ok(TRACE.to_owned()),
        Some("bad.csv") => Ok("t_s,tank\n1,2\n".to_owned()),
        Some("delays.csv") => Ok("t_s,delay_ms\n0,5\n1,x\n".to_owned()),
        _ => Err("cannot be opened".to_owned()),
    })
}

#[track_caller]
fn says(result: Result<Scenario, ScenarioError>, expected: &str) {
    let message = result.expect_err("the scenario is invalid").to_string();
    assert!(message.starts_with(expected), "{message}\n  instead of\n{expected}");
}

#[test]
fn missing_keys_have_defaults() {
    let scenario = with("").expect("a receiver is enough");
    assert_eq!(scenario.duration, Span::from_secs(300));
    assert_eq!(scenario.tick, Span::from_millis(20));
    assert_eq!(scenario.warmup, Span::ZERO);
    assert_eq!(scenario.seeds, [1]);
    assert_eq!(scenario.topology, ScenarioTopology::Direct);
    assert_eq!(scenario.clock, ScenarioClock::Synchronized);
    assert!(matches!(scenario.motion, Motion::Driven(evenkeel_games::Driver::Random)));
    assert_eq!(scenario.threshold, evenkeel_dr::Threshold::default());
    assert_eq!((scenario.kind, scenario.placement), (Content::default(), Placement::Global));
    assert_eq!(scenario.policies, PolicyKind::all());
    assert_eq!(scenario.budget, evenkeel_dr::Budget::ONE);
    let receiver = &scenario.receivers[0];
    assert_eq!(receiver.forward.delay.jitter, Jitter::Constant);
    assert_eq!(receiver.forward, receiver.back);
    assert_eq!(receiver.absence.leaves, None);
}

#[test]
fn loss_applies_both_ways_unless_loss_back_is_set() {
    let both = receiving("loss = 0.25").expect("the scenario is valid").receivers.remove(0);
    assert_eq!(both.back.loss, Loss::Independent { probability: 0.25 });
    let apart = receiving("loss = 0.25\nloss_back = 0").expect("the scenario is valid").receivers.remove(0);
    assert_eq!((apart.forward.loss, apart.back.loss), (both.forward.loss, Loss::None));
    let bursts = "kind = \"gilbert-elliott\", good_mean_s = 9, bad_mean_s = 1, loss_good = 0, loss_bad = 1";
    let loss = receiving(&format!("loss = {{ {bursts} }}")).expect("the scenario is valid").receivers[0]
        .forward
        .loss;
    assert!((loss.rate() - 0.1).abs() < 1e-12);
}

#[test]
fn link_back_has_the_forward_links_faults_unless_set_separately() {
    let there = "jitter = { kind = \"uniform\", ms = 5 }\nsteps = [{ at_s = 5, delay_ms = 90 }]";
    let back = "delay_back_ms = 70\njitter_back = { kind = \"exponential\", ms = 20 }\nsteps_back = []";
    let same = receiving(there).expect("the scenario is valid").receivers.remove(0);
    assert_eq!(same.forward, same.back);
    let apart = receiving(&format!("{there}\n{back}")).expect("the scenario is valid").receivers.remove(0);
    assert_eq!(apart.forward, same.forward);
    assert_eq!(apart.back.delay.base, Span::from_millis(70));
    assert_eq!(apart.back.delay.jitter, Jitter::Exponential { mean: Span::from_millis(20) });
    assert!(apart.back.steps.is_empty());
    says(receiving("delay_back_ms = -1"), "my.toml:5: receiver[0].delay_back_ms = -1: a delay is 0 to 60000");
    says(
        receiving("jitter_back = { kind = \"none\", ms = 1 }"),
        "my.toml:5: receiver[0].jitter_back.ms: unknown key; the keys here are kind",
    );
}

/// Parses a scenario with a relay and session clocks whose one receiver has these lines, from line 7 on.
fn following(lines: &str) -> Result<Scenario, ScenarioError> {
    let top = "duration_s = 10\ntopology = \"relay\"\nclock = \"session\"";
    read(&format!("{top}\n[[receiver]]\nname = \"a\"\ndelay_ms = 50\n{lines}\n"))
}

#[test]
fn session_clocks_may_have_faults() {
    let plain = following("").expect("the scenario is valid");
    assert_eq!(plain.clock, ScenarioClock::Session(Filter::Hull));
    assert_eq!(
        (&plain.owner_clock, &plain.receivers[0].clock),
        (&ClockFaults::default(), &ClockFaults::default())
    );
    let steps = "steps = [{ at_s = 5, by_ms = -250 }]";
    let wrong = following(&format!(
        "clock = {{ offset_ms = -5e3, skew_ppm = 30, {steps} }}\n[owner]\nclock = {{ skew_ppm = -30.5 }}"
    ));
    let wrong = wrong.expect("the scenario is valid");
    let step = ClockStep { at: TrueTime::default() + Span::from_secs(5), by: Span::from_millis(-250) };
    let expected = ClockFaults { offset: Span::from_secs(-5), skew_ppm: 30.0, steps: vec![step] };
    assert_eq!(wrong.receivers[0].clock, expected);
    assert_eq!(wrong.owner_clock, ClockFaults { skew_ppm: -30.5, ..ClockFaults::default() });
}

#[test]
fn invalid_clocks_are_rejected_with_their_line() {
    says(
        with("clock = \"ntp\""),
        "my.toml:1: clock = \"ntp\": expected one of \"synchronized\", \"session\"",
    );
    says(
        with("clock = \"session\""),
        "my.toml:1: clock = \"session\": a session clock needs a relay: set topology",
    );
    with("clock = \"synchronized\"").expect("the default is valid");
    says(
        receiving("clock = { skew_ppm = 5 }"),
        "my.toml:5: receiver[0].clock: synchronized clocks have no faults: remove it, or set clock to",
    );
    says(with("owner.clock = {}"), "my.toml:1: owner.clock: synchronized clocks have no faults");
    says(
        following("clock = 5"),
        "my.toml:7: receiver[0].clock = 5: expected a table with the keys offset_ms, skew_ppm",
    );
    says(
        following("clock = { skew_ppm = 1001 }"),
        "my.toml:7: receiver[0].clock.skew_ppm = 1001: a skew is -1000 to 1000 ppm",
    );
    says(
        following("clock = { offset_ms = nan }"),
        "my.toml:7: receiver[0].clock.offset_ms = nan: an offset is -86400000 to 86400000 ms",
    );
    says(
        following("clock = { skew = 1 }"),
        "my.toml:7: receiver[0].clock.skew: unknown key; the keys here are offset_ms, skew_ppm, steps",
    );
    says(
        following("clock = { steps = [{ at_s = 11, by_ms = 5 }] }"),
        "my.toml:7: receiver[0].clock.steps[0].at_s = 11: a step is at 0 to 10 s (the duration)",
    );
    says(
        following("clock = { steps = [{ at_s = 1, by_ms = 5 }, { at_s = 1, by_ms = 5 }] }"),
        "my.toml:7: receiver[0].clock.steps[1].at_s = 1: a step is later than the one before it",
    );
    says(
        following("clock = { steps = [{ at_s = 1 }] }"),
        "my.toml:7: receiver[0].clock.steps[0].by_ms is missing: an offset is",
    );
    says(following("[owner]\nname = 5"), "my.toml:8: owner.name: unknown key; the keys here are clock");
}

#[test]
fn only_runs_with_session_clocks_have_clock_columns() {
    let json = |mut scenario: Scenario| {
        scenario.policies.truncate(1);
        let batch = run_all(&scenario, &Progress::default()).expect("the run is not cancelled");
        let outcome = ScenarioOutcome::new(&scenario, &batch);
        let [_, (_, receivers), _] = outcome.files();
        (outcome.to_json(), String::from_utf8(receivers).expect("the file is UTF-8"))
    };
    let (synchronized, table) = json(receiving("").expect("the scenario is valid"));
    assert!(!synchronized.contains("clock_") && !table.contains("clock_"));
    let (session, table) =
        json(following("clock = { offset_ms = 1e6, skew_ppm = 50 }").expect("the scenario is valid"));
    let document: serde_json::Value = serde_json::from_str(&session).expect("the document is JSON");
    let receiver = &document["runs"][0]["receivers"][0];
    assert!(receiver["clock_error_ms"].as_f64().is_some_and(|error| error < 0.2), "{receiver}");
    assert!(
        receiver["clock_absent_s"].as_f64().is_some_and(|absent| absent > 0.0 && absent < 1.0),
        "{receiver}"
    );
    assert!(
        table.lines().next().is_some_and(|head| head.ends_with("floor_aee,clock_error_ms,clock_absent_s"))
    );
}

#[test]
fn every_kind_of_jitter_is_parsed() {
    for kind in ["uniform", "normal", "exponential", "gamma"] {
        receiving(&format!("jitter = {{ kind = \"{kind}\", ms = 5 }}")).expect(kind);
    }
    receiving("jitter = { kind = \"none\" }").expect("none");
    receiving("jitter = { kind = \"lognormal\", median_ms = 5.5, sigma = 0.5 }").expect("lognormal");
    receiving("reorder = { share = 0.1, extra_ms = 5 }\nrate = { bytes_per_s = 1e4, queue_bytes = 500 }")
        .expect("reorder and rate");
}

#[test]
fn zero_means_no_time_threshold() {
    assert_eq!(with("threshold.time_s = 0").expect("the scenario is valid").threshold.time, None);
    says(with("threshold.time_s = 1e-9"), "my.toml:1: threshold.time_s = 1e-9: a time is 0.001 to 86400 s");
}

#[test]
fn trace_has_all_its_tanks_or_the_chosen_one() {
    let motion = |lines: &str| with(lines).map(|scenario| scenario.motion);
    let all = motion("motion = { kind = \"trace\", file = \"tanks.csv\" }");
    assert!(matches!(all, Ok(Motion::Recorded(tanks)) if tanks.len() == 2));
    let one = motion("motion = { kind = \"trace\", file = \"tanks.csv\", tank = 7 }");
    assert!(matches!(one, Ok(Motion::Recorded(tanks)) if tanks.len() == 1));
    says(
        with("[motion]\nkind = \"trace\"\nfile = \"tanks.csv\"\ntank = 4"),
        "my.toml:4: motion.tank = 4: the tanks in that file are 3, 7",
    );
    says(
        with("[motion]\nkind = \"trace\"\nfile = \"bad.csv\""),
        "my.toml:3: motion.file = \"bad.csv\": line 1: the header has no column status",
    );
    says(
        with("[motion]\nkind = \"trace\"\nfile = \"gone.csv\""),
        "my.toml:3: motion.file = \"gone.csv\": cannot be opened",
    );
    says(
        receiving("jitter = { kind = \"trace\", file = \"delays.csv\" }"),
        "my.toml:5: receiver[0].jitter.file = \"delays.csv\": line 3: delay_ms is not a number",
    );
}

#[test]
fn recordings_have_a_total_limit() {
    let receiver = |name| {
        format!(
            "[[receiver]]\nname = \"{name}\"\ndelay_ms = 5\njitter = {{ kind = \"trace\", file = \"long.csv\" }}\n"
        )
    };
    let long = format!("t_s,delay_ms\n0,5\n{}", "\n".repeat(40 << 20));
    let read = |text: &str| parse(text, "my.toml", |_| Ok(long.clone()));
    read(&receiver("a")).expect("the recording is short enough");
    says(
        read(&[receiver("a"), receiver("b")].concat()),
        "my.toml:8: receiver[1].jitter.file = \"long.csv\": the recordings of a scenario have at most",
    );
}

#[test]
fn numbers_out_of_range_are_rejected_with_the_range() {
    says(receiving("loss = 1.5"), "my.toml:5: receiver[0].loss = 1.5: a loss is a probability from 0 to 1");
    says(receiving("duplicate = nan"), "my.toml:5: receiver[0].duplicate = nan: a probability is 0 to 1");
    says(
        receiving("holds_acks_ms = 1e5"),
        "my.toml:5: receiver[0].holds_acks_ms = 1e5: a delay is 0 to 60000",
    );
    for duration in ["0", "-1", "1e12", "86400.1", "inf", "nan", "1e400", "\"300\"", "[300]", "true"] {
        let expected = format!("my.toml:1: duration_s = {duration}: a duration is more than 0 s");
        says(with(&format!("duration_s = {duration}")), &expected);
    }
    says(with("tick_ms = 0.5"), "my.toml:1: tick_ms = 0.5: a tick is 1 to 1000 ms");
    says(with("tick_ms = 1001"), "my.toml:1: tick_ms = 1001: a tick is 1 to 1000 ms");
    says(with("duration_s = 0.01\ntick_ms = 20"), "my.toml:2: tick_ms = 20: a tick is");
    with("duration_s = 0.01").expect("the default tick shrinks to fit a short run");
    says(with("warmup_s = 300"), "my.toml:1: warmup_s = 300: a warm-up is 0 s or more, and less than 300 s");
    says(with("uplink_ms = 5"), "my.toml:1: uplink_ms = 5: without a relay there is no uplink");
    says(with("threshold.distance = 0"), "my.toml:1: threshold.distance = 0: a distance is a finite number");
    says(with("policy.budget = 0.0"), "my.toml:1: policy.budget = 0.0: a budget is more than 0");
    says(with("seeds = []"), "my.toml:1: seeds = []: 0 seeds; a scenario has 1 to 1000");
    says(with("seeds = [1, -2]"), "my.toml:1: seeds[1] = -2: seeds are a list of 1 to 1000 whole numbers");
}

#[test]
fn unknown_words_and_keys_are_rejected_with_the_known_ones() {
    says(
        with("topology = \"mesh\""),
        "my.toml:1: topology = \"mesh\": expected one of \"direct\", \"relay\"",
    );
    says(
        with("dr.kind = \"cubic\""),
        "my.toml:1: dr.kind = \"cubic\": expected one of \"linear\", \"quadratic\", \"circular\", \"damped\", \"auto\"",
    );
    let kind = |name: &str| with(&format!("dr.kind = \"{name}\"")).expect("the kind exists").kind;
    assert!(Content::ALL.into_iter().all(|content| kind(content.name()) == content));
    says(
        with("motion.kind = \"random\"\nmotion.file = \"x\""),
        "my.toml:2: motion.file: unknown key; the keys here are kind",
    );
    says(
        receiving("jitter = { kind = \"pareto\", ms = 1 }"),
        "my.toml:5: receiver[0].jitter.kind = \"pareto\": expected one of \"none\", \"uniform\",",
    );
    says(receiving("dealy_ms = 5"), "my.toml:5: receiver[0].dealy_ms: unknown key; the keys here are name,");
    says(
        receiving("jitter = 5"),
        "my.toml:5: receiver[0].jitter = 5: expected a table with kind = one of none,",
    );
    says(
        with("[policy]\nnames = [\n  \"base\",\n  \"evne\",\n]"),
        "my.toml:4: policy.names[1] = \"evne\": there is no policy \"evne\"; the policies are base,",
    );
    says(
        with("policy.names = [\"base\", \"base-1/1\"]"),
        "my.toml:1: policy.names[1] = \"base-1/1\": the policy base is listed twice",
    );
    says(with("policy.names = []"), "my.toml:1: policy.names = []: 0 policies; a scenario compares 1 to 100");
}

#[test]
fn receivers_have_unique_names_and_join_before_they_leave() {
    let second = "[[receiver]]\nname = \"a\"\ndelay_ms = 1";
    says(receiving(second), "my.toml:6: receiver[1].name = \"a\": another receiver has this name");
    says(
        receiving("[[receiver]]\ndelay_ms = 1"),
        "my.toml:5: receiver[1].name is missing: a name is a string",
    );
    says(
        receiving("[[receiver]]\nname = \"b\""),
        "my.toml:5: receiver[1].delay_ms is missing: a delay is 0 to",
    );
    says(receiving("joins_s = 10"), "my.toml:5: receiver[0].joins_s = 10: a receiver joins at 0 s or later");
    says(
        receiving("joins_s = 5\nleaves_s = 5"),
        "my.toml:6: receiver[0].leaves_s = 5: a receiver leaves after 5 s",
    );
    says(receiving("leaves_s = 11"), "my.toml:5: receiver[0].leaves_s = 11: a receiver leaves after 0 s");
    says(
        receiving("steps = [{ at_s = 5, delay_ms = 1 }, { at_s = 5, delay_ms = 2 }]"),
        "my.toml:5: receiver[0].steps[1].at_s = 5: a step is later than the one before it",
    );
    says(read("receiver = []"), "my.toml:1: receiver = []: 0 receivers; a scenario has 1 to 1000 receivers");
    says(read(""), "my.toml:1: receiver is missing: a scenario has 1 to 1000 receivers");
    let crowd: String = (0..1001).map(|i| format!("[[receiver]]\nname = \"{i}\"\ndelay_ms = 1\n")).collect();
    let message = read(&crowd).expect_err("there are too many receivers").to_string();
    assert!(message.contains("1001 receivers"), "{message}");
}

#[test]
fn invalid_toml_is_rejected_with_its_line() {
    says(with("a = 1\na = 2"), "my.toml:2: duplicate key");
    let error = with("x =").expect_err("the value is missing");
    assert_eq!((error.at_line(), error.at_key()), (Some(1), None));
    let error = receiving("delay = 1").expect_err("the key is unknown");
    assert_eq!((error.at_line(), error.at_key()), (Some(5), Some("receiver[0].delay")));
}

#[test]
fn every_shipped_scenario_is_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("the folder can be listed").path();
        let scenario = load(&path).unwrap_or_else(|error| panic!("{error}"));
        assert!(scenario.policies.len() >= 2, "{}", path.display());
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    for expected in ["broadband", "clocks", "papers", "relay", "sockets", "tanks"] {
        assert!(names.iter().any(|name| name == expected), "{expected} is not among {names:?}");
    }
}

//! `evenkeel lab scenario` from the command line: its output, its files and its exit status.

mod shell;

use std::fs;
use std::process::Stdio;

use shell::{Folder, SMALL, evenkeel};

#[test]
fn equal_commands_print_equal_bytes() {
    let folder = Folder::new("same-bytes");
    folder.write("small.toml", SMALL);
    for arguments in [&["lab", "scenario", "small.toml"][..], &["lab", "scenario", "small.toml", "--json"]] {
        let once = folder.run(arguments);
        assert_eq!(once.status, Some(0), "{}", once.stderr);
        assert_eq!(once.stdout, folder.run(arguments).stdout);
        assert!(once.stdout.ends_with('\n') && !once.stdout.contains('\u{1b}'));
    }
}

#[test]
fn json_has_every_run_and_every_floor() {
    let folder = Folder::new("json");
    folder.write("small.toml", SMALL);
    let arguments =
        ["lab", "scenario", "small.toml", "--policy", "netgames05", "base-1/2", "--seeds", "7,8", "--json"];
    let done = folder.run(&arguments);
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    let document: serde_json::Value = serde_json::from_str(&done.stdout).expect("the document is JSON");
    let runs = document["runs"].as_array().expect("runs are a list");
    let order: Vec<_> = runs.iter().map(|run| (run["policy"].as_str(), run["seed"].as_u64())).collect();
    let expected = [("netgames05", 7), ("netgames05", 8), ("base-1/2", 7), ("base-1/2", 8)];
    assert_eq!(order, expected.map(|(policy, seed)| (Some(policy), Some(seed))));
    for key in ["triggers", "sent", "mean_aee", "std_aee", "mean_real_error", "std_real_error"] {
        assert!(runs[0][key].is_number(), "{key}");
    }
    for key in ["delay_ms", "aee", "real_error", "sent", "delivered", "known_aee"] {
        assert!(runs[0]["receivers"][1][key].is_number(), "{key}");
    }
    assert_eq!(document["bounds"][1]["seed"], 8);
    assert_eq!(document["bounds"][1]["floor_aee"].as_array().map(Vec::len), Some(2));
}

#[test]
fn bounds_are_printed_on_request_and_no_policy_beats_them() {
    let folder = Folder::new("bounds");
    folder.write("small.toml", SMALL);
    let done = folder.run(&["lab", "scenario", "small.toml", "--policy", "base-1/2", "--bounds", "--json"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let document: serde_json::Value = serde_json::from_str(&done.stdout).expect("the document is JSON");
    let bound = |key: &str| document["bounds"][0]["clairvoyant"][key].as_f64().expect("a number");
    assert!(bound("least_mean_aee") <= bound("equal_aee") && bound("sends") > 0.0, "{}", done.stdout);
    assert!(document["runs"][0]["mean_aee"].as_f64() > Some(bound("least_mean_aee")), "{}", done.stdout);
    let text = folder.run(&["lab", "scenario", "small.toml", "--bounds"]).stdout;
    assert!(text.contains("Clairvoyant optimum"), "{text}");
    assert!(!folder.run(&["lab", "scenario", "small.toml"]).stdout.contains("Clairvoyant"));
    let sockets = ["lab", "scenario", "small.toml", "--bounds", "--runner", "sockets"];
    folder.refuses(&sockets, "--bounds: bounds are computed for simulated runs");
}

#[test]
fn tables_fit_into_100_columns_and_name_all_policies_and_receivers() {
    let folder = Folder::new("tables");
    folder.write("small.toml", SMALL);
    let text = folder.run(&["lab", "scenario", "small.toml", "--bounds"]).stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    for word in
        ["base-1/2", "deterministic-budget", "far", "near", "real", "AEE", "ratios: to base-1/2", "delivered"]
    {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
}

#[test]
fn out_writes_exactly_three_files() {
    let folder = Folder::new("out");
    folder.write("small.toml", SMALL);
    let arguments = ["lab", "scenario", "small.toml", "--json", "--out", "new/results"];
    let done = folder.run(&arguments);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let results = folder.path().join("new/results");
    let entries = fs::read_dir(&results).expect("the folder exists");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("the folder can be listed").file_name().into_string()).collect();
    names.sort();
    assert_eq!(names, ["receivers.csv", "runs.csv", "scenario.json"].map(|name| Ok(name.to_owned())));
    let read = |name| fs::read_to_string(results.join(name)).expect("the file was written");
    assert_eq!(read("scenario.json"), done.stdout);
    let runs = read("runs.csv");
    let head = "policy,seed,triggers,sent,mean_aee,std_aee,mean_real_error,std_real_error";
    assert_eq!((runs.lines().next(), runs.lines().count()), (Some(head), 1 + 4));
    let head = "policy,seed,name,delay_ms,aee,real_error,sent,delivered,known_aee,floor_aee";
    let receivers = read("receivers.csv");
    assert_eq!((receivers.lines().next(), receivers.lines().count()), (Some(head), 1 + 8));
}

#[test]
fn closed_pipe_is_no_error() {
    let folder = Folder::new("pipe");
    folder.write("small.toml", SMALL);
    let mut command = evenkeel(&folder, &["lab", "scenario", "small.toml"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the process ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

/// Whether a process has a handler for Ctrl-C, according to the kernel.
#[cfg(target_os = "linux")]
fn catches_interrupts(process: u32) -> bool {
    const SIGINT_BIT: u64 = 1 << 1;
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process exists");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("Linux reports it");
    u64::from_str_radix(caught.trim(), 16).expect("the mask is hexadecimal") & SIGINT_BIT != 0
}

#[test]
#[cfg(target_os = "linux")]
fn ctrl_c_stops_soon_and_writes_nothing() {
    let folder = Folder::new("interrupt");
    folder.write("long.toml", SMALL.replace("duration_s = 3.0", "duration_s = 86400"));
    let mut command = evenkeel(&folder, &["lab", "scenario", "long.toml", "--out", "results"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    while !catches_interrupts(child.id()) {
        std::thread::yield_now();
    }
    let asked = std::time::Instant::now();
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill runs").success());
    let output = child.wait_with_output().expect("the process ends");
    assert!(asked.elapsed().as_secs() < 5, "it took {:?}", asked.elapsed());
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(130), &b""[..]));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(words, "stopped: 0 of 6 runs were done; nothing was written\n");
    assert!(!folder.path().join("results").exists());
}

#[test]
fn every_command_has_help_with_examples() {
    let folder = Folder::new("help");
    for command in ["", "lab", "lab scenario", "lab run", "relay", "token", "bot", "replay"] {
        let arguments: Vec<_> = command.split_whitespace().chain(["--help"]).collect();
        let help = folder.run(&arguments);
        assert_eq!(help.status, Some(0));
        let example = format!("evenkeel {command}");
        assert!(help.stdout.contains("Examples:\n  evenkeel "), "{}", help.stdout);
        assert!(help.stdout.matches(example.trim_end()).count() > 1, "{}", help.stdout);
    }
    let version = folder.run(&["--version"]);
    assert_eq!(version.stdout, format!("evenkeel {}\n", env!("CARGO_PKG_VERSION")));
}

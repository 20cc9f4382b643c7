//! Mistakes of users: status 2, a message that says where and what would be right, and nothing on standard output.

mod shell;

use shell::{Folder, SMALL};

/// Runs a scenario with this text and expects it to be rejected with this message.
#[track_caller]
fn refuses(name: &str, text: impl AsRef<[u8]>, expected: &str) {
    let folder = Folder::new(name);
    folder.write("my.toml", text);
    folder.write("bad.csv", "t_s,tank,status,x,y,z,vx,vy,vz,turn_rate_rad_s\n0,0,1,left,0,0,0,0,0,0\n");
    folder.refuses(&["lab", "scenario", "my.toml"], expected);
}

/// The small scenario with one of its lines replaced.
fn with(line: &str, replacement: &str) -> String {
    assert!(SMALL.contains(line));
    SMALL.replacen(line, replacement, 1)
}

#[test]
fn unknown_key() {
    refuses("key", with("tick_ms", "tock_ms"), "my.toml:2: tock_ms: unknown key; the keys here are");
}

#[test]
fn negative_delay() {
    let text = with("delay_ms = 300.0", "delay_ms = -3");
    refuses("negative", text, "my.toml:10: receiver[0].delay_ms = -3: a delay is 0 to 60000 ms");
}

#[test]
fn numbers_that_are_not_finite() {
    for number in ["nan", "inf", "-inf"] {
        let text = with("delay_ms = 30.0", &format!("delay_ms = {number}"));
        refuses("finite", text, &format!("my.toml:14: receiver[1].delay_ms = {number}: a delay is"));
    }
}

#[test]
fn endless_run() {
    for duration in ["1e12", "inf"] {
        let text = with("duration_s = 3.0", &format!("duration_s = {duration}"));
        refuses("endless", text, &format!("my.toml:1: duration_s = {duration}: a duration is more than 0 s"));
    }
}

#[test]
fn unknown_policy() {
    let text = with("\"base-1/2\"", "\"fairest\"");
    refuses(
        "policy",
        text,
        "my.toml:6: policy.names[0] = \"fairest\": there is no policy \"fairest\"; the policies",
    );
}

#[test]
fn missing_or_malformed_trace() {
    let motion = |file| format!("motion = {{ kind = \"trace\", file = \"{file}\" }}\n{SMALL}");
    refuses(
        "no-trace",
        motion("gone.csv"),
        "my.toml:1: motion.file = \"gone.csv\": gone.csv: cannot be opened",
    );
    refuses(
        "bad-trace",
        motion("bad.csv"),
        "my.toml:1: motion.file = \"bad.csv\": line 2, column x: \"left\" is",
    );
}

#[test]
fn files_that_are_not_scenarios() {
    refuses("binary", [0x7f, b'E', b'L', b'F', 0xff, 0x00, 0x80], "my.toml: is not UTF-8");
    refuses("zeros", [0; 64], "my.toml: contains zero bytes");
    refuses("empty", "", "my.toml:1: receiver is missing: a scenario has 1 to 1000 receivers");
    refuses("long", "#".repeat((1 << 20) + 1), "my.toml: is longer than 1048576 bytes");
    let folder = Folder::new("no-file");
    folder.refuses(&["lab", "scenario", "gone.toml"], "gone.toml: cannot be opened");
    folder.refuses(&["lab", "scenario", "."], ".: is a directory");
}

#[test]
fn too_few_or_too_many() {
    refuses("nobody", "receiver = []", "my.toml:1: receiver = []: 0 receivers; a scenario has 1 to 1000");
    let seeds: Vec<_> = (0..2000).map(|seed| seed.to_string()).collect();
    let text = with("seeds = [1, 2]", &format!("seeds = [{}]", seeds.join(", ")));
    refuses("seeds", text, "my.toml:3: seeds = [0, 1, 2, 3,");
    let folder = Folder::new("arguments");
    folder.write("my.toml", SMALL);
    folder.refuses(&["lab", "scenario", "my.toml", "--seeds", &seeds.join(",")], "--seeds: 2000 seeds");
}

#[test]
fn invalid_arguments() {
    let folder = Folder::new("unknown");
    folder.write("my.toml", SMALL);
    let scenario = |rest: &[&'static str]| [&["lab", "scenario", "my.toml"], rest].concat();
    folder.refuses(
        &scenario(&["--policy", "fairest"]),
        "there is no policy \"fairest\"; the policies are base,",
    );
    folder.refuses(&scenario(&["--policy", "base", "base"]), "--policy: the policy base is listed twice");
    folder.refuses(&scenario(&["--seeds", "1,x"]), "invalid value 'x' for '--seeds");
    folder.refuses(&scenario(&["--out", "my.toml/results"]), "--out: my.toml");
    folder.refuses(&["lab", "scenario"], "FILE.toml");
    folder.refuses(&["lab", "guess"], "unrecognized subcommand 'guess'");
}

//! Notes the commit that the program is built from, for the reports it writes: its short hash, with a `+` if files were
//! changed since.

use std::process::Command;

/// What a report depends on; if any of it changes, so may the note.
const WATCHED: [&str; 8] =
    ["../.git/HEAD", "../.git/index", "../Cargo.lock", "../drive", "../games", "../lab", "../proto", "src"];

fn main() {
    for path in WATCHED {
        println!("cargo:rerun-if-changed={path}");
    }
    let described =
        Command::new("git").args(["describe", "--always", "--exclude=*", "--dirty=+", "--abbrev=9"]).output();
    let commit = described.ok().filter(|output| output.status.success());
    let commit = commit.and_then(|output| String::from_utf8(output.stdout).ok());
    println!("cargo:rustc-env=EVENKEEL_COMMIT={}", commit.as_deref().map_or("unknown", str::trim));
}

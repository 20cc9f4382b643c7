//! Notes the commit that the program is built from, for the reports it writes: its short hash, with a `+` if files were
//! changed since.

use std::process::Command;

/// What a report depends on; if any of it changes, so may the note.
const WATCHED: [&str; 10] = [
    "../.git/HEAD",
    "../.git/index",
    "../Cargo.lock",
    "../arena",
    "../drive",
    "../games",
    "../lab",
    "../proto",
    "../soak",
    "src",
];

fn main() {
    for path in WATCHED {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rustc-env=EVENKEEL_COMMIT={}", commit().unwrap_or_else(|| "unknown".to_owned()));
}

fn commit() -> Option<String> {
    let hash = git(&["rev-parse", "--short=9", "HEAD"])?;
    let is_changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if is_changed { hash + "+" } else { hash })
}

/// What git says. It writes nothing meanwhile: its index is watched, and the program would be built anew the next time.
fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).env("GIT_OPTIONAL_LOCKS", "0").output().ok()?;
    output.status.success().then_some(())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

//! Records the commit that the program is built from, for its reports: the short hash, with a `+` if files have changed
//! since.

use std::process::Command;

/// The files that the reports depend on.
const WATCHED: [&str; 11] = [
    "../.git/HEAD",
    "../.git/index",
    "../Cargo.lock",
    "../arena",
    "../drive",
    "../games",
    "../lab",
    "../proto",
    "../serve",
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

/// Returns git's output. Without optional locks, git does not write its index, which is watched and would cause a rebuild.
fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).env("GIT_OPTIONAL_LOCKS", "0").output().ok()?;
    output.status.success().then_some(())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

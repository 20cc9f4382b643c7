//! Notes the commit that the program is built from, for the reports it writes.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=../.git/HEAD");
    println!("cargo:rerun-if-changed=../.git/index");
    let described = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output();
    let commit = described.ok().filter(|output| output.status.success());
    let commit = commit.and_then(|output| String::from_utf8(output.stdout).ok());
    println!("cargo:rustc-env=EVENKEEL_COMMIT={}", commit.as_deref().map_or("unknown", str::trim));
}

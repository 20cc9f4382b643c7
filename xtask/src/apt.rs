//! Installs Debian packages where this process is allowed to: as root, or in CI with a `sudo` that asks for no password.

use std::env;
use std::process::{Command, Stdio};

/// Installs a package. Returns false if apt-get is missing, not permitted or fails; it has printed why.
pub(crate) fn install(package: &str) -> bool {
    let get = || apt_get(&["install", "--yes", "--no-install-recommends", package]);
    // The package lists may be missing or out of date.
    get() || (apt_get(&["update"]) && get())
}

fn apt_get(arguments: &[&str]) -> bool {
    let mut command = if is_root() {
        Command::new("apt-get")
    } else if env::var_os("CI").is_some() {
        let mut sudo = Command::new("sudo");
        sudo.args(["-n", "apt-get"]);
        sudo
    } else {
        return false;
    };
    println!("$ apt-get {}", arguments.join(" "));
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

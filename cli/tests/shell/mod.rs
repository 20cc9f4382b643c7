//! A folder with files, and the binary to run in it.

#[allow(dead_code, reason = "not every test is about servers")]
pub(crate) mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

/// A scenario that runs quickly.
#[allow(dead_code, reason = "not every test is about scenarios")]
pub(crate) const SMALL: &str = "duration_s = 3.0
tick_ms = 20.0
seeds = [1, 2]

[policy]
names = [\"base-1/2\", \"deterministic-budget\"]

[[receiver]]
name = \"far\"
delay_ms = 300.0

[[receiver]]
name = \"near\"
delay_ms = 30.0
";

/// A folder for one test, deleted at its end.
pub(crate) struct Folder(PathBuf);

/// The result of a command.
pub(crate) struct Done {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A command that runs the binary in this folder.
pub(crate) fn evenkeel(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(arguments).current_dir(folder.path());
    command
}

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", process::id()));
        fs::create_dir_all(&path).expect("the folder can be made");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    #[allow(dead_code, reason = "not every test needs files")]
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), content).expect("the file can be written");
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        let output = evenkeel(self, arguments).output().expect("the binary starts");
        let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
        Done { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Expects status 2, this message, and nothing on standard output.
    #[allow(dead_code, reason = "not every test is about mistakes")]
    #[track_caller]
    pub(crate) fn refuses(&self, arguments: &[&str], expected: &str) {
        let done = self.run(arguments);
        assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{}", done.stderr);
        assert!(done.stderr.contains(expected), "{}\n  does not say\n{expected}", done.stderr);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

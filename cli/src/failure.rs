//! Why a command did not do what it was asked to, and the exit status that says so.

use std::fmt;
use std::process::ExitCode;

/// What ended a command early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something that the user can mend.
    Mistake(String),
    /// Something that did not work out, and is nobody's mistake here.
    Failed(String),
    /// A verdict is not the recorded one.
    Changed(String),
    /// Ctrl-C; the words say what was done by then.
    Interrupted(String),
    /// Whoever read our standard output has seen enough.
    PipeClosed,
}

impl Failure {
    /// A mistake in these words.
    pub(crate) fn mistake(what: impl fmt::Display) -> Self {
        Self::Mistake(what.to_string())
    }

    /// It did not work out, in these words.
    pub(crate) fn failed(what: impl fmt::Display) -> Self {
        Self::Failed(what.to_string())
    }

    /// Tells the user and yields the exit status.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Mistake(what) => {
                eprintln!("error: {what}");
                ExitCode::from(2)
            }
            Self::Failed(what) => {
                eprintln!("error: {what}");
                ExitCode::from(1)
            }
            Self::Changed(what) => {
                eprintln!("{what}");
                ExitCode::from(1)
            }
            Self::Interrupted(what) => {
                eprintln!("{what}");
                ExitCode::from(130)
            }
            Self::PipeClosed => ExitCode::SUCCESS,
        }
    }
}

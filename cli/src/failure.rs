//! The ways a command fails, and their exit status.

use std::fmt;
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A mistake in the arguments or in a file.
    Mistake(String),
    /// A failure that is not the user's mistake.
    Failed(String),
    /// A verdict differs from the recorded one.
    Changed(String),
    /// Ctrl-C, with a description of what was done until then.
    Interrupted(String),
    /// The reader of standard output has closed it.
    PipeClosed,
}

impl Failure {
    /// Creates a [`Mistake`](Self::Mistake).
    pub(crate) fn mistake(what: impl fmt::Display) -> Self {
        Self::Mistake(what.to_string())
    }

    /// Creates a [`Failed`](Self::Failed).
    pub(crate) fn failed(what: impl fmt::Display) -> Self {
        Self::Failed(what.to_string())
    }

    /// Prints the message and returns the exit status.
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

//! Standard output. Unlike `println!`, it does not panic when the reader closes it, as `| head` does.

use std::io::{self, ErrorKind, Write};

use crate::failure::Failure;

/// Prints a document.
pub(crate) fn print(document: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(document.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::PipeClosed,
        _ => Failure::mistake(format!("cannot write to standard output: {error}")),
    })
}

/// Prints a JSON document.
pub(crate) fn print_json(document: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{document:#}\n"))
}

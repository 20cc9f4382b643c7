//! Reads scenario files, and the recordings they name, from disk.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use super::limits::{FILE_BYTES_MAX, TRACE_BYTES_MAX};
use super::{Scenario, ScenarioError, parse};

/// Reads a scenario from a file. Paths inside it are relative to the file's folder.
///
/// # Errors
/// [`ScenarioError`] names file, line, key and what would be right.
pub fn load(path: &Path) -> Result<Scenario, ScenarioError> {
    let name = path.display().to_string();
    let text = read_text(path, FILE_BYTES_MAX).map_err(|what| ScenarioError::file(&name, what))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    parse(&text, &name, |file| {
        let path = folder.join(file);
        read_text(&path, TRACE_BYTES_MAX).map_err(|what| format!("{}: {what}", path.display()))
    })
}

/// Reads the text of a file.
fn read_text(path: &Path, bytes_max: u64) -> Result<String, String> {
    // Looked at by name first: to open a FIFO blocks.
    let metadata = fs::metadata(path).map_err(|error| format!("cannot be opened: {error}"))?;
    if metadata.is_dir() {
        return Err("is a directory, not a file".to_owned());
    }
    if !metadata.is_file() {
        return Err("is not a regular file".to_owned());
    }
    let file = File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("is longer than {bytes_max} bytes, the limit"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8; is it a binary file?".to_owned())?;
    if text.contains('\0') {
        return Err("contains zero bytes; is it a binary file?".to_owned());
    }
    Ok(text)
}

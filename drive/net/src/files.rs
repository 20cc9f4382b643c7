//! Reading files that somebody names: settings, certificates, recordings. Special files are refused, because reading them may block
//! or never end, and so are files that are far longer than what they should hold.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The longest file of settings or certificates.
pub const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Reads a regular file of at most `bytes_max` bytes.
///
/// # Errors
/// If it cannot be read, is a folder or another special file, or is longer.
pub fn read_regular(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // Looked at by name first: to open a FIFO blocks.
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder, not a file"));
    }
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let room = usize::try_from(metadata.len().min(bytes_max)).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(room).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    File::open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let message = format!("it is longer than {bytes_max} bytes, the limit");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

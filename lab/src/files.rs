//! Writes sets of result files: no file changes if writing any of them fails, and none is ever half-written.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

/// A file or folder that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written: {source}", path.display())]
pub struct WriteError {
    /// The file or folder.
    pub path: PathBuf,
    /// The I/O error.
    pub source: io::Error,
}

/// Checks that files can be written into a folder, which need not exist yet. Leaves nothing behind, so it can run
/// before a long computation that may be cancelled.
///
/// # Errors
/// [`WriteError`] names the nearest existing path that cannot be written to.
pub fn check_folder(folder: &Path) -> Result<(), WriteError> {
    let here = Path::new(".");
    let ancestors = folder.ancestors().map(|path| if path.as_os_str().is_empty() { here } else { path });
    let mut nearest = here;
    for ancestor in ancestors {
        match fs::symlink_metadata(ancestor) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => {
                nearest = ancestor;
                break;
            }
        }
    }
    let probe = temporary(nearest, "probe");
    let result = File::create_new(&probe).and_then(|_| fs::remove_file(&probe));
    result.map_err(|source| WriteError { path: nearest.to_owned(), source })
}

/// Writes files into a folder, creating it if necessary. All files are written under temporary names first and
/// renamed at the end.
///
/// # Errors
/// [`WriteError`]; if writing failed, no file has changed.
pub fn write_all<N: AsRef<str>>(folder: &Path, files: &[(N, Vec<u8>)]) -> Result<(), WriteError> {
    fs::create_dir_all(folder).map_err(|source| WriteError { path: folder.to_owned(), source })?;
    let result = files.iter().try_for_each(|(name, bytes)| {
        let path = temporary(folder, name.as_ref());
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        written.map_err(|source| WriteError { path: folder.join(name.as_ref()), source })
    });
    let result = result.and_then(|()| {
        files.iter().try_for_each(|(name, _)| {
            let path = folder.join(name.as_ref());
            fs::rename(temporary(folder, name.as_ref()), &path).map_err(|source| WriteError { path, source })
        })
    });
    if result.is_err() {
        for (name, _) in files {
            // A failure here has the cause that `result` already reports.
            let _ = fs::remove_file(temporary(folder, name.as_ref()));
        }
    }
    result
}

fn temporary(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!(".{name}.{}.tmp", process::id()))
}

//! Processes under test, and their answers over HTTP.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::SoakError;

/// How long a process may take to start, and to answer a request.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(20);

/// A process and its folder. Dropping it kills the process and removes the folder.
pub(crate) struct ChildProcess {
    pub(crate) child: Child,
    folder: PathBuf,
}

impl ChildProcess {
    /// Starts a process in a process group of its own. A terminal's Ctrl-C goes to a whole group, and a soak that is stopped
    /// early still has questions for its relay.
    pub(crate) fn start(mut command: Command, folder: PathBuf) -> Result<Self, SoakError> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        match command.spawn() {
            Ok(child) => Ok(Self { child, folder }),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&folder);
                Err(SoakError::RelayNotStarted(format!("{}: {error}", command.get_program().display())))
            }
        }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Makes a folder for a process.
pub(crate) fn temporary_folder() -> io::Result<PathBuf> {
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let folder = std::env::temp_dir().join(format!("evenkeel-soak-{}-{nanos:x}", std::process::id()));
    std::fs::create_dir(&folder)?;
    Ok(folder)
}

/// Fetches a page.
pub(crate) async fn get(from: SocketAddr, path: &str) -> Result<String, SoakError> {
    let request = async {
        let mut stream = TcpStream::connect(from).await?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).await?;
        let mut page = String::new();
        stream.read_to_string(&mut page).await?;
        Ok::<_, io::Error>(page)
    };
    let no_answer = |reason: String| SoakError::NoAnswer { path: path.to_owned(), reason };
    let page = tokio::time::timeout(ANSWER_MAX, request)
        .await
        .map_err(|_| no_answer("it timed out".to_owned()))?
        .map_err(|error| no_answer(error.to_string()))?;
    let (head, body) =
        page.split_once("\r\n\r\n").ok_or_else(|| no_answer("not an HTTP response".to_owned()))?;
    match head.lines().next() {
        Some(line) if line.contains(" 200 ") => Ok(body.to_owned()),
        line => Err(no_answer(line.unwrap_or_default().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The process group of a process; `None` if there is no such process.
    #[cfg(target_os = "linux")]
    fn group(id: u32) -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_has_its_own_group_and_ends_with_its_owner() {
        let folder = std::env::temp_dir().join(format!("evenkeel-child-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut command = Command::new("sleep");
        command.arg("60");
        let mut process = ChildProcess::start(command, folder.clone()).expect("it starts");
        let id = process.child.id();
        assert!(process.is_running());
        assert_eq!(group(id), Some(id));
        assert_ne!(group(std::process::id()), Some(id));
        drop(process);
        assert_eq!((group(id), folder.exists()), (None, false));
    }
}

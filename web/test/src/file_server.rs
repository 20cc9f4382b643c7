//! Serves the repository's files to pages, on a port of this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result};

/// Read timeout of a connection.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A file server that runs as long as this program.
pub(crate) struct FileServer {
    address: SocketAddr,
}

impl FileServer {
    pub(crate) fn start(root: &Path) -> Result<Self> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen on this machine")?;
        let address = listener.local_addr()?;
        let root: Arc<Path> = root.into();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let root = root.clone();
                // Browsers open connections that they may never use.
                thread::spawn(move || answer(&root, stream));
            }
        });
        Ok(Self { address })
    }

    /// Returns the URL of a file of the repository.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }
}

fn answer(root: &Path, mut stream: TcpStream) -> Option<()> {
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines().map_while(Result::ok);
    let request = lines.next()?;
    lines.find(String::is_empty)?;
    let target = request.strip_prefix("GET ")?.split(' ').next()?;
    let path = target.split(['?', '#']).next()?;
    let (status, kind, body) = match local(path).map(|path| (fs::read(root.join(&path)), path)) {
        Some((Ok(body), path)) => ("200 OK", kind(&path), body),
        // Browsers request it in any case.
        _ if path == "/favicon.ico" => ("204 No Content", "image/x-icon", Vec::new()),
        _ => ("404 Not Found", "text/plain", b"there is no such file\n".to_vec()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()
}

/// Returns the file that a URL path names, below the root.
fn local(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(
        path.strip_prefix('/')?.to_owned() + if path.ends_with('/') { "index.html" } else { "" },
    );
    path.components().all(|part| matches!(part, Component::Normal(_))).then_some(path)
}

fn kind(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_the_root_are_named() {
        assert_eq!(local("/web/example/"), Some(PathBuf::from("web/example/index.html")));
        assert_eq!(local("/a.js"), Some(PathBuf::from("a.js")));
        for path in ["/../secret", "//etc/passwd", "/a/../../b", "web"] {
            assert_eq!(local(path), None, "{path}");
        }
    }
}

//! The programs that take part.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

/// A process with its children. Dropping it ends them.
pub(crate) struct ChildGroup(pub(crate) Child);

impl ChildGroup {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let name = command.get_program().display().to_string();
        let child = command.process_group(0).spawn().with_context(|| format!("cannot start {name}"))?;
        Ok(Self(child))
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-s", "TERM", "--", &group]).status();
        let _ = self.0.wait();
    }
}

/// A proxy, with the addresses that it has announced.
pub(crate) struct Proxy {
    _process: ChildGroup,
    pub(crate) address: SocketAddr,
    page: SocketAddr,
}

impl Proxy {
    pub(crate) fn start(evenkeel: &Path, home: &Path, arguments: &[&str], word: &str) -> Result<Self> {
        let mut command = Command::new(evenkeel);
        command.arg("sync-ms").args(arguments).args(["--page", "127.0.0.1:0"]).env("XDG_STATE_HOME", home);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = ChildGroup::start(&mut command)?;
        let stderr = process.0.stderr.take().context("standard error is a pipe")?;
        let (mut lines, mut seen) = (BufReader::new(stderr).lines(), Vec::new());
        let (mut address, mut page): (Option<SocketAddr>, Option<SocketAddr>) = (None, None);
        while address.is_none() || page.is_none() {
            let Some(line) = lines.next().transpose()? else {
                bail!("`evenkeel sync-ms` did not start: {}", seen.join("; "));
            };
            let after = |word: &str| line.strip_prefix(word)?.split_whitespace().next().map(str::to_owned);
            address = address.or(after(word).and_then(|text| text.parse().ok()));
            page = page.or(after("page:").and_then(|url| url.strip_prefix("http://")?.parse().ok()));
            seen.push(line);
        }
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| println!("  {line}")));
        let (Some(address), Some(page)) = (address, page) else { bail!("it announced no addresses") };
        Ok(Self { _process: process, address, page })
    }

    /// Fetches a page.
    pub(crate) fn get(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(self.page)?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").context("not an HTTP response")?;
        Ok(body.to_owned())
    }
}

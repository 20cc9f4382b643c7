//! A running relay or arena.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Folder, evenkeel};

/// A port that was just free for UDP, and most likely is for TCP.
pub(crate) fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    socket.local_addr().expect("the socket has an address").port()
}

/// A server process on this machine.
pub(crate) struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    port: u16,
}

impl Server {
    /// Starts the server and waits until it has printed `words`.
    pub(crate) fn start(folder: &Folder, arguments: &[&str], port: u16, words: &str) -> Self {
        Self::start_with(folder, arguments, port, words, |_| {})
    }

    /// The same, with other settings of the process.
    pub(crate) fn start_with(
        folder: &Folder,
        arguments: &[&str],
        port: u16,
        words: &str,
        set: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = evenkeel(folder, arguments);
        set(&mut command);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        wait_for(&mut stderr, words);
        Self { child, stderr, port }
    }

    /// Waits until the server has printed `words`.
    pub(crate) fn says(&mut self, words: &str) {
        wait_for(&mut self.stderr, words);
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: &str) {
        send(signal, self.child.id());
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Sends a request to the API and returns the response with its head.
    pub(crate) fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        let host = format!("Host: 127.0.0.1:{}\r\nConnection: close\r\n", self.port);
        let (line, rest) = request.split_once("\r\n").unwrap_or((request, "\r\n"));
        stream.write_all(format!("{line} HTTP/1.1\r\n{host}{rest}").as_bytes()).expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the server responds");
        answer
    }

    /// Posts a document with further header lines and returns the response.
    pub(crate) fn post(&self, path: &str, body: &str, headers: &str) -> String {
        let kind = format!("Content-Type: application/json\r\nContent-Length: {}\r\n{headers}", body.len());
        self.ask(&format!("POST {path}\r\n{kind}\r\n{body}"))
    }

    /// Sends a signal. Returns the exit status, the remaining output, and the time until the end.
    pub(crate) fn stop_by(mut self, signal: &str) -> (Option<i32>, String, Duration) {
        let start = Instant::now();
        self.signal(signal);
        let status = self.child.wait().expect("the process ends");
        let took = start.elapsed();
        let mut output = String::new();
        self.stderr.read_to_string(&mut output).expect("stderr can be read");
        (status.code(), output, took)
    }

    /// Sends SIGTERM. Returns the exit status and the remaining output.
    pub(crate) fn stop(self) -> (Option<i32>, String) {
        let (status, output, took) = self.stop_by("TERM");
        assert!(took < Duration::from_secs(5), "stopping took {took:?}");
        (status, output)
    }
}

/// Sends a signal to a process.
pub(crate) fn send(signal: &str, process: u32) {
    let status = Command::new("kill").args(["-s", signal, &process.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

fn wait_for(stderr: &mut BufReader<ChildStderr>, words: &str) {
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert!(
            stderr.read_line(&mut line).expect("stderr can be read") > 0,
            "the server ended before it said {words}"
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

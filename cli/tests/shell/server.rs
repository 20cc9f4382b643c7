//! A relay or an arena that is running.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Folder, evenkeel};

/// A port that is free for UDP and TCP, as far as one can know.
pub(crate) fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("there are ports");
    socket.local_addr().expect("it has one").port()
}

/// A program that serves on a port of this machine.
pub(crate) struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    port: u16,
}

impl Server {
    /// Starts it, and waits until it has said these words.
    pub(crate) fn start(folder: &Folder, arguments: &[&str], port: u16, words: &str) -> Self {
        let mut child =
            evenkeel(folder, arguments).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert!(stderr.read_line(&mut line).expect("it can be read") > 0, "it did not start");
        }
        Self { child, stderr, port }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// What the API answers, head and body.
    pub(crate) fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let host = format!("Host: 127.0.0.1:{}\r\nConnection: close\r\n", self.port);
        let (line, rest) = request.split_once("\r\n").unwrap_or((request, "\r\n"));
        stream.write_all(format!("{line} HTTP/1.1\r\n{host}{rest}").as_bytes()).expect("it takes it");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    /// What the API answers to a document, sent with further header lines.
    pub(crate) fn post(&self, path: &str, body: &str, headers: &str) -> String {
        let kind = format!("Content-Type: application/json\r\nContent-Length: {}\r\n{headers}", body.len());
        self.ask(&format!("POST {path}\r\n{kind}\r\n{body}"))
    }

    /// Sends it a signal; gives its status, what it still said, and how long it took to end.
    pub(crate) fn stop_by(mut self, signal: &str) -> (Option<i32>, String, Duration) {
        let pid = self.child.id().to_string();
        let start = Instant::now();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().expect("there is kill").success());
        let status = self.child.wait().expect("it ends");
        let took = start.elapsed();
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).expect("it can be read");
        (status.code(), said, took)
    }

    /// SIGTERM; gives its status and what it still said.
    pub(crate) fn stop(self) -> (Option<i32>, String) {
        let (status, said, took) = self.stop_by("TERM");
        assert!(took < Duration::from_secs(5), "it ends soon");
        (status, said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

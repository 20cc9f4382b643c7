//! Requests by strangers: under other names, for files that are not pages, slowly, or never complete.

#[path = "support/site.rs"]
mod site;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use site::Site;
#[cfg(target_os = "linux")]
use socket2::{Domain, Socket, Type};

/// The allocator of the program, whose memory is measured here.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Returns the response to a request.
fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(address: SocketAddr, path: &str, host: &str) -> String {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
}

#[test]
fn the_api_is_not_read_under_another_name() {
    let site = Site::start("names", |config| config.http_names = vec!["relay.lan".to_owned()]);
    for path in ["/metrics", "/api/rooms", "/api/certificate", "/api/rooms/arena"] {
        let answer = get(site.http, path, "evil.example");
        assert!(answer.starts_with("HTTP/1.1 403"), "{path}: {answer}");
        for host in ["localhost", &site.http.to_string(), "relay.lan:80"] {
            let answer = get(site.http, path, host);
            assert!(!answer.starts_with("HTTP/1.1 403"), "{path} under {host}: {answer}");
        }
    }
    assert!(get(site.http, "/", "any.example").starts_with("HTTP/1.1 200"), "pages have any name");
    let two = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert!(ask(site.http, two).starts_with("HTTP/1.1 400"));
    let absolute = "GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert!(ask(site.http, absolute).starts_with("HTTP/1.1 403"));
}

#[cfg(unix)]
#[test]
fn only_pages_are_served() {
    use std::os::unix::fs::symlink;
    let site = Site::start("files", |_| {});
    let www = site.folder().join("www");
    let write = |name: &str| std::fs::write(site.folder().join(name), "secret").expect("a file");
    ["secret", "www/.env", "www/page.html"].into_iter().for_each(write);
    std::fs::create_dir_all(www.join(".git")).expect("a folder");
    std::fs::create_dir_all(www.join("other")).expect("a folder");
    ["www/.git/config", "www/other/index.html"].into_iter().for_each(write);
    symlink("../secret", www.join("out")).expect("a link");
    symlink("..", www.join("up")).expect("a link");
    symlink(".git/config", www.join("hidden")).expect("a link");
    symlink("page.html", www.join("inside")).expect("a link");
    let fifo = std::process::Command::new("mkfifo").arg(www.join("fifo")).status();
    assert!(fifo.expect("mkfifo runs").success());
    let long = format!("/{}", "x".repeat(5_000));
    for path in [
        "/.env",
        "/%2eenv",
        "/.git/config",
        "/out",
        "/up/secret",
        "/hidden",
        "/fifo",
        "/nothing",
        "/page.html%00",
        "/other/../.env",
        long.as_str(),
    ] {
        let answer = get(site.http, path, "localhost");
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    for path in ["/", "/page.html", "/p%61ge.html", "/inside", "/other/"] {
        let answer = get(site.http, path, "localhost");
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
}

#[test]
fn half_sent_heads_and_idle_connections_end() {
    let site = Site::start("half", |_| {});
    let start = Instant::now();
    let open = |head: &str| {
        let mut stream = TcpStream::connect(site.http).expect("connected");
        stream.write_all(head.as_bytes()).expect("sent");
        stream.set_read_timeout(Some(Duration::from_secs(25))).expect("a time limit");
        stream
    };
    let half = (0..50).map(|_| open("GET / HTTP/1.1\r\nHost: local"));
    let idle = (0..50).map(|_| open("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    let body = "POST /api/rooms/a/policy HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let bodies = (0..5).map(|_| open(&format!("{body}Content-Length: 9\r\n\r\n{{")));
    let streams: Vec<TcpStream> = half.chain(idle).chain(bodies).collect();
    for mut stream in streams {
        let ended = stream.read_to_end(&mut Vec::new());
        assert!(ended.is_ok(), "it is still open after {:?}", start.elapsed());
    }
}

/// The memory of this process in KiB.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux reports it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// A client that asks for much and has room for little.
#[cfg(target_os = "linux")]
fn slow_reader(address: SocketAddr) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.set_recv_buffer_size(2_048).expect("a tiny buffer");
    socket.connect(&address.into()).expect("connected");
    (&socket).write_all(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    socket
}

#[cfg(target_os = "linux")]
#[test]
fn slow_readers_cost_little_memory() {
    const READERS: u64 = 200;
    const KIB_MAX: u64 = 192;
    let site = Site::start("slow", |_| {});
    std::fs::write(site.folder().join("www/large"), vec![7; 20 << 20]).expect("a file");
    assert_eq!(get(site.http, "/large", "localhost").len() >> 20, 20);
    let before = resident();
    // Memory is given back, or at least used again.
    for _ in 0..4 {
        let streams: Vec<Socket> = (0..READERS).map(|_| slow_reader(site.http)).collect();
        // Each has got the beginning, so the server is about to send more than fits.
        for mut stream in &streams {
            stream.read_exact(&mut [0; 64]).expect("the beginning");
        }
        std::thread::sleep(Duration::from_secs(1));
        let grown = resident().saturating_sub(before);
        assert!(grown < READERS * KIB_MAX, "{grown} KiB for {READERS} readers");
    }
}

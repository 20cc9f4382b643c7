//! A directory's requests, driven by the input: relays register and leave, players ask for tokens, and strangers send anything.
//! Every answer is a directory's, a token is for whoever asked, and nobody else gets a name that is taken.

#![no_main]

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode};
use evenkeel_directory::{
    Directory, DirectoryConfig, Joining, Listing, Registered, Registration, RoomListing, Ticket,
};
use evenkeel_fuzz::feed::Feed;
use evenkeel_net::token::{IssuerKey, Name, unix_seconds};
use http_body_util::BodyExt;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

const NAMES: [&str; 5] = ["a", "arena-1", "ada", "", "no name/.."];
const ADDRESSES: [&str; 6] = [":7878", "relay.example:7878", "[::1]:9", ":0", "a b:1", "x"];
const ORIGINS: [Option<&str>; 3] = [None, Some("http://localhost"), Some("null")];
const SECRET: &str = "a secret of the fuzzer";
const RELAYS_MAX: usize = 3;
const STEPS_MAX: usize = 40;
const CALLERS: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V4(Ipv4Addr::new(192, 168, 0, 2)),
    IpAddr::V4(Ipv4Addr::new(203, 0, 113, 9)),
];

thread_local! {
    static RUNTIME: OnceCell<Runtime> = const { OnceCell::new() };
}

fn key() -> IssuerKey {
    IssuerKey::parse(&format!("evenkeel-issuer-key-1:{}\n", "A".repeat(43))).expect("a key")
}

/// A directory and what it has handed out.
struct Visit {
    router: Router,
    key: IssuerKey,
    /// The newest token by room and name.
    tokens: BTreeMap<(String, String), String>,
}

/// One of a few words, or any text.
fn word(words: &[&str], feed: &mut Feed<'_>) -> String {
    if feed.once_in(8) {
        return String::from_utf8_lossy(feed.slice(20)).into_owned();
    }
    feed.pick(words).to_owned()
}

/// A word as part of a path.
fn escaped(word: &str) -> String {
    word.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

impl Visit {
    fn new(feed: &mut Feed<'_>) -> Self {
        let config = DirectoryConfig {
            secret: feed.once_in(4).then(|| SECRET.to_owned()),
            lan: feed.once_in(2),
            behind_proxy: feed.once_in(2),
            relays_max: RELAYS_MAX,
            rooms_max: 2,
            names_max: 4,
            joins_per_minute: feed.pick(&[u32::MAX, 3]),
            requests_per_minute: u32::MAX,
            ..DirectoryConfig::default()
        };
        Self { router: Directory::requests(config, key()), key: key(), tokens: BTreeMap::new() }
    }

    /// Sends a request. Returns the answer's status and body.
    fn send(
        &self,
        method: &str,
        path: &str,
        body: Vec<u8>,
        feed: &mut Feed<'_>,
    ) -> Option<(StatusCode, Vec<u8>)> {
        let mut request = Request::builder().method(method).uri(path);
        if !feed.once_in(16) {
            request = request.header("content-type", "application/json");
        }
        if let Some(origin) = feed.pick(&ORIGINS) {
            request = request.header("origin", origin);
        }
        if !feed.once_in(8) {
            request = request.header("authorization", format!("Bearer {SECRET}"));
        }
        if feed.once_in(8) {
            request = request.header("x-forwarded-for", feed.slice(20));
        }
        let mut request = request.body(Body::from(body)).ok()?;
        let caller = SocketAddr::new(feed.pick(&CALLERS), 9);
        request.extensions_mut().insert(ConnectInfo(caller));
        let answer = async {
            let answer = self.router.clone().oneshot(request).await.expect("a router never fails");
            let status = answer.status();
            (status, answer.into_body().collect().await.expect("it is in memory").to_bytes().to_vec())
        };
        let (status, body) = RUNTIME.with(|runtime| {
            let build = || Builder::new_current_thread().enable_time().build().expect("a runtime");
            runtime.get_or_init(build).block_on(answer)
        });
        assert!(
            !status.is_server_error() || status == StatusCode::SERVICE_UNAVAILABLE,
            "{status} for {path}"
        );
        Some((status, body))
    }

    fn register(&self, feed: &mut Feed<'_>) {
        let room = |feed: &mut Feed<'_>| RoomListing {
            name: word(&NAMES, feed),
            players: feed.below(3),
            players_max: feed.below(3),
        };
        let registration = Registration {
            name: word(&NAMES, feed),
            address: word(&ADDRESSES, feed),
            certificate: (0..feed.below(3)).map(|_| word(&[&"0a".repeat(32), "0a"], feed)).collect(),
            issuer: if feed.once_in(8) { word(&[""], feed) } else { self.key.id().to_string() },
            open: feed.once_in(2),
            rooms: (0..feed.below(4)).map(|_| room(feed)).collect(),
        };
        let body = serde_json::to_vec(&registration).expect("it is plain");
        let Some((status, answer)) = self.send("POST", "/api/relays", body, feed) else { return };
        if status.is_success() {
            serde_json::from_slice::<Registered>(&answer).expect("the directory's words");
            assert!(Name::new(&registration.name).is_ok(), "{:?} is listed", registration.name);
        } else {
            check_refusal(status, &answer);
        }
    }

    fn join(&mut self, feed: &mut Feed<'_>) {
        let (relay, room, name) = (word(&NAMES, feed), word(&NAMES, feed), word(&NAMES, feed));
        let holder = (room.clone(), name.clone());
        let token = match feed.below(4) {
            0 => self.tokens.get(&holder).cloned(),
            1 => self.tokens.values().next().cloned(),
            2 => Some(word(&["AAAA"], feed)),
            _ => None,
        };
        let is_holder = token.is_some() && token.as_ref() == self.tokens.get(&holder);
        let body = serde_json::to_vec(&Joining { name, token }).expect("it is plain");
        let path = format!("/api/relays/{}/rooms/{}/join", escaped(&relay), escaped(&room));
        let Some((status, answer)) = self.send("POST", &path, body, feed) else { return };
        if !status.is_success() {
            return check_refusal(status, &answer);
        }
        let ticket: Ticket = serde_json::from_slice(&answer).expect("the directory's words");
        let claims = self.key.id().verify(&ticket.token, unix_seconds()).expect("a valid token");
        assert_eq!((claims.room.as_str(), claims.name.as_str()), (&*holder.0, &*holder.1));
        let former = self.tokens.insert(holder, ticket.token.clone());
        assert!(former.is_none() || is_holder, "a name is handed out twice: {ticket:?}");
        let _ = ticket.client_config();
    }

    fn list(&self, feed: &mut Feed<'_>) {
        let Some((status, answer)) = self.send("GET", "/api/relays", Vec::new(), feed) else { return };
        assert!(status.is_success(), "{status}");
        let listing: Listing = serde_json::from_slice(&answer).expect("the directory's words");
        assert!(listing.relays.len() <= RELAYS_MAX);
        let rooms = listing.relays.iter().flat_map(|relay| &relay.rooms).map(|room| &room.name);
        let names = listing.relays.iter().map(|relay| &relay.name).chain(rooms);
        names.for_each(|name| assert!(Name::new(name).is_ok(), "{name:?} is listed"));
    }

    fn raw(&self, feed: &mut Feed<'_>) {
        let path = match feed.below(3) {
            0 => "/api/relays".to_owned(),
            1 => format!("/api/relays/{}", escaped(&word(&NAMES, feed))),
            _ => String::from_utf8_lossy(feed.slice(30)).into_owned(),
        };
        let method = feed.pick(&["POST", "GET", "DELETE", "OPTIONS", "PUT"]);
        let len = usize::from(feed.byte());
        let body = feed.slice(len).to_vec();
        self.send(method, &path, body, feed);
    }
}

/// A refusal says why.
fn check_refusal(status: StatusCode, answer: &[u8]) {
    // A path that is not one, and a request without its content type, are refused before the directory sees them.
    let Ok(answer) = serde_json::from_slice::<Value>(answer) else {
        return assert!(status.is_client_error(), "{status}");
    };
    assert!(answer["error"].as_str().is_some_and(|words| !words.is_empty()), "{status}: {answer}");
}

fuzz_target!(|bytes: &[u8]| {
    let mut feed = Feed::new(bytes);
    if feed.once_in(8) {
        // What a client makes of any answer.
        if let Ok(ticket) = serde_json::from_slice::<Ticket>(feed.slice(usize::MAX)) {
            let _ = ticket.client_config();
        }
        return;
    }
    let mut visit = Visit::new(&mut feed);
    for _ in 0..STEPS_MAX {
        if feed.is_over() {
            break;
        }
        match feed.below(8) {
            0..3 => visit.register(&mut feed),
            3..6 => visit.join(&mut feed),
            6 => visit.list(&mut feed),
            _ => visit.raw(&mut feed),
        }
    }
});

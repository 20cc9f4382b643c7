//! `vectors/smc.json`, a player's module played call by call, matches this code: clients in other languages must answer the
//! same calls with the same bytes. With `EVENKEEL_BLESS=1` in the environment, this test writes it. 64-bit numbers are
//! decimal text; nonces of what is sent, which are random, are zero.

use std::fs;
use std::path::PathBuf;

use evenkeel_core::clock::MirroredClock;
use evenkeel_core::{
    Channel, Draws, Endpoint, LocalTime, PeerChange, PeerId, Seed, SessionClock, SessionTime, Span,
};
use evenkeel_session::Header;
use evenkeel_sync_ms::message::{Frame, Part, UpdateFrame, VERSION};
use evenkeel_sync_ms::{Smc, SmcCommand, SmcEvent, SyncConfig};
use serde_json::{Map, Value, json};

const SERVER: PeerId = PeerId(0);
/// The session's time when the local clock shows zero.
const BASE: i64 = 217_000_000_000_000_000;
/// Small, so that short payloads are cut into parts.
const DATAGRAM_MAX: usize = 300;
const STEPS: usize = 400;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A clock that shows the base plus local time plus this.
struct Ahead(Option<Span>);

impl SessionClock for Ahead {
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        self.0.map(|ahead| SessionTime::from_nanos(BASE + now.as_nanos()) + ahead)
    }

    fn local(&self, _: SessionTime) -> Option<LocalTime> {
        unreachable!("it is copied")
    }
}

/// A player, and a relay that is not there: what it would send is drawn.
struct Trace {
    smc: Smc<MirroredClock>,
    draws: Draws,
    now: LocalTime,
    ahead: Option<Span>,
    next_id: u32,
    steps: Vec<Value>,
}

impl Trace {
    fn new() -> Self {
        let config = SyncConfig { foresight: Span::ZERO, ..SyncConfig::default() };
        let smc = Smc::with_clock(&config, SERVER, MirroredClock::default());
        let draws = Seed::new(2002).draws();
        Self { smc, draws, now: LocalTime::from_nanos(1_000), ahead: None, next_id: 0, steps: Vec::new() }
    }

    /// Notes a call, and what follows from it.
    fn note(&mut self, call: &str, of: Value) {
        let mut step = match of {
            Value::Object(of) => of,
            _ => Map::new(),
        };
        step.insert("call".to_owned(), json!(call));
        step.insert("now".to_owned(), json!(self.now.as_nanos().to_string()));
        let (mut datagrams, mut reliable, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        while let Some((_, channel)) = self.smc.poll_transmit(self.now, &mut bytes) {
            bytes[1..5].fill(0);
            match channel {
                Channel::Datagram => datagrams.push(hex(&bytes)),
                Channel::Reliable => reliable.push(hex(&bytes)),
            }
        }
        let shown = std::iter::from_fn(|| self.smc.poll_event()).filter_map(|event| match event {
            SmcEvent::Update { id, stamp, late, bytes } => Some(json!({
                "id": id, "stamp": stamp.as_nanos().to_string(), "late": late.as_nanos().to_string(), "bytes": hex(&bytes),
            })),
            SmcEvent::Clock(_) => None,
        });
        step.insert("shown".to_owned(), shown.collect());
        step.insert("datagrams".to_owned(), json!(datagrams));
        step.insert("reliable".to_owned(), json!(reliable));
        let timeout = self.smc.poll_timeout().map(|at| at.as_nanos().to_string());
        step.insert("timeout".to_owned(), json!(timeout));
        self.steps.push(Value::Object(step));
    }

    fn set_clock(&mut self, ahead: Option<Span>) {
        self.ahead = ahead;
        *self.smc.clock_mut() = MirroredClock::of(&Ahead(ahead), self.now);
        self.smc.handle_timeout(self.now);
        self.note("clock", json!({ "ahead": ahead.map(|ahead| ahead.as_nanos().to_string()) }));
    }

    fn join(&mut self) {
        self.next_id = 0;
        self.smc.handle_peer(self.now, PeerChange::Joined { peer: SERVER, datagram_max: DATAGRAM_MAX });
        self.note("join", json!({ "datagram_max": DATAGRAM_MAX }));
    }

    fn leave(&mut self) {
        self.smc.handle_peer(self.now, PeerChange::Left { peer: SERVER });
        self.note("leave", Value::Null);
    }

    fn act(&mut self) {
        let len = if self.draws.chance(0.15) { self.draws.below(900) } else { self.draws.below(20) };
        let (reliable, bytes) = (self.draws.chance(0.3), vec![self.draws.bits() as u8; len as usize]);
        let payload = hex(&bytes);
        self.smc.handle_command(self.now, SmcCommand::Act { reliable, bytes });
        self.note("act", json!({ "must_arrive": reliable, "payload": payload }));
    }

    fn timeout(&mut self) {
        self.smc.handle_timeout(self.now);
        self.note("timeout", Value::Null);
    }

    /// A message with a ping, an update that is new, late, repeated or in parts, or nonsense.
    fn message(&mut self) {
        let session = SessionTime::from_nanos(BASE + self.now.as_nanos());
        let stamp = session - Span::from_nanos(self.draws.below(60_000_000) as i64);
        let header = Header { nonce: self.draws.bits() as u32, stamp: Some(stamp) };
        let mut bytes = Vec::new();
        header.emit(VERSION, &mut bytes);
        let emit = |frame: &Frame<'_>, bytes: &mut Vec<u8>| frame.emit(header.stamp, bytes);
        if self.draws.chance(0.2) {
            let heartbeat = [Span::ZERO, Span::from_millis(10), Span::from_nanos(1)];
            emit(&Frame::Ping { heartbeat: heartbeat[self.draws.below(3) as usize] }, &mut bytes);
        }
        if self.draws.chance(0.05) {
            emit(&Frame::Pong(7), &mut bytes);
        }
        for _ in 0..self.draws.below(3) {
            let again = self.draws.below(4) as u32;
            let id = if self.draws.chance(0.2) {
                self.next_id.saturating_sub(again)
            } else {
                self.next_id + again / 3
            };
            self.next_id = self.next_id.max(id + 1);
            let hold =
                Span::from_millis(if self.draws.chance(0.2) { 0 } else { self.draws.below(90) as i64 });
            let count = if self.draws.chance(0.2) { 2 } else { 1 };
            for index in (0..count).filter(|_| self.draws.chance(0.95)).collect::<Vec<_>>() {
                let (part, payload) = (Part { index, count }, id.to_le_bytes());
                emit(&Frame::Update(UpdateFrame { id, stamp, hold, part, payload: &payload }), &mut bytes);
            }
        }
        let channel = if self.draws.chance(0.1) { Channel::Reliable } else { Channel::Datagram };
        let rejected = self.smc.handle_message(self.now, SERVER, channel, &bytes).is_err();
        let channel = if channel == Channel::Reliable { "reliable" } else { "datagram" };
        self.note("message", json!({ "channel": channel, "hex": hex(&bytes), "rejected": rejected }));
    }

    /// Lets time pass, often until just when something is due.
    fn pass(&mut self) {
        let due = self.smc.poll_timeout().filter(|due| *due > self.now);
        let pause = Span::from_nanos(self.draws.below(12_000_000) as i64);
        self.now = match due {
            Some(due) if self.draws.chance(0.7) && due - self.now < Span::from_millis(200) => due,
            _ => self.now + pause,
        };
    }

    fn play(mut self) -> Vec<Value> {
        self.join();
        for step in 0..STEPS {
            self.pass();
            match (step, self.draws.below(40)) {
                (20, _) => self.set_clock(Some(Span::from_millis(3))),
                (_, 0) => {
                    let nudge = Span::from_nanos(self.draws.below(40_000) as i64 - 20_000);
                    self.set_clock(self.ahead.map(|ahead| ahead + nudge));
                }
                (250, _) => self.set_clock(None),
                (260, _) => self.set_clock(Some(Span::from_millis(9))),
                (300, _) => self.leave(),
                (305, _) => self.join(),
                (301..305, _) => self.act(),
                (_, 1..9) => self.act(),
                (_, 9..24) => self.message(),
                _ => self.timeout(),
            }
        }
        self.steps
    }
}

#[test]
fn the_file_matches_what_the_module_does() {
    let document = json!({ "base": BASE.to_string(), "steps": Trace::new().play() });
    let document = serde_json::to_string_pretty(&document).expect("JSON") + "\n";
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/smc.json");
    if std::env::var("EVENKEEL_BLESS").is_ok_and(|bless| bless == "1") {
        fs::write(&path, &document).expect("a writable file");
    }
    assert!(
        fs::read_to_string(path).unwrap_or_default() == document,
        "vectors/smc.json differs from what the module does. If that is meant, run this test with EVENKEEL_BLESS=1"
    );
    let steps = |call: &str, what: &str| {
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let steps = document["steps"].as_array().expect("a list").clone();
        let count = |step: &Value| step[what].as_array().map_or(0, Vec::len);
        steps.iter().filter(|step| step["call"] == call).map(count).sum::<usize>()
    };
    assert!(
        steps("timeout", "shown") > 10 && steps("timeout", "datagrams") > 20,
        "updates are held, and hearts beat"
    );
    assert!(steps("act", "reliable") > 20 && steps("act", "datagrams") > 80, "actions are cut into parts");
    assert!(steps("message", "shown") > 10 && steps("message", "datagrams") > 10, "pings are answered");
}

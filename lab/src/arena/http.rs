//! The page, and what it asks for.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use evenkeel_core::{PeerId, Span};
use evenkeel_dr::{DrVector, EntityId};
use evenkeel_games::arena::Field;
use evenkeel_net::relay::may_change;
use evenkeel_net::{NodeId, RELAY};
use rust_embed::RustEmbed;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Choice, Distance, ROOM, Shared, budget, lock, name};

/// The farthest that a player may be put.
const DELAY_MAX_MS: f64 = 1_000.0;

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../web"]
#[exclude = "test/*"]
struct Web;

pub(super) fn router(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(|| async { file("arena/index.html") }))
        .route("/web/{*path}", get(|Path(path): Path<String>| async move { file(&path) }))
        .route("/api/arena", get(figures))
        .route("/api/arena/shown", get(shown))
        .route("/api/arena/join", post(join))
        .route("/api/arena/policy", post(switch))
        .route("/api/arena/link", post(link))
        .with_state(shared.clone())
}

/// A file of the page, from within the program.
fn file(path: &str) -> Response {
    let Some(file) = Web::get(path) else {
        return refuse(StatusCode::NOT_FOUND, &format!("there is no {path} here"));
    };
    let kind = match path.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")];
    (headers, file.data.into_owned()).into_response()
}

fn refuse(status: StatusCode, words: &str) -> Response {
    (status, Json(json!({ "error": words }))).into_response()
}

/// Refuses whoever may not change anything.
fn check(from: SocketAddr, headers: &HeaderMap) -> Result<(), Box<Response>> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    may_change(from, text(header::HOST).unwrap_or_default(), text(header::ORIGIN))
        .map_err(|words| Box::new(refuse(StatusCode::FORBIDDEN, words)))
}

async fn figures(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let (live, choice) = (lock(&shared.live), *lock(&shared.choice));
    let players: Vec<Value> = live
        .players
        .iter()
        .map(|player| {
            let recent = live.recent(player.player);
            let distance = shared.distance(&player.name).unwrap_or(Distance::NONE);
            let tally = |name: &str| player.tallies.get(name).copied().unwrap_or(0);
            json!({
                "player": player.player,
                "name": player.name,
                "bot": shared.bots.contains(&player.name),
                "delay_ms": distance.delay.as_millis_f64(),
                "jitter_ms": distance.jitter.as_millis_f64(),
                "interval_ms": live.intervals.get(&player.name),
                "error": recent.error,
                "without": if choice == Choice::Base { Some(recent.error) } else { recent.without },
                "total": player.aee,
                "sent": player.sent,
                "sent_per_s": recent.sent_per_s,
                "hits": tally("hits"),
                "losses": tally("losses"),
            })
        })
        .collect();
    let errors: Vec<f64> = live.players.iter().map(|player| live.recent(player.player).error).collect();
    let sent: f64 = live.players.iter().map(|player| live.recent(player.player).sent_per_s).sum();
    let field = Field::default();
    let pair = |of: evenkeel_core::Vec3| [of.x, of.y];
    let blocks: Vec<Value> = field
        .blocks
        .iter()
        .map(|block| json!({ "middle": pair(block.middle), "half": pair(block.half) }))
        .collect();
    Json(json!({
        "policy": choice.policy().to_string(),
        "choice": choice,
        "choices": Choice::ALL.map(|choice| json!({ "id": choice, "name": choice.words() })),
        "budget": budget().to_string(),
        "spread": crate::stats::population_sd(&errors),
        "mean": crate::stats::mean(&errors),
        "sent_per_s": sent,
        "clock_ms": live.intervals.values().copied().fold(0.0, f64::max),
        "cap": Value::Null,
        "field": { "half": pair(field.half), "blocks": blocks },
        "players": players,
    }))
}

#[derive(Deserialize)]
struct Of {
    player: u32,
}

/// Which vector of a player's tank each of the others shows.
async fn shown(State(shared): State<Arc<Shared>>, Query(Of { player }): Query<Of>) -> Response {
    let Some(server) = shared.server() else { return Json(json!([])).into_response() };
    let tank = EntityId::of(PeerId(player), 0);
    let look = move |room: &mut evenkeel_net::relay::RoomMachine, now| room.dr().shown(now, tank);
    let shown: Vec<(PeerId, DrVector)> = server.crank().with(NodeId(0), look).await.unwrap_or_default();
    let shown: Vec<Value> =
        shown.iter().map(|(by, vector)| json!({ "by": by.0, "vector": vector_json(vector) })).collect();
    Json(shown).into_response()
}

fn vector_json(vector: &DrVector) -> Value {
    let three = |of: evenkeel_core::Vec3| [of.x, of.y, of.z];
    let state = &vector.state;
    json!({
        "kind": vector.kind.name(),
        "generated": vector.generated.as_nanos().to_string(),
        "position": three(state.position),
        "velocity": three(state.velocity),
        "acceleration": three(state.acceleration),
        "turn_rate": state.turn_rate,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Join {
    /// Who it was before, if it comes back.
    #[serde(default)]
    name: Option<String>,
}

/// What lets a person in: a token, and where to.
async fn join(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(Join { name: wanted }): Json<Join>,
) -> Response {
    if let Err(refusal) = check(from, &headers) {
        return *refusal;
    }
    let Some(server) = shared.server() else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "the relay is not there yet");
    };
    let is_person = |name: &String| name.starts_with("you") && name.len() < 12 && evenkeel_net::token::Name::new(name).is_ok();
    let player = wanted.filter(is_person).unwrap_or_else(|| {
        let mut people = lock(&shared.people);
        *people += 1;
        if *people == 1 { "you".to_owned() } else { format!("you-{people}") }
    });
    let host = server.addresses().first().copied().unwrap_or(([127, 0, 0, 1], 0).into());
    let hashes: Vec<String> = server.hashes().iter().map(ToString::to_string).collect();
    Json(json!({
        "url": format!("https://{host}/{ROOM}"),
        "token": shared.token(&player),
        "hashes": hashes,
        "player_name": player,
    }))
    .into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    choice: Choice,
}

async fn switch(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(Switch { choice }): Json<Switch>,
) -> Response {
    if let Err(refusal) = check(from, &headers) {
        return *refusal;
    }
    let switched = shared.server().is_some_and(|server| server.switch(&name(ROOM), choice.policy(), budget()));
    if !switched {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "nobody is in the arena yet");
    }
    *lock(&shared.choice) = choice;
    Json(json!({ "choice": choice })).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Relink {
    player: u32,
    delay_ms: f64,
    jitter_ms: f64,
}

async fn link(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(Relink { player, delay_ms, jitter_ms }): Json<Relink>,
) -> Response {
    if let Err(refusal) = check(from, &headers) {
        return *refusal;
    }
    let fits = |millis: f64| (0.0..=DELAY_MAX_MS).contains(&millis);
    if !fits(delay_ms) || !fits(jitter_ms) {
        return refuse(StatusCode::BAD_REQUEST, "delays are between 0 and 1000 ms");
    }
    let name = lock(&shared.live).players.iter().find(|known| known.player == player).map(|known| known.name.clone());
    let Some(name) = name else {
        return refuse(StatusCode::NOT_FOUND, "there is no such player");
    };
    let distance =
        Distance { delay: Span::from_millis_f64(delay_ms), jitter: Span::from_millis_f64(jitter_ms.min(delay_ms)) };
    lock(&shared.distances).insert(name.clone(), distance);
    let done = match shared.bots.iter().position(|bot| *bot == name) {
        Some(bot) => shared.crank.emulate(NodeId(bot as u32), RELAY, distance.faults(), distance.faults()).is_ok(),
        None => shared.server().is_some_and(|server| {
            server.crank().emulate(NodeId(0), PeerId(player), distance.faults(), distance.faults()).is_ok()
        }),
    };
    if done { Json(json!({ "player": player })).into_response() } else { refuse(StatusCode::SERVICE_UNAVAILABLE, "busy") }
}

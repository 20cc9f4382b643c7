//! What the page asks for: figures four times a second, where everything is ten times a second, and what is set.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use evenkeel_core::{LocalTime, PeerId, SessionClock, Span, Vec3};
use evenkeel_dr::{DrRoom, DrVector, EntityId};
use evenkeel_games::arena::Field;
use evenkeel_serve::{authorized_body, error_response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::page::file;
use super::{Choice, DELAY_MAX, Distance, ROOM, RoomMachine, Shared, budget, cap, lock, name};
use crate::stats::{mean, population_sd};

pub(super) fn router(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(|| async { file("arena/index.html") }))
        .route("/web/{*path}", get(|Path(path): Path<String>| async move { file(&path) }))
        .route("/api/arena", get(figures))
        .route("/api/arena/watch", get(watch))
        .route("/api/arena/shown", get(shown))
        .route("/api/arena/join", post(join))
        .route("/api/arena/policy", post(switch))
        .route("/api/arena/link", post(relink))
        .with_state(shared.clone())
}

/// Everybody's error, and what it would be without us; how it is set; and the field.
async fn figures(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let live = lock(&shared.live);
    let choice = Choice::of(&live.policy);
    let known: Vec<_> = live.players().map(|player| (player, live.figures(player.player))).collect();
    let players: Vec<Value> = known
        .iter()
        .map(|(player, means)| {
            let distance = shared.distance(&player.name);
            let tally = |name: &str| player.tallies.get(name).copied().unwrap_or(0);
            json!({
                "player": player.player,
                "name": player.name,
                "bot": shared.bots.contains(&player.name),
                "delay_ms": distance.delay.as_millis_f64(),
                "jitter_ms": distance.jitter.as_millis_f64(),
                "interval_ms": live.interval_ms(&player.name),
                "recent": live.curve(player.player).error,
                "error": means.error,
                "without": if choice == Some(Choice::Base) { Some(means.error) } else { means.without },
                "total": live.total(player.player),
                "sent": player.sent,
                "sent_per_s": means.sent_per_s,
                "hits": tally("hits"),
                "losses": tally("losses"),
                "fouls": tally("fouls"),
            })
        })
        .collect();
    let errors: Vec<f64> = known.iter().map(|(_, means)| means.error).collect();
    let sent: f64 = known.iter().map(|(_, means)| means.sent_per_s).sum();
    Json(json!({
        "relay": shared.certificate(),
        "policy": live.policy,
        "choice": choice,
        "choices": Choice::ALL.map(|choice| json!({ "id": choice, "name": choice.words() })),
        "budget": live.budget,
        "spread": population_sd(&errors),
        "mean": mean(&errors),
        "sent_per_s": sent,
        "clock_ms": live.worst_interval_ms(),
        "cap": cap(&live.policy),
        "field": field_json(),
        "players": players,
    }))
}

fn field_json() -> Value {
    let field = Field::default();
    let pair = |of: Vec3| [of.x, of.y];
    let block = |block: &evenkeel_games::arena::Block| json!({ "middle": pair(block.middle), "half": pair(block.half) });
    let blocks: Vec<Value> = field.blocks.iter().map(block).collect();
    json!({ "half": pair(field.half), "blocks": blocks })
}

/// Where everything is, for who only watches: the newest vector of each entity, and the session's time.
async fn watch(State(shared): State<Arc<Shared>>) -> Response {
    let look = |room: &mut RoomMachine, now: LocalTime| {
        let entities: Vec<Value> = room
            .dr()
            .present()
            .map(|present| json!({ "entity": present.entity.0, "vector": vector_json(&present.newest) }))
            .collect();
        let now = room.dr().clock().session(now).map(|now| now.as_nanos().to_string());
        json!({ "now": now, "entities": entities })
    };
    let nobody = || json!({ "now": Value::Null, "entities": [] });
    Json(shared.with_room(look).await.unwrap_or_else(nobody)).into_response()
}

#[derive(Deserialize)]
struct Of {
    player: u32,
}

/// Which vector of a player's tank each of the others shows.
async fn shown(State(shared): State<Arc<Shared>>, Query(Of { player }): Query<Of>) -> Json<Value> {
    let tank = EntityId::of(PeerId(player), 0);
    let look = move |room: &mut RoomMachine, now: LocalTime| -> Vec<Value> {
        let shown = room.dr().shown(now, tank).filter(|(by, _)| by.0 != player);
        shown.map(|(by, vector)| json!({ "by": by.0, "vector": vector_json(&vector) })).collect()
    };
    Json(shared.with_room(look).await.unwrap_or_default().into())
}

fn vector_json(vector: &DrVector) -> Value {
    let three = |of: Vec3| [of.x, of.y, of.z];
    let state = &vector.state;
    json!({
        "kind": vector.kind.name(),
        // Nanoseconds have more digits than JavaScript's numbers.
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
    body: Result<Json<Join>, JsonRejection>,
) -> Response {
    let Join { name } = match authorized_body(from, &headers, body) {
        Ok(asked) => asked,
        Err(refusal) => return *refusal,
    };
    let Some(server) = shared.server() else {
        return error_response(StatusCode::SERVICE_UNAVAILABLE, "the relay is not there yet: try again");
    };
    let player = shared.person(name);
    let hashes: Vec<String> = server.hashes().iter().map(ToString::to_string).collect();
    Json(json!({
        "url": shared.url(&server),
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
    body: Result<Json<Switch>, JsonRejection>,
) -> Response {
    let Switch { choice } = match authorized_body(from, &headers, body) {
        Ok(asked) => asked,
        Err(refusal) => return *refusal,
    };
    if !shared.server().is_some_and(|server| server.switch(&name(ROOM), choice.policy(), budget())) {
        return error_response(StatusCode::SERVICE_UNAVAILABLE, "nobody is in the arena yet");
    }
    Json(json!({ "choice": choice })).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Relink {
    player: u32,
    delay_ms: f64,
    jitter_ms: f64,
}

async fn relink(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Result<Json<Relink>, JsonRejection>,
) -> Response {
    let Relink { player, delay_ms, jitter_ms } = match authorized_body(from, &headers, body) {
        Ok(asked) => asked,
        Err(refusal) => return *refusal,
    };
    let most = DELAY_MAX.as_millis_f64();
    if ![delay_ms, jitter_ms].iter().all(|millis| (0.0..=most).contains(millis)) {
        return error_response(
            StatusCode::BAD_REQUEST,
            &format!("delay and jitter are between 0 and {most} ms"),
        );
    }
    let name =
        lock(&shared.live).players().find(|known| known.player == player).map(|known| known.name.clone());
    let Some(name) = name else { return error_response(StatusCode::NOT_FOUND, "there is no such player") };
    let delay = Span::from_millis_f64(delay_ms);
    // Nothing arrives before it was sent.
    let jitter = Span::from_millis_f64(jitter_ms).min(delay);
    if shared.put(&name, player, Distance { delay, jitter }) {
        let (delay_ms, jitter_ms) = (delay.as_millis_f64(), jitter.as_millis_f64());
        Json(json!({ "player": player, "delay_ms": delay_ms, "jitter_ms": jitter_ms })).into_response()
    } else {
        error_response(StatusCode::SERVICE_UNAVAILABLE, "the relay is busy: try again")
    }
}

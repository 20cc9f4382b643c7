//! The page's API: figures, the tanks' vectors, invitations, and the settings that the page can change.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use evenkeel_core::stats::{mean, population_sd};
use evenkeel_core::{LocalTime, PeerId, SessionClock, Span, Vec3};
use evenkeel_dr::{DrRoom, DrVector, EntityId};
use evenkeel_games::arena::{Block, Field};
use evenkeel_serve::{asked, refuse};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::assets::asset;
use crate::choice::{PolicyChoice, budget, error_cap};
use crate::delay::{DELAY_MAX, LinkDelay};
use crate::host::RoomMachine;
use crate::state::{HostState, lock, room_name};

pub(crate) fn router(state: &Arc<HostState>) -> Router {
    Router::new()
        .route("/", get(|| async { asset("arena/index.html") }))
        .route("/web/{*path}", get(|Path(path): Path<String>| async move { asset(&path) }))
        .route("/api/arena", get(figures))
        .route("/api/arena/watch", get(watch))
        .route("/api/arena/shown", get(shown))
        .route("/api/arena/join", post(join))
        .route("/api/arena/policy", post(set_policy))
        .route("/api/arena/link", post(set_link))
        .with_state(state.clone())
}

/// Everything that the page's tables show, and the field.
async fn figures(State(state): State<Arc<HostState>>) -> Json<Value> {
    let live = lock(&state.live);
    let choice = PolicyChoice::from_policy_name(&live.policy);
    let known: Vec<_> = live.players().map(|player| (player, live.table(player.player))).collect();
    let players: Vec<Value> = known
        .iter()
        .map(|(player, means)| {
            let link = state.delay(&player.name);
            let tally = |name: &str| player.tallies.get(name).copied().unwrap_or(0);
            // The policy in force is the baseline itself.
            let is_base = choice == Some(PolicyChoice::Base);
            json!({
                "player": player.player,
                "name": player.name,
                "bot": state.bots.contains(&player.name),
                "delay_ms": link.delay.as_millis_f64(),
                "jitter_ms": link.jitter.as_millis_f64(),
                "interval_ms": live.interval_ms(&player.name),
                "recent": live.curve(player.player).error,
                "error": means.error,
                "without": if is_base { Some(means.error) } else { means.baseline },
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
        "relay": state.certificate_hash(),
        "policy": live.policy,
        "choice": choice,
        "choices": PolicyChoice::ALL.map(|choice| json!({ "id": choice, "name": choice.label() })),
        "budget": live.budget,
        "spread": population_sd(&errors),
        "mean": mean(&errors),
        "sent_per_s": sent,
        "clock_ms": live.interval_ms_max(),
        "cap": error_cap(&live.policy),
        "field": field_json(),
        "players": players,
    }))
}

fn field_json() -> Value {
    let field = Field::default();
    let xy = |point: Vec3| [point.x, point.y];
    let block = |block: &Block| json!({ "middle": xy(block.middle), "half": xy(block.half) });
    let blocks: Vec<Value> = field.blocks.iter().map(block).collect();
    json!({ "half": xy(field.half), "blocks": blocks })
}

/// The newest vector of each entity and the session time, for spectators.
async fn watch(State(state): State<Arc<HostState>>) -> Response {
    let read = |room: &mut RoomMachine, now: LocalTime| {
        let entities: Vec<Value> = room
            .dr()
            .entities()
            .map(|present| json!({ "entity": present.entity.0, "vector": vector_json(&present.newest) }))
            .collect();
        let now = room.dr().clock().session(now).map(|now| now.as_nanos().to_string());
        json!({ "now": now, "entities": entities })
    };
    let empty = || json!({ "now": Value::Null, "entities": [] });
    Json(state.with_room(read).await.unwrap_or_else(empty)).into_response()
}

#[derive(Deserialize)]
struct ShownQuery {
    player: u32,
}

/// The vector of a player's tank that each other player shows.
async fn shown(
    State(state): State<Arc<HostState>>,
    Query(ShownQuery { player }): Query<ShownQuery>,
) -> Json<Value> {
    let tank = EntityId::of(PeerId(player), 0);
    let read = move |room: &mut RoomMachine, now: LocalTime| -> Vec<Value> {
        let shown = room.dr().shown(now, tank).filter(|(by, _)| by.0 != player);
        shown.map(|(by, vector)| json!({ "by": by.0, "vector": vector_json(&vector) })).collect()
    };
    Json(state.with_room(read).await.unwrap_or_default().into())
}

fn vector_json(vector: &DrVector) -> Value {
    let xyz = |point: Vec3| [point.x, point.y, point.z];
    let state = &vector.state;
    json!({
        "kind": vector.kind.name(),
        // A string: nanoseconds exceed JavaScript's integers.
        "generated": vector.generated.as_nanos().to_string(),
        "position": xyz(state.position),
        "velocity": xyz(state.velocity),
        "acceleration": xyz(state.acceleration),
        "turn_rate": state.turn_rate,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JoinRequest {
    /// The name of a person who comes back.
    #[serde(default)]
    name: Option<String>,
}

/// Invites a person: a token, and where to connect.
async fn join(
    State(state): State<Arc<HostState>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Result<Json<JoinRequest>, JsonRejection>,
) -> Response {
    let JoinRequest { name } = match asked(from, &headers, body) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    let Some(server) = state.server() else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "the relay is not ready yet: try again");
    };
    let player = state.person(name);
    let hashes: Vec<String> = server.hashes().iter().map(ToString::to_string).collect();
    Json(json!({
        "url": state.url(&server),
        "token": state.token(&player),
        "hashes": hashes,
        "player_name": player,
    }))
    .into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyRequest {
    choice: PolicyChoice,
}

async fn set_policy(
    State(state): State<Arc<HostState>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Result<Json<PolicyRequest>, JsonRejection>,
) -> Response {
    let PolicyRequest { choice } = match asked(from, &headers, body) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    if !state.server().is_some_and(|server| server.switch(&room_name(), choice.policy(), budget())) {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "nobody is in the arena yet");
    }
    Json(json!({ "choice": choice })).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkRequest {
    player: u32,
    delay_ms: f64,
    jitter_ms: f64,
}

async fn set_link(
    State(state): State<Arc<HostState>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Result<Json<LinkRequest>, JsonRejection>,
) -> Response {
    let LinkRequest { player, delay_ms, jitter_ms } = match asked(from, &headers, body) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    let most = DELAY_MAX.as_millis_f64();
    if ![delay_ms, jitter_ms].iter().all(|millis| (0.0..=most).contains(millis)) {
        return refuse(
            StatusCode::BAD_REQUEST,
            &format!("delay and jitter must lie between 0 and {most} ms"),
        );
    }
    let name =
        lock(&state.live).players().find(|known| known.player == player).map(|known| known.name.clone());
    let Some(name) = name else { return refuse(StatusCode::NOT_FOUND, "there is no such player") };
    let delay = Span::from_millis_f64(delay_ms);
    // A larger jitter would let datagrams arrive before they were sent.
    let jitter = Span::from_millis_f64(jitter_ms).min(delay);
    if state.set_delay(&name, player, LinkDelay { delay, jitter }) {
        let (delay_ms, jitter_ms) = (delay.as_millis_f64(), jitter.as_millis_f64());
        Json(json!({ "player": player, "delay_ms": delay_ms, "jitter_ms": jitter_ms })).into_response()
    } else {
        refuse(StatusCode::SERVICE_UNAVAILABLE, "the relay is busy: try again")
    }
}

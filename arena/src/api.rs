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
use evenkeel_games::arena::{Block, Duel, Field, Light};
use evenkeel_serve::{authorized_body, error_response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::assets::{asset, docs};
use crate::choice::{PolicyChoice, budget, error_cap};
use crate::delay::{DELAY_MAX, LinkDelay};
use crate::duels::{DuelBook, DuelShares};
use crate::host::RoomMachine;
use crate::sight::{RealTank, Sight};
use crate::state::{HostState, lock, room_name};

pub(crate) fn router(state: &Arc<HostState>) -> Router {
    Router::new()
        .route("/", get(|| async { asset("arena/index.html") }))
        .route("/web/{*path}", get(|Path(path): Path<String>| async move { asset(&path) }))
        .route("/api/arena", get(figures))
        .route("/api/arena/watch", get(watch))
        .route("/api/arena/shown", get(shown))
        .route("/api/arena/sight", get(sight))
        .route("/docs/{*path}", get(|Path(path): Path<String>| async move { docs(&path) }))
        .route("/api/arena/join", post(join))
        .route("/api/arena/link", post(set_link))
        .route("/api/arena/choice", post(choose))
        .with_state(state.clone())
}

/// Everything that the page's tables show, and the field.
async fn figures(State(state): State<Arc<HostState>>) -> Json<Value> {
    let live = lock(&state.live);
    let choice = PolicyChoice::of_room(&live.policy, &live.order, live.sync_out);
    let known: Vec<_> = live.players().map(|player| (player, live.table(player.player))).collect();
    let players: Vec<Value> = known
        .iter()
        .map(|(player, means)| {
            let link = state.delay(&player.name);
            let tally = |name: &str| player.tallies.get(name).copied().unwrap_or(0);
            let curve = live.curve(player.player);
            json!({
                "player": player.player,
                "name": player.name,
                "bot": state.bots.contains(&player.name),
                "delay_ms": link.delay.as_millis_f64(),
                "jitter_ms": link.jitter.as_millis_f64(),
                "interval_ms": live.interval_ms(&player.name),
                "recent": curve.real,
                "error": means.real,
                "export": means.export,
                "without": means.baseline,
                "total": live.total(player.player),
                "sent": player.sent,
                "sent_per_s": means.sent_per_s,
                "hits": tally("hits"),
                "losses": tally("losses"),
                "fouls": tally("fouls"),
                "duels": shares_json(&live.duels.shares(player.player)),
                "standing": player.sync.as_ref().map(|sync| &sync.standing),
            })
        })
        .collect();
    let errors: Vec<f64> = known.iter().map(|(_, means)| means.real).collect();
    let exports: Vec<f64> = known.iter().map(|(_, means)| means.export).collect();
    let sent: f64 = known.iter().map(|(_, means)| means.sent_per_s).sum();
    Json(json!({
        "relay": state.certificate_hash(),
        "policy": live.policy,
        "choice": choice,
        "choices": choices(),
        "budget": live.budget,
        "order": live.order,
        "sync_out": live.sync_out,
        "duels": duels_json(&live.duels),
        "spread": population_sd(&errors),
        "mean": mean(&errors),
        "export": { "spread": population_sd(&exports), "mean": mean(&exports) },
        "sent_per_s": sent,
        "clock_ms": live.interval_ms_max(),
        "cap": error_cap(&live.policy),
        "field": field_json(),
        "players": players,
    }))
}

fn duels_json(duels: &DuelBook) -> Value {
    let (fair, fair_without) = duels.fair();
    let recent: Vec<Value> = duels.feed().map(duel_json).collect();
    json!({ "count": duels.count(), "fair": fair, "fair_without": fair_without, "recent": recent })
}

fn shares_json(shares: &DuelShares) -> Value {
    let DuelShares { won, without, earned, adds_ms, ahead, behind } = shares;
    json!({
        "won": won, "without": without, "earned": earned, "adds_ms": adds_ms, "ahead": ahead, "behind": behind,
    })
}

/// A duel: who won, who was fastest, who would have been served first without us, and everybody's reaction.
fn duel_json(duel: &Duel) -> Value {
    let shots: Vec<Value> = duel
        .shots
        .iter()
        .map(|shot| {
            let (reaction, unaided) = (shot.reaction.as_millis_f64(), shot.unaided.as_millis_f64());
            let served = shot.served.as_millis_f64();
            json!({ "player": shot.player.0, "reaction_ms": reaction, "without_ms": unaided, "served_ms": served })
        })
        .collect();
    json!({
        "number": duel.number,
        "winner": duel.winner().player.0,
        "fastest": duel.fastest().player.0,
        "without": duel.first_unaided().player.0,
        "shots": shots,
    })
}

/// The switch's positions, and the settings of the room that each stands for.
fn choices() -> [Value; 3] {
    PolicyChoice::ALL.map(|choice| {
        let (policy, budget) = (choice.policy().to_string(), budget().to_string());
        let (order, sync_out) = (choice.order().to_string(), choice.is_sync_out());
        let set = json!({ "policy": policy, "budget": budget, "order": order, "sync_out": sync_out });
        json!({ "id": choice, "name": choice.label(), "set": set })
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChoiceRequest {
    choice: PolicyChoice,
}

/// Sets the switch: the policy, the order of actions, and Sync-out.
async fn choose(
    State(state): State<Arc<HostState>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Result<Json<ChoiceRequest>, JsonRejection>,
) -> Response {
    let ChoiceRequest { choice } = match authorized_body(from, &headers, body) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    let is_set = state.server().is_some_and(|server| {
        server.switch(&room_name(), choice.policy(), budget())
            && server.switch_order(&room_name(), choice.order(), choice.is_sync_out())
    });
    if is_set {
        Json(json!({ "choice": choice })).into_response()
    } else {
        error_response(StatusCode::SERVICE_UNAVAILABLE, "the relay is busy: try again")
    }
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
        json!({ "now": now, "entities": entities, "light": room.game().light().name() })
    };
    let empty = || json!({ "now": Value::Null, "entities": [], "light": Light::Off.name() });
    Json(state.with_room(read).await.unwrap_or_else(empty)).into_response()
}

#[derive(Deserialize)]
struct PlayerQuery {
    player: u32,
}

/// Where the tanks really are, and where one player sees them.
async fn sight(
    State(state): State<Arc<HostState>>,
    Query(PlayerQuery { player }): Query<PlayerQuery>,
) -> Json<Value> {
    let Some(sight) = Sight::take(&state).await else { return Json(json!({ "now": null, "tanks": [] })) };
    let tank = |(owner, tank): (&PeerId, &RealTank)| {
        let seen = sight.seen.get(&(*owner, PeerId(player))).map(vector_json);
        let real = vector_json(&tank.motion);
        json!({ "player": owner.0, "real": real, "heading": tank.heading, "seen": seen })
    };
    let tanks: Vec<Value> = sight.real.iter().map(tank).collect();
    Json(json!({ "now": sight.at.as_nanos().to_string(), "tanks": tanks }))
}

/// The vector of a player's tank that each other player shows.
async fn shown(
    State(state): State<Arc<HostState>>,
    Query(PlayerQuery { player }): Query<PlayerQuery>,
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
    let JoinRequest { name } = match authorized_body(from, &headers, body) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    let Some(server) = state.server() else {
        return error_response(StatusCode::SERVICE_UNAVAILABLE, "the relay is not ready yet: try again");
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
    let LinkRequest { player, delay_ms, jitter_ms } = match authorized_body(from, &headers, body) {
        Ok(request) => request,
        Err(refusal) => return *refusal,
    };
    let most = DELAY_MAX.as_millis_f64();
    if ![delay_ms, jitter_ms].iter().all(|millis| (0.0..=most).contains(millis)) {
        return error_response(
            StatusCode::BAD_REQUEST,
            &format!("delay and jitter must lie between 0 and {most} ms"),
        );
    }
    let name =
        lock(&state.live).players().find(|known| known.player == player).map(|known| known.name.clone());
    let Some(name) = name else { return error_response(StatusCode::NOT_FOUND, "there is no such player") };
    let delay = Span::from_millis_f64(delay_ms);
    // A larger jitter would let datagrams arrive before they were sent.
    let jitter = Span::from_millis_f64(jitter_ms).min(delay);
    if state.set_delay(&name, player, LinkDelay { delay, jitter }) {
        let (delay_ms, jitter_ms) = (delay.as_millis_f64(), jitter.as_millis_f64());
        Json(json!({ "player": player, "delay_ms": delay_ms, "jitter_ms": jitter_ms })).into_response()
    } else {
        error_response(StatusCode::SERVICE_UNAVAILABLE, "the relay is busy: try again")
    }
}

//! Requests that change a room.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use evenkeel_dr::{Budget, EntityId, PairWeight, PolicyKind};
use evenkeel_net::token::Name;
use evenkeel_sync_ms::Order;
use serde::Deserialize;
use serde_json::json;

use super::no_such_room;
use crate::config::budget;
use crate::game::ServedRoom;
use crate::state::RelayState;
use evenkeel_http::{authorized_body, error_response};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SwitchRequest {
    policy: String,
    #[serde(default = "budget_default", deserialize_with = "budget")]
    budget: Budget,
}

const fn budget_default() -> Budget {
    Budget::ALL
}

/// Switches the policy.
pub(super) async fn policy<R: ServedRoom>(
    State(relay): State<Arc<RelayState<R>>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Path(room): Path<String>,
    body: Result<Json<SwitchRequest>, JsonRejection>,
) -> Response {
    let SwitchRequest { policy, budget } = match authorized_body(from, &headers, body) {
        Ok(value) => value,
        Err(refusal) => return *refusal,
    };
    let policy: PolicyKind = match policy.parse() {
        Ok(policy) => policy,
        Err(error) => return error_response(StatusCode::BAD_REQUEST, &format!("{error}")),
    };
    let Ok(name) = Name::new(&room) else { return no_such_room(&room) };
    match relay.switch(&name, policy, budget) {
        Ok(true) => Json(json!({ "policy": policy.to_string() })).into_response(),
        Ok(false) => no_such_room(&room),
        Err(error) => error_response(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

/// What is left out stays as it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OrderRequest {
    order: Option<String>,
    sync_out: Option<bool>,
}

/// Switches the order of actions, and Sync-out.
pub(super) async fn order<R: ServedRoom>(
    State(relay): State<Arc<RelayState<R>>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Path(room): Path<String>,
    body: Result<Json<OrderRequest>, JsonRejection>,
) -> Response {
    let OrderRequest { order, sync_out } = match authorized_body(from, &headers, body) {
        Ok(value) => value,
        Err(refusal) => return *refusal,
    };
    let Ok(name) = Name::new(&room) else { return no_such_room(&room) };
    let Some(report) = relay.report(&name).await else { return no_such_room(&room) };
    let Some((present, is_sync_out)) = report.order.zip(report.sync_out) else {
        let message = format!("the room {room} runs no game, so there are no actions to order");
        return error_response(StatusCode::CONFLICT, &message);
    };
    let order: Order = match order.unwrap_or(present).parse() {
        Ok(order) => order,
        Err(error) => return error_response(StatusCode::BAD_REQUEST, &format!("{error}")),
    };
    let sync_out = sync_out.unwrap_or(is_sync_out);
    match relay.switch_order(&name, order.clone(), sync_out) {
        Ok(true) => Json(json!({ "order": order.to_string(), "sync_out": sync_out })).into_response(),
        Ok(false) => no_such_room(&room),
        Err(error) => error_response(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WeighRequest {
    entity: u32,
    player: String,
    weight: f64,
}

/// Sets the weight of an entity at a player.
pub(super) async fn weight<R: ServedRoom>(
    State(relay): State<Arc<RelayState<R>>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Path(room): Path<String>,
    body: Result<Json<WeighRequest>, JsonRejection>,
) -> Response {
    let WeighRequest { entity, player, weight } = match authorized_body(from, &headers, body) {
        Ok(value) => value,
        Err(refusal) => return *refusal,
    };
    let Some(weight) = PairWeight::new(weight) else {
        return error_response(
            StatusCode::BAD_REQUEST,
            "a weight is a number from 0 to 1000; the default is 1",
        );
    };
    let Ok(name) = Name::new(&room) else { return no_such_room(&room) };
    match relay.weigh(&name, EntityId(entity), &player, weight) {
        Some(Ok(true)) => Json(json!({ "weight": weight.get() })).into_response(),
        Some(Ok(false)) => {
            error_response(StatusCode::NOT_FOUND, &format!("there is no player {player} in the room {room}"))
        }
        None => no_such_room(&room),
        Some(Err(error)) => error_response(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

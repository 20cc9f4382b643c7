//! The page of a peer and its API, on this machine only.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use evenkeel_core::Seed;
use evenkeel_games::eater::{CELL_PIXELS, EaterCommand, EaterId, EaterPlayer, Maze, MovePeer, Pixel, Way};
use evenkeel_http::{authorize_change, authorized_body, error_response};
use evenkeel_neo::{PublicKey, UnusedReason};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::caught::hex;
use crate::peer::PeerState;
use crate::watch::{NODE, Node, Observed};

type StateOfPeer = State<Arc<PeerState>>;

/// Serves the page. Returns its address.
pub(crate) async fn serve(
    tasks: &mut JoinSet<()>,
    address: SocketAddr,
    state: Arc<PeerState>,
) -> io::Result<SocketAddr> {
    let socket = TcpListener::bind(address).await?;
    let address = socket.local_addr()?;
    let router = Router::new()
        .route("/", get(|| async { asset("eater/index.html") }))
        .route("/web/{*path}", get(|Path(path): Path<String>| async move { asset(&path) }))
        .route("/docs/{*path}", get(|Path(path): Path<String>| async move { asset(&format!("docs/{path}")) }))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/api/eater", get(figures))
        .route("/api/eater/maze", get(maze))
        .route("/api/eater/board", get(board))
        .route("/api/eater/summary", get(summary))
        .route("/api/eater/proof/{key}", get(proof))
        .route("/api/eater/steer", post(steer))
        .with_state(state);
    tasks.spawn(evenkeel_http::serve(socket, evenkeel_http::guarded(router, &[])));
    Ok(address)
}

fn asset(path: &str) -> Response {
    let Some(file) = evenkeel_web::file(path) else {
        return error_response(StatusCode::NOT_FOUND, &format!("no such file: {path}"));
    };
    let kind = match path.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    };
    let policy = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'";
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, file).into_response()
}

/// Checks that a request comes from this machine, and from no other site's page. The ticket is a secret.
fn allowed(from: SocketAddr, headers: &HeaderMap) -> Result<(), Box<Response>> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    authorize_change(from, text(header::HOST).unwrap_or_default(), text(header::ORIGIN))
        .map_err(|message| Box::new(error_response(StatusCode::FORBIDDEN, message)))
}

fn gone() -> Response {
    error_response(StatusCode::SERVICE_UNAVAILABLE, "this peer is stopping")
}

/// An eater in JavaScript, whose numbers have 53 bits.
fn name_of(eater: EaterId) -> String {
    format!("{:016x}", eater.0)
}

fn eater_of(key: &[u8; 32]) -> EaterId {
    EaterId::of(&PublicKey(*key))
}

/// The maze: for each cell, whether the ways to the east and to the south are open.
async fn maze(State(state): StateOfPeer) -> Response {
    let read = |node: &mut Node, _| maze_json(node.board().maze());
    state.crank.with(NODE, read).await.map_or_else(|_| gone(), |maze| Json(maze).into_response())
}

fn maze_json(maze: &Maze) -> Value {
    let cells = (0..maze.rows()).flat_map(|row| {
        (0..maze.columns()).map(move |column| {
            let cell = evenkeel_games::eater::Cell { column, row };
            u8::from(maze.is_open(cell, Way::East)) + 2 * u8::from(maze.is_open(cell, Way::South))
        })
    });
    json!({
        "columns": maze.columns(),
        "rows": maze.rows(),
        "cell": CELL_PIXELS,
        "open": cells.collect::<Vec<u8>>(),
    })
}

/// Where everybody and everything is, as this peer shows it.
async fn board(State(state): StateOfPeer) -> Response {
    let read = |node: &mut Node, now| {
        let board = node.board();
        let place = |eater: EaterId, at: Pixel, score: u32| json!([name_of(eater), at.x, at.y, score]);
        let mut eaters = vec![place(board.me(), board.walker().at(), board.stones().score(board.me()))];
        for (_, eater) in node.eaters() {
            let rival = board.rivals().find(|(other, _)| *other == eater);
            if let Some(reckoning) = rival.and_then(|(_, rival)| rival.reckoning()) {
                eaters.push(place(eater, reckoning.at(), board.stones().score(eater)));
            }
        }
        let stones: Vec<_> = board.stones().present().map(|(_, cell)| [cell.column, cell.row]).collect();
        json!({
            "step": board.step(),
            "is_playing": node.peer().session_time(now).is_some(),
            "eaters": eaters,
            "stones": stones,
        })
    };
    state.crank.with(NODE, read).await.map_or_else(|_| gone(), |board| Json(board).into_response())
}

/// What the crank's thread contributes to the figures.
struct Read {
    me: EaterId,
    scores: Vec<(EaterId, u32)>,
    present: Vec<EaterId>,
    fouls: Vec<(EaterId, u32)>,
    round_ms: f64,
    depth: u32,
    is_playing: bool,
    is_bot: bool,
    now: evenkeel_core::LocalTime,
}

fn read(node: &mut Node, now: evenkeel_core::LocalTime) -> Read {
    let board = node.board();
    let (round, depth) = node.peer().tempo();
    Read {
        me: board.me(),
        scores: board.stones().scores(),
        present: node.eaters().map(|(_, eater)| eater).collect(),
        fouls: board.rivals().map(|(eater, rival)| (eater, rival.fouls())).collect(),
        round_ms: round.as_millis_f64(),
        depth,
        is_playing: node.peer().session_time(now).is_some(),
        is_bot: matches!(node.player(), EaterPlayer::Bot(_)),
        now,
    }
}

/// This peer first, then the others that are known.
fn players_json(state: &PeerState, read: &Read, observed: &Observed) -> Vec<Value> {
    let score = |eater| read.scores.iter().find(|(other, _)| *other == eater).map_or(0, |(_, score)| *score);
    let mut players = vec![json!({
        "id": name_of(read.me), "name": state.config.name, "me": true, "is_present": true, "score": score(read.me),
    })];
    for member in state.mesh.members() {
        let eater = eater_of(member.key.as_bytes());
        let fouls = read.fouls.iter().find(|(other, _)| *other == eater).map_or(0, |(_, fouls)| *fouls);
        players.push(json!({
            "id": name_of(eater),
            "name": observed.name(eater),
            "me": false,
            "is_present": read.present.contains(&eater),
            "score": score(eater),
            "fouls": fouls,
            "round_trip_ms": member.link.as_ref().map(|link| link.round_trip.as_secs_f64() * 1e3),
            "direct": member.link.as_ref().map(|link| link.direct.is_some()),
        }));
    }
    players
}

/// Everything that the page's tables show.
async fn figures(
    State(state): StateOfPeer,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Response {
    if let Err(refusal) = allowed(from, &headers) {
        return *refusal;
    }
    let Ok(read) = state.crank.with(NODE, read).await else { return gone() };
    let observed = state.shared.lock();
    let caught: Vec<Value> = observed
        .caught
        .iter()
        .map(|caught| {
            let mut json = caught.to_json(state.session());
            json["name"] = observed.name(eater_of(&caught.key)).into();
            json["id"] = name_of(eater_of(&caught.key)).into();
            json
        })
        .collect();
    let players = players_json(&state, &read, &observed);
    let recent = observed.meters.recent(read.now);
    let (payload, wire) = observed.bits_per_second();
    let unused: Vec<Value> = UnusedReason::ALL
        .iter()
        .zip(recent.unused)
        .map(|(reason, count)| json!({ "reason": reason.name(), "count": count }))
        .collect();
    let history: Vec<Value> = observed
        .meters
        .history()
        .map(|second| {
            json!([second.window.playout_ms(), second.window.age_ms(), second.window.unused_share()])
        })
        .collect();
    let comings: Vec<_> = observed.comings.iter().rev().take(8).collect();
    Json(json!({
        "name": state.config.name,
        "ticket": state.mesh.ticket().to_string(),
        "is_playing": read.is_playing,
        "is_bot": read.is_bot,
        "round_ms": read.round_ms,
        "depth": read.depth,
        "players": players,
        "now": {
            "playout_ms": recent.playout_ms(),
            "age_ms": recent.age_ms(),
            "waiting_ms": recent.waiting_ms(),
            "played": recent.played,
            "unused_share": recent.unused_share(),
            "unused": unused,
            "up_kbps": payload / 1e3,
            "wire_up_kbps": wire / 1e3,
        },
        "history": history,
        "caught": caught,
        "comings": comings,
    }))
    .into_response()
}

async fn summary(State(state): StateOfPeer) -> Response {
    Json(state.summary().await).into_response()
}

/// The bytes of the proof against the peer with this key.
async fn proof(State(state): StateOfPeer, Path(key): Path<String>) -> Response {
    let observed = state.shared.lock();
    match observed.caught.iter().find(|caught| hex(&caught.key) == key) {
        Some(caught) => {
            let name = format!("attachment; filename=\"proof-{}.bin\"", &key[..8]);
            let headers = [
                (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
                (header::CONTENT_DISPOSITION, name),
            ];
            (headers, caught.proof.to_bytes()).into_response()
        }
        None => error_response(StatusCode::NOT_FOUND, "nobody with this key was caught"),
    }
}

/// What a person does.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Steering {
    /// Go this way from now on.
    Go(WayName),
    /// Go on to the next wall.
    Release,
    /// Let a bot play.
    Automate,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WayName {
    North,
    East,
    South,
    West,
}

impl From<WayName> for Way {
    fn from(name: WayName) -> Self {
        match name {
            WayName::North => Self::North,
            WayName::East => Self::East,
            WayName::South => Self::South,
            WayName::West => Self::West,
        }
    }
}

async fn steer(
    State(state): StateOfPeer,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Result<Json<Steering>, JsonRejection>,
) -> Response {
    let command = match authorized_body(from, &headers, body) {
        Ok(Steering::Go(way)) => EaterCommand::Steer(Some(way.into())),
        Ok(Steering::Release) => EaterCommand::Steer(None),
        Ok(Steering::Automate) => EaterCommand::Automate(Seed::new(evenkeel_net::random())),
        Err(refusal) => return *refusal,
    };
    match state.crank.command(NODE, command) {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(_) => gone(),
    }
}

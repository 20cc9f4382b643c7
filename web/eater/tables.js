/** Figures and tables of the page. Rows are replaced only when their text changes, so that nothing jumps or loses focus. */

import { createMark } from "../arena/palette.js";

const element = (id) => document.getElementById(id);
const shown = new Map();

function setText(id, text) {
  if (element(id).textContent !== text) element(id).textContent = text;
}

/** Builds the content of an element unless it would be the same as last time. */
function rebuild(id, key, build) {
  const text = JSON.stringify(key);
  if (shown.get(id) === text) return;
  shown.set(id, text);
  element(id).replaceChildren(...build());
}

function make(name, content, classes = "") {
  const made = document.createElement(name);
  made.className = classes;
  made.append(...[content].flat());
  return made;
}

const whole = (value) => (value === null || value === undefined ? "–" : Math.round(value).toString());

export function showFigures({ now, players }) {
  setText("playout", whole(now.playout_ms));
  setText("age", whole(now.age_ms));
  setText("age-price", now.age_ms === null ? "–" : whole(now.age_ms - now.playout_ms));
  setText("unused", now.unused_share === null ? "–" : (now.unused_share * 100).toFixed(now.unused_share < 0.1 ? 2 : 0));
  const worst = now.unused.reduce((most, one) => (one.count > most.count ? one : most));
  setText("unused-why", worst.count === 0 ? "all were used" : `most of them: ${worst.reason}`);
  setText("up", whole(now.up_kbps));
  setText("wire", whole(now.wire_up_kbps));
  setText("peers", players.filter((player) => !player.me && player.is_present).length.toString());
}

export function showPlayers(players, caught) {
  const rows = players
    .map((player) => ({ ...player, is_caught: caught.some((one) => one.id === player.id) }))
    .concat(caught.filter((one) => !players.some((player) => player.id === one.id)).map((one) => ({ ...one, is_caught: true })))
    .sort((one, other) => (other.score ?? 0) - (one.score ?? 0) || one.name.localeCompare(other.name));
  const key = rows.map(({ id, name, score, is_present, is_caught, round_trip_ms, direct }) =>
    [id, name, score, is_present, is_caught, whole(round_trip_ms), direct]);
  rebuild("players", key, () => rows.map(buildPlayer));
}

function buildPlayer(player) {
  const name = make("span", [createMark(player.id), make("span", player.name)], "eater");
  if (player.me && player.name !== "You") name.append(make("span", "you", "you"));
  let connection = player.me ? "this peer" : player.direct ? "direct" : "through a relay";
  if (!player.me && !player.is_present) connection = "not in the game";
  const trip = player.round_trip_ms === null || player.round_trip_ms === undefined ? "" : `${player.round_trip_ms.toFixed(1)} ms`;
  const row = make("tr", [
    make("td", name),
    make("td", player.score === undefined ? "" : `${player.score}`, "number"),
    make("td", trip, "number"),
    make("td", player.is_caught ? make("span", "caught", "badge") : connection),
  ]);
  if (player.is_caught || !(player.me || player.is_present)) row.classList.add("is-out");
  return row;
}

export function showReasons({ unused, played }) {
  const all = played + unused.reduce((sum, one) => sum + one.count, 0);
  const most = Math.max(1, ...unused.map((one) => one.count));
  rebuild("reasons", [unused, all], () => unused.map(({ reason, count }) => {
    const meter = make("span", "", "meter");
    meter.style.width = `${(100 * count) / most}%`;
    return make("tr", [
      make("td", reason),
      make("td", all === 0 ? "–" : `${((100 * count) / all).toFixed(2)} %`, "number"),
      make("td", count === 0 ? "" : meter),
    ]);
  }));
}

/** Each proof: what it says in words, then the two signed statements. */
export function showCaught(caught) {
  element("nobody").hidden = caught.length > 0;
  rebuild("cases", caught, () => caught.map((one) => {
    const [first, second] = one.statements;
    const words = `${one.name} signed two different ${first.kinds} ${first.number}, and told each to other peers.`;
    const verdict = one.is_valid
      ? make("span", "Both signatures are valid, for this session and this key: nobody else can have made them.", "valid")
      : make("span", "The signatures do not hold.", "badge");
    const proof = make("a", "download the proof");
    proof.href = `/api/eater/proof/${one.key}`;
    const entry = (title, statement) => [
      make("dt", `${title}: ${statement.kind} ${statement.number}`),
      make("dd", statement.content),
      make("dd", `signature ${statement.signature}`),
    ];
    const details = make("details", [
      make("summary", "the two statements"),
      make("dl", [
        make("dt", "key"), make("dd", one.key), ...entry("to some", first), ...entry("to others", second),
      ].flat()),
    ]);
    return make("div", [make("p", words), make("p", verdict), details, make("p", proof)], "case");
  }));
}

export function showComings(comings) {
  if (comings.length === 0) return;
  rebuild("comings", comings, () => comings.map((coming) => {
    const time = make("time", new Date(coming.at_unix_ms).toLocaleTimeString());
    return make("li", [time, make("span", `${coming.name} ${coming.what}`)]);
  }));
}

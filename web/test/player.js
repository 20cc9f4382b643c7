/**
 * A player that is asked from outside how it is doing: `player.session`, `player.states`, and where it and others are.
 *
 * Query: `url`, `token`, `seat` (if the token has several), `hash` (of the relay's certificate, if it signed it itself).
 */

import { connect } from "../client/index.js";
import { drive, Ways } from "./paths.js";

const query = new URLSearchParams(location.search);
const state = /** @type {HTMLElement} */ (document.getElementById("state"));
/** Every state that was told. @type {import("../client/session.js").SessionState[]} */
const states = [];

const session = connect(query.get("url") ?? "", {
  token: query.get("token") ?? "",
  seat: query.has("seat") ? Number(query.get("seat")) : undefined,
  hashes: query.getAll("hash"),
  onState: (told) => {
    states.push(told);
    state.textContent = `${told.status} ${told.words}`;
  },
});
const tank = session.own(0, { kind: "circular" });

const ways = new Ways();

setInterval(() => {
  const now = session.now();
  if (now !== null) tank.move(drive(now));
  ways.look(session.copies());
}, 20);

/**
 * How far a copy of another player who drives like this one is from where that player is; null if it is not seen.
 * @param {number} player
 */
function error(player) {
  const now = session.now();
  const copy = now === null ? undefined : session.copies(now).find((each) => each.player === player);
  if (now === null || copy === undefined) return null;
  const truth = drive(now).position;
  return Math.hypot(copy.position[0] - truth[0], copy.position[1] - truth[1]);
}

Object.assign(globalThis, { player: { session, states, ways, error } });

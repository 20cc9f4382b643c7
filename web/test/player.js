/**
 * A player that tests control from outside: `player.session`, `player.states`, and where it and others are.
 *
 * Query: `url`, `token`, `seat` (if the token has several), `hash` (of the relay's certificate, if it signed it
 * itself).
 */

import { connect } from "../client/index.js";
import { circleMotion, Distances } from "./paths.js";

const query = new URLSearchParams(location.search);
const state = /** @type {HTMLElement} */ (document.getElementById("state"));
/** Every state so far. @type {import("../client/session.js").SessionState[]} */
const states = [];

const session = connect(query.get("url") ?? "", {
  token: query.get("token") ?? "",
  seat: query.has("seat") ? Number(query.get("seat")) : undefined,
  hashes: query.getAll("hash"),
  onState: (next) => {
    states.push(next);
    state.textContent = `${next.status} ${next.words}`;
  },
});
const tank = session.own(0, { kind: "circular" });

const distances = new Distances();

setInterval(() => {
  const now = session.now();
  if (now !== null) tank.move(circleMotion(now));
  distances.look(session.copies());
}, 20);

/**
 * Returns how far the copy of another player on the circle is from the truth; null if it is not seen.
 * @param {number} player
 */
function error(player) {
  const now = session.now();
  const copy = now === null ? undefined : session.copies(now).find((each) => each.player === player);
  if (now === null || copy === undefined) return null;
  const truth = circleMotion(now).position;
  return Math.hypot(copy.position[0] - truth[0], copy.position[1] - truth[1]);
}

Object.assign(globalThis, { player: { session, states, distances, error } });

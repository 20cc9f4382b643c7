/**
 * The way to the session: everything that this page knows about the browser client is in here.
 *
 * The page's session has `player` (null before the relay said so), `base` (what its nanoseconds count from, a BigInt), `now()`
 * (nanoseconds, or null), `copies()`, `own(local)` and `close()`. How it stands is told as `{ state, words, again }`:
 * "connecting", "clock", "playing", "lost" and "stopped" (it is being tried again), "gone", "refused", "unsupported".
 */

/** Why a relay closes a connection for which there is no use in trying again as before (docs/WIRE.md, "Transport"). */
const REFUSED = new Set([1, 3, 4, 6, 9, 10, 11]);
/** Why it closes them when it is stopped. */
const STOPPED = 5;
const INSECURE = "Browsers hide it from pages that came by plain http from elsewhere: use https, or localhost.";
const STATES = { connecting: "connecting", syncing: "clock", playing: "playing", lost: "lost" };

function stateOf({ status, words, code }) {
  if (status === "lost" && code === STOPPED) return { state: "stopped" };
  if (status !== "over") return { state: STATES[status], words };
  return { state: REFUSED.has(code) ? "refused" : "gone", words, again: true };
}

/** Tells how it stands. What the relay said when it closed the connection stays said while nobody answers. */
function teller(onState) {
  let isSaid = false;
  return (state) => {
    if (isSaid && state.status === "lost" && state.code === null) return;
    isSaid = state.status === "lost" && state.code !== null;
    onState(stateOf(state));
  };
}

class PlayerSession {
  constructor(inner) {
    this.inner = inner;
    this.base = 0n;
  }

  get player() {
    return this.inner.state.player;
  }

  now() {
    const now = this.inner.now();
    return now === null ? null : now * 1e6;
  }

  /** Half of the interval in which the session's time certainly lies, in milliseconds; or null. */
  clockMs() {
    const interval = this.inner.interval();
    return interval && (interval[1] - interval[0]) / 2;
  }

  *copies() {
    for (const { player, local, position: [x, y], velocity: [vx, vy] } of this.inner.copies()) {
      yield { player, local, x, y, vx, vy };
    }
  }

  own(local) {
    return this.inner.own(local);
  }

  close() {
    this.inner.close();
  }
}

/** Joins by an invitation from `/api/arena/join`. Resolves to the session, which is then under way; or to null. */
export async function join({ url, token, hashes }, { onState, onMessage }) {
  if (!("WebTransport" in globalThis)) {
    onState({ state: "unsupported", words: isSecureContext ? "" : INSECURE });
    return null;
  }
  const { connect } = await import("../client/index.js");
  return new PlayerSession(connect(url, { token, hashes, onState: teller(onState), onMessage }));
}

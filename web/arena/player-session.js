/**
 * Session of a player. Everything that this page knows about the browser client is in this file.
 *
 * A session has `player` (null before the relay assigned it), `base` (origin of its nanoseconds, a BigInt), `now()`
 * (nanoseconds, or null), `copies()`, `own(local)` and `close()`. It reports its state as `{ state, words, again }`:
 * "connecting", "clock", "playing", "lost" and "stopped" (both reconnect by themselves), "gone", "refused",
 * "unsupported".
 */

/** Close codes that mean that this player is not let in (docs/WIRE.md, "Transport"). */
const REFUSAL_CODES = new Set([1, 3, 4, 6, 9, 10, 11]);
/** Close code of a relay that shuts down. */
const SHUTTING_DOWN = 5;
const INSECURE = "Browsers disable it on pages loaded over plain http: use https, or localhost.";
const STATES = { connecting: "connecting", syncing: "clock", playing: "playing", lost: "lost" };

function stateOf({ status, words, code }) {
  if (status === "lost" && code === SHUTTING_DOWN) return { state: "stopped" };
  if (status !== "over") return { state: STATES[status], words };
  return { state: REFUSAL_CODES.has(code) ? "refused" : "gone", words, again: true };
}

/** Returns a state listener that keeps the relay's close reason on display while reconnection attempts fail. */
function stateReporter(onState) {
  let hasReason = false;
  return (state) => {
    if (hasReason && state.status === "lost" && state.code === null) return;
    hasReason = state.status === "lost" && state.code !== null;
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

  /** Returns half the width of the certified interval of the session time, in milliseconds; or null. */
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

  /** Acts, in fair order with the others, as of a time of the page's clock. */
  act(bytes, at = performance.now()) {
    this.inner.act(bytes, { at });
  }

  close() {
    this.inner.close();
  }
}

/**
 * Joins with an invitation from `/api/arena/join`. Resolves to a session that is connecting, or to null without
 * WebTransport.
 */
export async function join({ url, token, hashes }, { onState, onUpdate }) {
  if (!("WebTransport" in globalThis)) {
    onState({ state: "unsupported", words: isSecureContext ? "" : INSECURE });
    return null;
  }
  const { connect } = await import("../client/index.js");
  return new PlayerSession(connect(url, { token, hashes, onState: stateReporter(onState), onUpdate }));
}

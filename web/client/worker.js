/**
 * Worker started by `index.js`. The session runs here, so that clock, acknowledgments and triggers keep going while the
 * page is busy or hidden. It posts to the page what placing copies at any instant takes: vectors, and how to read the
 * session clock.
 */

import { RelaySession } from "./session.js";

/** @typedef {import("./clock.js").Line} Line */
/** @typedef {import("./connection.js").Target} Target */
/** @typedef {import("./hull.js").Band} Band */
/** @typedef {import("./objects.js").ObjectEvent} ObjectEvent */
/** @typedef {import("./objects-wire.js").Party} Party */
/** @typedef {import("./motion.js").DrVector} DrVector */
/** @typedef {import("./owner.js").Threshold} Threshold */
/** @typedef {import("./quantize.js").MotionState} MotionState */
/** @typedef {import("./session.js").SessionState} SessionState */

/**
 * Messages from the page. Times are milliseconds of the worker's clock (`performance.now()` here).
 * @typedef {{ type: "open", target: Target, schema: string | null } | { type: "own", local: number, threshold: Threshold }
 *   | { type: "move", local: number, state: MotionState, at: number | null } | { type: "end", local: number }
 *   | { type: "send", bytes: Uint8Array } | { type: "act", bytes: Uint8Array, isReliable: boolean, at: number | null }
 *   | { type: "create", id: number, kind: string, values: Record<string, any> } | { type: "set", id: number, values: Record<string, any> }
 *   | { type: "destroy", id: number } | { type: "give", id: number, to: number | null }
 *   | { type: "tell", party: Party, delivery: string, kind: string, values: Record<string, any> }
 *   | { type: "moveObject", id: number, state: MotionState, threshold: Threshold, at: number | null }
 *   | { type: "ping", sent: number } | { type: "close" }} FromPage
 */

/**
 * How to read the session clock: `line` and `band` map the worker's clock, in nanoseconds.
 * @typedef {{ base: bigint, line: Line, band: Band, grain: number }} ClockReading
 */

/**
 * Counters of a session. The round trip is in milliseconds, null while unknown.
 * @typedef {object} Counts
 * @property {Record<string, number>} refused rejected messages, by reason
 * @property {number} updates updates of the game that arrived
 * @property {number} late those that arrived after everybody else showed them
 * @property {number} ignored vectors that were duplicates, too late, or of unknown entities
 * @property {number} repeated own vectors that were sent again
 * @property {number} unrecorded own vectors that the relay has not recorded yet
 * @property {number} unconfirmed arrivals that the relay has not confirmed yet
 * @property {number} dropped datagrams and arrivals dropped because too many were waiting
 * @property {number} clockBreaks how often clock readings contradicted each other
 * @property {number | null} roundTrip
 */

/**
 * Messages to the page. An update holds what is new, all as of one instant; game messages are passed on as they arrive, a
 * game's updates when they are to be shown.
 * @typedef {{ type: "pong", sent: number, at: number, origin: number } | { type: "message", bytes: Uint8Array }
 *   | { type: "shown", bytes: Uint8Array, stamp: bigint, late: number } | { type: "object", event: ObjectEvent }
 *   | { type: "update", state?: SessionState, clock?: ClockReading | null, counts?: Counts, placed: [number, DrVector][], ended: number[] }} FromWorker
 */

/** How often counters are posted, in nanoseconds. */
const COUNTS_INTERVAL = 1e9;
/** Clock steps to measure, and the time limit for it in milliseconds. */
const GRAIN_STEPS = 8;
const GRAIN_MEASUREMENT_MAX = 60;

/** Returns the smallest step of the clock, in nanoseconds: browsers coarsen clocks, each in its own way. */
function measureGrain() {
  const start = performance.now();
  let [last, least] = [start, Infinity];
  for (let steps = 0; steps < GRAIN_STEPS && last - start < GRAIN_MEASUREMENT_MAX; ) {
    const now = performance.now();
    if (now === last) continue;
    least = Math.min(least, now - last);
    last = now;
    steps += 1;
  }
  return Math.ceil(least * 1e6);
}

const clock = { now: () => Math.round(performance.now() * 1e6), grain: measureGrain() };
/** @type {RelaySession | null} */
let session = null;
/** @type {Map<number, Threshold>} */
const thresholds = new Map();
/** What was last posted to the page. @type {{ state: SessionState | null, line: Line | null, countsAt: number }} */
const posted = { state: null, line: null, countsAt: -Infinity };

/** @param {FromWorker} message */
const post = (message) => postMessage(message);

/** Posts what is new to the page. */
function update() {
  if (session === null) return;
  const { state, peer, smc } = session;
  /** @type {Extract<FromWorker, { type: "update" }>} */
  const message = { type: "update", placed: [], ended: [] };
  let isNew = false;
  if (state !== posted.state) {
    message.state = posted.state = state;
    isNew = true;
  }
  if (peer !== null) {
    for (const [entity, vector] of peer.copies.takeChanges()) {
      if (vector === null) message.ended.push(entity);
      else message.placed.push([entity, vector]);
      isNew = true;
    }
    const { base, line, band } = peer.clock;
    if (line !== posted.line) {
      posted.line = line;
      const isKnown = line !== null && band !== null && base !== null;
      message.clock = isKnown ? { base, line, band, grain: clock.grain } : null;
      isNew = true;
    }
    if (clock.now() - posted.countsAt >= COUNTS_INTERVAL) {
      posted.countsAt = clock.now();
      message.counts = counts(peer, smc);
      isNew = true;
    }
  }
  if (isNew) post(message);
}

/**
 * @param {import("./peer.js").Peer} peer
 * @param {import("./smc.js").Smc | null} smc
 * @returns {Counts}
 */
function counts({ rejected, copies, uplink, log, outbox, clock }, smc) {
  const refused = { ...rejected };
  for (const [reason, count] of Object.entries(smc?.rejected ?? {})) refused[reason] = (refused[reason] ?? 0) + count;
  return {
    refused,
    updates: smc?.counts.updates ?? 0,
    late: smc?.counts.late ?? 0,
    ignored: copies.ignored,
    repeated: uplink.repeated,
    unrecorded: uplink.unrecordedCount,
    unconfirmed: log.length,
    dropped: outbox.dropped + log.dropped,
    clockBreaks: clock.breaks,
    roundTrip: clock.roundTrip === null ? null : clock.roundTrip / 1e6,
  };
}

/** @param {FromPage} message */
function handle(message) {
  switch (message.type) {
    case "open": {
      const opened = new RelaySession(
        message.target,
        clock,
        update,
        (bytes) => post({ type: "message", bytes }),
        ({ bytes, stamp, late }) => post({ type: "shown", bytes, stamp, late }),
        message.schema,
        (event) => post({ type: "object", event }),
      );
      session = opened;
      update();
      // The final state has been posted by then.
      void opened.run().then(() => setTimeout(close, 100));
      return;
    }
    case "own":
      thresholds.set(message.local, message.threshold);
      return;
    case "move": {
      const threshold = thresholds.get(message.local);
      const at = message.at === null ? null : Math.round(message.at * 1e6);
      if (threshold !== undefined) session?.observe(message.local, message.state, threshold, at);
      return;
    }
    case "end":
      return session?.end(message.local);
    case "send":
      return session?.send(message.bytes);
    case "act":
      return session?.act(message.bytes, message.isReliable, message.at === null ? null : Math.round(message.at * 1e6));
    case "create":
      return session?.change((objects, now) => objects.create(now, message.id, message.kind, message.values));
    case "set":
      return session?.change((objects, now) => objects.set(now, message.id, message.values));
    case "destroy":
      return session?.change((objects, now) => objects.destroy(now, message.id));
    case "give":
      return session?.change((objects, now) => objects.give(now, message.id, message.to));
    case "tell":
      return session?.change((objects, now) => objects.tell(now, message.party, message.delivery, message.kind, message.values));
    case "moveObject": {
      const at = message.at === null ? null : Math.round(message.at * 1e6);
      return session?.observeObject(message.id, message.state, message.threshold, at);
    }
    case "ping":
      return post({ type: "pong", sent: message.sent, at: performance.now(), origin: performance.timeOrigin });
    case "close":
      return session?.leave();
  }
}

addEventListener("message", ({ data }) => handle(data));

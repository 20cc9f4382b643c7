/**
 * The worker that `index.js` starts: the session runs here, so that clock, acknowledgments and triggers go on while the page is busy or
 * hidden. It tells the page what that needs to place copies at any instant: vectors, and how to read the session's clock.
 */

import { Session } from "./session.js";

/** @typedef {import("./clock.js").Line} Line */
/** @typedef {import("./connection.js").Target} Target */
/** @typedef {import("./hull.js").Band} Band */
/** @typedef {import("./motion.js").DrVector} DrVector */
/** @typedef {import("./own.js").Threshold} Threshold */
/** @typedef {import("./quantize.js").MotionState} MotionState */
/** @typedef {import("./session.js").State} State */

/**
 * What the page says. Times are in milliseconds by the worker's clock (`performance.now()` here).
 * @typedef {{ type: "open", target: Target } | { type: "own", local: number, threshold: Threshold }
 *   | { type: "move", local: number, state: MotionState, at: number | null } | { type: "end", local: number }
 *   | { type: "send", bytes: Uint8Array } | { type: "ping", sent: number } | { type: "close" }} FromPage
 */

/**
 * How to read the session's clock: `line` and `band` are by the worker's clock in nanoseconds.
 * @typedef {{ base: bigint, line: Line, band: Band, grain: number }} Reading
 */

/**
 * What is counted. The round trip is in milliseconds, null while unknown.
 * @typedef {object} Counts
 * @property {Record<string, number>} refused messages, by why
 * @property {number} ignored vectors that came twice, too late, or of entities that are not known
 * @property {number} repeated own vectors that were sent again
 * @property {number} unrecorded own vectors that the relay has not answered for yet
 * @property {number} unconfirmed arrivals that the relay has not confirmed yet
 * @property {number} dropped datagrams and arrivals that were given up because too many waited
 * @property {number} clockBreaks how often the clocks contradicted each other
 * @property {number | null} roundTrip
 */

/**
 * What the page is told: what is new, all of it as of one instant, and messages of the game as they come.
 * @typedef {{ type: "pong", sent: number, at: number, origin: number } | { type: "message", bytes: Uint8Array }
 *   | { type: "update", state?: State, clock?: Reading | null, counts?: Counts, placed: [number, DrVector][], ended: number[] }} FromWorker
 */

/** How often counts are told, in nanoseconds. */
const COUNTS_INTERVAL = 1e9;
/** The grain is looked for in so many steps of the clock, and for so many milliseconds. */
const STEPS = 8;
const MEASURED_MAX = 60;

/** The least step that the clock makes, in nanoseconds: browsers make it coarse, each in its way. */
function measureGrain() {
  const start = performance.now();
  let [last, least] = [start, Infinity];
  for (let steps = 0; steps < STEPS && last - start < MEASURED_MAX; ) {
    const now = performance.now();
    if (now === last) continue;
    least = Math.min(least, now - last);
    last = now;
    steps += 1;
  }
  return Math.ceil(least * 1e6);
}

const clock = { now: () => Math.round(performance.now() * 1e6), grain: measureGrain() };
/** @type {Session | null} */
let session = null;
/** @type {Map<number, Threshold>} */
const thresholds = new Map();
/** What the page knows. @type {{ state: State | null, line: Line | null, countsAt: number }} */
const told = { state: null, line: null, countsAt: -Infinity };

/** @param {FromWorker} message */
const say = (message) => postMessage(message);

/** Tells the page what is new. */
function update() {
  if (session === null) return;
  const { state, machine } = session;
  /** @type {Extract<FromWorker, { type: "update" }>} */
  const message = { type: "update", placed: [], ended: [] };
  let isNew = false;
  if (state !== told.state) {
    message.state = told.state = state;
    isNew = true;
  }
  if (machine !== null) {
    for (const [entity, vector] of machine.copies.takeChanges()) {
      if (vector === null) message.ended.push(entity);
      else message.placed.push([entity, vector]);
      isNew = true;
    }
    const { base, line, band } = machine.clock;
    if (line !== told.line) {
      told.line = line;
      const isKnown = line !== null && band !== null && base !== null;
      message.clock = isKnown ? { base, line, band, grain: clock.grain } : null;
      isNew = true;
    }
    if (clock.now() - told.countsAt >= COUNTS_INTERVAL) {
      told.countsAt = clock.now();
      message.counts = counts(machine);
      isNew = true;
    }
  }
  if (isNew) say(message);
}

/**
 * @param {import("./machine.js").Machine} machine
 * @returns {Counts}
 */
function counts({ refused, copies, uplink, log, outbox, clock }) {
  return {
    refused: { ...refused },
    ignored: copies.ignored,
    repeated: uplink.repeated,
    unrecorded: uplink.waiting,
    unconfirmed: log.length,
    dropped: outbox.crowdedOut + log.dropped,
    clockBreaks: clock.breaks,
    roundTrip: clock.roundTrip === null ? null : clock.roundTrip / 1e6,
  };
}

/** @param {FromPage} message */
function handle(message) {
  switch (message.type) {
    case "open": {
      const opened = new Session(message.target, clock, update, (bytes) => say({ type: "message", bytes }));
      session = opened;
      update();
      // When it is over, the page has been told, and nothing is left to do here.
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
    case "ping":
      return say({ type: "pong", sent: message.sent, at: performance.now(), origin: performance.timeOrigin });
    case "close":
      return session?.leave();
  }
}

addEventListener("message", ({ data }) => handle(data));

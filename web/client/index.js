/**
 * Evenkeel in a browser: a player in a room of a relay. No build step and no dependencies.
 *
 *     import { connect } from "./evenkeel/index.js";
 *
 *     const session = connect("https://relay.example:4433/arena", { token, onState: (state) => show(state.words) });
 *     const tank = session.own(0, { distance: 0.1 });
 *     function frame() {
 *       tank.move({ position: [x, y], velocity: [vx, vy], turnRate });
 *       for (const { player, position } of session.copies()) draw(player, position);
 *       requestAnimationFrame(frame);
 *     }
 *
 * | call | what it does |
 * | --- | --- |
 * | `connect(url, options)` | enters a room and gives a `Session` at once; comes back by itself when the connection breaks |
 * | `session.state` | how it stands: `{ status, words, player, code }`; `onState` is called with each new one |
 * | `session.ready` | a promise: the session's time is known; rejected if it is over before |
 * | `session.now()` | the session's time in milliseconds, the same for all players; null while it is not known |
 * | `session.interval()` | `[from, to]`: the session's time is certainly not before and not after; null like `now()` |
 * | `session.copies(at)` | everybody else's entities, where they are now or at a session time |
 * | `session.own(local, options)` | one of this player's entities, by a number of your own from 0 on |
 * | `own.move(state)` | it is here and moves like this; call it at each frame |
 * | `own.end()` | it is no more; the next `move` begins a new life |
 * | `session.send(bytes)` | says something of your game to the relay; `onMessage` is called with what the relay says of it |
 * | `session.counts` | what was refused, ignored, repeated, dropped, and the round trip; told once a second |
 * | `session.close()` | leaves the room |
 *
 * Statuses: "connecting", "syncing" (there; the session's time is being found), "playing", "lost" (being tried again), "over".
 *
 * Positions, velocities (per second) and accelerations (per second, per second) are `[x, y]` or `[x, y, z]`: east, north, up. The
 * acceleration is only what the turn rate (rad/s, to the left) does not explain: the change of speed.
 *
 * Everything but reading the clock and placing copies happens in a worker, which goes on when the tab is hidden. A page that tells
 * nothing more of its entity (a hidden tab draws no frames) leaves it moving as it last said: stop it when `visibilitychange` says so,
 * if that is what your game wants.
 *
 * Session times of `now()` and `copies(at)` are milliseconds since the session's origin, which may be years ago: as a number they are
 * good to 0.1 µs. Inside, times count in nanoseconds from a base that is at most as old as the page.
 *
 * Messages of the game itself are bytes of which the first is 0x47 ("G"), here as on the wire; what follows is the game's own. They
 * come in order and none is lost while the connection lasts. The relay's room must have a game that knows them.
 */

import { intervalAt, shownAt } from "./clock.js";
import { KINDS, project, velocityAt } from "./motion.js";
import { THRESHOLD } from "./own.js";
import { isSane, MAGNITUDE_MAX, TURN_RATE_MAX } from "./quantize.js";
import { Twin } from "./twin.js";
import { GAME, MESSAGE_MAX } from "./wire.js";

/** @typedef {import("./motion.js").DrVector} DrVector */
/** @typedef {import("./motion.js").MotionKind} MotionKind */
/** @typedef {import("./own.js").Threshold} Threshold */
/** @typedef {import("./quantize.js").MotionState} MotionState */
/** @typedef {import("./quantize.js").Vec3} Vec3 */
/** @typedef {import("./session.js").State} State */
/** @typedef {import("./worker.js").Counts} Counts */
/** @typedef {import("./worker.js").FromPage} FromPage */
/** @typedef {import("./worker.js").FromWorker} FromWorker */
/** @typedef {import("./worker.js").Reading} Reading */

/**
 * @typedef {object} ConnectOptions
 * @property {string} token who this player is, signed by the game's lobby
 * @property {number} [seat] which of the token's seats, if it has several
 * @property {(string | Uint8Array)[]} [hashes] SHA-256 of the relay's certificate, in hexadecimal or bytes, if it signed it itself
 * @property {(state: State) => void} [onState]
 * @property {(bytes: Uint8Array) => void} [onMessage] a message of the game came, whole: its first byte is 0x47
 */

/**
 * @typedef {object} OwnOptions
 * @property {number} [distance] how far the real path may leave the told one before a new vector is made; 0.09 if left out
 * @property {number | null} [heartbeat] a new vector after so many milliseconds in any case; 1000 if left out, null: never
 * @property {MotionKind} [kind] how the entity is projected; "linear" if left out
 */

/**
 * How an entity moves. What is left out is nought.
 * @typedef {object} Movement
 * @property {readonly number[]} position
 * @property {readonly number[]} [velocity]
 * @property {readonly number[]} [acceleration]
 * @property {number} [turnRate]
 */

/**
 * Somebody else's entity.
 * @typedef {object} Copy
 * @property {number} player whose
 * @property {number} local which, by its owner's number
 * @property {Vec3} position
 * @property {Vec3} velocity
 */

/** Names of entities are local number * 1024 + player number. */
const PLAYERS_MAX = 1024;
const LOCALS_MAX = 2 ** 22;
/** After this time a worker that was told to close is stopped, in milliseconds. */
const GOODBYE_MAX = 1000;
/** No heartbeat is longer, in milliseconds: some 100 days. */
const HEARTBEAT_MAX = 9e9;

/**
 * Enters a room, and comes back to it by itself whenever the connection breaks.
 * @param {string} url `https://host:port/room`
 * @param {ConnectOptions} options
 */
export function connect(url, options) {
  return new Session(url, options);
}

/** A player in a room. */
export class Session {
  /** @type {State} */
  state = { status: "connecting", words: "", player: null, code: null };
  /** @type {Counts | null} */
  counts = null;
  /** The session's time is known. @type {Promise<void>} */
  ready;

  #worker;
  #onState;
  #onMessage;
  #twin = new Twin();
  /** @type {Reading | null} */
  #clock = null;
  /** The latest session time that was shown. */
  #shown = -Infinity;
  /** By the entity's name. @type {Map<number, DrVector>} */
  #placed = new Map();
  /** @type {(over?: Error) => void} */
  #settle = () => {};

  /**
   * @param {string} url
   * @param {ConnectOptions} options
   */
  constructor(url, { token, seat, hashes = [], onState = () => {}, onMessage = () => {} }) {
    this.#onState = onState;
    this.#onMessage = onMessage;
    this.ready = new Promise((resolve, reject) => {
      this.#settle = (over) => (over === undefined ? resolve() : reject(over));
    });
    // Whoever does not wait for it need not hear of it.
    this.ready.catch(() => {});
    this.#worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "evenkeel" });
    this.#worker.addEventListener("message", ({ data }) => this.#handle(data));
    this.#worker.addEventListener("error", ({ message }) => {
      const why = message || "is its folder served whole, and does the page's policy allow module workers?";
      this.#end(`the worker could not go on: ${why}`);
    });
    const target = { url: String(url), token: String(token), seat: seat ?? null, hashes: hashes.map(readHash) };
    this.#say({ type: "open", target });
    this.#ping();
  }

  /** The session's time in milliseconds, the same for all players; null while it is not known. */
  now() {
    const now = this.#relative();
    return now === null ? null : this.#origin + now / 1e6;
  }

  /**
   * The session's time is certainly not before the first and not after the second; null while it is not known.
   * @returns {[number, number] | null}
   */
  interval() {
    if (this.#clock === null || !this.#twin.isKnown) return null;
    const { band, grain } = this.#clock;
    const doubt = grain + 1e6 * this.#twin.errorMax;
    const [from, to] = intervalAt(band, this.#local(), grain + doubt);
    return [this.#origin + from / 1e6, this.#origin + to / 1e6];
  }

  /**
   * Everybody else's entities, where they are now, or at a session time; none while the session's time is not known.
   * @param {number | null} [at]
   * @returns {Copy[]}
   */
  copies(at = null) {
    const when = at === null ? this.#relative() : (at - this.#origin) * 1e6;
    if (when === null || this.#clock === null) return [];
    /** @type {Copy[]} */
    const copies = [];
    for (const [entity, vector] of this.#placed) {
      const [position, velocity] = [project(vector, when), velocityAt(vector, when)];
      copies.push({ player: entity % PLAYERS_MAX, local: Math.floor(entity / PLAYERS_MAX), position, velocity });
    }
    return copies;
  }

  /**
   * One of this player's entities. Options count from its next life on.
   * @param {number} local your number for it
   * @param {OwnOptions} [options]
   */
  own(local, options = {}) {
    if (!Number.isInteger(local) || local < 0 || local >= LOCALS_MAX) {
      throw new RangeError(`${local} is no number for an entity: use 0, 1, 2 and so on`);
    }
    this.#say({ type: "own", local, threshold: readThreshold(options) });
    return new Own(
      (state) => this.#say({ type: "move", local, state, at: this.#twin.isKnown ? this.#workerNow() : null }),
      () => this.#say({ type: "end", local }),
    );
  }

  /**
   * Says something of the game to the relay. What is said while there is no connection is lost with it.
   * @param {Uint8Array} bytes a whole message: its first byte is 0x47
   */
  send(bytes) {
    if (!(bytes instanceof Uint8Array) || bytes[0] !== GAME || bytes.length > MESSAGE_MAX) {
      throw new RangeError(`a message of the game is a Uint8Array of at most ${MESSAGE_MAX} bytes, of which the first is 0x47`);
    }
    this.#say({ type: "send", bytes: bytes.slice() });
  }

  /** Leaves the room for good. */
  close() {
    this.#say({ type: "close" });
    setTimeout(() => {
      if (this.state.status !== "over") this.#end("this player left");
    }, GOODBYE_MAX);
  }

  /** The session's base in milliseconds since its origin. It is a whole second. */
  get #origin() {
    return this.#clock === null ? 0 : Number(this.#clock.base / 1_000_000n);
  }

  /** Nanoseconds of session time since the base; null while they are not known. Never less than before. */
  #relative() {
    if (this.#clock === null || !this.#twin.isKnown) return null;
    this.#shown = Math.max(this.#shown, shownAt(this.#clock.line, this.#local()));
    return this.#shown;
  }

  #workerNow() {
    return performance.now() + this.#twin.offset;
  }

  /** What the worker's clock shows now, in nanoseconds. */
  #local() {
    return 1e6 * this.#workerNow();
  }

  #ping() {
    if (this.state.status !== "over") this.#say({ type: "ping", sent: performance.now() });
  }

  /** @param {FromPage} message */
  #say(message) {
    this.#worker.postMessage(message);
  }

  /** @param {FromWorker} message */
  #handle(message) {
    if (message.type === "pong") {
      const guess = performance.timeOrigin - message.origin;
      this.#twin.observe(message.sent, message.at, performance.now(), guess);
      setTimeout(() => this.#ping(), this.#twin.pause);
      return this.#tell();
    }
    if (message.type === "message") return this.#onMessage(message.bytes);
    for (const [entity, vector] of message.placed) this.#placed.set(entity, vector);
    for (const entity of message.ended) this.#placed.delete(entity);
    if (message.counts !== undefined) this.counts = message.counts;
    if (message.clock !== undefined) {
      this.#clock = message.clock;
      // A time that was lost may be followed by that of another session.
      if (message.clock === null) this.#shown = -Infinity;
    }
    if (message.state !== undefined) this.state = message.state;
    this.#tell(message.state);
  }

  /**
   * Tells the page how it stands.
   * @param {State} [state] if that is new
   */
  #tell(state) {
    if (this.#clock !== null && this.#twin.isKnown) this.#settle();
    if (this.state.status === "over") this.#settle(new Error(this.state.words));
    if (state !== undefined) this.#onState(state);
  }

  /** @param {string} words */
  #end(words) {
    this.state = { ...this.state, status: "over", words, code: null };
    this.#worker.terminate();
    this.#clock = null;
    this.#placed.clear();
    this.#tell(this.state);
  }
}

/** One of this player's entities. */
export class Own {
  #move;
  #end;

  /**
   * @param {(state: MotionState) => void} move
   * @param {() => void} end
   */
  constructor(move, end) {
    this.#move = move;
    this.#end = end;
  }

  /**
   * It is here now and moves like this.
   * @param {Movement} movement
   */
  move({ position, velocity = [0, 0], acceleration = [0, 0], turnRate = 0 }) {
    const state = {
      position: readVec3(position),
      velocity: readVec3(velocity),
      acceleration: readVec3(acceleration),
      turnRate,
    };
    if (!isSane(state)) {
      const limits = `coordinates are numbers of at most ${MAGNITUDE_MAX} in size, turn rates of ${TURN_RATE_MAX}`;
      throw new RangeError(`${JSON.stringify(state)} is no state of motion: ${limits}`);
    }
    this.#move(state);
  }

  /** It is no more. The next `move` begins a new life of it. */
  end() {
    this.#end();
  }
}

/**
 * @param {readonly number[]} axes
 * @returns {Vec3}
 */
const readVec3 = (axes) => [axes[0], axes[1], axes[2] ?? 0];

/**
 * @param {OwnOptions} options
 * @returns {Threshold}
 */
function readThreshold({ distance = THRESHOLD.distance, heartbeat = THRESHOLD.heartbeat / 1e6, kind = THRESHOLD.kind }) {
  if (!(Number.isFinite(distance) && distance >= 0)) throw new RangeError(`${distance} is no distance`);
  if (!KINDS.includes(kind)) throw new RangeError(`${kind} is no kind of motion: there are ${KINDS.join(", ")}`);
  const isNever = heartbeat === null || heartbeat === Infinity;
  if (!isNever && !(heartbeat > 0 && heartbeat <= HEARTBEAT_MAX)) {
    throw new RangeError(`${heartbeat} is no heartbeat: it is a number of milliseconds, or null for never`);
  }
  // A distance of -0 cannot be told.
  return { distance: Math.abs(distance), heartbeat: isNever ? Infinity : Math.ceil(heartbeat * 1e6), kind };
}

/**
 * @param {string | Uint8Array} hash
 * @returns {Uint8Array}
 */
function readHash(hash) {
  const digits = typeof hash === "string" ? (hash.replaceAll(":", "").match(/../g) ?? []) : null;
  const bytes = digits === null ? /** @type {Uint8Array} */ (hash) : Uint8Array.from(digits, (pair) => parseInt(pair, 16));
  if (bytes.length !== 32) throw new RangeError(`a hash of a certificate has 32 bytes, or 64 digits; here are ${bytes.length} bytes`);
  return bytes;
}

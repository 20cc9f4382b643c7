/**
 * Browser client of Evenkeel: one player in a room of a relay. Plain ES modules, no build step, no dependencies.
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
 * | `connect(url, options)` | enters a room, returns a `Session` at once, and reconnects by itself when the connection breaks |
 * | `session.state` | current state: `{ status, words, player, code }`; `onState` receives each new one |
 * | `session.ready` | promise, resolved once the session time is known and rejected if the session ends before |
 * | `session.now()` | session time in milliseconds, the same for all players; null while unknown |
 * | `session.interval()` | `[from, to]`: certified bounds of the session time; null while unknown |
 * | `session.copies(at)` | every other player's entities, placed now or at a session time |
 * | `session.own(local, options)` | one of this player's entities; `local` is a number of your choice: 0, 1, 2 ... |
 * | `own.move(state)` | reports the entity's motion; call it every frame |
 * | `own.end()` | removes the entity; the next `move` starts a new life |
 * | `session.send(bytes)` | sends a game message to the relay; `onMessage` receives the relay's |
 * | `session.act(bytes, options)` | does something that the game serves in the order in which players reacted, not in that of arrival |
 * | `session.create(kind, values)` | creates an object of this player's; returns its id. `set`, `destroy`, `give(id, player)` and `moveObject(id, movement)` do what they say |
 * | `session.objects()` | every object in scope: `{ id, kind, owner, values, position, velocity }`; `onObject` receives what happens to them |
 * | `session.tell(party, delivery, kind, values)` | sends a typed message, with one of five guarantees |
 * | `session.counts` | counters of rejected, ignored, repeated and dropped messages, and the round trip; updated every second |
 * | `session.close()` | leaves the room |
 *
 * Statuses: "connecting", "syncing" (connected, session time not known yet), "playing", "lost" (reconnecting), "over".
 *
 * Positions, velocities (per second) and accelerations (per second squared) are `[x, y]` or `[x, y, z]`: east, north,
 * up. The acceleration leaves out what the turn rate (rad/s, positive to the left) already explains: it is the change
 * of speed.
 *
 * Reading the clock and placing copies happens in the page. Everything else runs in a worker, which keeps going while
 * the tab is hidden. A hidden tab draws no frames, so its entity keeps moving as last reported; if your game wants it
 * to stop, call `move` on `visibilitychange`.
 *
 * Session times of `now()` and `copies(at)` are milliseconds since the session's origin, which may be years ago: as a
 * number they are precise to 0.1 µs. Internally, times count nanoseconds from a base that is no older than the page.
 *
 * `onUpdate` receives what the game shows to everybody at the same time, when it is to be shown; `act` says what the
 * player did in response. The relay serves actions by how fast each player reacted to the newest update, however far away.
 *
 * Game messages are bytes that start with 0x47 ("G"), here and on the wire; the rest is up to the game. They arrive in
 * order and none is lost while the connection lasts. The relay's room must run a game that understands them.
 */

import { intervalAt, shownAt } from "./clock.js";
import { KINDS, project, velocityAt } from "./motion.js";
import { THRESHOLD_DEFAULT } from "./owner.js";
import { isSane, MAGNITUDE_MAX, TURN_RATE_MAX } from "./quantize.js";
import { WorkerClock } from "./worker-clock.js";
import { PAYLOAD_MAX } from "./sync-wire.js";
import { GAME, MESSAGE_MAX } from "./wire.js";

/** @typedef {import("./motion.js").DrVector} DrVector */
/** @typedef {import("./motion.js").MotionKind} MotionKind */
/** @typedef {import("./owner.js").Threshold} Threshold */
/** @typedef {import("./quantize.js").MotionState} MotionState */
/** @typedef {import("./quantize.js").Vec3} Vec3 */
/** @typedef {import("./session.js").SessionState} SessionState */
/** @typedef {import("./objects.js").ObjectEvent} ObjectEvent */
/** @typedef {import("./objects-wire.js").Party} Party */
/** @typedef {import("./worker.js").Counts} Counts */
/** @typedef {import("./worker.js").FromPage} FromPage */
/** @typedef {import("./worker.js").FromWorker} FromWorker */
/** @typedef {import("./worker.js").ClockReading} ClockReading */

/**
 * @typedef {object} ConnectOptions
 * @property {string} token signed by the game's lobby; says who this player is
 * @property {number} [seat] which of the token's seats to take, if it has several
 * @property {(string | Uint8Array)[]} [hashes] SHA-256 of the relay's certificate, as hexadecimal or bytes, if the relay signed it itself
 * @property {(state: SessionState) => void} [onState]
 * @property {(bytes: Uint8Array) => void} [onMessage] receives each game message, whole, including its first byte 0x47
 * @property {(update: Update) => void} [onUpdate] receives each update of the game when everybody shows it
 * @property {string} [schema] description of the game's objects and typed messages, as `Schema::description` of the relay's game returns it
 * @property {(event: ObjectEvent) => void} [onObject] receives what happens to objects, and typed messages
 */

/**
 * An update of the game.
 * @typedef {object} Update
 * @property {Uint8Array} bytes
 * @property {number} stamp when the relay sent it: session time in milliseconds
 * @property {number} late how many milliseconds later than for everybody else it came; 0 if it came in time
 */

/**
 * @typedef {object} ActOptions
 * @property {boolean} [reliable] whether the action must arrive, however late; default true
 * @property {number} [at] when the player acted: a time stamp of the page's clock, as `event.timeStamp`; default now
 */

/**
 * @typedef {object} OwnOptions
 * @property {number} [distance] threshold: a new vector is sent when the real path strays this far from the exported one; default 0.09
 * @property {number | null} [heartbeat] a new vector is sent after this many milliseconds at the latest; default 1000, null for never
 * @property {MotionKind} [kind] how the entity is projected; default "linear"
 */

/**
 * Motion of an entity. Fields left out are zero.
 * @typedef {object} Movement
 * @property {readonly number[]} position
 * @property {readonly number[]} [velocity]
 * @property {readonly number[]} [acceleration]
 * @property {number} [turnRate]
 */

/**
 * Another player's entity, placed at one instant.
 * @typedef {object} Copy
 * @property {number} player the owner
 * @property {number} local the owner's number for it
 * @property {Vec3} position
 * @property {Vec3} velocity
 */

/** Entity ids are local number * 1024 + player number. */
const PLAYERS_MAX = 1024;
const LOCALS_MAX = 2 ** 22;
/** First local number of objects. */
const OBJECTS_FROM = 2 ** 21;
/** Time a worker has to say goodbye after `close`, in milliseconds; then it is terminated. */
const CLOSE_WAIT_MAX = 1000;
/** Longest heartbeat in milliseconds: about 100 days. */
const HEARTBEAT_MAX = 9e9;

/**
 * Enters a room, and reconnects whenever the connection breaks.
 * @param {string} url `https://host:port/room`
 * @param {ConnectOptions} options
 */
export function connect(url, options) {
  return new Session(url, options);
}

/** A player in a room. */
export class Session {
  /** @type {SessionState} */
  state = { status: "connecting", words: "", player: null, code: null };
  /** @type {Counts | null} */
  counts = null;
  /** Settles once the session time is known, or the session is over. @type {Promise<void>} */
  ready;

  #worker;
  #onState;
  #onMessage;
  #onUpdate;
  #onObject;
  /** Objects in scope, by id. @type {Map<number, { id: number, kind: string, owner: number | null, values: Record<string, any> }>} */
  #objects = new Map();
  #workerClock = new WorkerClock();
  /** @type {ClockReading | null} */
  #clock = null;
  /** Latest session time returned, so that the clock never runs backwards. */
  #shownLatest = -Infinity;
  /** By entity id. @type {Map<number, DrVector>} */
  #placed = new Map();
  /** @type {(over?: Error) => void} */
  #settle = () => {};

  /**
   * @param {string} url
   * @param {ConnectOptions} options
   */
  constructor(url, { token, seat, hashes = [], onState = () => {}, onMessage = () => {}, onUpdate = () => {}, schema, onObject = () => {} }) {
    this.#onObject = onObject;
    this.#onState = onState;
    this.#onMessage = onMessage;
    this.#onUpdate = onUpdate;
    this.ready = new Promise((resolve, reject) => {
      this.#settle = (over) => (over === undefined ? resolve() : reject(over));
    });
    // An unused `ready` must not raise an unhandled rejection.
    this.ready.catch(() => {});
    this.#worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "evenkeel" });
    this.#worker.addEventListener("message", ({ data }) => this.#handle(data));
    this.#worker.addEventListener("error", ({ message }) => {
      const why = message || "is the client's whole folder served, and does the page's CSP allow module workers?";
      this.#end(`the worker failed: ${why}`);
    });
    const target = { url: String(url), token: String(token), seat: seat ?? null, hashes: hashes.map(readHash) };
    this.#post({ type: "open", target, schema: schema ?? null });
    this.#ping();
  }

  /** Returns the session time in milliseconds, the same for all players; null while unknown. */
  now() {
    const now = this.#sessionNow();
    return now === null ? null : this.#origin + now / 1e6;
  }

  /**
   * Returns certified bounds of the session time in milliseconds; null while unknown.
   * @returns {[number, number] | null}
   */
  interval() {
    if (this.#clock === null || !this.#workerClock.isKnown) return null;
    const { band, grain } = this.#clock;
    const doubt = grain + 1e6 * this.#workerClock.errorMax;
    const [from, to] = intervalAt(band, this.#workerNanos(), grain + doubt);
    return [this.#origin + from / 1e6, this.#origin + to / 1e6];
  }

  /**
   * Returns every other player's entities, placed now or at a session time; none while the session time is unknown.
   * @param {number | null} [at]
   * @returns {Copy[]}
   */
  copies(at = null) {
    const when = at === null ? this.#sessionNow() : (at - this.#origin) * 1e6;
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
   * Returns a handle for one of this player's entities. The options apply from its next life on.
   * @param {number} local a number of your choice
   * @param {OwnOptions} [options]
   */
  own(local, options = {}) {
    if (!Number.isInteger(local) || local < 0 || local >= LOCALS_MAX) {
      throw new RangeError(`${local} is not a valid entity number: use 0, 1, 2 and so on`);
    }
    this.#post({ type: "own", local, threshold: readThreshold(options) });
    return new Own(
      (state) => this.#post({ type: "move", local, state, at: this.#workerClock.isKnown ? this.#workerNow() : null }),
      () => this.#post({ type: "end", local }),
    );
  }

  /**
   * Sends a game message to the relay. It is lost if there is no connection.
   * @param {Uint8Array} bytes a whole message; its first byte is 0x47
   */
  send(bytes) {
    if (!(bytes instanceof Uint8Array) || bytes[0] !== GAME || bytes.length > MESSAGE_MAX) {
      throw new RangeError(`a game message is a Uint8Array of at most ${MESSAGE_MAX} bytes that starts with 0x47`);
    }
    this.#post({ type: "send", bytes: bytes.slice() });
  }

  /**
   * Acts: the relay's game gets what the players did in the order in which they reacted to its updates. It is lost if there
   * is no connection.
   * @param {Uint8Array} bytes
   * @param {ActOptions} [options]
   */
  act(bytes, { reliable = true, at = performance.now() } = {}) {
    if (!(bytes instanceof Uint8Array) || bytes.length > PAYLOAD_MAX) {
      throw new RangeError(`an action is a Uint8Array of at most ${PAYLOAD_MAX} bytes`);
    }
    const when = this.#workerClock.isKnown ? Math.min(at, performance.now()) + this.#workerClock.offset : null;
    this.#post({ type: "act", bytes: bytes.slice(), isReliable: reliable, at: when });
  }

  /**
   * Creates an object of this player's, and returns its id. Fields that are left out, and those that the server writes, begin
   * at their default.
   * @param {string} kind
   * @param {Record<string, any>} values
   */
  create(kind, values) {
    if (this.state.player === null) throw new Error("there is no connection yet: wait for `ready`");
    // Random, so that no id tells how many other objects there are.
    const local = OBJECTS_FROM + Math.floor(Math.random() * (LOCALS_MAX - 1 - OBJECTS_FROM));
    const id = local * PLAYERS_MAX + this.state.player;
    this.#post({ type: "create", id, kind, values });
    return id;
  }

  /**
   * Changes fields of an object of this player's.
   * @param {number} id
   * @param {Record<string, any>} values
   */
  set(id, values) {
    this.#post({ type: "set", id, values });
  }

  /** @param {number} id */
  destroy(id) {
    this.#post({ type: "destroy", id });
  }

  /**
   * Passes an object of this player's on.
   * @param {number} id
   * @param {number | null} to a player; null: the server
   */
  give(id, to) {
    this.#post({ type: "give", id, to });
  }

  /**
   * Reports the motion of an object of this player's; call it every frame.
   * @param {number} id
   * @param {Movement} movement
   * @param {OwnOptions} [options]
   */
  moveObject(id, movement, options = {}) {
    const at = this.#workerClock.isKnown ? this.#workerNow() : null;
    this.#post({ type: "moveObject", id, state: readMovement(movement), threshold: readThreshold(options), at });
  }

  /**
   * Sends a typed message.
   * @param {Party} party `{ to: "server" }`, `{ to: "room" }`, `{ to: "player", player }` or `{ to: "scope", object }`
   * @param {"ordered" | "unordered" | "unreliable" | "recent" | "quickest"} delivery
   * @param {string} kind
   * @param {Record<string, any>} values
   */
  tell(party, delivery, kind, values) {
    this.#post({ type: "tell", party, delivery, kind, values });
  }

  /** Returns every object in scope, placed now; others' without a known motion have no position. */
  objects() {
    const now = this.#sessionNow();
    return [...this.#objects.values()].map((object) => {
      const vector = now === null ? undefined : this.#placed.get(object.id);
      if (vector === undefined || now === null) return { ...object, position: null, velocity: null };
      return { ...object, position: project(vector, now), velocity: velocityAt(vector, now) };
    });
  }

  /** Leaves the room for good. */
  close() {
    this.#post({ type: "close" });
    setTimeout(() => {
      if (this.state.status !== "over") this.#end("this player left");
    }, CLOSE_WAIT_MAX);
  }

  /** The session's base in milliseconds since its origin. Always a whole second. */
  get #origin() {
    return this.#clock === null ? 0 : Number(this.#clock.base / 1_000_000n);
  }

  /** Returns session time in nanoseconds since the base; null while unknown. Never decreases. */
  #sessionNow() {
    if (this.#clock === null || !this.#workerClock.isKnown) return null;
    this.#shownLatest = Math.max(this.#shownLatest, shownAt(this.#clock.line, this.#workerNanos()));
    return this.#shownLatest;
  }

  #workerNow() {
    return performance.now() + this.#workerClock.offset;
  }

  /** Returns the worker's clock, in nanoseconds. */
  #workerNanos() {
    return 1e6 * this.#workerNow();
  }

  #ping() {
    if (this.state.status !== "over") this.#post({ type: "ping", sent: performance.now() });
  }

  /** @param {ObjectEvent} event */
  #handleObject(event) {
    if (event.event === "created") {
      const { id, kind, owner, values } = event;
      this.#objects.set(id, { id, kind, owner, values });
    } else if (event.event === "gone") {
      this.#objects.delete(event.id);
    } else if (event.event === "changed" || event.event === "owned") {
      const object = this.#objects.get(event.id);
      if (object !== undefined && event.event === "changed") Object.assign(object.values, event.values);
      if (object !== undefined && event.event === "owned") object.owner = event.owner;
    }
    this.#onObject(event);
  }

  /** @param {FromPage} message */
  #post(message) {
    this.#worker.postMessage(message);
  }

  /** @param {FromWorker} message */
  #handle(message) {
    if (message.type === "pong") {
      const guess = performance.timeOrigin - message.origin;
      this.#workerClock.observe(message.sent, message.at, performance.now(), guess);
      setTimeout(() => this.#ping(), this.#workerClock.pause);
      return this.#notify();
    }
    if (message.type === "message") return this.#onMessage(message.bytes);
    if (message.type === "object") return this.#handleObject(message.event);
    if (message.type === "shown") {
      const { bytes, stamp, late } = message;
      return this.#onUpdate({ bytes, stamp: Number(stamp) / 1e6, late: late / 1e6 });
    }
    for (const [entity, vector] of message.placed) this.#placed.set(entity, vector);
    for (const entity of message.ended) this.#placed.delete(entity);
    if (message.counts !== undefined) this.counts = message.counts;
    if (message.clock !== undefined) {
      this.#clock = message.clock;
      // The next connection may join another session, whose time can be earlier.
      if (message.clock === null) this.#shownLatest = -Infinity;
    }
    if (message.state !== undefined) this.state = message.state;
    this.#notify(message.state);
  }

  /**
   * Settles `ready` and reports a new state to the page.
   * @param {SessionState} [state] the state, if it changed
   */
  #notify(state) {
    if (this.#clock !== null && this.#workerClock.isKnown) this.#settle();
    if (this.state.status === "over") this.#settle(new Error(this.state.words));
    if (state !== undefined) this.#onState(state);
  }

  /** @param {string} words */
  #end(words) {
    this.state = { ...this.state, status: "over", words, code: null };
    this.#worker.terminate();
    this.#clock = null;
    this.#placed.clear();
    this.#notify(this.state);
  }
}

/** Handle for one of this player's entities. */
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
   * Reports the entity's motion at this moment.
   * @param {Movement} movement
   */
  move(movement) {
    this.#move(readMovement(movement));
  }

  /** Removes the entity. The next `move` starts a new life. */
  end() {
    this.#end();
  }
}

/**
 * @param {Movement} movement
 * @returns {MotionState}
 */
function readMovement({ position, velocity = [0, 0], acceleration = [0, 0], turnRate = 0 }) {
  const state = {
    position: readVec3(position),
    velocity: readVec3(velocity),
    acceleration: readVec3(acceleration),
    turnRate,
  };
  if (!isSane(state)) {
    const limits = `coordinates must be at most ${MAGNITUDE_MAX} in size, turn rates at most ${TURN_RATE_MAX}`;
    throw new RangeError(`${JSON.stringify(state)} is not a valid motion: ${limits}`);
  }
  return state;
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
function readThreshold({ distance = THRESHOLD_DEFAULT.distance, heartbeat = THRESHOLD_DEFAULT.heartbeat / 1e6, kind = THRESHOLD_DEFAULT.kind }) {
  if (!(Number.isFinite(distance) && distance >= 0)) throw new RangeError(`${distance} is not a valid distance`);
  if (!KINDS.includes(kind)) throw new RangeError(`${kind} is not a kind of motion: use one of ${KINDS.join(", ")}`);
  const isNever = heartbeat === null || heartbeat === Infinity;
  if (!isNever && !(heartbeat > 0 && heartbeat <= HEARTBEAT_MAX)) {
    throw new RangeError(`${heartbeat} is not a valid heartbeat: give milliseconds, or null for never`);
  }
  // The wire format has no -0.
  return { distance: Math.abs(distance), heartbeat: isNever ? Infinity : Math.ceil(heartbeat * 1e6), kind };
}

/**
 * @param {string | Uint8Array} hash
 * @returns {BufferSource}
 */
function readHash(hash) {
  const digits = typeof hash === "string" ? (hash.replaceAll(":", "").match(/../g) ?? []) : null;
  const bytes = digits === null ? /** @type {Uint8Array} */ (hash) : Uint8Array.from(digits, (pair) => parseInt(pair, 16));
  if (bytes.length !== 32) throw new RangeError(`a certificate hash has 32 bytes (64 hexadecimal digits), not ${bytes.length}`);
  return new Uint8Array(bytes);
}

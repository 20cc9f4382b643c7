/**
 * Keeps a player connected to its relay: connects, drives the player's machines, and reconnects as the same player when
 * the connection breaks. `Peer` carries the motion and finds the session time, `Smc` shows updates and tags actions.
 */

import { Connection } from "./connection.js";
import { Peer, secureNonces } from "./peer.js";
import { Objects } from "./objects.js";
import { OBJECTS_VERSION, parseSchema } from "./objects-wire.js";
import { Closed, DONE, VERSION_MISMATCH, TOO_SLOW } from "./closed.js";
import { Smc } from "./smc.js";
import { isSync } from "./sync-wire.js";
import { GAME } from "./wire.js";

/** @typedef {import("./connection.js").Target} Target */
/** @typedef {import("./owner.js").Threshold} Threshold */
/** @typedef {import("./quantize.js").MotionState} MotionState */
/** @typedef {import("./smc.js").ShownUpdate} ShownUpdate */
/** @typedef {import("./objects.js").ObjectEvent} ObjectEvent */

/**
 * State of a session.
 *
 * | status | meaning |
 * | --- | --- |
 * | connecting | connecting for the first time |
 * | syncing | connected; the session time is not known yet |
 * | playing | connected, and the session time is known |
 * | lost | the connection broke, `words` say why; reconnecting |
 * | over | ended for good, `words` say why |
 * @typedef {object} SessionState
 * @property {"connecting" | "syncing" | "playing" | "lost" | "over"} status
 * @property {string} words for people; empty if there is nothing to say
 * @property {number | null} player this player's number in the room; null before the relay assigned it
 * @property {number | null} code close code of the relay, if it closed the connection: see docs/WIRE.md
 */

/**
 * Local clock: its reading in whole nanoseconds, and the error bound of a reading.
 * @typedef {{ now: () => number, grain: number }} LocalClock
 */

/** Pause before the first reconnection attempt, in milliseconds. It doubles with each attempt, up to the maximum. */
const PAUSE_MIN = 50;
const PAUSE_MAX = 2000;
/** After a connection that lasted this long (ns), the pause starts small again. */
const STABLE_MIN = 3e9;
/** Longest timer, in milliseconds. */
const TIMER_MAX = 1000;

export class RelaySession {
  /** @type {SessionState} */
  state = { status: "connecting", words: "", player: null, code: null };
  /** The player's machine; null before the first greeting. @type {Peer | null} */
  peer = null;
  /** Shows updates by the peer's clock, and tags actions. @type {Smc | null} */
  smc = null;
  /** Objects and typed messages; null without a schema. @type {Objects | null} */
  objects = null;

  #target;
  #clock;
  #onChange;
  #onMessage;
  #onShown;
  #onObject;
  #schema;
  /** @type {Connection | null} */
  #connection = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** When the current connection was established. */
  #connectedAt = Infinity;
  #hasLeft = false;
  /** Ends the pause between two attempts. */
  #endPause = () => {};

  /**
   * @param {Target} target
   * @param {LocalClock} clock
   * @param {() => void} onChange the state, or something that the machine holds, changed
   * @param {(bytes: Uint8Array) => void} [onMessage] receives game messages
   * @param {(update: ShownUpdate) => void} [onShown] receives each update of the game when it is to be shown
   * @param {string | null} [schema] description of the game's objects and typed messages
   * @param {(event: ObjectEvent) => void} [onObject] receives what happens to them
   */
  constructor(target, clock, onChange, onMessage = () => {}, onShown = () => {}, schema = null, onObject = () => {}) {
    this.#schema = schema === null ? null : parseSchema(schema);
    this.#onObject = onObject;
    this.#target = target;
    this.#clock = clock;
    this.#onChange = onChange;
    this.#onMessage = onMessage;
    this.#onShown = onShown;
  }

  /** Connects, and reconnects until the session is over. Never throws. */
  async run() {
    let pause = PAUSE_MIN;
    for (;;) {
      this.#connectedAt = Infinity;
      const closed = this.#hasLeft ? Closed.byUs(DONE) : await this.#connectOnce();
      if (this.#hasLeft) return this.#setState("over", "this player left", DONE);
      // If the first attempt fails, retrying would only hide the reason.
      if (closed.isFinal || this.peer === null) return this.#setState("over", closed.message, closed.code);
      this.#setState("lost", closed.message, closed.code);
      if (this.#clock.now() - this.#connectedAt > STABLE_MIN) pause = PAUSE_MIN;
      await new Promise((resolve) => {
        this.#endPause = () => resolve(undefined);
        setTimeout(resolve, pause);
      });
      pause = Math.min(2 * pause, PAUSE_MAX);
    }
  }

  /** Leaves the room for good. */
  leave() {
    this.#hasLeft = true;
    this.#connection?.close(Closed.byUs(DONE));
    this.#endPause();
  }

  /**
   * Reports the state of one of this player's entities at some time. Ignored while the session time is unknown.
   * @param {number} local
   * @param {MotionState} state
   * @param {Threshold} threshold
   * @param {number | null} at local time; null: now
   */
  observe(local, state, threshold, at) {
    const now = this.#clock.now();
    this.peer?.observe(now, local, state, threshold, at === null ? now : Math.min(at, now));
    this.#pump();
  }

  /**
   * Ends one of this player's entities.
   * @param {number} local
   */
  end(local) {
    this.peer?.end(this.#clock.now(), local);
    this.#pump();
  }

  /**
   * Sends a game message to the relay. Ignored while there is no connection.
   * @param {Uint8Array} bytes
   */
  send(bytes) {
    this.peer?.outbox.message(bytes);
    this.#pump();
  }

  /**
   * Acts, in fair order with the other players. Ignored while there is no connection.
   * @param {Uint8Array} bytes
   * @param {boolean} isReliable whether it must arrive, however late
   * @param {number | null} at local time; null: now
   */
  act(bytes, isReliable, at) {
    const now = this.#clock.now();
    this.smc?.act(now, bytes, isReliable, at === null ? now : Math.min(at, now));
    this.#pump();
  }

  /**
   * Does something with the player's objects, or sends a typed message.
   * @param {(objects: Objects, now: number) => void} act
   */
  change(act) {
    if (this.objects !== null) act(this.objects, this.#clock.now());
    this.#pump();
    this.#takeObjectEvents();
  }

  /**
   * Reports the motion of an object of this player's.
   * @param {number} id
   * @param {MotionState} state
   * @param {Threshold} threshold
   * @param {number | null} at local time; null: now
   */
  observeObject(id, state, threshold, at) {
    const now = this.#clock.now();
    if (this.objects !== null && !this.objects.movesSo(id, state)) return this.#takeObjectEvents();
    this.peer?.observeEntity(now, id, state, threshold, at === null ? now : Math.min(at, now));
    this.#pump();
  }

  /** Resolves with how the connection ended, or why it could not be opened. @returns {Promise<Closed>} */
  async #connectOnce() {
    let connection;
    try {
      connection = await Connection.open(this.#target);
    } catch (error) {
      return error instanceof Closed ? error : Closed.broken(`the connection could not be opened: ${error}`);
    }
    if (this.#hasLeft) {
      connection.close(Closed.byUs(DONE));
      return connection.closed;
    }
    this.#attach(connection);
    const closed = await connection.closed;
    this.#connection = null;
    clearTimeout(this.#timer);
    this.peer?.leave(this.#clock.now());
    this.smc?.leave(this.#clock.now());
    this.objects?.leave(this.#clock.now());
    this.#takeShown();
    this.#takeObjectEvents();
    return closed;
  }

  /** @param {Connection} connection */
  #attach(connection) {
    const { player, tick } = connection.greeting;
    const last = this.peer;
    if (last === null || last.player !== player || last.tick !== tick) {
      const firstSeq = last?.owner.nextSeq ?? 0;
      this.peer = new Peer({ player, tick, grain: this.#clock.grain, firstSeq });
      this.smc = new Smc({ clock: this.peer.clock, drawNonce: secureNonces() });
      const [instance] = crypto.getRandomValues(new BigInt64Array(1));
      this.objects = this.#schema === null ? null : new Objects({ schema: this.#schema, tick, instance });
    }
    const peer = /** @type {Peer} */ (this.peer);
    peer.join(this.#clock.now(), connection.datagramMax);
    this.smc?.join(this.#clock.now(), connection.datagramMax);
    this.objects?.join(this.#clock.now(), connection.datagramMax);
    // Discards events of the previous connection.
    while (peer.clock.pollEvent() !== undefined);
    this.#connection = connection;
    this.#connectedAt = this.#clock.now();
    connection.run({
      onDatagram: (bytes) => this.#handle(connection, "datagram", bytes),
      onMessage: (bytes) => this.#handle(connection, "reliable", bytes),
      onReady: this.#pump,
    });
    this.#setState("syncing", "");
    this.#pump();
  }

  /**
   * Handles a message, unless it belongs to an earlier connection.
   * @param {Connection} connection the one on which it arrived
   * @param {"datagram" | "reliable"} channel
   * @param {Uint8Array} bytes
   */
  #handle(connection, channel, bytes) {
    if (connection !== this.#connection) return;
    // A copy: the bytes are a view into the stream's buffer.
    if (bytes[0] === GAME) return this.#onMessage(bytes.slice());
    const isObjects = bytes[0] >> 4 === OBJECTS_VERSION >> 4;
    const machine = isObjects ? this.objects : isSync(bytes) ? this.smc : this.peer;
    const rejected = machine?.handleMessage(this.#clock.now(), channel, bytes);
    if (rejected?.reason === "version") connection.close(Closed.byUs(VERSION_MISMATCH, rejected.message));
    this.#pump();
  }

  /** Sends whatever is ready, as far as the browser accepts it, and sets the timer for what comes next. */
  #pump = () => {
    const [peer, smc, connection] = [this.peer, this.smc, this.#connection];
    if (peer === null || smc === null || connection === null) return;
    while (connection.canSendMessage) {
      const message = smc.pollReliable() ?? this.objects?.pollReliable() ?? peer.pollReliable();
      if (message === undefined) break;
      connection.sendMessage(message);
    }
    while (connection.canSendDatagram) {
      const now = this.#clock.now();
      // Actions first: others wait for them.
      const datagram = smc.pollDatagram(now) ?? this.objects?.pollDatagram(now) ?? peer.pollDatagram(now);
      if (datagram === undefined) break;
      connection.sendDatagram(datagram);
    }
    if (peer.isStalled || smc.isStalled) connection.close(Closed.byUs(TOO_SLOW));
    this.#takeShown();
    this.#takeObjectEvents();
    this.#takeClockEvents(peer);
    clearTimeout(this.#timer);
    const wait = (Math.min(peer.pollTimeout(), smc.pollTimeout(), this.objects?.pollTimeout() ?? Infinity) - this.#clock.now()) / 1e6;
    this.#timer = setTimeout(this.#wake, Math.min(Math.max(Math.ceil(wait), 1), TIMER_MAX));
    this.#onChange();
  };

  #wake = () => {
    this.peer?.handleTimeout(this.#clock.now());
    this.smc?.handleTimeout(this.#clock.now());
    this.objects?.handleTimeout(this.#clock.now());
    this.#pump();
  };

  #takeObjectEvents() {
    for (let event = this.objects?.pollEvent(); event !== undefined; event = this.objects?.pollEvent()) {
      const isLost = (event.event === "owned" && event.owner !== this.peer?.player) || (event.event === "gone" && event.why === "destroyed");
      // What is not this player's any more is not its to move.
      if (isLost && "id" in event) this.peer?.endEntity(this.#clock.now(), event.id);
      this.#onObject(event);
    }
  }

  #takeShown() {
    for (let shown = this.smc?.pollShown(); shown !== undefined; shown = this.smc?.pollShown()) this.#onShown(shown);
  }

  /**
   * Turns the clock's events into states.
   * @param {Peer} peer
   */
  #takeClockEvents(peer) {
    for (let event = peer.clock.pollEvent(); event !== undefined; event = peer.clock.pollEvent()) {
      if (event.event === "fixed") this.#setState("playing", "");
      if (event.event !== "lost") continue;
      // What waits for a session time must not wait for ever.
      this.smc?.handleTimeout(this.#clock.now());
      this.#takeShown();
      this.#setState("syncing", "the clock is being set again");
    }
  }

  /**
   * @param {SessionState["status"]} status
   * @param {string} words
   * @param {number | null} [code]
   */
  #setState(status, words, code = null) {
    this.state = { status, words, player: this.peer?.player ?? null, code };
    this.#onChange();
  }
}

/**
 * A player's way to its relay, and back to it: connects, turns the player's machine with what comes, and when the connection breaks
 * connects again, as the same player.
 */

import { Connection } from "./connection.js";
import { Machine } from "./machine.js";
import { Closed, DONE, OTHER_VERSION, TOO_SLOW } from "./reason.js";
import { GAME } from "./wire.js";

/** @typedef {import("./connection.js").Target} Target */
/** @typedef {import("./own.js").Threshold} Threshold */
/** @typedef {import("./quantize.js").MotionState} MotionState */

/**
 * How it stands.
 *
 * | status | meaning |
 * | --- | --- |
 * | connecting | under way to the relay for the first time |
 * | syncing | there; the session's time is not known yet |
 * | playing | there, and the session's time is known |
 * | lost | the connection broke, `words` say why; it is being tried again |
 * | over | over for good, `words` say why |
 *
 * @typedef {object} State
 * @property {"connecting" | "syncing" | "playing" | "lost" | "over"} status
 * @property {string} words for people; empty if there is nothing to say
 * @property {number | null} player who this player is in its room; null before the relay said so
 * @property {number | null} code why the relay closed the connection, if it did: see docs/WIRE.md
 */

/**
 * The own clock: what it shows in nanoseconds, whole, and how far a reading may be off.
 * @typedef {{ now: () => number, grain: number }} LocalClock
 */

/** The pause before the first new attempt, in milliseconds; it doubles with each, up to the second. */
const PAUSE_FIRST = 50;
const PAUSE_MAX = 2000;
/** A connection that lasted so long (ns) was a good one: after it, attempts begin quickly again. */
const LASTING = 3e9;
/** Timers are not set for longer, in milliseconds. */
const SLEEP_MAX = 1000;

export class Session {
  /** @type {State} */
  state = { status: "connecting", words: "", player: null, code: null };
  /** The player's machine: from the first greeting on. @type {Machine | null} */
  machine = null;

  #target;
  #clock;
  #onChange;
  #onMessage;
  /** @type {Connection | null} */
  #connection = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** When the connection began. */
  #since = Infinity;
  #isLeft = false;
  /** Ends the pause between two attempts. */
  #hurry = () => {};

  /**
   * @param {Target} target
   * @param {LocalClock} clock
   * @param {() => void} onChange something about it is new
   * @param {(bytes: Uint8Array) => void} [onMessage] a message of the game came
   */
  constructor(target, clock, onChange, onMessage = () => {}) {
    this.#target = target;
    this.#clock = clock;
    this.#onChange = onChange;
    this.#onMessage = onMessage;
  }

  /** Connects, and connects again, until it is over. Never throws. */
  async run() {
    let pause = PAUSE_FIRST;
    for (;;) {
      this.#since = Infinity;
      const closed = this.#isLeft ? Closed.byUs(DONE) : await this.#connectOnce();
      if (this.#isLeft) return this.#say("over", "this player left", DONE);
      // Who was never let in is told why at once.
      if (closed.isFinal || this.machine === null) return this.#say("over", closed.message, closed.code);
      this.#say("lost", closed.message, closed.code);
      if (this.#clock.now() - this.#since > LASTING) pause = PAUSE_FIRST;
      await new Promise((resolve) => {
        this.#hurry = () => resolve(undefined);
        setTimeout(resolve, pause);
      });
      pause = Math.min(2 * pause, PAUSE_MAX);
    }
  }

  /** Leaves the room for good. */
  leave() {
    this.#isLeft = true;
    this.#connection?.close(Closed.byUs(DONE));
    this.#hurry();
  }

  /**
   * One of this player's entities was so at a time. While there is no session time, nothing happens.
   * @param {number} local
   * @param {MotionState} state
   * @param {Threshold} threshold
   * @param {number | null} at by the own clock; null: now
   */
  observe(local, state, threshold, at) {
    const now = this.#clock.now();
    this.machine?.observe(now, local, state, threshold, at === null ? now : Math.min(at, now));
    this.#pump();
  }

  /**
   * One of this player's entities is no more.
   * @param {number} local
   */
  end(local) {
    this.machine?.end(this.#clock.now(), local);
    this.#pump();
  }

  /**
   * Says something of the game to the relay. While there is no connection, nothing happens.
   * @param {Uint8Array} bytes
   */
  send(bytes) {
    this.machine?.outbox.message(bytes);
    this.#pump();
  }

  /** @returns {Promise<Closed>} how it ended, or why it did not begin */
  async #connectOnce() {
    let connection;
    try {
      connection = await Connection.open(this.#target);
    } catch (error) {
      return error instanceof Closed ? error : Closed.broken(`the connection could not be opened: ${error}`);
    }
    if (this.#isLeft) {
      connection.close(Closed.byUs(DONE));
      return connection.closed;
    }
    this.#attach(connection);
    const closed = await connection.closed;
    this.#connection = null;
    clearTimeout(this.#timer);
    this.machine?.leave(this.#clock.now());
    return closed;
  }

  /** @param {Connection} connection */
  #attach(connection) {
    const { player, tick } = connection.greeting;
    const last = this.machine;
    if (last === null || last.player !== player || last.tick !== tick) {
      const firstSeq = last?.own.nextSeq ?? 0;
      this.machine = new Machine({ player, tick, grain: this.#clock.grain, firstSeq });
    }
    const machine = /** @type {Machine} */ (this.machine);
    machine.join(this.#clock.now(), connection.datagramMax);
    // That the last connection's time was lost is no news.
    while (machine.clock.pollEvent() !== undefined);
    this.#connection = connection;
    this.#since = this.#clock.now();
    connection.run({
      onDatagram: (bytes) => this.#handle(connection, "datagram", bytes),
      onMessage: (bytes) => this.#handle(connection, "reliable", bytes),
      onReady: this.#pump,
    });
    this.#say("syncing", "");
    this.#pump();
  }

  /**
   * @param {Connection} connection that it came by; of an earlier one it means nothing
   * @param {"datagram" | "reliable"} channel
   * @param {Uint8Array} bytes
   */
  #handle(connection, channel, bytes) {
    if (connection !== this.#connection) return;
    // Bytes of its own: these are a piece of what has come so far.
    if (channel === "reliable" && bytes[0] === GAME) return this.#onMessage(bytes.slice());
    const refused = this.machine?.handleMessage(this.#clock.now(), channel, bytes);
    if (refused?.reason === "version") connection.close(Closed.byUs(OTHER_VERSION, refused.message));
    this.#pump();
  }

  /** Sends what there is to send, as far as the browser takes it, and sets the timer for what comes next. */
  #pump = () => {
    const [machine, connection] = [this.machine, this.#connection];
    if (machine === null || connection === null) return;
    while (connection.hasRoomForMessage) {
      const message = machine.pollReliable();
      if (message === undefined) break;
      connection.sendMessage(message);
    }
    while (connection.hasRoom) {
      const datagram = machine.pollDatagram(this.#clock.now());
      if (datagram === undefined) break;
      connection.sendDatagram(datagram);
    }
    if (machine.isStalled) connection.close(Closed.byUs(TOO_SLOW));
    this.#notice(machine);
    clearTimeout(this.#timer);
    const wait = (machine.pollTimeout() - this.#clock.now()) / 1e6;
    this.#timer = setTimeout(this.#wake, Math.min(Math.max(Math.ceil(wait), 1), SLEEP_MAX));
    this.#onChange();
  };

  #wake = () => {
    this.machine?.handleTimeout(this.#clock.now());
    this.#pump();
  };

  /**
   * Takes note of what became of the session's time.
   * @param {Machine} machine
   */
  #notice(machine) {
    for (let event = machine.clock.pollEvent(); event !== undefined; event = machine.clock.pollEvent()) {
      if (event.event === "fixed") this.#say("playing", "");
      if (event.event === "lost") this.#say("syncing", "the session's time is being found anew");
    }
  }

  /**
   * @param {State["status"]} status
   * @param {string} words
   * @param {number | null} [code]
   */
  #say(status, words, code = null) {
    this.state = { status, words, player: this.machine?.player ?? null, code };
    this.#onChange();
  }
}

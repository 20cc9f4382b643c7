/**
 * Frames and messages waiting to leave for the relay.
 *
 * Frames share datagrams as long as they fit, and at most one datagram leaves per tick: the first one at once, later
 * frames together at the end of the tick (docs/WIRE.md, "Sending datagrams").
 */

import { Writer } from "./bytes.js";
import { CLOCK_LEN_MAX, emitFrame, emitHeader, HEADER_LEN } from "./wire.js";

/**
 * How messages of a protocol are written, and whether they need the session time.
 * @template F
 * @typedef {object} Format
 * @property {(writer: Writer, nonce: number, stamp: bigint | null) => void} emitHeader
 * @property {(writer: Writer, frame: F, stamp: bigint | null) => void} emitFrame
 * @property {boolean} needsStamp
 */

/** Dead reckoning's. @type {Format<import("./wire.js").Frame>} */
const MOTION = { emitHeader, emitFrame: (writer, frame, stamp) => emitFrame(writer, frame, stamp ?? 0n), needsStamp: true };

/** Full datagrams that may wait; beyond it the oldest is dropped, as a network would. */
export const DATAGRAMS_MAX = 64;
/**
 * Reliable messages that may wait; beyond it the relay counts as stalled, since a reliable channel must not drop any.
 */
export const RELIABLE_MAX = 8192;
/** Every datagram keeps room for a probe and an echo. */
const PIGGYBACK_LEN = 2 * CLOCK_LEN_MAX;

/** Datagram being filled. @typedef {{ stamp: bigint | null, writer: Writer }} OpenDatagram */

/** @template [F=import("./wire.js").Frame] */
export class Outbox {
  /** Datagrams dropped because too many were waiting. */
  dropped = 0;
  /** True once more reliable messages wait than allowed: the connection must be closed. */
  isStalled = false;

  #tick;
  #drawNonce;
  #format;
  /** Longest datagram; 0 while disconnected. */
  #datagramMax = 0;
  #now = -Infinity;
  /** @type {bigint | null} */
  #stamp = null;
  /** @type {OpenDatagram | null} */
  #open = null;
  /** @type {Uint8Array[]} */
  #full = [];
  /** @type {Uint8Array[]} */
  #reliable = [];
  /** A datagram should leave even if it holds nothing yet. */
  #isRequested = false;
  /** Earliest time of the next datagram. */
  #nextAt = -Infinity;

  /**
   * @param {number} tick in nanoseconds
   * @param {() => number} drawNonce
   * @param {Format<F>} [format]
   */
  constructor(tick, drawNonce, format = /** @type {Format<any>} */ (MOTION)) {
    this.#tick = tick;
    this.#drawNonce = drawNonce;
    this.#format = format;
  }

  /**
   * The relay connected, or reconnected. Everything that waited is dropped.
   * @param {number} datagramMax
   */
  join(datagramMax) {
    this.leave();
    this.#datagramMax = datagramMax;
    this.#nextAt = -Infinity;
    this.isStalled = false;
  }

  leave() {
    this.#datagramMax = 0;
    this.#open = null;
    this.#full = [];
    this.#reliable = [];
    this.#isRequested = false;
  }

  get isConnected() {
    return this.#datagramMax > 0;
  }

  /** Bytes of frames that fit into a datagram. */
  get framesMax() {
    return Math.max(0, this.#datagramMax - HEADER_LEN - PIGGYBACK_LEN);
  }

  /**
   * Sets the time for everything added from now on.
   * @param {number} now local time
   * @param {bigint | null} stamp session time on the wire, null while unknown
   */
  setNow(now, stamp) {
    this.#now = now;
    this.#stamp = stamp;
  }

  /**
   * Adds a frame to the next datagram. Drops it while disconnected, without a session time if the format needs one, or
   * if it could never fit.
   * @param {F} frame
   */
  datagram(frame) {
    if (!this.isConnected || this.#lacksStamp(this.#stamp)) return;
    const limit = HEADER_LEN + this.framesMax;
    if (this.#open !== null && !this.#lacksStamp(this.#open.stamp)) {
      const { stamp, writer } = this.#open;
      const before = writer.length;
      this.#format.emitFrame(writer, frame, stamp);
      if (writer.length <= limit) return;
      writer.truncate(before);
    }
    this.#close();
    const open = this.#begin();
    this.#format.emitFrame(open.writer, frame, this.#stamp);
    if (open.writer.length <= limit) this.#open = open;
  }

  /** Requests a datagram, for something that is added just before it leaves. */
  requestDatagram() {
    this.#isRequested = this.isConnected;
  }

  /**
   * Adds a clock frame to the datagram that is about to leave.
   * @param {F} frame
   */
  piggyback(frame) {
    this.#open ??= this.#begin();
    this.#format.emitFrame(this.#open.writer, frame, null);
  }

  /**
   * Queues a frame on the reliable channel.
   * @param {F} frame
   */
  reliable(frame) {
    if (!this.isConnected || this.#lacksStamp(this.#stamp)) return;
    const { writer, stamp } = this.#begin();
    this.#format.emitFrame(writer, frame, stamp);
    this.message(writer.finish());
  }

  /**
   * Queues a whole message on the reliable channel. Game messages need no session time.
   * @param {Uint8Array} bytes
   */
  message(bytes) {
    if (!this.isConnected || this.isStalled) return;
    if (this.#reliable.length >= RELIABLE_MAX) this.isStalled = true;
    else this.#reliable.push(bytes);
  }

  /** Takes the next reliable message; undefined if there is none. */
  takeReliable() {
    return this.#reliable.shift();
  }

  /** True when the last waiting datagram may leave now: the moment to add acknowledgments and probes. */
  get canPiggyback() {
    return this.#isDue && this.#full.length === 0;
  }

  /** Takes the next datagram that may leave now; undefined if there is none. */
  takeDatagram() {
    if (!this.#isDue) return undefined;
    const full = this.#full.shift();
    if (full !== undefined) return full;
    this.#isRequested = false;
    const open = this.#open;
    if (open === null) return undefined;
    this.#open = null;
    // The next one may leave a tick from now.
    this.#nextAt = this.#now + this.#tick;
    return open.writer.finish();
  }

  /** When the next waiting datagram may leave. */
  get nextTimeout() {
    return this.#hasDatagram ? this.#nextAt : Infinity;
  }

  get #hasDatagram() {
    return this.#isRequested || this.#open !== null || this.#full.length > 0;
  }

  get #isDue() {
    return this.#hasDatagram && this.#nextAt <= this.#now;
  }

  /** @param {bigint | null} stamp */
  #lacksStamp(stamp) {
    return stamp === null && this.#format.needsStamp;
  }

  /** @returns {OpenDatagram} */
  #begin() {
    const writer = new Writer();
    this.#format.emitHeader(writer, this.#drawNonce(), this.#stamp);
    return { stamp: this.#stamp, writer };
  }

  #close() {
    if (this.#open === null) return;
    if (this.#full.length === DATAGRAMS_MAX) {
      this.#full.shift();
      this.dropped += 1;
    }
    this.#full.push(this.#open.writer.finish());
    this.#open = null;
  }
}

/**
 * What is ready to leave for the relay. Frames share datagrams as long as they fit, and at most one datagram leaves per tick: the
 * first at once, what comes within a tick of it together at the tick's end (docs/WIRE.md, "Sending datagrams").
 */

import { Writer } from "./bytes.js";
import { CLOCK_LEN_MAX, emitFrame, emitHeader, HEADER_LEN } from "./wire.js";

/** @typedef {import("./wire.js").Frame} Frame */

/** Full datagrams that wait; when there are more, the oldest is dropped, as a network would. */
export const DATAGRAMS_MAX = 64;
/** Reliable messages that wait; with more the relay counts as stalled: a reliable channel with a gap would be a lie. */
export const RELIABLE_MAX = 8192;
/** In every datagram there is room for a probe and an echo. */
const RIDERS_LEN = 2 * CLOCK_LEN_MAX;

/** A datagram that is being filled. @typedef {{ stamp: bigint | null, writer: Writer }} Open */

export class Outbox {
  /** Datagrams that were dropped because too many waited. */
  crowdedOut = 0;
  /** Whether more waits on the reliable channel than may: the connection must be given up. */
  isStalled = false;

  #tick;
  #drawNonce;
  /** The longest datagram; 0 while the relay is not here. */
  #datagramMax = 0;
  #now = -Infinity;
  /** @type {bigint | null} */
  #stamp = null;
  /** @type {Open | null} */
  #open = null;
  /** @type {Uint8Array[]} */
  #full = [];
  /** @type {Uint8Array[]} */
  #reliable = [];
  /** A datagram is to leave even if so far there is nothing in it. */
  #isWanted = false;
  /** No datagram leaves before this. */
  #nextAt = -Infinity;

  /**
   * @param {number} tick in nanoseconds
   * @param {() => number} drawNonce
   */
  constructor(tick, drawNonce) {
    this.#tick = tick;
    this.#drawNonce = drawNonce;
  }

  /**
   * The relay comes, or comes back: what waited for it before is void.
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
    this.#isWanted = false;
  }

  get isHere() {
    return this.#datagramMax > 0;
  }

  /** The bytes of frames that fit a datagram. */
  get framesMax() {
    return Math.max(0, this.#datagramMax - HEADER_LEN - RIDERS_LEN);
  }

  /**
   * What time it is for whatever is put in from now on.
   * @param {number} now by the own clock
   * @param {bigint | null} stamp the session's time, if there is one
   */
  setNow(now, stamp) {
    this.#now = now;
    this.#stamp = stamp;
  }

  /**
   * Puts a frame into the next datagram. It is dropped if the relay is not here, there is no session time, or it would never fit.
   * @param {Frame} frame
   */
  datagram(frame) {
    if (!this.isHere || this.#stamp === null) return;
    const limit = HEADER_LEN + this.framesMax;
    if (this.#open !== null && this.#open.stamp !== null) {
      const { stamp, writer } = this.#open;
      const before = writer.length;
      emitFrame(writer, frame, stamp);
      if (writer.length <= limit) return;
      writer.truncate(before);
    }
    this.#close();
    const open = this.#begin();
    emitFrame(open.writer, frame, this.#stamp);
    if (open.writer.length <= limit) this.#open = open;
  }

  /** A datagram should leave: there will be something to put in it. */
  want() {
    this.#isWanted = this.isHere;
  }

  /**
   * Puts a clock frame into the datagram that is about to leave.
   * @param {Frame} frame
   */
  ride(frame) {
    this.#open ??= this.#begin();
    emitFrame(this.#open.writer, frame, 0n);
  }

  /**
   * Puts a frame on the reliable channel.
   * @param {Frame} frame
   */
  reliable(frame) {
    if (!this.isHere || this.#stamp === null) return;
    const { writer, stamp } = this.#begin();
    emitFrame(writer, frame, stamp ?? 0n);
    this.message(writer.finish());
  }

  /**
   * Puts a whole message on the reliable channel: one of the game needs no session time.
   * @param {Uint8Array} bytes
   */
  message(bytes) {
    if (!this.isHere || this.isStalled) return;
    if (this.#reliable.length >= RELIABLE_MAX) this.isStalled = true;
    else this.#reliable.push(bytes);
  }

  /** Takes the next reliable message; undefined if there is none. */
  takeReliable() {
    return this.#reliable.shift();
  }

  /** Whether a datagram may leave now, and none that is full waits before it: then is the time for what rides along. */
  get isTimeToRide() {
    return this.#isDue && this.#full.length === 0;
  }

  /** Takes the next datagram that may leave now; undefined if there is none. */
  takeDatagram() {
    if (!this.#isDue) return undefined;
    const full = this.#full.shift();
    if (full !== undefined) return full;
    this.#isWanted = false;
    const open = this.#open;
    if (open === null) return undefined;
    this.#open = null;
    // The one that follows is due a tick from now.
    this.#nextAt = this.#now + this.#tick;
    return open.writer.finish();
  }

  /** When something that waits for its tick may leave. */
  get nextTimeout() {
    return this.#hasDatagram ? this.#nextAt : Infinity;
  }

  get #hasDatagram() {
    return this.#isWanted || this.#open !== null || this.#full.length > 0;
  }

  get #isDue() {
    return this.#hasDatagram && this.#nextAt <= this.#now;
  }

  /** @returns {Open} */
  #begin() {
    const writer = new Writer();
    emitHeader(writer, this.#drawNonce(), this.#stamp);
    return { stamp: this.#stamp, writer };
  }

  #close() {
    if (this.#open === null) return;
    if (this.#full.length === DATAGRAMS_MAX) {
      this.#full.shift();
      this.crowdedOut += 1;
    }
    this.#full.push(this.#open.writer.finish());
    this.#open = null;
  }
}

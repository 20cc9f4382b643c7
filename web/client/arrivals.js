/**
 * A receiver's log of arrivals: numbered, and repeated until the relay has confirmed them, so that a lost acknowledgment costs
 * time, never truth (docs/WIRE.md, "Receiving").
 *
 * Times are numbers of nanoseconds since the base. Numbers of arrivals begin with 0 at each connection and stay far below 2^53.
 */

import { Backoff, DelayEstimate } from "./delay.js";
import { FEEDBACK_LEN_MAX, FEEDBACK_MAX, RUN_LEN_MAX } from "./wire.js";

/** @typedef {import("./wire.js").Arrival} Arrival */
/** @typedef {import("./wire.js").FeedbackFrame} FeedbackFrame */

/** Unconfirmed arrivals that are kept; when there are more, the oldest is dropped. */
export const LOG_MAX = 16_384;
/** Arrivals that each acknowledgment repeats at least. */
const RECENT = 8;
/** Arrivals that are sent again at one go when the relay misses some. */
const REPAIR_MAX = 1024;
/** Before the first round trip is known, unconfirmed arrivals are repeated after this time. */
const REPEAT_FIRST = 1e9;

/**
 * What the relay says of its books, in numbers of this machine.
 * @typedef {{ next: number, stamp: number, held: number, hole: boolean }} Confirm
 */

/** The arrivals from the relay. */
export class ArrivalLog {
  /** When unconfirmed arrivals are due to be repeated; Infinity if there are none. */
  repeatAt = Infinity;
  /** Arrivals that were dropped because too many were not confirmed. */
  dropped = 0;
  roundTrip = new DelayEstimate();

  /** The number of the first arrival in the log. */
  #oldest = 0;
  /** @type {Arrival[]} */
  #log = [];
  /** Where the log begins in its array. */
  #head = 0;
  /** Up to where the last four acknowledgments reached, the earliest first: what came after that is what the last three said. */
  #reached = [0, 0, 0, 0];
  /** Up to where a hole has been repaired, and since when. @type {{ reached: number, since: number } | null} */
  #repaired = null;
  #backoff = new Backoff();

  get length() {
    return this.#log.length - this.#head;
  }

  /** The number that the next arrival will have. */
  get #next() {
    return this.#oldest + this.length;
  }

  /**
   * Notes an arrival.
   * @param {Arrival} arrival
   * @param {number} now when it came
   */
  note(arrival, now) {
    if (this.length === LOG_MAX) {
      this.#forget(1);
      this.dropped += 1;
    }
    this.#log.push(arrival);
    if (this.repeatAt === Infinity) this.repeatAt = now + this.#repeatAfter();
  }

  /**
   * What to acknowledge now: everything since the last acknowledgment, what the three before it said, and the last 8.
   * @param {number} bytesMax what fits a datagram
   */
  acknowledge(bytesMax) {
    const next = this.#next;
    const from = Math.max(Math.min(this.#reached[0], next - RECENT), this.#oldest);
    this.#reached = [...this.#reached.slice(1), next];
    return this.#frames(from, next, bytesMax);
  }

  /**
   * What to repeat when that is due: the oldest that is unconfirmed, and what follows.
   * @param {number} now
   * @param {number} bytesMax
   */
  repeat(now, bytesMax) {
    this.#backoff.repeated();
    this.repeatAt = now + this.#repeatAfter();
    return this.#frames(this.#oldest, Math.min(this.#next, this.#oldest + REPAIR_MAX), bytesMax);
  }

  /**
   * What to send again because the relay misses some: the part of it that has not been sent again yet.
   * @param {number} bytesMax
   */
  repair(bytesMax) {
    const { reached, since } = this.#repaired ?? { reached: this.#oldest, since: -Infinity };
    const from = Math.max(reached, this.#oldest);
    const to = Math.min(this.#next, from + REPAIR_MAX);
    this.#repaired = { reached: to, since };
    return this.#frames(from, to, bytesMax);
  }

  /**
   * The relay has arrivals in its books.
   * @param {Confirm} confirm
   * @param {number} now
   * @returns {boolean} whether it misses some, so that they should be sent again at once
   */
  confirm(confirm, now) {
    const isOutdated = confirm.next < this.#oldest;
    const confirmed = Math.min(Math.max(confirm.next - this.#oldest, 0), this.length);
    this.#forget(confirmed);
    if (confirmed > 0) {
      this.#backoff.answered();
      const roundTrip = now - confirm.stamp - confirm.held;
      if (roundTrip >= 0) this.roundTrip.sample(roundTrip);
    }
    if (this.length === 0) {
      this.repeatAt = Infinity;
      return false;
    }
    const wait = this.#repeatAfter();
    if (confirmed > 0) this.repeatAt = now + wait;
    // A repair goes on from where it had come to, and starts over only when it should have had its effect.
    const last = this.#repaired;
    if (last === null || last.reached <= this.#oldest || now - last.since >= wait) {
      this.#repaired = { reached: this.#oldest, since: now };
    }
    return confirm.hole && !isOutdated && this.#repaired !== null && this.#repaired.reached < this.#next;
  }

  #repeatAfter() {
    const { samples, mean, deviation } = this.roundTrip;
    return this.#backoff.after(samples === 0 ? REPEAT_FIRST : mean + 4 * deviation + 400e6);
  }

  /** @param {number} count */
  #forget(count) {
    this.#oldest += count;
    this.#head += count;
    // What is forgotten leaves the array now and then, so that neither costs much.
    if (this.#head > 1024 || this.#head === this.#log.length) {
      this.#log.splice(0, this.#head);
      this.#head = 0;
    }
  }

  /**
   * The arrivals from one number up to another, in frames that fit so many bytes even if no two came together.
   * @param {number} from
   * @param {number} to
   * @param {number} bytesMax
   * @returns {FeedbackFrame[]}
   */
  #frames(from, to, bytesMax) {
    const room = Math.floor((bytesMax - FEEDBACK_LEN_MAX) / RUN_LEN_MAX);
    const size = Math.min(Math.max(room, 1), FEEDBACK_MAX);
    /** @type {FeedbackFrame[]} */
    const frames = [];
    for (let first = from; first < to; first += size) {
      const begin = this.#head + first - this.#oldest;
      const arrivals = this.#log.slice(begin, begin + Math.min(size, to - first));
      frames.push({ frame: "feedback", oldest: BigInt(this.#oldest), first: BigInt(first), arrivals });
    }
    return frames;
  }
}

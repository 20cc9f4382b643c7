/**
 * A receiver's log of arrivals. They are numbered and repeated until the relay has confirmed them, so that a lost
 * acknowledgment costs time but no information (docs/WIRE.md, "Receiving").
 *
 * Times are numbers of nanoseconds since the base. Arrival numbers start at 0 with each connection and stay far below
 * 2^53.
 */

import { Backoff, DelayEstimate } from "./delay.js";
import { FEEDBACK_LEN_MAX, FEEDBACK_MAX, RUN_LEN_MAX } from "./wire.js";

/** @typedef {import("./wire.js").Arrival} Arrival */
/** @typedef {import("./wire.js").FeedbackFrame} FeedbackFrame */

/** Unconfirmed arrivals that are kept; beyond it the oldest is dropped. */
export const LOG_MAX = 16_384;
/** Least number of arrivals in an acknowledgment. */
const RECENT_MIN = 8;
/** Arrivals repeated at once when the relay misses some. */
const REPAIR_MAX = 1024;
/** Timeout before the first round trip is known. */
const REPEAT_FIRST = 1e9;

/**
 * Confirmation by the relay, in this machine's numbers.
 * @typedef {{ next: number, stamp: number, held: number, hole: boolean }} Confirm
 */

/** The arrivals from the relay. */
export class ArrivalLog {
  /** When unconfirmed arrivals are due to be repeated; Infinity if there are none. */
  repeatAt = Infinity;
  /** Arrivals dropped because too many were unconfirmed. */
  dropped = 0;
  roundTrip = new DelayEstimate();

  /** Number of the first arrival in the log. */
  #oldest = 0;
  /** @type {Arrival[]} */
  #log = [];
  /** Index of the first live element of `#log`. */
  #head = 0;
  /**
   * Where the last four acknowledgments ended, the earliest first: what lies beyond the first of them was in the last
   * three.
   */
  #reached = [0, 0, 0, 0];
  /** How far a hole has been repaired, and since when. @type {{ reached: number, since: number } | null} */
  #repaired = null;
  #backoff = new Backoff();

  get length() {
    return this.#log.length - this.#head;
  }

  /** Number of the next arrival. */
  get #next() {
    return this.#oldest + this.length;
  }

  /**
   * Appends an arrival.
   * @param {Arrival} arrival
   * @param {number} now when it arrived
   */
  note(arrival, now) {
    if (this.length === LOG_MAX) {
      this.#dropFirst(1);
      this.dropped += 1;
    }
    this.#log.push(arrival);
    if (this.repeatAt === Infinity) this.repeatAt = now + this.#repeatAfter();
  }

  /**
   * Returns what to acknowledge now: everything since the last acknowledgment, the content of the three before, and at
   * least the last 8 arrivals.
   * @param {number} bytesMax what fits into a datagram
   */
  acknowledge(bytesMax) {
    const next = this.#next;
    const from = Math.max(Math.min(this.#reached[0], next - RECENT_MIN), this.#oldest);
    this.#reached = [...this.#reached.slice(1), next];
    return this.#frames(from, next, bytesMax);
  }

  /**
   * Returns what to repeat when that is due: the oldest unconfirmed arrivals.
   * @param {number} now
   * @param {number} bytesMax
   */
  repeat(now, bytesMax) {
    this.#backoff.repeated();
    this.repeatAt = now + this.#repeatAfter();
    return this.#frames(this.#oldest, Math.min(this.#next, this.#oldest + REPAIR_MAX), bytesMax);
  }

  /**
   * Returns what to send again because the relay misses some: the part that has not been repeated yet.
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
   * The relay has confirmed arrivals.
   * @param {Confirm} confirm
   * @param {number} now
   * @returns {boolean} whether it misses some, so that they should be repeated at once
   */
  confirm(confirm, now) {
    const isOutdated = confirm.next < this.#oldest;
    const confirmed = Math.min(Math.max(confirm.next - this.#oldest, 0), this.length);
    this.#dropFirst(confirmed);
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
    // A repair continues where it stopped. It restarts only once the previous one should have taken effect.
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
  #dropFirst(count) {
    this.#oldest += count;
    this.#head += count;
    // Compact the array now and then: amortized O(1).
    if (this.#head > 1024 || this.#head === this.#log.length) {
      this.#log.splice(0, this.#head);
      this.#head = 0;
    }
  }

  /**
   * Returns a range of arrivals as frames that each fit the given size, even if every arrival needs a run of its own.
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

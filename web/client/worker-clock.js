/**
 * Estimates the offset between the page's and the worker's clock, which count from different origins.
 *
 * An answer is given between question and return, so each exchange bounds the offset; since both read the same hardware
 * clock, all bounds hold at once. Within them, the browser's own statement of the origins is the best guess.
 *
 * Times are milliseconds, as `performance.now()` returns them.
 */

/** Exchanges made at first, back to back. */
const EXCHANGES = 8;
/** Pause between later exchanges, in milliseconds. */
const INTERVAL = 5000;

export class WorkerClock {
  #low = -Infinity;
  #high = Infinity;
  #guess = 0;
  #count = 0;

  /** True after the first exchange. */
  get isKnown() {
    return this.#count > 0;
  }

  /** Add this to a time of the page to get the worker's. */
  get offset() {
    return Math.min(Math.max(this.#guess, this.#low), this.#high);
  }

  /** Error bound of the offset, without the grain of both clocks. */
  get errorMax() {
    const offset = this.offset;
    return Math.max(this.#high - offset, offset - this.#low);
  }

  /** Pause before the next exchange. */
  get pause() {
    return this.#count < EXCHANGES ? 0 : INTERVAL;
  }

  /**
   * Handles an answer.
   * @param {number} sent when the question left, by the page's clock
   * @param {number} at when it was answered, by the worker's clock
   * @param {number} returned when the answer arrived, by the page's clock
   * @param {number} guess the offset by the browser's time origins
   */
  observe(sent, at, returned, guess) {
    this.#guess = guess;
    const [low, high] = [Math.max(this.#low, at - returned), Math.min(this.#high, at - sent)];
    // Coarse clocks may contradict themselves slightly; after the machine slept, by a lot.
    const isContradicted = low > high;
    this.#low = isContradicted ? at - returned : low;
    this.#high = isContradicted ? at - sent : high;
    this.#count += 1;
  }
}

/**
 * How the worker's clock stands to the page's: both count from an origin of their own. An answer was given between question and
 * return, so each exchange bounds the difference, and since both are the same clock, all of them hold at once. What the browser says
 * of the origins is taken for the best guess within these bounds.
 *
 * Times are in milliseconds, as `performance.now()` gives them.
 */

/** Exchanges that are made at first, one after the other. */
const EXCHANGES = 8;
/** After those, one in so many milliseconds. */
const INTERVAL = 5000;

export class Twin {
  #low = -Infinity;
  #high = Infinity;
  #guess = 0;
  #count = 0;

  /** Whether anything is known. */
  get isKnown() {
    return this.#count > 0;
  }

  /** What to add to a time of the page to have the worker's. */
  get offset() {
    return Math.min(Math.max(this.#guess, this.#low), this.#high);
  }

  /** How far that may be off, but for the grain of both clocks. */
  get errorMax() {
    const offset = this.offset;
    return Math.max(this.#high - offset, offset - this.#low);
  }

  /** How long to wait before the next exchange. */
  get pause() {
    return this.#count < EXCHANGES ? 0 : INTERVAL;
  }

  /**
   * An answer came back.
   * @param {number} sent when the question left, by the page's clock
   * @param {number} at when it was answered, by the worker's
   * @param {number} returned when the answer came, by the page's clock
   * @param {number} guess what the browser says of the difference
   */
  observe(sent, at, returned, guess) {
    this.#guess = guess;
    const [low, high] = [Math.max(this.#low, at - returned), Math.min(this.#high, at - sent)];
    // Coarse clocks may contradict themselves by a little, and clocks of machines that slept by much.
    const isContradicted = low > high;
    this.#low = isContradicted ? at - returned : low;
    this.#high = isContradicted ? at - sent : high;
    this.#count += 1;
  }
}

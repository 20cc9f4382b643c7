/** Delay estimates and retransmission timeouts. All times are in nanoseconds. */

/** Upper bound of a doubled timeout. */
const WAIT_MAX = 2e9;
const DOUBLINGS_MAX = 5;

/** Exponential average (gain 1/8) and mean deviation (gain 1/4) of a delay, as in TCP. */
export class DelayEstimate {
  mean = 0;
  deviation = 0;
  samples = 0;

  /** @param {number} delay */
  sample(delay) {
    if (this.samples === 0) {
      this.mean = delay;
    } else {
      const error = delay - this.mean;
      this.deviation += (Math.abs(error) - this.deviation) / 4;
      this.mean += error / 8;
    }
    this.samples += 1;
  }
}

/** A timeout that doubles with each unanswered repetition. */
export class Backoff {
  #doublings = 0;

  /** Returns the timeout after which to repeat. @param {number} usual timeout without doublings */
  after(usual) {
    return Math.min(usual * 2 ** this.#doublings, Math.max(WAIT_MAX, usual));
  }

  repeated() {
    this.#doublings = Math.min(this.#doublings + 1, DOUBLINGS_MAX);
  }

  answered() {
    this.#doublings = 0;
  }
}

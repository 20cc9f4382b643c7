/**
 * The two-sided hull: certified bounds of the offset between the session clock and the local clock.
 *
 * With constant rates the offset is a line over local time. Each exchange puts that line below the point (t0, t1 - t0)
 * and above the point (t3, t1 + held - t3), and its slope is at most 200 ppm either way. The least and the greatest
 * value of all such lines now are the certified interval. Queues only ever delay, which moves points away from the line
 * but never across it: an average would be biased, the hulls are not.
 *
 * The estimate is the middle of the widest strip between the hulls. If no line is feasible, or a bound moved suddenly,
 * a clock was stepped, and everything before is discarded.
 *
 * Times are numbers of nanoseconds. Browser clocks are coarse (5 to 1000 µs), so each point is first moved away from
 * the line by `grain`, the error bound of a reading. That far exceeds the rounding errors of `Number`s.
 */

/**
 * A probe and its echo: t0, t1, t1 + held and t3.
 * @typedef {{ sent: number, arrived: number, left: number, returned: number }} Exchange
 */

/**
 * Bounds and best estimate of the offset at a time, each with its rate.
 * @typedef {object} Band
 * @property {number} at
 * @property {number} low
 * @property {number} lowRate
 * @property {number} high
 * @property {number} highRate
 * @property {number} best
 * @property {number} bestRate
 */

/** @typedef {{ at: number, height: number }} Corner */
/** @typedef {{ slope: number, a: Corner, b: Corner }} Strip */

/** Exchanges that returned longer ago are discarded. */
export const WINDOW = 30e9;
/** Exchanges that are kept; beyond it the oldest are discarded. */
const EXCHANGES_MAX = 512;
/** How often old exchanges are discarded, which rebuilds the hulls. */
const PRUNE_INTERVAL = 1e9;
/** Largest difference of two clocks' rates that is believed. */
export const SKEW_MAX = 200e-6;
/** Bound of the searches, which take a handful of steps. */
const ITERATIONS_MAX = 64;
/** Heights that differ by less, in nanoseconds, count as equal. */
const HEIGHT_TOLERANCE = 1e-3;

/** Smaller clock steps are not detected. */
const SUDDEN_MIN = 5e6;
/** Exchanges needed to judge a step, and the number of newest ones that the jitter is taken from. */
const SUDDEN_EXCHANGES_MIN = 4;
const JITTER_EXCHANGES_MAX = 32;

/** @param {Exchange} exchange upper bound of the offset when the probe left */
export const upper = (exchange) => exchange.arrived - exchange.sent;
/** @param {Exchange} exchange lower bound of the offset when the echo returned */
export const lower = (exchange) => exchange.left - exchange.returned;

/**
 * Returns the bounds of the offset at a time, and the estimate.
 * @param {Band} band
 * @param {number} now
 */
export function bandAt(band, now) {
  const run = now - band.at;
  return {
    low: band.low + Math.min(run * band.lowRate, run * band.highRate),
    high: band.high + Math.max(run * band.lowRate, run * band.highRate),
    best: band.best + run * band.bestRate,
  };
}

/**
 * @param {number} slope
 * @param {Corner} corner
 * @returns {number} height of a corner above the line of this slope through the origin
 */
const excess = (slope, corner) => corner.height - slope * corner.at;

/**
 * @param {Corner} corner
 * @param {number} slope
 * @param {number} now
 */
const along = (corner, slope, now) => corner.height + slope * (now - corner.at);

/** Lower convex hull of points in time: its corners from left to right, each a left turn. */
class Chain {
  /** @type {Corner[]} */
  corners = [];

  /** @param {Corner} point may lie anywhere in time */
  insert(point) {
    const corners = this.corners;
    let place = corners.length;
    while (place > 0 && corners[place - 1].at >= point.at) place--;
    if (place < corners.length && corners[place].at === point.at) {
      if (corners[place].height <= point.height) return;
      corners.splice(place, 1);
    }
    if (place > 0 && place < corners.length && !turnsLeft(corners[place - 1], point, corners[place])) return;
    while (place >= 2 && !turnsLeft(corners[place - 2], corners[place - 1], point)) {
      corners.splice(place - 1, 1);
      place -= 1;
    }
    while (place + 1 < corners.length && !turnsLeft(point, corners[place], corners[place + 1])) {
      corners.splice(place, 1);
    }
    corners.splice(place, 0, point);
  }

  /**
   * Returns the corner that a line of this slope touches first when raised from below. There must be a corner.
   * @param {number} slope
   */
  tangent(slope) {
    let best = this.corners[0];
    for (const corner of this.corners) {
      if (excess(slope, corner) < excess(slope, best)) best = corner;
    }
    return best;
  }
}

/**
 * @param {Corner} a
 * @param {Corner} b
 * @param {Corner} c
 */
function turnsLeft(a, b, c) {
  return (b.at - a.at) * (c.height - a.height) > (b.height - a.height) * (c.at - a.at);
}

/** Two-sided hull of the exchanges with the relay. */
export class Hull {
  /** Ordered by return time. @type {Exchange[]} */
  exchanges = [];
  /** @type {Band | null} */
  band = null;
  /** Hull of the upper bounds. */
  #above = new Chain();
  /** Hull of the lower bounds, negated, because a chain is a lower hull. */
  #below = new Chain();
  /** @type {Strip | null} */
  #strip = null;
  /** Exchanges sent until then may straddle a clock step. */
  #since = -Infinity;
  #grain;

  /** @param {number} grain error bound of a local clock reading */
  constructor(grain) {
    // Plus rounding: the relay reads its clock in whole nanoseconds.
    this.#grain = grain + 2;
  }

  /**
   * Adds an exchange. They arrive in the order of their return.
   * @param {Exchange} exchange
   * @returns {"taken" | "ignored" | "broke"} "broke" if it contradicts the earlier ones, which are then discarded
   */
  observe(exchange) {
    if (exchange.sent <= this.#since) return "ignored";
    this.#prune(exchange.returned);
    this.#insert(exchange);
    this.#strip = this.#hasMovedSuddenly(exchange) ? null : this.#widest();
    const band = this.#strip && this.#solve(exchange.returned, this.#strip);
    if (band === null) {
      this.#reset(exchange);
      return "broke";
    }
    this.exchanges.push(exchange);
    this.band = band;
    return "taken";
  }

  /** @param {Exchange} exchange */
  #insert(exchange) {
    this.#above.insert({ at: exchange.sent, height: upper(exchange) + this.#grain });
    this.#below.insert({ at: exchange.returned, height: -(lower(exchange) - this.#grain) });
  }

  /**
   * Discards exchanges that are too old or too many.
   * @param {number} now
   */
  #prune(now) {
    const kept = this.exchanges;
    const isOver = kept.length > 0 && now - kept[0].returned > WINDOW + PRUNE_INTERVAL;
    if (kept.length < EXCHANGES_MAX && !isOver) return;
    // Discard some extra, so that a flood does not rebuild the hulls with each exchange.
    const spare = Math.max(0, kept.length + EXCHANGES_MAX / 16 - EXCHANGES_MAX);
    this.exchanges = kept.filter((exchange, place) => place >= spare && now - exchange.returned <= WINDOW);
    this.#clear();
    for (const exchange of this.exchanges) this.#insert(exchange);
  }

  #clear() {
    this.#above = new Chain();
    this.#below = new Chain();
  }

  /**
   * Returns the band of all feasible lines from `now` on; null if there is none.
   * @param {number} now
   * @param {Strip} strip
   * @returns {Band | null}
   */
  #solve(now, strip) {
    const steepest = this.#extremeSlope(SKEW_MAX);
    const flattest = this.#extremeSlope(-SKEW_MAX);
    if (steepest === null || flattest === null || steepest.slope < flattest.slope) return null;
    const low = Math.floor(along(flattest.b, flattest.slope, now));
    const high = Math.ceil(along(steepest.a, steepest.slope, now));
    const middle = (along(strip.a, strip.slope, now) + along(strip.b, strip.slope, now)) / 2;
    const best = Math.round(Math.min(Math.max(middle, low), high));
    const bestRate = Math.min(Math.max(strip.slope, flattest.slope), steepest.slope);
    return { at: now, low, lowRate: flattest.slope, high, highRate: steepest.slope, best, bestRate };
  }

  /**
   * Finds the slope at which the gap between the hulls is widest, and the corners that bound it. The gap is concave in
   * the slope: where the two known pieces cross lies its top, or a piece closer to it.
   * @returns {Strip}
   */
  #widest() {
    const run = (/** @type {Strip} */ strip) => strip.b.at - strip.a.at;
    const gap = (/** @type {Strip} */ strip) => strip.a.height - strip.b.height;
    let rising = this.#tangents(-SKEW_MAX);
    if (run(rising) <= 0) return rising;
    let falling = this.#tangents(SKEW_MAX);
    if (run(falling) >= 0) return falling;
    for (let step = 1; ; step++) {
      const slope = (gap(falling) - gap(rising)) / (run(rising) - run(falling));
      const strip = this.#tangents(slope);
      const known = excess(slope, rising.a) - excess(slope, rising.b);
      const isTop = excess(slope, strip.a) - excess(slope, strip.b) >= known - HEIGHT_TOLERANCE;
      if (isTop || run(strip) === 0 || step >= ITERATIONS_MAX) return strip;
      if (run(strip) > 0) rising = strip;
      else falling = strip;
    }
  }

  /**
   * Returns the corners that lines of this slope touch.
   * @param {number} slope
   * @returns {Strip}
   */
  #tangents(slope) {
    const below = this.#below.tangent(-slope);
    return { slope, a: this.#above.tangent(slope), b: { at: below.at, height: -below.height } };
  }

  /**
   * Finds the feasible slope nearest to one of the limits, and the corners that its line touches. Newton's method on
   * the gap between the hulls, which is concave and piecewise linear in the slope, so steps are exact and few.
   * @param {number} limit
   * @returns {Strip | null}
   */
  #extremeSlope(limit) {
    let slope = limit;
    for (let step = 0; step < ITERATIONS_MAX; step++) {
      const strip = this.#tangents(slope);
      const { a, b } = strip;
      if (excess(slope, a) >= excess(slope, b) - HEIGHT_TOLERANCE) return strip;
      // The gap is negative. A slope that closes it lies further on, if the corners are in the right order.
      const run = a.at - b.at;
      if (run === 0 || run > 0 !== limit > 0) return null;
      slope = (a.height - b.height) / run;
      if (Math.abs(slope) > SKEW_MAX) return null;
    }
    return null;
  }

  /**
   * True if an exchange beats the strip by more than jitter explains. A clock step smaller than the least round trip
   * leaves a feasible line, but a wrong one; to the hulls it looks as if one direction had suddenly become faster.
   * @param {Exchange} exchange
   */
  #hasMovedSuddenly(exchange) {
    if (this.#strip === null) return false;
    const { slope, a, b } = this.#strip;
    return (
      this.#isSudden(upper, along(a, slope, exchange.sent) - upper(exchange)) ||
      this.#isSudden(lower, lower(exchange) - along(b, slope, exchange.returned))
    );
  }

  /**
   * True if a bound moved by more than twice its mean deviation.
   * @param {(exchange: Exchange) => number} bound
   * @param {number} moved
   */
  #isSudden(bound, moved) {
    if (moved <= SUDDEN_MIN || this.exchanges.length < SUDDEN_EXCHANGES_MIN) return false;
    const bounds = this.exchanges.slice(-JITTER_EXCHANGES_MAX).map(bound);
    // Sum differences to the last one, so that precision does not depend on the offset.
    const last = bounds[bounds.length - 1];
    const mean = last + bounds.reduce((sum, each) => sum + (each - last), 0) / bounds.length;
    const deviation = bounds.reduce((sum, each) => sum + Math.abs(each - mean), 0) / bounds.length;
    return moved > 2 * deviation;
  }

  /**
   * Discards everything. Until the next exchange, the contradicting one alone determines the band.
   * @param {Exchange} exchange
   */
  #reset(exchange) {
    this.exchanges = [];
    this.#clear();
    this.#insert(exchange);
    this.band = this.#solve(exchange.returned, this.#widest()) ?? this.band;
    this.#clear();
    this.#strip = null;
    this.#since = exchange.returned;
  }
}

/**
 * The two-sided hull: the certified interval of the offset between the session's clock and this one.
 *
 * With constant rates the offset is a line over the own clock. Of each exchange it lies below the point (t0, t1 - t0) and above
 * the point (t3, t1 + held - t3), and its slope is at most 200 ppm either way. What all such lines show now, from the least to
 * the greatest, is the certified interval. Queues only delay, so they move points away from the line and never to its other
 * side: an average would be pulled along, the hulls are not.
 *
 * The estimate is the middle of the widest strip between the hulls. If no line is feasible, or if a bound moved suddenly, a clock
 * was stepped, and all that came before is forgotten.
 *
 * Times are numbers of nanoseconds. A browser's clock is coarse (5 to 1000 µs), so each point is first moved away from the line
 * by `grain`, the most that a reading may be off. That is far more than what rounding of `Number`s can hide.
 */

/**
 * A probe and its echo: t0, t1, t1 + held and t3.
 * @typedef {{ sent: number, arrived: number, left: number, returned: number }} Exchange
 */

/**
 * What is known of the offset around a time: bounds and the best estimate, each with the rate at which it runs.
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

/** Exchanges that returned longer ago are forgotten. */
export const WINDOW = 30e9;
/** The most exchanges that are kept: of more, the oldest are forgotten. */
const EXCHANGES_MAX = 512;
/** How often the oldest are forgotten, which means to build the hulls anew. */
const PRUNING = 1e9;
/** The greatest difference of two clocks' rates that is believed. */
export const SKEW_MAX = 200e-6;
/** The searches take a handful of steps. */
const STEPS_MAX = 64;
/** Heights that differ by less, in nanoseconds, are the same. */
const SAME = 1e-3;

/** Smaller steps of a clock are not looked for. */
const SUDDEN_MIN = 5e6;
/** So many exchanges must have come before, and the jitter is that of so many newest ones. */
const BEFORE_MIN = 4;
const BEFORE_MAX = 32;

/** @param {Exchange} exchange the offset when the probe left is not more */
export const upper = (exchange) => exchange.arrived - exchange.sent;
/** @param {Exchange} exchange the offset when the echo returned is not less */
export const lower = (exchange) => exchange.left - exchange.returned;

/**
 * The bounds of the offset at a time, and the estimate.
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
 * @returns {number} how high a corner lies above the line of this slope through the origin
 */
const excess = (slope, corner) => corner.height - slope * corner.at;

/**
 * @param {Corner} corner
 * @param {number} slope
 * @param {number} now
 */
const along = (corner, slope, now) => corner.height + slope * (now - corner.at);

/** The lower convex hull of points in time: its corners from left to right, each a turn to the left. */
class Chain {
  /** @type {Corner[]} */
  corners = [];

  /** @param {Corner} point wherever in time it lies */
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
   * The corner that a line of this slope touches first when it rises from below. There is at least one corner.
   * @param {number} slope
   */
  touched(slope) {
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

/** The two-sided hull of the exchanges with the relay. */
export class Hull {
  /** In the order of their return. @type {Exchange[]} */
  exchanges = [];
  /** @type {Band | null} */
  band = null;
  /** The upper bounds. */
  #above = new Chain();
  /** The lower bounds, upside down, because a chain is a lower hull. */
  #below = new Chain();
  /** @type {Strip | null} */
  #strip = null;
  /** Exchanges that were sent by then may have a step in their middle. */
  #since = -Infinity;
  #grain;

  /** @param {number} grain how far a reading of the own clock may be off */
  constructor(grain) {
    // The relay's clock is read in whole nanoseconds.
    this.#grain = grain + 2;
  }

  /**
   * Takes an exchange into account. They come in the order of their return.
   * @param {Exchange} exchange
   * @returns {"taken" | "ignored" | "broke"} "broke": it contradicts what came before, which is forgotten
   */
  observe(exchange) {
    if (exchange.sent <= this.#since) return "ignored";
    this.#prune(exchange.returned);
    this.#insert(exchange);
    this.#strip = this.#movedSuddenly(exchange) ? null : this.#widest();
    const band = this.#strip && this.#solve(exchange.returned, this.#strip);
    if (band === null) {
      this.#breakOff(exchange);
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
   * Forgets what is too old or too much.
   * @param {number} now
   */
  #prune(now) {
    const kept = this.exchanges;
    const isOver = kept.length > 0 && now - kept[0].returned > WINDOW + PRUNING;
    if (kept.length < EXCHANGES_MAX && !isOver) return;
    // A few more than must go, so that a flood does not build the hulls anew with each exchange.
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
   * The band of all feasible lines after `now`; null if there is no such line.
   * @param {number} now
   * @param {Strip} strip
   * @returns {Band | null}
   */
  #solve(now, strip) {
    const steepest = this.#extreme(SKEW_MAX);
    const flattest = this.#extreme(-SKEW_MAX);
    if (steepest === null || flattest === null || steepest.slope < flattest.slope) return null;
    const low = Math.floor(along(flattest.b, flattest.slope, now));
    const high = Math.ceil(along(steepest.a, steepest.slope, now));
    const middle = (along(strip.a, strip.slope, now) + along(strip.b, strip.slope, now)) / 2;
    const best = Math.round(Math.min(Math.max(middle, low), high));
    const bestRate = Math.min(Math.max(strip.slope, flattest.slope), steepest.slope);
    return { at: now, low, lowRate: flattest.slope, high, highRate: steepest.slope, best, bestRate };
  }

  /**
   * The slope at which the gap between the hulls is widest, and the points that bound it. The gap is concave in the slope:
   * where the two pieces that are known cross, there is its top or a piece that is still better to know.
   * @returns {Strip}
   */
  #widest() {
    const run = (/** @type {Strip} */ strip) => strip.b.at - strip.a.at;
    const gap = (/** @type {Strip} */ strip) => strip.a.height - strip.b.height;
    let rising = this.#bounds(-SKEW_MAX);
    if (run(rising) <= 0) return rising;
    let falling = this.#bounds(SKEW_MAX);
    if (run(falling) >= 0) return falling;
    for (let step = 1; ; step++) {
      const slope = (gap(falling) - gap(rising)) / (run(rising) - run(falling));
      const strip = this.#bounds(slope);
      const known = excess(slope, rising.a) - excess(slope, rising.b);
      const isTop = excess(slope, strip.a) - excess(slope, strip.b) >= known - SAME;
      if (isTop || run(strip) === 0 || step >= STEPS_MAX) return strip;
      if (run(strip) > 0) rising = strip;
      else falling = strip;
    }
  }

  /**
   * The points that lines of this slope touch.
   * @param {number} slope
   * @returns {Strip}
   */
  #bounds(slope) {
    const below = this.#below.touched(-slope);
    return { slope, a: this.#above.touched(slope), b: { at: below.at, height: -below.height } };
  }

  /**
   * The feasible slope that is nearest to one of the two limits, and the points that its line touches. Newton's method on the
   * gap between the hulls, which is concave and piecewise linear in the slope: the steps are exact and few.
   * @param {number} limit
   * @returns {Strip | null}
   */
  #extreme(limit) {
    let slope = limit;
    for (let step = 0; step < STEPS_MAX; step++) {
      const strip = this.#bounds(slope);
      const { a, b } = strip;
      if (excess(slope, a) >= excess(slope, b) - SAME) return strip;
      // The gap is negative; a slope that closes it lies beyond, if the points are in the right order.
      const run = a.at - b.at;
      if (run === 0 || run > 0 !== limit > 0) return null;
      slope = (a.height - b.height) / run;
      if (Math.abs(slope) > SKEW_MAX) return null;
    }
    return null;
  }

  /**
   * Whether an exchange beats the strip so far by more than jitter explains. A step of a clock that is smaller than the least
   * round trip leaves a feasible line, but a wrong one; to the hulls it looks as if one way had become shorter all of a sudden.
   * @param {Exchange} exchange
   */
  #movedSuddenly(exchange) {
    if (this.#strip === null) return false;
    const { slope, a, b } = this.#strip;
    return (
      this.#isSudden(upper, along(a, slope, exchange.sent) - upper(exchange)) ||
      this.#isSudden(lower, lower(exchange) - along(b, slope, exchange.returned))
    );
  }

  /**
   * Whether a bound that moved by so much moved by more than twice as much as it differs from its mean on average.
   * @param {(exchange: Exchange) => number} bound
   * @param {number} moved
   */
  #isSudden(bound, moved) {
    if (moved <= SUDDEN_MIN || this.exchanges.length < BEFORE_MIN) return false;
    const bounds = this.exchanges.slice(-BEFORE_MAX).map(bound);
    // Differences to the last, so that sums stay small whatever the offset is.
    const last = bounds[bounds.length - 1];
    const mean = last + bounds.reduce((sum, each) => sum + (each - last), 0) / bounds.length;
    const deviation = bounds.reduce((sum, each) => sum + Math.abs(each - mean), 0) / bounds.length;
    return moved > 2 * deviation;
  }

  /**
   * Forgets everything. Until the next exchange the one that broke it says what it can on its own.
   * @param {Exchange} exchange
   */
  #breakOff(exchange) {
    this.exchanges = [];
    this.#clear();
    this.#insert(exchange);
    this.band = this.#solve(exchange.returned, this.#widest()) ?? this.band;
    this.#clear();
    this.#strip = null;
    this.#since = exchange.returned;
  }
}

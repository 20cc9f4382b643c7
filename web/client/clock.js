/**
 * The session clock as a player follows it: probes the relay, bounds the offset with the hull, and shows the relay's
 * time without ever running backwards (docs/WIRE.md, "Clock").
 *
 * Local times are numbers of nanoseconds since the local clock started. Session times are numbers of nanoseconds since
 * `base`, a `BigInt` chosen from the relay's time at the first echo. A relay counts from 2020, which takes more than 53
 * bits; counted from the base, times are exact to the nanosecond for 104 days.
 */

import { bandAt, Hull, lower, upper, WINDOW } from "./hull.js";

/** @typedef {import("./hull.js").Band} Band */
/** @typedef {import("./hull.js").Exchange} Exchange */
/** @typedef {import("./wire.js").EchoFrame} EchoFrame */
/** @typedef {{ from: number, shown: number, rate: number }} LinePiece */
/** @typedef {{ slewing: LinePiece, following: LinePiece }} Line */
/** @typedef {{ event: "fixed", errorMax: number } | { event: "stepped", by: number } | { event: "lost" }} ClockEvent */

/** Interval of probes during a burst, and otherwise. */
const BURST_INTERVAL = 20e6;
const PROBE_INTERVAL = 100e6;
/** Probes in a burst. */
const BURST_MAX = 100;
/** Probes that may wait for their echoes; beyond it the oldest are given up. */
const OUTSTANDING_MAX = 64;
/** Exchanges that fix the session time. */
const FIX_EXCHANGES = 8;
/** Largest error corrected by slewing, and the slew rate. */
const SLEW_MAX = 5e6;
const SLEW_RATE_MAX = 500e-6;
/** Larger offsets (36 years) are not believed. */
const OFFSET_MAX = 2 ** 60;
/** How much faster than ours the relay's clock may run. */
const HELD_RATE_MAX = 400e-6;
/** Error of rounding to whole nanoseconds. */
const ROUNDING = 4;
const EVENTS_MAX = 32;

/**
 * Returns what a line shows at a local time. A line has two pieces: it slews towards the estimate, then follows it.
 * @param {Line} line
 * @param {number} now
 */
export function shownAt(line, now) {
  return pieceAt(now < line.following.from ? line.slewing : line.following, now);
}

/**
 * @param {LinePiece} piece
 * @param {number} now
 */
function pieceAt(piece, now) {
  const run = now - piece.from;
  return piece.shown + Math.floor(run + run * piece.rate);
}

/**
 * Returns the earliest local time at which a line shows at least `at`.
 * @param {Line} line
 * @param {number} at
 */
function localAt(line, at) {
  const piece = at <= line.following.shown ? line.slewing : line.following;
  return piece.from + Math.ceil((at - piece.shown) / (1 + piece.rate));
}

/**
 * Returns a line that shows `shown` at `from` and runs at a rate.
 * @param {number} from
 * @param {number} shown
 * @param {number} rate
 * @returns {Line}
 */
function startLine(from, shown, rate) {
  const piece = { from, shown, rate };
  return { slewing: piece, following: piece };
}

/**
 * Returns a line that continues without a jump and slews towards a clock that shows `target` now.
 * @param {Line} line
 * @param {number} now
 * @param {number} target
 * @param {number} rate
 * @returns {Line}
 */
function slewTowards(line, now, target, rate) {
  const shown = shownAt(line, now);
  const behind = target - shown;
  const slewRate =
    behind > 0 ? Math.min(SLEW_RATE_MAX, rate + SLEW_RATE_MAX) : Math.max(-SLEW_RATE_MAX, rate - SLEW_RATE_MAX);
  const slewing = { from: now, shown, rate: slewRate };
  // Rounded down, so as not to overshoot.
  const until = now + Math.floor(behind / (slewRate - rate));
  return { slewing, following: { from: until, shown: pieceAt(slewing, until), rate } };
}

/** Schedules probes, and matches echoes to probes that were really sent. */
class Probes {
  /** Send times of the probes that wait for their echoes, the oldest first. @type {number[]} */
  outstanding = [];
  next;
  burst = BURST_MAX;
  /** A probe is overdue: the next datagram must carry it. */
  #isForced = false;

  /** @param {number} now the first probe is due at once */
  constructor(now) {
    this.next = now;
  }

  get #interval() {
    return this.burst > 0 ? BURST_INTERVAL : PROBE_INTERVAL;
  }

  /**
   * Starts a burst of probes.
   * @param {number} now
   */
  startBurst(now) {
    this.burst = BURST_MAX;
    this.next = Math.min(this.next, now + BURST_INTERVAL);
  }

  /**
   * Returns true, once, when a datagram must leave for a probe.
   * @param {number} now
   */
  pollDue(now) {
    if (now < this.next) return false;
    this.#isForced = true;
    this.next = now + this.#interval;
    return true;
  }

  /**
   * Returns whether a datagram leaving now carries a probe: one is due, or will be within a quarter of the interval.
   * @param {number} now
   */
  pollProbe(now) {
    const interval = this.#interval;
    if (!this.#isForced && now + interval / 4 < this.next) return false;
    // Send times identify probes, so a clock that stands still allows only one.
    const last = this.outstanding.at(-1);
    if (last !== undefined && last >= now) return false;
    this.#isForced = false;
    this.burst = Math.max(0, this.burst - 1);
    this.next = now + interval;
    if (this.outstanding.length >= OUTSTANDING_MAX) this.outstanding.shift();
    this.outstanding.push(now);
    return true;
  }

  /**
   * Removes a probe from those that wait. Returns false if it was not among them.
   * @param {number} sent
   */
  answered(sent) {
    const place = this.outstanding.indexOf(sent);
    if (place >= 0) this.outstanding.splice(place, 1);
    return place >= 0;
  }
}

/** Follows the relay's clock. */
export class FollowerClock {
  /** Origin of all other session times. @type {bigint | null} */
  base = null;
  /** Maps local time to session time; null while the session time is unknown. @type {Line | null} */
  line = null;
  /** Current bounds of the offset. @type {Band | null} */
  band = null;
  /** Round trip of the newest exchange. @type {number | null} */
  roundTrip = null;
  /** How often exchanges contradicted each other, and how many echoes were ignored. */
  breaks = 0;
  ignored = 0;

  /** Error bound of a local clock reading. */
  #grain;
  #now = -Infinity;
  /** Null while disconnected. @type {Probes | null} */
  #probes = null;
  #hull;
  /** Exchanges since the start or the last contradiction, and when the last one completed. */
  #exchanges = 0;
  /** @type {number | null} */
  #heardAt = null;
  /** After time was shown once: least value that may be shown next. */
  #floor = -Infinity;
  /** True if the band is good enough to be shown, as soon as the floor allows. */
  #isSteady = false;
  /** @type {ClockEvent[]} */
  #events = [];

  /** @param {number} grain error bound of a local clock reading, in nanoseconds */
  constructor(grain) {
    this.#grain = grain;
    this.#hull = new Hull(grain);
  }

  /**
   * The relay connected, or reconnected. Times shown before do not bind the new connection.
   * @param {number} now
   */
  join(now) {
    this.leave(now);
    this.#probes = new Probes(this.#now);
  }

  /**
   * The relay disconnected.
   * @param {number} now
   */
  leave(now) {
    this.#advance(now);
    this.#resetHull();
    this.#lose();
    this.#floor = -Infinity;
    this.#probes = null;
  }

  /**
   * Returns the session time at a local time; null while unknown.
   * @param {number} now
   */
  session(now) {
    return this.line && shownAt(this.line, now);
  }

  /**
   * Returns the local time of a session time; null while unknown.
   * @param {number} at
   */
  local(at) {
    return this.line && localAt(this.line, at);
  }

  /**
   * Returns the certified interval of the session time.
   * @param {number} now
   * @returns {[number, number] | null}
   */
  interval(now) {
    return this.line && this.band && intervalAt(this.band, now, this.#grain);
  }

  /**
   * Returns the error bound of the time shown; null while none is.
   * @param {number} now
   */
  errorMax(now) {
    const [shown, interval] = [this.session(now), this.interval(now)];
    return shown === null || interval === null ? null : Math.max(interval[1] - shown, shown - interval[0]);
  }

  /**
   * Handles an echo whose datagram arrived at `now`.
   * @param {number} now
   * @param {EchoFrame} echo
   */
  handleEcho(now, echo) {
    now = this.#advance(now);
    if (this.#probes === null) return;
    const exchange = this.#complete(now, echo);
    if (exchange === null) {
      this.ignored += 1;
      return;
    }
    const observed = this.#hull.observe(exchange);
    const band = this.#hull.band;
    if (observed === "ignored" || band === null) return;
    if (observed === "taken") {
      this.#exchanges += 1;
      this.roundTrip = upper(exchange) - lower(exchange);
    } else {
      this.breaks += 1;
      this.#exchanges = 0;
      this.#probes.startBurst(now);
    }
    // After a silence, the burst may be used up.
    if (this.#heardAt === null) this.#probes.startBurst(now);
    this.#heardAt = now;
    if (this.#exchanges < FIX_EXCHANGES) {
      // Not good enough to follow: the line continues as it was.
      this.band = band;
      this.#isSteady = false;
      return;
    }
    if (this.#exchanges === FIX_EXCHANGES) this.#probes.burst = 0;
    this.#steer(now, band);
  }

  /**
   * Returns true, once, when a datagram must leave for a probe.
   * @param {number} now
   */
  pollDue(now) {
    now = this.#advance(now);
    return this.#probes !== null && this.#probes.pollDue(now);
  }

  /**
   * Returns the send time of a probe for a datagram that leaves now, which is now; null if it carries none.
   * @param {number} now
   */
  pollProbe(now) {
    now = this.#advance(now);
    return this.#probes !== null && this.#probes.pollProbe(now) ? now : null;
  }

  /** When to call `pollDue` again at the latest. */
  pollTimeout() {
    if (this.#probes === null) return Infinity;
    const silent = this.#heardAt === null ? Infinity : this.#heardAt + WINDOW;
    return Math.min(this.#probes.next, silent, this.#catchUpAt());
  }

  /** Takes the oldest event; undefined if there is none. */
  pollEvent() {
    return this.#events.shift();
  }

  /**
   * Returns the exchange that an echo completes; null if it answers no outstanding probe, or no honest relay could have
   * sent it.
   * @param {number} now
   * @param {EchoFrame} echo
   * @returns {Exchange | null}
   */
  #complete(now, echo) {
    const sent = Number(echo.probe);
    if (BigInt(Math.trunc(sent)) !== echo.probe || !this.#probes?.answered(sent)) return null;
    const [away, held] = [now - sent, Number(echo.held)];
    if (held > away + away * HELD_RATE_MAX + 2 * this.#grain + 2) return null;
    // A whole second, hence also a whole number of microseconds.
    const base = this.base ?? echo.arrived - (echo.arrived % 1_000_000_000n);
    const arrived = Number(echo.arrived - base);
    const exchange = { sent, arrived, left: arrived + held, returned: now };
    const sizes = [Number(echo.arrived), exchange.left, upper(exchange), lower(exchange)];
    if (!sizes.every((size) => Math.abs(size) <= OFFSET_MAX)) return null;
    this.base = base;
    return exchange;
  }

  /**
   * Adjusts the line to a new band that is good enough to be shown.
   * @param {number} now
   * @param {Band} band
   */
  #steer(now, band) {
    this.band = band;
    this.#isSteady = true;
    if (this.line === null) return this.#show(now);
    const target = now + Math.round(bandAt(band, now).best);
    const behind = target - shownAt(this.line, now);
    if (Math.abs(behind) <= SLEW_MAX) {
      this.line = slewTowards(this.line, now, target, band.bestRate);
    } else if (behind > 0) {
      this.line = startLine(now, target, band.bestRate);
      this.#emit({ event: "stepped", by: behind });
    } else {
      this.#hide();
    }
  }

  /**
   * Starts the line once the estimate is good enough and has caught up with the last time shown.
   * @param {number} now
   */
  #show(now) {
    if (this.line !== null || !this.#isSteady || this.band === null) return;
    const { low, high, best } = bandAt(this.band, now);
    const target = now + Math.round(best);
    if (target < this.#floor) return;
    this.line = startLine(now, target, this.band.bestRate);
    this.#emit({ event: "fixed", errorMax: Math.max(high - best, best - low) + this.#grain });
  }

  /** When the estimate catches up with the last time shown, if that is awaited. */
  #catchUpAt() {
    if (this.line !== null || !this.#isSteady || this.band === null || this.#floor === -Infinity) return Infinity;
    const { at, best, bestRate } = this.band;
    return localAt(startLine(at, at + best, bestRate), this.#floor);
  }

  /**
   * Advances the clock, and gives the session time up after a relay was silent for the whole window.
   * @param {number} now
   */
  #advance(now) {
    this.#now = Math.max(this.#now, now);
    if (this.#heardAt !== null && this.#heardAt + WINDOW <= this.#now) {
      this.#resetHull();
      this.#lose();
    }
    this.#show(this.#now);
    return this.#now;
  }

  #resetHull() {
    this.#hull = new Hull(this.#grain);
    this.#exchanges = 0;
    this.#heardAt = null;
    this.roundTrip = null;
  }

  /** Stops showing time and forgets the band. */
  #lose() {
    this.#hide();
    this.band = null;
    this.#isSteady = false;
  }

  #hide() {
    if (this.line === null) return;
    this.#floor = shownAt(this.line, this.#now);
    this.line = null;
    this.#emit({ event: "lost" });
  }

  /** @param {ClockEvent} event */
  #emit(event) {
    if (this.#events.length >= EVENTS_MAX) this.#events.shift();
    this.#events.push(event);
  }
}

/**
 * Returns the certified interval of the session time by a band, if local readings may be off by `grain`.
 * @param {Band} band
 * @param {number} now
 * @param {number} grain
 * @returns {[number, number]}
 */
export function intervalAt(band, now, grain) {
  const { low, high } = bandAt(band, now);
  return [Math.floor(now + low) - grain - ROUNDING, Math.ceil(now + high) + grain + ROUNDING];
}

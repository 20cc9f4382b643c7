/**
 * The session's clock as a player follows it: it asks the relay, bounds the offset by the hull, and shows the relay's time without
 * ever running backwards (docs/WIRE.md, "Clock").
 *
 * Local times are numbers of nanoseconds by the own clock, since it was started. Session times are numbers of nanoseconds since
 * `base`, a `BigInt` that is chosen once, at the first echo, from the relay's time. A relay counts from 2020, which needs more
 * than 53 bits; what counts from the base is exact for 104 days, and in the nanoseconds' last digits off after that.
 */

import { bandAt, Hull, lower, upper, WINDOW } from "./hull.js";

/** @typedef {import("./hull.js").Band} Band */
/** @typedef {import("./hull.js").Exchange} Exchange */
/** @typedef {import("./wire.js").EchoFrame} EchoFrame */
/** @typedef {{ from: number, shown: number, rate: number }} Piece */
/** @typedef {{ slewing: Piece, following: Piece }} Line */
/** @typedef {{ event: "fixed", errorMax: number } | { event: "stepped", by: number } | { event: "lost" }} ClockEvent */

/** Between probes while more exchanges are wanted soon, and otherwise. */
const BURST_INTERVAL = 20e6;
const PROBE_INTERVAL = 100e6;
/** The most probes of a burst. */
const BURST_MAX = 100;
/** The most probes that wait for their echoes; of more, the oldest are given up. */
const OUTSTANDING_MAX = 64;
/** So many exchanges make a session time. */
const FIXING = 8;
/** The most that is slewed, and how fast. */
const SLEW_MAX = 5e6;
const SLEW_RATE_MAX = 500e-6;
/** Clocks that are farther apart (36 years) are no clocks. */
const OFFSET_MAX = 2 ** 60;
/** How much faster than ours the relay's clock may run. */
const HELD_RATE_MAX = 400e-6;
/** What rounding to whole nanoseconds may hide. */
const ROUNDING = 4;
const EVENTS_MAX = 32;

/**
 * What a line shows at a local time. It is two pieces: towards the estimate at a bounded rate, then along with it.
 * @param {Line} line
 * @param {number} now
 */
export function shownAt(line, now) {
  return pieceAt(now < line.following.from ? line.slewing : line.following, now);
}

/**
 * @param {Piece} piece
 * @param {number} now
 */
function pieceAt(piece, now) {
  const run = now - piece.from;
  return piece.shown + Math.floor(run + run * piece.rate);
}

/**
 * The earliest local time at which at least this is shown.
 * @param {Line} line
 * @param {number} at
 */
function localAt(line, at) {
  const piece = at <= line.following.shown ? line.slewing : line.following;
  return piece.from + Math.ceil((at - piece.shown) / (1 + piece.rate));
}

/**
 * A line that shows this time now, and follows a rate.
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
 * The line that goes on without a jump towards a clock that shows `target` now and has this rate.
 * @param {Line} line
 * @param {number} now
 * @param {number} target
 * @param {number} rate
 * @returns {Line}
 */
function aim(line, now, target, rate) {
  const shown = shownAt(line, now);
  const lacking = target - shown;
  const hurry =
    lacking > 0 ? Math.min(SLEW_RATE_MAX, rate + SLEW_RATE_MAX) : Math.max(-SLEW_RATE_MAX, rate - SLEW_RATE_MAX);
  const slewing = { from: now, shown, rate: hurry };
  // Rounded down, so that it does not overshoot.
  const until = now + Math.floor(lacking / (hurry - rate));
  return { slewing, following: { from: until, shown: pieceAt(slewing, until), rate } };
}

/** When to probe, and which echoes answer a probe that was really sent. */
class Probes {
  /** When those that wait for their echoes left, the oldest first. @type {number[]} */
  outstanding = [];
  next;
  burst = BURST_MAX;
  /** It was due, and some datagram must carry it. */
  #isForced = false;

  /** @param {number} now the first probe is due at once */
  constructor(now) {
    this.next = now;
  }

  get #interval() {
    return this.burst > 0 ? BURST_INTERVAL : PROBE_INTERVAL;
  }

  /**
   * Asks for exchanges soon.
   * @param {number} now
   */
  hurry(now) {
    this.burst = BURST_MAX;
    this.next = Math.min(this.next, now + BURST_INTERVAL);
  }

  /**
   * Whether a datagram must leave for a probe. Says so once.
   * @param {number} now
   */
  pollDue(now) {
    if (now < this.next) return false;
    this.#isForced = true;
    this.next = now + this.#interval;
    return true;
  }

  /**
   * Whether a datagram that leaves now carries a probe: if one is due, or will be within a quarter of its interval.
   * @param {number} now
   */
  pollProbe(now) {
    const interval = this.#interval;
    if (!this.#isForced && now + interval / 4 < this.next) return false;
    // A clock that stands still gives two probes the same name, and the first one is enough.
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
   * Takes a probe out of those that wait.
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
  /** The session time that all others count from. @type {bigint | null} */
  base = null;
  /** What is shown; null while there is no session time. @type {Line | null} */
  line = null;
  /** What is known of the offset. @type {Band | null} */
  band = null;
  /** How long both ways of the newest exchange took together. @type {number | null} */
  roundTrip = null;
  /** How often exchanges contradicted each other, and echoes that were not taken. */
  breaks = 0;
  ignored = 0;

  /** How far a reading of the own clock may be off. */
  #grain;
  #now = -Infinity;
  /** While the relay is here. @type {Probes | null} */
  #probes = null;
  #hull;
  /** Exchanges since the beginning or the last break, and when the last one was complete. */
  #exchanges = 0;
  /** @type {number | null} */
  #heard = null;
  /** The least that may be shown, after something was. */
  #floor = -Infinity;
  /** Whether the band is good enough to show it, as soon as the floor allows. */
  #isSteady = false;
  /** @type {ClockEvent[]} */
  #events = [];

  /** @param {number} grain how far a reading of the own clock may be off, in nanoseconds */
  constructor(grain) {
    this.#grain = grain;
    this.#hull = new Hull(grain);
  }

  /**
   * The relay came, or came back. What was shown before does not bind the new connection.
   * @param {number} now
   */
  join(now) {
    this.leave(now);
    this.#probes = new Probes(this.#now);
  }

  /**
   * The relay went.
   * @param {number} now
   */
  leave(now) {
    this.#advance(now);
    this.#forget();
    this.#lose();
    this.#floor = -Infinity;
    this.#probes = null;
  }

  /**
   * The session's time at a reading of the own clock; null while there is none.
   * @param {number} now
   */
  session(now) {
    return this.line && shownAt(this.line, now);
  }

  /**
   * The reading of the own clock at a session time; null while there is none.
   * @param {number} at
   */
  local(at) {
    return this.line && localAt(this.line, at);
  }

  /**
   * The certified interval: the session's time is not before the first and not after the second.
   * @param {number} now
   * @returns {[number, number] | null}
   */
  interval(now) {
    return this.line && this.band && intervalAt(this.band, now, this.#grain);
  }

  /**
   * How far what is shown may be from the truth; null while nothing is.
   * @param {number} now
   */
  errorMax(now) {
    const [shown, interval] = [this.session(now), this.interval(now)];
    return shown === null || interval === null ? null : Math.max(interval[1] - shown, shown - interval[0]);
  }

  /**
   * An echo came; `now` is when its datagram arrived.
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
      this.#probes.hurry(now);
    }
    // The first answer of a relay that was silent may come when no burst is left.
    if (this.#heard === null) this.#probes.hurry(now);
    this.#heard = now;
    if (this.#exchanges < FIXING) {
      // Not good enough to follow it: what is shown goes on as it was.
      this.band = band;
      this.#isSteady = false;
      return;
    }
    if (this.#exchanges === FIXING) this.#probes.burst = 0;
    this.#steer(now, band);
  }

  /**
   * Whether a datagram must leave for a probe. Says so once.
   * @param {number} now
   */
  pollDue(now) {
    now = this.#advance(now);
    return this.#probes !== null && this.#probes.pollDue(now);
  }

  /**
   * When the probe for a datagram that leaves now was sent: now. Null if it carries none.
   * @param {number} now
   */
  pollProbe(now) {
    now = this.#advance(now);
    return this.#probes !== null && this.#probes.pollProbe(now) ? now : null;
  }

  /** When to ask `pollDue` again at the latest. */
  pollTimeout() {
    if (this.#probes === null) return Infinity;
    const silent = this.#heard === null ? Infinity : this.#heard + WINDOW;
    return Math.min(this.#probes.next, silent, this.#wake());
  }

  /** What became of the session's time, the oldest first; undefined if nothing did. */
  pollEvent() {
    return this.#events.shift();
  }

  /**
   * The exchange that an echo completes; null if it answers no probe that is outstanding, or no honest relay could have sent it.
   * @param {number} now
   * @param {EchoFrame} echo
   * @returns {Exchange | null}
   */
  #complete(now, echo) {
    const sent = Number(echo.probe);
    if (BigInt(Math.trunc(sent)) !== echo.probe || !this.#probes?.answered(sent)) return null;
    const [away, held] = [now - sent, Number(echo.held)];
    if (held > away + away * HELD_RATE_MAX + 2 * this.#grain + 2) return null;
    // To the whole second: so a whole number of microseconds too.
    const base = this.base ?? echo.arrived - (echo.arrived % 1_000_000_000n);
    const arrived = Number(echo.arrived - base);
    const exchange = { sent, arrived, left: arrived + held, returned: now };
    const sizes = [Number(echo.arrived), exchange.left, upper(exchange), lower(exchange)];
    if (!sizes.every((size) => Math.abs(size) <= OFFSET_MAX)) return null;
    this.base = base;
    return exchange;
  }

  /**
   * A new band that is good enough to be shown.
   * @param {number} now
   * @param {Band} band
   */
  #steer(now, band) {
    this.band = band;
    this.#isSteady = true;
    if (this.line === null) return this.#show(now);
    const target = now + Math.round(bandAt(band, now).best);
    const lacking = target - shownAt(this.line, now);
    if (Math.abs(lacking) <= SLEW_MAX) {
      this.line = aim(this.line, now, target, band.bestRate);
    } else if (lacking > 0) {
      this.line = startLine(now, target, band.bestRate);
      this.#say({ event: "stepped", by: lacking });
    } else {
      this.#hide();
    }
  }

  /**
   * Shows the estimate once it is good enough and has caught up with what was shown before.
   * @param {number} now
   */
  #show(now) {
    if (this.line !== null || !this.#isSteady || this.band === null) return;
    const { low, high, best } = bandAt(this.band, now);
    const target = now + Math.round(best);
    if (target < this.#floor) return;
    this.line = startLine(now, target, this.band.bestRate);
    this.#say({ event: "fixed", errorMax: Math.max(high - best, best - low) + this.#grain });
  }

  /** When the estimate catches up with what was shown, if that is waited for. */
  #wake() {
    if (this.line !== null || !this.#isSteady || this.band === null || this.#floor === -Infinity) return Infinity;
    const { at, best, bestRate } = this.band;
    return localAt(startLine(at, at + best, bestRate), this.#floor);
  }

  /**
   * Takes note of the time, and of a relay that has been silent for the whole window.
   * @param {number} now
   */
  #advance(now) {
    this.#now = Math.max(this.#now, now);
    if (this.#heard !== null && this.#heard + WINDOW <= this.#now) {
      this.#forget();
      this.#lose();
    }
    this.#show(this.#now);
    return this.#now;
  }

  #forget() {
    this.#hull = new Hull(this.#grain);
    this.#exchanges = 0;
    this.#heard = null;
    this.roundTrip = null;
  }

  /** Shows nothing any more, and knows nothing. */
  #lose() {
    this.#hide();
    this.band = null;
    this.#isSteady = false;
  }

  #hide() {
    if (this.line === null) return;
    this.#floor = shownAt(this.line, this.#now);
    this.line = null;
    this.#say({ event: "lost" });
  }

  /** @param {ClockEvent} event */
  #say(event) {
    if (this.#events.length >= EVENTS_MAX) this.#events.shift();
    this.#events.push(event);
  }
}

/**
 * The certified interval of the session's time by a band, if readings of the own clock may be off by `grain`.
 * @param {Band} band
 * @param {number} now
 * @param {number} grain
 * @returns {[number, number]}
 */
export function intervalAt(band, now, grain) {
  const { low, high } = bandAt(band, now);
  return [Math.floor(now + low) - grain - ROUNDING, Math.ceil(now + high) + grain + ROUNDING];
}

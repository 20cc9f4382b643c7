/** The session's clock, turned by hand. */

import { FollowerClock, shownAt } from "../client/clock.js";
import { Hull, lower, SKEW_MAX, upper } from "../client/hull.js";
import { WorkerClock } from "../client/worker-clock.js";
import { assert, draws, equal, near, test } from "./check.js";

const MS = 1e6;
const SECOND = 1e9;
/** Where the relay's clock is when ours shows nought: as far off as relays are. */
const ORIGIN = 217_000_000_000_000_000n;

/** A relay's clock that runs at a rate of its own, and the network to it. */
class World {
  now = 0;
  rate = 0;
  step = 0;
  /** Whether the relay's clock was ever stepped: then the interval is wrong until that is noticed. */
  isStepped = false;
  grain = 0;
  /** What the way there and the way back take. @type {() => number} */
  there = () => 10 * MS;
  back = () => 10 * MS;
  isSilent = false;
  /** The least and the greatest that was shown before. */
  shown = -Infinity;
  clock;
  /** Echoes that are under way. @type {{ at: number, echo: import("../client/wire.js").EchoFrame }[]} */
  underWay = [];
  draw = draws(7);

  /** @param {number} [grain] */
  constructor(grain = 0) {
    this.grain = grain;
    this.clock = new FollowerClock(grain);
    this.clock.join(this.read(0));
  }

  /**
   * What our clock shows at a true time: a coarse one is off by up to its grain.
   * @param {number} now
   */
  read(now) {
    if (this.grain === 0) return now;
    return Math.floor(now / this.grain + this.draw()) * this.grain;
  }

  /** @param {number} now the session's time then, since the origin */
  truth(now) {
    return now + now * this.rate + this.step;
  }

  /** The truth as the clock under test counts it. */
  relative() {
    return Number(ORIGIN - (this.clock.base ?? 0n)) + this.truth(this.now);
  }

  /** @param {number} until */
  run(until) {
    while (this.now < until) {
      this.now += MS;
      const due = this.underWay.filter(({ at }) => at <= this.now);
      this.underWay = this.underWay.filter(({ at }) => at > this.now);
      for (const { at, echo } of due) this.clock.handleEcho(this.read(at), echo);
      this.probe();
      this.check();
    }
  }

  probe() {
    const reading = this.read(this.now);
    if (!this.clock.pollDue(reading)) return;
    const sent = this.clock.pollProbe(reading);
    if (sent === null || this.isSilent) return;
    const [there, back] = [Math.round(this.there()), Math.round(this.back())];
    const arrived = ORIGIN + BigInt(Math.floor(this.truth(this.now + there)));
    const held = BigInt(2 * MS);
    const echo = { frame: /** @type {const} */ ("echo"), probe: BigInt(sent), arrived, held };
    this.underWay.push({ at: this.now + there + 2 * MS + back, echo });
    this.underWay.sort((a, b) => a.at - b.at);
  }

  /** What must always hold. */
  check() {
    const reading = this.read(this.now);
    const [shown, interval] = [this.clock.session(reading), this.clock.interval(reading)];
    if (shown === null || interval === null) return;
    const truth = this.relative();
    this.isStepped ||= this.step !== 0;
    if (!this.isStepped) {
      assert(interval[0] <= truth && truth <= interval[1], `${truth} is not within ${interval} at ${this.now}`);
    }
    // Readings of a coarse clock go back and forth, and what it shows with them.
    assert(shown >= this.shown - 2 * this.grain, `${shown} is shown after ${this.shown}`);
    this.shown = Math.max(this.shown, shown);
  }

  /** How far the clock is off. */
  error() {
    return (this.clock.session(this.now) ?? Infinity) - this.relative();
  }

  events() {
    const events = [];
    for (let event = this.clock.pollEvent(); event !== undefined; event = this.clock.pollEvent()) events.push(event.event);
    return events;
  }
}

export function clockTests() {
  test("eight exchanges fix the time to half of the round trip, and in equal ways it is exact", () => {
    const world = new World();
    world.run(150 * MS);
    equal(world.clock.session(world.now), null, "too early");
    world.run(250 * MS);
    equal(world.events(), ["fixed"]);
    near(world.error(), 0, 10);
    const errorMax = world.clock.errorMax(world.now) ?? 0;
    assert(errorMax >= 10 * MS && errorMax < 10.2 * MS, `${errorMax} is half of the round trip`);
  });

  test("probes leave every 20 ms, at most 100 of them, then every 100 ms", () => {
    const clock = new FollowerClock(0);
    clock.join(0);
    const sent = [];
    for (let now = 0; now < 4 * SECOND; now += MS) {
      if (clock.pollDue(now) && clock.pollProbe(now) !== null) sent.push(now / MS);
    }
    equal(sent.slice(0, 3), [0, 20, 40]);
    equal(sent.slice(99, 103), [1980, 2000, 2100, 2200]);
  });

  test("a probe rides on a datagram within a quarter of its interval", () => {
    const clock = new FollowerClock(0);
    clock.join(0);
    equal(clock.pollProbe(0), 0);
    equal(clock.pollProbe(14 * MS), null);
    equal(clock.pollProbe(15 * MS), 15 * MS);
    equal(clock.pollTimeout(), 35 * MS, "the next one");
  });

  test("with jitter, skew and a coarse clock the truth stays within the interval", () => {
    for (const [seed, grain] of [[1, 0], [2, 0.1 * MS], [3, MS], [4, 0.005 * MS]]) {
      const world = new World(grain);
      const draw = draws(seed);
      world.rate = (draw() - 0.5) * 2 * 150e-6;
      world.there = () => 20 * MS - 5 * MS * Math.log(1 - draw());
      world.back = () => 30 * MS - 5 * MS * Math.log(1 - draw());
      world.run(60 * SECOND);
      equal(world.clock.breaks, 0, "contradictions");
      const errorMax = world.clock.errorMax(world.read(world.now)) ?? Infinity;
      assert(errorMax < 30 * MS + 3 * grain, `${errorMax} is about half of the least round trip`);
      assert(Math.abs(world.error()) < 7 * MS + 3 * grain, `${world.error()} is the asymmetry and little more`);
    }
  });

  test("small differences are slewed to at no more than 0.05 %", () => {
    const world = new World();
    world.run(2 * SECOND);
    world.step = 2 * MS;
    let last = world.clock.session(world.now) ?? 0;
    for (let look = 0; look < 100; look++) {
      world.run(world.now + 10 * MS);
      const shown = world.clock.session(world.now) ?? 0;
      near(shown - last, 10 * MS, 10 * MS * 0.0005 + 2, "ten milliseconds");
      last = shown;
    }
    equal(world.events(), ["fixed"]);
  });

  test("a relay that steps forward is jumped after; one that steps back is waited for", () => {
    const world = new World();
    world.run(3 * SECOND);
    world.step = 200 * MS;
    world.run(5 * SECOND);
    equal(world.events(), ["fixed", "stepped"]);
    near(world.error(), 0, 100, "after the step forward");
    world.step = 0;
    world.run(5.1 * SECOND);
    world.step = -800 * MS;
    world.run(5.6 * SECOND);
    equal(world.clock.session(world.now), null, "what is shown while it is waited");
    world.run(8 * SECOND);
    near(world.error(), 0, 1000, "after it was waited");
    equal(world.events().at(-1), "fixed");
  });

  test("after 30 s of silence there is no session time, and it comes back with the relay", () => {
    const world = new World();
    world.run(SECOND);
    world.isSilent = true;
    world.run(30 * SECOND);
    assert(world.clock.session(world.now) !== null, "it goes on for a while");
    world.run(32 * SECOND);
    equal(world.clock.session(world.now), null);
    world.isSilent = false;
    world.run(33 * SECOND);
    equal(world.events(), ["fixed", "lost", "fixed"]);
  });

  test("echoes that were not asked for, come twice, or were held too long are ignored", () => {
    const clock = new FollowerClock(0);
    clock.join(0);
    clock.pollDue(0);
    equal(clock.pollProbe(0), 0);
    const echo = { frame: /** @type {const} */ ("echo"), probe: 0n, arrived: ORIGIN, held: 0n };
    clock.handleEcho(5 * MS, { ...echo, probe: 1n });
    clock.handleEcho(5 * MS, { ...echo, probe: (1n << 63n) - 1n });
    equal(clock.ignored, 2, "not asked for");
    clock.handleEcho(5 * MS, { ...echo, held: BigInt(6 * MS) });
    clock.handleEcho(5 * MS, echo);
    equal(clock.ignored, 4, "held longer than it was away, and then its probe is no more outstanding");
    clock.handleEcho(5 * MS, { ...echo, arrived: -(1n << 63n) });
    equal(clock.band, null);
  });

  test("the interval is what all feasible lines show, found by trying every pair of points", () => {
    for (let seed = 0; seed < 60; seed++) {
      const draw = draws(seed);
      const hull = new Hull(0);
      const [offset, rate] = [draw() * SECOND, (draw() - 0.5) * 300e-6];
      let now = 0;
      const above = [];
      const below = [];
      for (let count = 0; count < 14; count++) {
        now += Math.round(100 * MS + draw() * SECOND);
        const there = now + Math.round(MS + 20 * MS * draw() ** 3);
        const returned = there + Math.round(MS + 20 * MS * draw() ** 3);
        const arrived = Math.round(there + offset + rate * there);
        const exchange = { sent: now, arrived, left: arrived, returned };
        equal(hull.observe(exchange), "taken");
        above.push([now, upper(exchange) + 2]);
        below.push([returned, lower(exchange) - 2]);
        now = returned;
      }
      const [low, high] = feasible(above, below, now);
      near(hull.band?.low ?? NaN, low, 2, `seed ${seed}: the lower bound`);
      near(hull.band?.high ?? NaN, high, 2, `seed ${seed}: the upper bound`);
    }
  });

  test("the page reads the worker's clock to within the shortest answer", () => {
    const [twin, draw] = [new WorkerClock(), draws(3)];
    equal(twin.isKnown, false);
    for (let sent = 0; sent < 100; sent += 10) {
      const at = sent + 0.1 + draw();
      twin.observe(sent, at + 1234.5, at + 0.1 + draw(), 1234.9);
    }
    assert(Math.abs(twin.offset - 1234.5) <= twin.errorMax, `${twin.offset} to ${twin.errorMax}`);
    assert(twin.errorMax < 1, `${twin.errorMax}`);
    twin.observe(1000, 5000, 1001, 4000);
    near(twin.offset, 4000, 1, "after the clocks contradicted each other");
  });

  test("a line shows what it says where its two pieces meet", () => {
    const line = { slewing: { from: 0, shown: 0, rate: 500e-6 }, following: { from: 2000, shown: 2001, rate: 0 } };
    equal([0, 1999, 2000, 3000].map((now) => shownAt(line, now)), [0, 1999, 2001, 3001]);
  });
}

/**
 * The least and the greatest that a line shows at a time, if it is below some points, above others, and not steeper than allowed:
 * by trying all lines through two points, and all of the greatest slopes through one.
 * @param {number[][]} above
 * @param {number[][]} below
 * @param {number} now
 */
function feasible(above, below, now) {
  const points = [...above, ...below];
  /** @type {[number, number[]][]} */
  const lines = points.flatMap((point) => [[SKEW_MAX, point], [-SKEW_MAX, point]]);
  for (const a of points) {
    for (const b of points) {
      if (b[0] > a[0]) lines.push([(b[1] - a[1]) / (b[0] - a[0]), a]);
    }
  }
  const shown = [];
  for (const [slope, [at, height]] of lines) {
    const show = (/** @type {number} */ time) => height + slope * (time - at);
    const isFeasible =
      Math.abs(slope) <= SKEW_MAX * (1 + 1e-12) &&
      above.every((point) => show(point[0]) <= point[1] + 1e-3) &&
      below.every((point) => show(point[0]) >= point[1] - 1e-3);
    if (isFeasible) shown.push(show(now));
  }
  return [Math.min(...shown), Math.max(...shown)];
}

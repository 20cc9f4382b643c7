/** Tests of the session clock, with simulated time. */

import { FollowerClock, shownAt } from "../client/clock.js";
import { Hull, lower, SKEW_MAX, upper } from "../client/hull.js";
import { WorkerClock } from "../client/worker-clock.js";
import { assert, seededRandom, equal, near, test } from "./harness.js";

const MS = 1e6;
const SECOND = 1e9;
/** Time of the relay's clock when ours starts: as large as real relays have. */
const ORIGIN = 217_000_000_000_000_000n;

/** A relay's clock with a rate of its own, and the network to it. */
class World {
  now = 0;
  rate = 0;
  step = 0;
  /** Whether the relay's clock was ever stepped: until that is noticed, the interval is wrong. */
  isStepped = false;
  grain = 0;
  /** Delays to the relay and back. @type {() => number} */
  there = () => 10 * MS;
  back = () => 10 * MS;
  isSilent = false;
  /** Largest time shown so far. */
  shown = -Infinity;
  clock;
  /** Echoes in flight. @type {{ at: number, echo: import("../client/wire.js").EchoFrame }[]} */
  underWay = [];
  draw = seededRandom(7);

  /** @param {number} [grain] */
  constructor(grain = 0) {
    this.grain = grain;
    this.clock = new FollowerClock(grain);
    this.clock.join(this.read(0));
  }

  /**
   * Reads our clock at a true time; a coarse one is off by up to its grain.
   * @param {number} now
   */
  read(now) {
    if (this.grain === 0) return now;
    return Math.floor(now / this.grain + this.draw()) * this.grain;
  }

  /** @param {number} now true time; the result is the session time then, since the origin */
  truth(now) {
    return now + now * this.rate + this.step;
  }

  /** Returns the true session time as the clock under test counts it. */
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

  /** Checks the invariants. */
  check() {
    const reading = this.read(this.now);
    const [shown, interval] = [this.clock.session(reading), this.clock.interval(reading)];
    if (shown === null || interval === null) return;
    const truth = this.relative();
    this.isStepped ||= this.step !== 0;
    if (!this.isStepped) {
      assert(interval[0] <= truth && truth <= interval[1], `${truth} is not within ${interval} at ${this.now}`);
    }
    // Readings of a coarse clock go back and forth, and so does the time shown.
    assert(shown >= this.shown - 2 * this.grain, `${shown} is shown after ${this.shown}`);
    this.shown = Math.max(this.shown, shown);
  }

  /** Returns the clock's error. */
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
  test("eight exchanges fix the time to half of the round trip, and exactly if both directions take equally long", () => {
    const world = new World();
    world.run(150 * MS);
    equal(world.clock.session(world.now), null, "the time after too few exchanges");
    world.run(250 * MS);
    equal(world.events(), ["fixed"]);
    near(world.error(), 0, 10);
    const errorMax = world.clock.errorMax(world.now) ?? 0;
    assert(errorMax >= 10 * MS && errorMax < 10.2 * MS, `${errorMax} is not half of the round trip`);
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

  test("a probe joins a datagram within a quarter of its interval", () => {
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
      const draw = seededRandom(seed);
      world.rate = (draw() - 0.5) * 2 * 150e-6;
      world.there = () => 20 * MS - 5 * MS * Math.log(1 - draw());
      world.back = () => 30 * MS - 5 * MS * Math.log(1 - draw());
      world.run(60 * SECOND);
      equal(world.clock.breaks, 0, "contradictions");
      const errorMax = world.clock.errorMax(world.read(world.now)) ?? Infinity;
      assert(errorMax < 30 * MS + 3 * grain, `${errorMax} is not about half of the least round trip`);
      assert(Math.abs(world.error()) < 7 * MS + 3 * grain, `${world.error()} is more than the asymmetry explains`);
    }
  });

  test("small differences are slewed at no more than 0.05 %", () => {
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

  test("the clock jumps after a relay that steps forward, and waits for one that steps back", () => {
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
    equal(world.clock.session(world.now), null, "the time shown while waiting");
    world.run(8 * SECOND);
    near(world.error(), 0, 1000, "after waiting");
    equal(world.events().at(-1), "fixed");
  });

  test("after 30 s of silence the session time is lost, and it comes back with the relay", () => {
    const world = new World();
    world.run(SECOND);
    world.isSilent = true;
    world.run(30 * SECOND);
    assert(world.clock.session(world.now) !== null, "it is lost too early");
    world.run(32 * SECOND);
    equal(world.clock.session(world.now), null);
    world.isSilent = false;
    world.run(33 * SECOND);
    equal(world.events(), ["fixed", "lost", "fixed"]);
  });

  test("echoes that are unsolicited, duplicates, or held too long are ignored", () => {
    const clock = new FollowerClock(0);
    clock.join(0);
    clock.pollDue(0);
    equal(clock.pollProbe(0), 0);
    const echo = { frame: /** @type {const} */ ("echo"), probe: 0n, arrived: ORIGIN, held: 0n };
    clock.handleEcho(5 * MS, { ...echo, probe: 1n });
    clock.handleEcho(5 * MS, { ...echo, probe: (1n << 63n) - 1n });
    equal(clock.ignored, 2, "unsolicited echoes");
    clock.handleEcho(5 * MS, { ...echo, held: BigInt(6 * MS) });
    clock.handleEcho(5 * MS, echo);
    equal(clock.ignored, 4, "echoes held too long, whose probe is then no longer outstanding");
    clock.handleEcho(5 * MS, { ...echo, arrived: -(1n << 63n) });
    equal(clock.band, null);
  });

  test("the interval spans all feasible lines, as found by trying every pair of points", () => {
    for (let seed = 0; seed < 60; seed++) {
      const draw = seededRandom(seed);
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
    const [workerClock, draw] = [new WorkerClock(), seededRandom(3)];
    equal(workerClock.isKnown, false);
    for (let sent = 0; sent < 100; sent += 10) {
      const at = sent + 0.1 + draw();
      workerClock.observe(sent, at + 1234.5, at + 0.1 + draw(), 1234.9);
    }
    assert(Math.abs(workerClock.offset - 1234.5) <= workerClock.errorMax, `${workerClock.offset} is off by more than ${workerClock.errorMax}`);
    assert(workerClock.errorMax < 1, `the error bound is ${workerClock.errorMax}`);
    workerClock.observe(1000, 5000, 1001, 4000);
    near(workerClock.offset, 4000, 1, "after the clocks contradicted each other");
  });

  test("a line is continuous in time where its two pieces meet", () => {
    const line = { slewing: { from: 0, shown: 0, rate: 500e-6 }, following: { from: 2000, shown: 2001, rate: 0 } };
    equal([0, 1999, 2000, 3000].map((now) => shownAt(line, now)), [0, 1999, 2001, 3001]);
  });
}

/**
 * Returns the least and the greatest value at a time of all lines that lie below some points and above others and are
 * not too steep, by trying all lines through two points, and the steepest ones through each.
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

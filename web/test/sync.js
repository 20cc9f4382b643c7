/** Tests of actions and updates: `Smc` against what Rust's does (vectors/smc.json), and what is its own. */

import { Smc } from "../client/smc.js";
import { emit, isSync, parse, SYNC_VERSION } from "../client/sync-wire.js";
import { assert, equal, seededRandom, test, toHex, unhex } from "./harness.js";

const MS = 1e6;
const BASE = 217_000_000_000_000_000n;

/** A session clock that the test sets. */
class SetClock {
  base = BASE;
  /** Session time since the base minus local time; null: there is none. @type {number | null} */
  ahead = 0;

  /** @param {number} now */
  session(now) {
    return this.ahead === null ? null : now + this.ahead;
  }

  /** @param {number} at */
  local(at) {
    return this.ahead === null ? null : at - this.ahead;
  }
}

/** A machine and its clock, and all that it has sent. */
class Player {
  clock = new SetClock();
  smc;
  now = 0;
  /** @type {ReturnType<typeof parse>[]} */
  sent = [];
  #nonce = 0;

  constructor() {
    const draw = seededRandom(5);
    this.smc = new Smc({ clock: this.clock, drawNonce: () => Math.floor(draw() * 2 ** 32) });
    this.smc.join(0, 1200);
  }

  drain() {
    for (let bytes = this.smc.pollReliable(); bytes !== undefined; bytes = this.smc.pollReliable()) this.sent.push(parse(bytes));
    for (let bytes = this.smc.pollDatagram(this.now); bytes !== undefined; bytes = this.smc.pollDatagram(this.now)) {
      this.sent.push(parse(bytes));
    }
  }

  /** @param {...import("../client/sync-wire.js").SyncFrame} frames */
  send(...frames) {
    this.#nonce += 1;
    const stamp = BASE + BigInt(this.now);
    const rejected = this.smc.handleMessage(this.now, "datagram", emit({ nonce: this.#nonce, stamp, frames }));
    this.drain();
    return rejected;
  }

  /**
   * @param {number} id
   * @param {number} hold in milliseconds
   */
  update(id, hold, payload = Uint8Array.of(id)) {
    const part = { index: 0, count: 1 };
    return this.send({ frame: "update", id, stamp: BASE + BigInt(this.now), hold: BigInt(hold * MS), part, payload });
  }

  /**
   * Runs to a time, as timers wake it. Returns when which updates were shown.
   * @param {number} millis
   */
  run(millis) {
    /** @type {[number, number][]} */
    const shown = [];
    for (;;) {
      this.smc.handleTimeout(this.now);
      this.drain();
      for (let each = this.smc.pollShown(); each !== undefined; each = this.smc.pollShown()) shown.push([each.id, this.now / MS]);
      if (this.now >= millis * MS) return shown;
      this.now = Math.max(this.now, Math.min(this.smc.pollTimeout(), millis * MS));
    }
  }

  /** @param {number} [at] in milliseconds */
  act(at = this.now / MS, bytes = Uint8Array.of(9), isReliable = false) {
    this.smc.act(this.now, bytes, isReliable, at * MS);
    this.drain();
    return this.sent.flatMap(({ frames }) => frames).filter(({ frame }) => frame === "action");
  }
}

/**
 * Plays what Rust's module was played, and compares what it did.
 * @param {any} file smc.json
 */
function traceTests(file) {
  test("the machine does what Rust's does, call by call", () => {
    const clock = new SetClock();
    clock.base = BigInt(file.base);
    clock.ahead = null;
    const smc = new Smc({ clock, drawNonce: () => 0 });
    for (const [index, step] of file.steps.entries()) {
      const [now, where] = [Number(step.now), `step ${index}, ${step.call}:`];
      if (step.call === "join") smc.join(now, step.datagram_max);
      if (step.call === "leave") smc.leave(now);
      if (step.call === "act") smc.act(now, unhex(step.payload), step.must_arrive);
      if (step.call === "message") {
        equal(smc.handleMessage(now, step.channel, unhex(step.hex)) !== null, step.rejected, `${where} whether it is rejected`);
      }
      if (step.call === "clock") clock.ahead = step.ahead === null ? null : Number(step.ahead);
      if (step.call === "clock" || step.call === "timeout") smc.handleTimeout(now);
      const reliable = drainHex(() => smc.pollReliable());
      const datagrams = drainHex(() => smc.pollDatagram(now));
      const shown = [];
      for (let each = smc.pollShown(); each !== undefined; each = smc.pollShown()) {
        shown.push({ bytes: toHex(each.bytes), id: each.id, late: String(each.late), stamp: String(each.stamp) });
      }
      equal(shown, step.shown, `${where} what is shown`);
      equal(reliable, step.reliable, `${where} what is sent reliably`);
      equal(datagrams, step.datagrams, `${where} what is sent in datagrams`);
      equal(smc.pollTimeout(), step.timeout === null ? Infinity : Number(step.timeout), `${where} the next timeout`);
    }
  });
}

/** @param {() => Uint8Array | undefined} poll */
function drainHex(poll) {
  const found = [];
  for (let bytes = poll(); bytes !== undefined; bytes = poll()) found.push(toHex(bytes));
  return found;
}

function updateTests() {
  test("an update is shown when the session's clock shows its time, once", () => {
    const player = new Player();
    player.now = 10 * MS;
    player.update(1, 50);
    player.update(0, 20);
    player.update(1, 50);
    equal(player.run(200), [[0, 30], [1, 60]]);
    player.update(2, 0);
    equal(player.run(300), [[2, 200]]);
  });

  test("what is held is shown at once when the session time is lost, or the relay", () => {
    const player = new Player();
    player.update(0, 500);
    player.run(10);
    player.clock.ahead = null;
    equal(player.run(11), [[0, 10]]);
    player.clock.ahead = 0;
    player.update(1, 500);
    player.smc.leave(player.now);
    equal(player.smc.pollShown()?.id, 1);
  });

  test("a late update is shown at once, and says how late it is", () => {
    const player = new Player();
    player.now = 100 * MS;
    const part = { index: 0, count: 1 };
    const stamp = BASE + BigInt(30 * MS);
    player.send({ frame: "update", id: 0, stamp, hold: BigInt(50 * MS), part, payload: Uint8Array.of(1) });
    equal(player.smc.pollShown()?.late, 20 * MS);
    equal(player.smc.counts.late, 1);
  });
}

function actionTests() {
  test("an action says how long after the newest update the player acted, also if the page tells late", () => {
    const player = new Player();
    player.update(7, 40);
    player.run(200);
    const [action] = player.act(190);
    equal([action.frame === "action" && action.reaction], [{ update: 7, elapsed: BigInt(150 * MS) }]);
  });

  test("places never decrease, whatever the page claims", () => {
    const player = new Player();
    player.update(0, 0);
    player.run(100);
    player.send({ frame: "ping", heartbeat: BigInt(10 * MS) });
    const promises = () => player.sent.flatMap(({ frames }) => frames).filter(({ frame }) => frame === "promise");
    player.run(150);
    const promised = promises().at(-1);
    assert(promised?.frame === "promise" && promised.moment.elapsed > 120n * BigInt(MS), "it promises while it is silent");
    const action = player.act(20).at(-1);
    equal(action?.frame === "action" && action.reaction, promised?.frame === "promise" && promised.moment);
  });

  test("a new action is repeated in the next two packets, the first of them soon", () => {
    const player = new Player();
    player.update(0, 0);
    player.send({ frame: "ping", heartbeat: BigInt(10 * MS) });
    player.run(50);
    player.sent = [];
    player.act();
    player.run(54);
    equal(player.sent.map(({ frames }) => frames.filter(({ frame }) => frame === "action").length), [1, 1]);
    player.run(100);
    const actions = player.sent.flatMap(({ frames }) => frames).filter(({ frame }) => frame === "action");
    equal(actions.length, 3);
  });

  test("nothing is sent to a relay that asks for nothing", () => {
    const player = new Player();
    player.update(0, 10);
    player.run(60_000);
    equal(player.sent, []);
    player.send({ frame: "ping", heartbeat: BigInt(10 * MS) });
    player.run(120_000);
    const hearts = player.sent.length;
    assert(hearts > 90 && hearts < 110, `a ping asks for a second of heartbeats, not for ${hearts} of 10 ms`);
  });

  test("an action without a connection, or that is too long, is not sent but counted", () => {
    const player = new Player();
    player.act(0, new Uint8Array(65_508));
    player.smc.leave(player.now);
    player.act();
    equal([player.sent.length, player.smc.counts.unsent], [0, 2]);
  });

  test("a long action arrives whole, on both channels", () => {
    const player = new Player();
    const bytes = Uint8Array.from({ length: 65_507 }, (_, place) => place % 251);
    const parts = player.act(0, bytes, true);
    const reliable = parts.slice(0, 3).flatMap((frame) => (frame.frame === "action" ? [...frame.payload] : []));
    const datagrams = parts.slice(3).flatMap((frame) => (frame.frame === "action" ? [...frame.payload] : []));
    equal([toHex(Uint8Array.from(reliable)) === toHex(bytes), toHex(Uint8Array.from(datagrams)) === toHex(bytes)], [true, true]);
  });

  test("what the relay does not send is rejected without effect", () => {
    const player = new Player();
    equal(player.send({ frame: "pong", nonce: 1 })?.reason, "unexpected");
    equal(player.smc.handleMessage(0, "datagram", Uint8Array.of(SYNC_VERSION + 1, 0))?.reason, "version");
    equal(player.smc.rejected, { unexpected: 1, version: 1 });
    equal([isSync(Uint8Array.of(0x2f)), isSync(Uint8Array.of(0x47)), isSync(Uint8Array.of(1))], [true, false, false]);
  });
}

/** @param {any} file smc.json */
export function syncTests(file) {
  traceTests(file);
  updateTests();
  actionTests();
}

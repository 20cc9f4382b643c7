/** Tests of objects and typed messages: `Objects` against a session of Rust's `ObjectPeer` (vectors/objects.json), and what is its own. */

import { Reader } from "../client/bytes.js";
import { Objects } from "../client/objects.js";
import { parseSchema, splitValues, toBytes } from "../client/objects-wire.js";
import { assert, equal, seededRandom, test, toHex, unhex } from "./harness.js";

const SHIP = 2 ** 21 * 1024 + 1;

/** @param {any} file */
function replay(file) {
  const objects = new Objects({ schema: parseSchema(file.schema), tick: file.tick, instance: BigInt(file.instance) });
  /** @type {[string, number][]} */
  const calls = [];
  objects.join(0, 1200);
  for (const { step, heard, deed, said } of file.steps) {
    const now = step * file.tick;
    for (const [channel, bytes] of heard) equal(objects.handleMessage(now, channel, unhex(bytes)), null);
    if (deed?.do === "create") objects.create(now, deed.id, deed.kind, deed.values);
    if (deed?.do === "set") objects.set(now, deed.id, deed.values);
    if (deed?.do === "give") objects.give(now, deed.id, deed.to);
    if (deed?.do === "tell") objects.tell(now, deed.to, deed.delivery, "Note", { number: deed.number, text: "hello" });
    objects.handleTimeout(now);
    const sent = [];
    for (let bytes = objects.pollReliable(); bytes !== undefined; bytes = objects.pollReliable()) sent.push(["reliable", toHex(bytes)]);
    for (let bytes = objects.pollDatagram(now); bytes !== undefined; bytes = objects.pollDatagram(now)) sent.push(["datagram", toHex(bytes)]);
    equal(JSON.stringify(sent), JSON.stringify(said), `what is said at step ${step}`);
    for (let event = objects.pollEvent(); event !== undefined; event = objects.pollEvent()) {
      if (event.event === "call") calls.push([event.delivery, event.values.number]);
    }
  }
  return { objects, calls };
}

/** @param {any} file vectors/objects.json */
export function objectTests(file) {
  test("objects: a session says and shows what Rust's does", () => {
    const { objects, calls } = replay(file);
    equal(JSON.stringify(calls), JSON.stringify(file.calls), "the messages that arrived");
    const schema = parseSchema(file.schema);
    const known = objects.objects().sort((a, b) => a.id - b.id).map(({ id, kind, owner, values }) => {
      const number = schema.objects.findIndex(({ name }) => name === kind);
      const bytes = schema.objects[number].fields.map(({ name, codec }) => toHex(toBytes(codec, values[name])));
      return { id, kind: number, owner, values: bytes };
    });
    const expected = file.objects.map((/** @type {any} */ { id, kind, owner, values }) => ({ id, kind, owner, values }));
    equal(JSON.stringify(known), JSON.stringify(expected));
  });

  test("objects: whatever arrives, nothing throws and nothing changes", () => {
    const { objects } = replay(file);
    const before = JSON.stringify(objects.objects());
    const random = seededRandom(3);
    const heard = file.steps.flatMap((/** @type {any} */ step) => step.heard);
    for (let round = 0; round < 3000; round++) {
      const [channel, hex] = heard[Math.floor(random() * heard.length)];
      const bytes = unhex(hex);
      bytes[Math.floor(random() * bytes.length)] ^= 1 << Math.floor(random() * 8);
      const cut = bytes.slice(0, Math.floor(random() * bytes.length));
      if (objects.handleMessage(2e9, random() < 0.5 ? "reliable" : "datagram", cut.slice(0, 1)) === null) throw new Error("a lone byte is no message");
      objects.handleMessage(2e9, channel === "datagram" ? "reliable" : "datagram", cut.slice(0, 2));
    }
    equal(JSON.stringify(objects.objects()), before);
  });

  test("objects: what is destroyed while away is told of at the return", () => {
    const objects = new Objects({ schema: parseSchema(file.schema), tick: file.tick, instance: 5n });
    const said = () => {
      const all = [];
      for (let bytes = objects.pollReliable(); bytes !== undefined; bytes = objects.pollReliable()) all.push(toHex(bytes));
      return all;
    };
    const welcome = (/** @type {boolean} */ resumed) => unhex(`510201000000${resumed ? "01" : "00"}00`);
    objects.join(0, 1200);
    equal(objects.handleMessage(0, "reliable", welcome(false)), null);
    objects.create(0, SHIP, "Ship", {});
    objects.leave(1);
    objects.destroy(1, SHIP);
    objects.join(2, 1200);
    said();
    equal(objects.handleMessage(2, "reliable", welcome(true)), null);
    equal(JSON.stringify(said()), JSON.stringify(["510b000100008000"]));
  });

  test("objects: a player is told what was not delivered", () => {
    const { objects } = replay(file);
    equal(objects.handleMessage(2e9, "reliable", unhex("510c07000202")), null);
    const events = [];
    for (let event = objects.pollEvent(); event !== undefined; event = objects.pollEvent()) events.push(event);
    const expected = [{ event: "unheard", count: 7, kind: "Note", party: { to: "player", player: 2 } }];
    equal(JSON.stringify(events), JSON.stringify(expected));
    assert(objects.handleMessage(2e9, "reliable", unhex("510c070902")) !== null, "there is no such message");
  });

  test("objects: they move as their type says", () => {
    const schema = parseSchema("game test\nplanar object Flat:\nspatial object Deep:\nstill object Sign:\n");
    const objects = new Objects({ schema, tick: file.tick, instance: 5n });
    ["Flat", "Deep", "Sign"].forEach((kind, number) => objects.create(0, SHIP + 1024 * number, kind, {}));
    /** @param {number} z @param {number} turnRate */
    const state = (z, turnRate) => ({ position: [0, 0, z], velocity: [0, 0, 0], acceleration: [0, 0, 0], turnRate });
    const moves = [state(0, 1), state(3, 0), state(3, 1)].map((each) =>
      [0, 1, 2].map((number) => objects.movesSo(SHIP + 1024 * number, /** @type {any} */ (each))));
    equal(JSON.stringify(moves), JSON.stringify([[true, false, false], [false, true, false], [false, false, false]]));
    const denied = [];
    for (let event = objects.pollEvent(); event !== undefined; event = objects.pollEvent()) if (event.event === "denied") denied.push(event.id);
    equal(JSON.stringify(denied), JSON.stringify([SHIP + 1024, SHIP + 2048, SHIP, SHIP + 1024]));
  });

  test("objects: every type of value reads back", () => {
    const description = "game test\nspatial object All: owner a: u8, owner b: u16, owner c: i32, owner d: f32, owner e: f64, owner f: bool, owner g: text,"
      + " owner h: optional text, owner i: list of (u8 and text), owner j: vector, owner k: time, owner l: object,\n";
    const [kind] = parseSchema(description).objects;
    const values = [7, 60000, -70000, 0.5, Math.PI, true, "Ä ✓", null, [[1, "x"], [2, "y"]], [1, -2, 3.5], -5n, SHIP];
    const bytes = values.flatMap((value, field) => [...toBytes(kind.fields[field].codec, value)]);
    const read = splitValues(kind, 2 ** values.length - 1, new Reader(Uint8Array.from(bytes)));
    /** @param {any} all */
    const text = (all) => JSON.stringify(all, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
    equal(text(read.map(([, value]) => value)), text(values));
  });

  test("objects: orientations are kept to a hundredth of a degree", () => {
    const [{ fields: [{ codec }] }] = parseSchema("spatial object Probe: owner o: orientation,\n").objects;
    const random = seededRandom(11);
    for (let round = 0; round < 500; round++) {
      const raw = [0, 1, 2, 3].map(() => random() - 0.5);
      const length = Math.hypot(...raw);
      const value = raw.map((part) => part / length);
      const read = codec.read(new Reader(toBytes(codec, value)));
      const dot = Math.abs(value.reduce((sum, part, place) => sum + part * read[place], 0));
      assert((2 * Math.acos(Math.min(1, dot)) * 180) / Math.PI < 0.01, "too far off");
    }
  });
}

/** Checks the client against `vectors/`: what the Rust machines send and accept. */

import { Rejected, Writer } from "../client/bytes.js";
import { project, velocityAt } from "../client/motion.js";
import { generate } from "../client/owner.js";
import { emitState } from "../client/quantize.js";
import * as sync from "../client/sync-wire.js";
import * as motion from "../client/wire.js";
import { assert, seededRandom, equal, near, test, toHex, unhex } from "./harness.js";

/** @typedef {import("../client/quantize.js").Vec3} Vec3 */

/** @param {any} value */
function textOf(value) {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Uint8Array) return toHex(value);
  const isMoment = typeof value === "object" && value !== null && "elapsed" in value;
  return isMoment ? { ...value, elapsed: String(value.elapsed) } : value;
}

/**
 * Converts a frame to the form used in the file: 64-bit numbers as decimal text.
 * @param {any} frame
 */
function toJson({ turnRate, ...frame }) {
  const json = Object.fromEntries(
    Object.entries(frame).map(([key, value]) => [key, textOf(value)]),
  );
  if (turnRate !== undefined) json.turn_rate = turnRate;
  if ("generated" in json) json.generated = String(BigInt(json.generated) * 1000n);
  if ("arrivals" in json) json.arrivals = json.arrivals.map(toJson);
  return json;
}

/** A protocol's messages. @typedef {{ parse: (bytes: Uint8Array) => any, emit: (message: any) => Uint8Array }} Format */

/**
 * @param {Format} format
 * @param {Uint8Array} bytes
 * @returns {string | null} why they are not a valid message
 */
function rejection(format, bytes) {
  try {
    format.parse(bytes);
    return null;
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return error.reason;
  }
}

/**
 * @param {any} file wire.json
 * @param {any} syncFile sync-ms.json
 */
export function wireTests(file, syncFile) {
  formatTests("wire", file, motion);
  formatTests("Sync-MS wire", syncFile, sync);
}

/**
 * @param {string} what
 * @param {any} file
 * @param {Format} format
 */
function formatTests(what, file, format) {
  for (const { name, hex, content } of file.messages) {
    test(`${what}: ${name}`, () => {
      const message = format.parse(unhex(hex));
      const stamp = message.stamp === null ? null : String(message.stamp);
      equal({ nonce: message.nonce, stamp, frames: message.frames.map(toJson) }, content, "the meaning");
      equal(toHex(format.emit(message)), hex, "the bytes");
      const whole = message.frames.length;
      const bytes = unhex(hex);
      const shorter = [...bytes.keys()].filter((length) => rejection(format, bytes.subarray(0, length)) === null);
      equal(shorter.length, whole, "the number of shorter valid messages");
    });
  }
  for (const { name, reason, hex } of file.refused) {
    test(`${what} rejected: ${name}`, () => equal(rejection(format, unhex(hex)), reason, "the reason"));
  }
  test(`${what}: mutated messages are rejected, or parse to something that comes back unchanged`, () => {
    const draw = seededRandom(1);
    let taken = 0;
    for (let round = 0; round < 20_000; round++) {
      const bytes = unhex(file.messages[Math.floor(draw() * file.messages.length)].hex);
      for (let change = 0; change < 3; change++) bytes[Math.floor(draw() * bytes.length)] = Math.floor(draw() * 256);
      if (rejection(format, bytes) !== null) continue;
      taken += 1;
      equal(toHex(format.emit(format.parse(bytes))), toHex(bytes), `message ${round}`);
    }
    assert(taken > 1000, `only ${taken} of the messages were accepted`);
  });
}

/**
 * @param {any} json
 * @returns {import("../client/quantize.js").MotionState & { kind: import("../client/motion.js").MotionKind }}
 */
function readState({ kind, position, velocity, acceleration, turn_rate }) {
  return { kind, position, velocity, acceleration, turnRate: turn_rate };
}

/** @param {readonly number[]} v */
const size = (v) => Math.hypot(...v);

/** @param {any} file motion.json */
export function motionTests(file) {
  for (const { name, vector, points } of file.paths) {
    test(`path: ${name}`, () => {
      // The vector's own time is the base.
      const placed = { ...readState(vector), generated: 0 };
      for (const point of points) {
        const at = Number(BigInt(point.at) - BigInt(vector.generated));
        const t = Math.abs(at) / 1e9;
        const speed = size(placed.velocity) + size(placed.acceleration) * Math.min(t, 2);
        const bend = vector.kind === "quadratic" ? size(placed.velocity) * Math.abs(placed.turnRate) + size(placed.acceleration) : 0;
        const tolerance = 1e-9 * (speed * t + 0.5 * bend * t * t) + 1e-12;
        const [position, velocity] = [project(placed, at), velocityAt(placed, at)];
        for (const axis of [0, 1, 2]) {
          near(position[axis], point.position[axis], tolerance, `the position after ${t} s, axis ${axis}`);
          near(velocity[axis], point.velocity[axis], 1e-9 * (speed + bend * t) + 1e-12, `the velocity after ${t} s, axis ${axis}`);
        }
      }
    });
  }
  test("every position of every path is within 1e-6 of Rust's", () => {
    let [points, most] = [0, 0];
    for (const path of file.paths) {
      for (const { at, position } of path.points) {
        const found = project({ ...readState(path.vector), generated: 0 }, Number(BigInt(at) - BigInt(path.vector.generated)));
        most = Math.max(most, ...found.map((coordinate, axis) => Math.abs(coordinate - position[axis])));
        points += 1;
      }
    }
    assert(points > 20 && most <= 1e-6, `the largest error of ${points} positions is ${most}`);
  });
  for (const { name, exact, quantized, state_hex } of file.quantized) {
    test(`quantized: ${name}`, () => {
      const { kind, ...state } = readState(exact);
      const found = generate(state, kind, Number(exact.generated));
      assert(found !== null, "it is out of range");
      const { generated, ...rest } = /** @type {import("../client/motion.js").DrVector} */ (found);
      equal(rest, readState(quantized), "the state");
      equal(String(generated), quantized.generated, "the generation time");
      const writer = new Writer();
      emitState(writer, rest);
      equal(toHex(writer.finish()), state_hex, "its bytes");
      const again = generate(rest, kind, generated);
      equal(again, found, "quantized twice");
    });
  }
}

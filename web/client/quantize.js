/**
 * A state of motion in 27 bytes (docs/WIRE.md, "The quantized state").
 *
 * The owner quantizes a vector when it makes it and continues with the quantized one, so that it computes with the same
 * numbers as all receivers.
 */

import { Rejected } from "./bytes.js";

/** @typedef {import("./bytes.js").Reader} Reader */
/** @typedef {import("./bytes.js").Writer} Writer */

/**
 * East, north and up.
 * @typedef {[number, number, number]} Vec3
 */

/**
 * Motion of an entity at an instant. The acceleration leaves out what the turn rate explains: for a vehicle, it is the
 * change of speed.
 * @typedef {object} MotionState
 * @property {Vec3} position
 * @property {Vec3} velocity per second
 * @property {Vec3} acceleration per second squared
 * @property {number} turnRate radians per second; positive to the left, seen from above
 */

/** Largest coordinate of a position, velocity or acceleration. */
export const MAGNITUDE_MAX = 1e9;
/** Largest turn rate: 16 turns per second. */
export const TURN_RATE_MAX = 100;

const EXPONENT_MIN = -64;
const EXPONENT_MAX = 64;
const POSITION_BITS = 24;
const RATE_BITS = 16;
const TURN_RATE_UNIT = 1 / 65_536;

/** 2^e for every exponent, from the least on. */
const POWERS = new Float64Array(EXPONENT_MAX - EXPONENT_MIN + 1);
POWERS[-EXPONENT_MIN] = 1;
for (let e = 1; e <= EXPONENT_MAX; e++) {
  POWERS[e - EXPONENT_MIN] = 2 * POWERS[e - 1 - EXPONENT_MIN];
  POWERS[-e - EXPONENT_MIN] = POWERS[1 - e - EXPONENT_MIN] / 2;
}

/** @param {number} e */
const power = (e) => POWERS[e - EXPONENT_MIN];

const bits64 = new DataView(new ArrayBuffer(8));

/**
 * Returns the largest e with 2^e <= x; far below the least exponent for zero.
 * @param {number} x not negative
 */
function exponentOf(x) {
  bits64.setFloat64(0, x);
  return (bits64.getUint32(0) >>> 20) - 1023;
}

/**
 * Rounds to the nearest 32-bit integer, ties away from zero.
 * @param {number} x
 */
const nearest = (x) => (x < 0 ? x - 0.5 : x + 0.5) | 0;

/** @param {readonly number[]} v */
const largest = (v) => Math.max(Math.abs(v[0]), Math.abs(v[1]), Math.abs(v[2]));

/**
 * Returns three numbers as integers of a given width with a common exponent, the smallest possible.
 * @param {Vec3} v
 * @param {number} bits
 * @returns {{ exponent: number, numbers: Vec3 }}
 */
function toShared(v, bits) {
  const finest = exponentOf(largest(v)) - (bits - 2);
  let exponent = Math.min(Math.max(finest, EXPONENT_MIN), EXPONENT_MAX - 1);
  for (;;) {
    const unit = power(-exponent);
    /** @type {Vec3} */
    const numbers = [nearest(v[0] * unit), nearest(v[1] * unit), nearest(v[2] * unit)];
    // Rounding up may have carried into one more bit.
    if (largest(numbers) < 2 ** (bits - 1) || exponent >= EXPONENT_MAX) return { exponent, numbers };
    exponent += 1;
  }
}

/**
 * Returns a vector as it arrives after quantization.
 * @param {Vec3} v
 * @param {number} bits
 * @returns {Vec3}
 */
function rounded(v, bits) {
  const { exponent, numbers } = toShared(v, bits);
  const unit = power(exponent);
  return [numbers[0] * unit, numbers[1] * unit, numbers[2] * unit];
}

/**
 * @param {Writer} writer
 * @param {Vec3} v
 * @param {number} bits
 */
function emitShared(writer, v, bits) {
  const { exponent, numbers } = toShared(v, bits);
  writer.u8(exponent);
  for (const number of numbers) emitWhole(writer, number, bits);
}

/**
 * @param {Writer} writer
 * @param {number} number
 * @param {number} bits 16 or 24
 */
function emitWhole(writer, number, bits) {
  const at = writer.grow(bits / 8);
  writer.view.setUint16(at, number, true);
  if (bits === 24) writer.view.setUint8(at + 2, number >> 16);
}

/**
 * @param {Reader} reader
 * @param {number} bits
 */
function parseWhole(reader, bits) {
  const at = reader.take(bits / 8);
  if (bits === 16) return reader.view.getInt16(at, true);
  return reader.view.getUint16(at, true) | (reader.view.getInt8(at + 2) << 16);
}

/**
 * @param {Reader} reader
 * @param {number} bits
 * @returns {Vec3}
 */
function parseShared(reader, bits) {
  const exponent = (reader.u8() << 24) >> 24;
  const [x, y, z] = [parseWhole(reader, bits), parseWhole(reader, bits), parseWhole(reader, bits)];
  const size = largest([x, y, z]);
  const isFinest = exponent === EXPONENT_MIN || size >= 2 ** (bits - 2);
  const isInRange = exponent >= EXPONENT_MIN && exponent <= EXPONENT_MAX && size < 2 ** (bits - 1);
  if (!isFinest || !isInRange) throw new Rejected("field");
  const unit = power(exponent);
  return [x * unit, y * unit, z * unit];
}

/**
 * Appends a state, quantized. Quantizing twice changes nothing.
 * @param {Writer} writer
 * @param {MotionState} state
 */
export function emitState(writer, state) {
  emitShared(writer, state.position, POSITION_BITS);
  emitShared(writer, state.velocity, RATE_BITS);
  emitShared(writer, state.acceleration, RATE_BITS);
  emitWhole(writer, nearest(state.turnRate / TURN_RATE_UNIT), 24);
}

/**
 * Parses a state; rejects one that is out of range or not in canonical form.
 * @param {Reader} reader
 * @returns {MotionState}
 */
export function parseState(reader) {
  const state = {
    position: parseShared(reader, POSITION_BITS),
    velocity: parseShared(reader, RATE_BITS),
    acceleration: parseShared(reader, RATE_BITS),
    turnRate: parseWhole(reader, 24) * TURN_RATE_UNIT,
  };
  if (!isSane(state)) throw new Rejected("field");
  return state;
}

/**
 * True if every number is finite and within bounds.
 * @param {MotionState} state
 */
export function isSane(state) {
  const isWithin = (/** @type {Vec3} */ v) => largest(v) <= MAGNITUDE_MAX;
  const areWithin = isWithin(state.position) && isWithin(state.velocity) && isWithin(state.acceleration);
  return areWithin && Math.abs(state.turnRate) <= TURN_RATE_MAX;
}

/**
 * Returns the quantized state, moved back by `early` seconds. Generation times are whole microseconds, rounded down, so
 * the position is moved back by what was cut off.
 * @param {MotionState} state
 * @param {number} early
 * @returns {MotionState}
 */
export function quantize(state, early) {
  const { position: p, velocity: v } = state;
  return {
    position: rounded([p[0] - v[0] * early, p[1] - v[1] * early, p[2] - v[2] * early], POSITION_BITS),
    velocity: rounded(v, RATE_BITS),
    acceleration: rounded(state.acceleration, RATE_BITS),
    turnRate: nearest(state.turnRate / TURN_RATE_UNIT) * TURN_RATE_UNIT,
  };
}

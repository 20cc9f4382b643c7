/** Payloads that are longer than a datagram: cut into parts, and put together again. */

import { OVERHEAD_MAX, PART_LEN_MAX, PARTS_MAX, PAYLOAD_MAX } from "./sync-wire.js";

/** @typedef {import("./sync-wire.js").Part} Part */
/** @typedef {{ number: number, parts: (Uint8Array | undefined)[], missing: number, length: number }} Incomplete */

/** Incomplete payloads that are kept; beyond it the oldest is given up. */
const INCOMPLETE_MAX = 16;

/**
 * Returns the parts of a payload for frames of at most this length; none if there is no room for a sane number of them.
 * @param {Uint8Array} payload
 * @param {number} frameMax
 * @returns {{ part: Part, payload: Uint8Array }[]}
 */
export function split(payload, frameMax) {
  const length = Math.min(Math.max(0, frameMax - OVERHEAD_MAX), PART_LEN_MAX);
  if (payload.length > PAYLOAD_MAX || (length === 0 && payload.length > 0)) return [];
  const count = Math.max(1, Math.ceil(payload.length / Math.max(1, length)));
  if (count > PARTS_MAX) return [];
  return Array.from({ length: count }, (_, index) => ({
    part: { index, count },
    payload: payload.subarray(index * length, (index + 1) * length),
  }));
}

/** Payloads of which some parts have arrived. */
export class PartBuffer {
  /** @type {Incomplete[]} */
  #incomplete = [];

  /**
   * Adds a part of the payload with this number. Returns the payload if it is complete.
   * @param {number} number
   * @param {Part} part
   * @param {Uint8Array} bytes
   * @returns {Uint8Array | null}
   */
  add(number, part, bytes) {
    if (part.count === 1) {
      this.#drop(number);
      return bytes;
    }
    const found = this.#find(number, part.count);
    if (found.parts[part.index] === undefined) {
      found.parts[part.index] = bytes;
      found.length += bytes.length;
      found.missing -= 1;
    }
    if (found.length > PAYLOAD_MAX) this.#drop(number);
    if (found.length > PAYLOAD_MAX || found.missing > 0) return null;
    this.#drop(number);
    const whole = new Uint8Array(found.length);
    let at = 0;
    for (const each of /** @type {Uint8Array[]} */ (found.parts)) {
      whole.set(each, at);
      at += each.length;
    }
    return whole;
  }

  /** @param {number} number */
  #drop(number) {
    this.#incomplete = this.#incomplete.filter((other) => other.number !== number);
  }

  /**
   * Returns the entry of a payload in so many parts. One that was cut otherwise is replaced.
   * @param {number} number
   * @param {number} count
   */
  #find(number, count) {
    const fresh = { number, parts: new Array(count), missing: count, length: 0 };
    const place = this.#incomplete.findIndex((other) => other.number === number);
    if (place < 0) {
      if (this.#incomplete.length === INCOMPLETE_MAX) this.#incomplete.shift();
      this.#incomplete.push(fresh);
      return fresh;
    }
    if (this.#incomplete[place].parts.length !== count) this.#incomplete[place] = fresh;
    return this.#incomplete[place];
  }
}

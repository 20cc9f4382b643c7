/** Minimal test library. Runs in a page, or anywhere else that has ES modules. */

/** @type {{ name: string, body: () => void | Promise<void> }[]} */
const tests = [];

/**
 * Registers a test.
 * @param {string} name a sentence that states a behaviour
 * @param {() => void | Promise<void>} body throws if it does not hold
 */
export function test(name, body) {
  tests.push({ name, body });
}

/** Runs all registered tests, one after the other. */
export async function runAll() {
  /** @type {{ name: string, failure: string | null }[]} */
  const results = [];
  for (const { name, body } of tests) {
    try {
      await body();
      results.push({ name, failure: null });
    } catch (error) {
      results.push({ name, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  }
  return results;
}

/**
 * @param {unknown} condition
 * @param {string} words
 */
export function assert(condition, words) {
  if (!condition) throw new Error(words);
}

/** @param {unknown} value */
const text = (value) => JSON.stringify(value, (_, each) => (typeof each === "bigint" ? `${each}n` : each));

/**
 * @param {unknown} found
 * @param {unknown} expected
 * @param {string} [what]
 */
export function equal(found, expected, what = "it") {
  assert(isSame(found, expected), `${what} is ${text(found)}, not ${text(expected)}`);
}

/**
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
function isSame(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const [left, right] = [Object.keys(a), Object.keys(b)];
  return left.length === right.length && left.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]));
}

/**
 * @param {number} found
 * @param {number} expected
 * @param {number} tolerance
 * @param {string} [what]
 */
export function near(found, expected, tolerance, what = "it") {
  assert(Math.abs(found - expected) <= tolerance, `${what} is ${found}, not ${expected} to ${tolerance}`);
}

/**
 * Returns a generator of reproducible numbers from 0 to 1.
 * @param {number} seed
 */
export function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @param {string} hex */
export function unhex(hex) {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** @param {Uint8Array} bytes */
export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

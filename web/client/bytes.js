/**
 * Reading and writing the numbers that messages are made of (docs/WIRE.md, "Numbers").
 *
 * Numbers of up to 53 bits are JavaScript numbers. Fields that may need 64 bits are `BigInt`s.
 */

/** @typedef {"version" | "truncated" | "unknown tag" | "field" | "unexpected"} RejectReason */

/** Error: bytes are not a valid message. The handler drops the whole message and counts it. */
export class Rejected extends Error {
  /**
   * @param {RejectReason} reason
   * @param {string} [words] detail for people
   */
  constructor(reason, words = reason) {
    super(words);
    this.name = "Refused";
    /** @type {RejectReason} */
    this.reason = reason;
  }
}

/** Varints of up to seven bytes are below this. */
const VARINT_LOW_END = 2 ** 49;
const NUMBER_MAX = BigInt(Number.MAX_SAFE_INTEGER);
const SPAN_END = 1n << 63n;

/** Reads numbers from bytes, front to back. */
export class Reader {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    /** The last varint scanned is low + high * 2^49. */
    this.low = 0;
    this.high = 0;
  }

  get isEmpty() {
    return this.at === this.view.byteLength;
  }

  /**
   * Skips bytes.
   * @param {number} count
   * @returns {number} offset of the first byte skipped
   */
  take(count) {
    const at = this.at;
    if (count > this.view.byteLength - at) throw new Rejected("truncated");
    this.at = at + count;
    return at;
  }

  u8() {
    return this.view.getUint8(this.take(1));
  }

  u16() {
    return this.view.getUint16(this.take(2), true);
  }

  u32() {
    return this.view.getUint32(this.take(4), true);
  }

  i64() {
    return this.view.getBigInt64(this.take(8), true);
  }

  f64() {
    return this.view.getFloat64(this.take(8), true);
  }

  /** Reads a number below 2^32. */
  varint32() {
    this.#scan();
    if (this.high !== 0 || this.low > 0xffff_ffff) throw new Rejected("field");
    return this.low;
  }

  /** Reads a number below 2^64. */
  varint() {
    this.#scan();
    const low = BigInt(this.low);
    return this.high === 0 ? low : low | (BigInt(this.high) << 49n);
  }

  /** Reads a signed 64-bit number. */
  zigzag() {
    const value = this.varint();
    return (value >> 1n) ^ -(value & 1n);
  }

  /** Reads a signed number; rejects it if it needs more than 53 bits. */
  zigzag53() {
    this.#scan();
    const value = this.low + this.high * VARINT_LOW_END;
    if (value > Number.MAX_SAFE_INTEGER) throw new Rejected("field");
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Reads a duration below 2^63 ns. */
  span() {
    const value = this.varint();
    if (value >= SPAN_END) throw new Rejected("field");
    return value;
  }

  #scan() {
    let scale = 1;
    this.low = 0;
    this.high = 0;
    for (let place = 0; ; place++) {
      const byte = this.u8();
      // The tenth byte holds a single bit, and a trailing zero byte is not the shortest form.
      if ((place === 9 && byte !== 1) || (place > 0 && byte === 0)) throw new Rejected("field");
      if (place === 7) scale = 1;
      if (place < 7) this.low += (byte & 0x7f) * scale;
      else this.high += (byte & 0x7f) * scale;
      if (byte < 0x80) return;
      scale *= 128;
    }
  }
}

/** Appends numbers to a growing buffer. */
export class Writer {
  constructor(capacity = 128) {
    this.bytes = new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
    this.length = 0;
  }

  /**
   * Appends uninitialized bytes.
   * @param {number} count
   * @returns {number} offset of the first one
   */
  grow(count) {
    const at = this.length;
    this.length = at + count;
    if (this.length > this.bytes.length) {
      const wider = new Uint8Array(Math.max(2 * this.bytes.length, this.length));
      wider.set(this.bytes);
      this.bytes = wider;
      this.view = new DataView(wider.buffer);
    }
    return at;
  }

  /**
   * Drops everything beyond a length.
   * @param {number} length
   */
  truncate(length) {
    this.length = length;
  }

  /** Returns a copy of the bytes written. */
  finish() {
    return this.bytes.slice(0, this.length);
  }

  /** @param {number} value */
  u8(value) {
    const at = this.grow(1);
    this.view.setUint8(at, value);
  }

  /** @param {number} value */
  u32(value) {
    const at = this.grow(4);
    this.view.setUint32(at, value, true);
  }

  /** @param {bigint} value */
  i64(value) {
    const at = this.grow(8);
    this.view.setBigInt64(at, value, true);
  }

  /** @param {number} value */
  f64(value) {
    const at = this.grow(8);
    this.view.setFloat64(at, value, true);
  }

  /**
   * Writes a whole number from 0 to 2^53 - 1.
   * @param {number} value
   */
  varint53(value) {
    while (value >= 128) {
      this.u8((value % 128) | 0x80);
      value = Math.floor(value / 128);
    }
    this.u8(value);
  }

  /** @param {bigint} value */
  varint(value) {
    while (value > NUMBER_MAX) {
      this.u8(Number(value & 0x7fn) | 0x80);
      value >>= 7n;
    }
    this.varint53(Number(value));
  }

  /** @param {bigint} value */
  zigzag(value) {
    this.varint(value >= 0n ? value << 1n : (-value << 1n) - 1n);
  }

  /**
   * Writes a whole number of up to 52 bits and a sign.
   * @param {number} value
   */
  zigzag53(value) {
    this.varint53(value >= 0 ? 2 * value : -2 * value - 1);
  }
}

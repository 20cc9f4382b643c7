/**
 * Messages of objects and typed messages (docs/WIRE-OBJECTS.md), and the values of a game's schema.
 *
 * A schema is its description: the text that the relay compares, and that `Schema::description` of the Rust crate
 * `evenkeel-objects` returns.
 */

import { Reader, Rejected, Writer } from "./bytes.js";

/** First byte of every message. */
export const OBJECTS_VERSION = 0x51;
/** Tags of frames on the reliable stream. */
export const TAGS = Object.freeze({
  packet: 0, hello: 1, welcome: 2, refused: 3, create: 4, gone: 5, owned: 6, adopt: 7, give: 8, denied: 9, call: 10, drop: 11,
  unheard: 12,
});
/** Begins the fields of objects in a packet. */
const STATES = 8;
const SLOTS_MAX = 8192;
const LENGTH_MAX = 512;
/** The guarantees of messages, in the order of their tags. */
export const DELIVERIES = Object.freeze(["ordered", "unordered", "unreliable", "recent", "quickest"]);

/** @typedef {{ read: (reader: Reader) => any, write: (writer: Writer, value: any) => void, initial: any }} Codec */
/** @typedef {{ name: string, writer: "owner" | "server", codec: Codec }} FieldKind */
/** @typedef {{ name: string, motion: string, fields: FieldKind[] }} ObjectKind */
/** @typedef {{ name: string, parts: { name: string, codec: Codec }[] }} MessageKind */
/** @typedef {{ text: string, objects: ObjectKind[], messages: MessageKind[] }} Schema */
/** @typedef {{ to: "server" } | { to: "room" } | { to: "player", player: number } | { to: "scope", object: number }} Party */
/** @typedef {{ delivery: number, number: number, party: Party, kind: number, bytes: Uint8Array }} Call */

const text = new TextEncoder();
const untext = new TextDecoder("utf-8", { fatal: true });

/** @param {Reader} reader */
function varint53(reader) {
  const value = reader.varint();
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new Rejected("field");
  return Number(value);
}

/**
 * @param {Reader} reader
 * @param {number} length
 */
export function takeBytes(reader, length) {
  const at = reader.take(length);
  return new Uint8Array(reader.view.buffer, reader.view.byteOffset + at, length).slice();
}

/**
 * @param {Writer} writer
 * @param {Uint8Array} bytes
 */
export function putBytes(writer, bytes) {
  const at = writer.grow(bytes.length);
  writer.bytes.set(bytes, at);
}

/**
 * @param {Reader} reader
 * @param {number} most
 */
function readText(reader, most) {
  const length = varint53(reader);
  if (length > most) throw new Rejected("field");
  try {
    return untext.decode(takeBytes(reader, length));
  } catch (error) {
    if (error instanceof Rejected) throw error;
    throw new Rejected("field");
  }
}

/**
 * @param {Writer} writer
 * @param {string} value
 */
function writeText(writer, value) {
  const bytes = text.encode(value);
  writer.varint53(bytes.length);
  putBytes(writer, bytes);
}

/**
 * @param {(reader: Reader) => any} read
 * @param {(writer: Writer, value: any) => void} write
 * @param {any} initial
 * @returns {Codec}
 */
const codec = (read, write, initial) => ({ read, write, initial });

/** @param {number} bits */
const unsigned = (bits) =>
  codec((reader) => {
    const value = varint53(reader);
    if (value >= 2 ** bits) throw new Rejected("field");
    return value;
  }, (writer, value) => writer.varint53(value), 0);

/** @param {number} bits */
const signed = (bits) =>
  codec((reader) => {
    const value = reader.zigzag53();
    if (value < -(2 ** (bits - 1)) || value >= 2 ** (bits - 1)) throw new Rejected("field");
    return value;
  }, (writer, value) => writer.zigzag53(value), 0);

const OBJECT = codec((reader) => reader.u32(), (writer, value) => writer.u32(value), 0);
const F64 = codec((reader) => reader.f64(), (writer, value) => writer.f64(value), 0);
const TIME = codec((reader) => reader.i64(), (writer, value) => writer.i64(value), 0n);
const BOOL = codec(
  (reader) => {
    const value = reader.u8();
    if (value > 1) throw new Rejected("field");
    return value === 1;
  },
  (writer, value) => writer.u8(value ? 1 : 0),
  false,
);
const F32 = codec(
  (reader) => reader.view.getFloat32(reader.take(4), true),
  (writer, value) => {
    const at = writer.grow(4);
    writer.view.setFloat32(at, value, true);
  },
  0,
);
const VECTOR = codec(
  (reader) => [reader.f64(), reader.f64(), reader.f64()],
  (writer, value) => [0, 1, 2].forEach((axis) => writer.f64(value[axis] ?? 0)),
  [0, 0, 0],
);

const PART = 1 / (16383 * Math.SQRT2);
/** A unit quaternion `[w, x, y, z]` in 6 bytes. */
const ORIENTATION = codec(
  (reader) => {
    const [low, middle, high] = [reader.u16(), reader.u16(), reader.u16()];
    let bits = low + middle * 2 ** 16 + high * 2 ** 32;
    const parts = [0, 0, 0, 0];
    const largest = Math.floor(bits / 2 ** 45);
    if (largest > 3) throw new Rejected("field");
    for (let place = 3; place >= 0; place--) {
      if (place === largest) continue;
      const number = bits % 2 ** 15;
      if (number === 0) throw new Rejected("field");
      parts[place] = (number - 16384) * PART;
      bits = Math.floor(bits / 2 ** 15);
    }
    const rest = 1 - parts.reduce((sum, part) => sum + part * part, 0);
    if (rest < 0) throw new Rejected("field");
    parts[largest] = Math.sqrt(rest);
    return parts;
  },
  (writer, value) => {
    const largest = [0, 1, 2, 3].reduce((a, b) => (Math.abs(value[b]) >= Math.abs(value[a]) ? b : a));
    const sign = value[largest] < 0 ? -1 : 1;
    let bits = largest;
    for (let place = 0; place < 4; place++) {
      if (place === largest) continue;
      const number = Math.max(-16383, Math.min(16383, Math.round((sign * value[place]) / PART)));
      bits = bits * 2 ** 15 + number + 16384;
    }
    for (let byte = 0; byte < 6; byte++) writer.u8(Math.floor(bits / 2 ** (8 * byte)) % 256);
  },
  [1, 0, 0, 0],
);
const RATE = 1 / 256;
/** An orientation that turns: `{ from, rate, at }`, the time in nanoseconds as a `BigInt`. */
const SPIN = codec(
  (reader) => {
    const from = ORIENTATION.read(reader);
    const rate = [0, 1, 2].map(() => reader.view.getInt16(reader.take(2), true) * RATE);
    return { from, rate, at: reader.i64() };
  },
  (writer, { from, rate, at }) => {
    ORIENTATION.write(writer, from);
    for (const axis of rate) {
      const place = writer.grow(2);
      writer.view.setInt16(place, Math.max(-32768, Math.min(32767, Math.round(axis / RATE))), true);
    }
    writer.i64(at);
  },
  { from: [1, 0, 0, 0], rate: [0, 0, 0], at: 0n },
);

/** @type {Record<string, Codec>} */
const TYPES = {
  bool: BOOL, f32: F32, f64: F64, object: OBJECT, time: TIME, vector: VECTOR, orientation: ORIENTATION, spin: SPIN,
  u8: codec((reader) => reader.u8(), (writer, value) => writer.u8(value), 0),
  u16: unsigned(16), u32: unsigned(32), u64: unsigned(53), i8: signed(8), i16: signed(16), i32: signed(32), i64: signed(53),
  player: unsigned(32),
  text: codec((reader) => readText(reader, LENGTH_MAX), writeText, ""),
};

/**
 * @param {string} type
 * @returns {Codec}
 */
function typeOf(type) {
  if (type in TYPES) return TYPES[type];
  if (type.startsWith("optional ")) {
    const inner = typeOf(type.slice(9));
    return codec(
      (reader) => (BOOL.read(reader) ? inner.read(reader) : null),
      (writer, value) => {
        BOOL.write(writer, value !== null);
        if (value !== null) inner.write(writer, value);
      },
      null,
    );
  }
  if (type.startsWith("list of ")) {
    const inner = typeOf(type.slice(8));
    return codec(
      (reader) => {
        const count = varint53(reader);
        if (count > LENGTH_MAX) throw new Rejected("field");
        return Array.from({ length: count }, () => inner.read(reader));
      },
      (writer, value) => {
        writer.varint53(value.length);
        for (const each of value) inner.write(writer, each);
      },
      [],
    );
  }
  if (type.startsWith("(") && type.endsWith(")")) {
    let depth = 0;
    for (let at = 1; at < type.length; at++) {
      if (type[at] === "(") depth += 1;
      if (type[at] === ")") depth -= 1;
      if (depth === 0 && type.startsWith(" and ", at)) {
        const [one, other] = [typeOf(type.slice(1, at)), typeOf(type.slice(at + 5, -1))];
        return codec(
          (reader) => [one.read(reader), other.read(reader)],
          (writer, value) => {
            one.write(writer, value[0]);
            other.write(writer, value[1]);
          },
          [one.initial, other.initial],
        );
      }
    }
  }
  throw new RangeError(`the schema has a type that this client does not know: ${type}`);
}

/** @param {string} parts */
const splitParts = (parts) => parts.split(",").map((part) => part.trim()).filter((part) => part !== "");

/**
 * Reads a schema's description; throws `RangeError` if it is none.
 * @param {string} description
 * @returns {Schema}
 */
export function parseSchema(description) {
  /** @type {Schema} */
  const schema = { text: description, objects: [], messages: [] };
  for (const line of description.split("\n")) {
    const object = /^(still|planar|spatial) object (\w+):(.*)$/.exec(line);
    const message = /^message (\w+):(.*)$/.exec(line);
    if (object !== null) {
      const fields = splitParts(object[3]).map((part) => {
        const field = /^(owner|server) (\w+): (.+)$/.exec(part);
        if (field === null) throw new RangeError(`the schema has a field that cannot be read: ${part}`);
        return { name: field[2], writer: /** @type {"owner" | "server"} */ (field[1]), codec: typeOf(field[3]) };
      });
      schema.objects.push({ name: object[2], motion: object[1], fields });
    } else if (message !== null) {
      const parts = splitParts(message[2]).map((part) => {
        const [name, type] = part.split(": ");
        return { name, codec: typeOf(type) };
      });
      schema.messages.push({ name: message[1], parts });
    } else if (line !== "" && !line.startsWith("game ")) {
      throw new RangeError(`the schema has a line that cannot be read: ${line}`);
    }
  }
  return schema;
}

/**
 * @param {Codec} codec
 * @param {any} value
 */
export function toBytes(codec, value) {
  const writer = new Writer(16);
  codec.write(writer, value);
  return writer.finish();
}

/**
 * Splits the values of some fields, one behind the other.
 * @param {ObjectKind} kind
 * @param {number} set the fields, by bits
 * @param {Reader} reader
 * @returns {[number, any][]}
 */
export function splitValues(kind, set, reader) {
  /** @type {[number, any][]} */
  const values = [];
  for (let field = 0; field < 32; field++) {
    if (((set >>> field) & 1) === 0) continue;
    if (field >= kind.fields.length) throw new Rejected("field");
    values.push([field, kind.fields[field].codec.read(reader)]);
  }
  if (!reader.isEmpty) throw new Rejected("field");
  return values;
}

/** @param {Reader} reader @returns {Party} */
export function readParty(reader) {
  const tag = reader.u8();
  if (tag === 0) return { to: "server" };
  if (tag === 1) return { to: "room" };
  if (tag === 2) return { to: "player", player: reader.varint32() };
  if (tag === 3) return { to: "scope", object: reader.u32() };
  throw new Rejected("unknown tag");
}

/** @param {Writer} writer @param {Party} party */
function writeParty(writer, party) {
  writer.u8(["server", "room", "player", "scope"].indexOf(party.to));
  if (party.to === "player") writer.varint53(party.player);
  if (party.to === "scope") writer.u32(party.object);
}

/** @param {Writer} writer @param {Call} call */
export function writeCall(writer, { delivery, number, party, kind, bytes }) {
  writer.u8(delivery);
  writer.varint53(number);
  writeParty(writer, party);
  writer.varint53(kind);
  writer.varint53(bytes.length);
  putBytes(writer, bytes);
}

/** @param {Reader} reader @returns {Call} */
export function readCall(reader) {
  const delivery = reader.u8();
  if (delivery >= DELIVERIES.length) throw new Rejected("unknown tag");
  const [number, party, kind, length] = [varint53(reader), readParty(reader), varint53(reader), varint53(reader)];
  if (length > (delivery < 2 ? 16384 : 900)) throw new Rejected("field");
  return { delivery, number, party, kind, bytes: takeBytes(reader, length) };
}

/** @param {Reader} reader */
export function readSlot(reader) {
  const slot = varint53(reader);
  if (slot >= SLOTS_MAX) throw new Rejected("field");
  return slot;
}

/** @typedef {{ number: number, newest: number, missing: bigint, received: number, sent: number, calls: Call[], states: { slot: number, set: number, values: Uint8Array }[] }} Packet */

/** @param {Reader} reader behind the first byte @returns {Packet} */
export function readPacket(reader) {
  const [number, newest, missing] = [varint53(reader), varint53(reader), reader.varint()];
  const [received, sent] = [varint53(reader), varint53(reader)];
  /** @type {Packet} */
  const packet = { number, newest, missing, received, sent, calls: [], states: [] };
  while (!reader.isEmpty) {
    if (reader.view.getUint8(reader.at) !== STATES) {
      packet.calls.push(readCall(reader));
      continue;
    }
    reader.take(1);
    while (!reader.isEmpty) {
      const slot = readSlot(reader);
      const body = new Reader(takeBytes(reader, varint53(reader)));
      const set = body.varint32();
      packet.states.push({ slot, set, values: takeBytes(body, body.view.byteLength - body.at) });
    }
  }
  return packet;
}

export { readText, STATES, varint53, writeText };

/**
 * Messages: `parse` and `emit` for every frame of docs/WIRE.md, version 1.
 *
 * Stamps and the times and numbers of rare frames are `BigInt`s of nanoseconds. Vectors are frequent, and their
 * generation times are whole microseconds, which fit a `Number` exactly within the range of the format (2^60 ns):
 * `generated` is a `Number` of microseconds since the session's origin.
 */

import { Reader, Rejected, Writer } from "./bytes.js";
import { KINDS } from "./motion.js";
import { emitState, parseState } from "./quantize.js";

/** @typedef {import("./motion.js").MotionKind} MotionKind */
/** @typedef {import("./quantize.js").MotionState} MotionState */

/** @typedef {{ entity: number, seq: number, at: bigint, nonce: number }} Arrival */
/** @typedef {MotionState & { entity: number, first: number, seq: number, kind: MotionKind, generated: number }} VectorFields */
/** @typedef {VectorFields & { frame: "vector" }} VectorFrame */
/** @typedef {VectorFields & { frame: "introduce", distance: number, heartbeat: bigint | null }} IntroduceFrame */
/** @typedef {{ frame: "feedback", oldest: bigint, first: bigint, arrivals: Arrival[] }} FeedbackFrame */
/** @typedef {{ frame: "confirm", next: bigint, stamp: bigint, held: bigint, hole: boolean }} ConfirmFrame */
/** @typedef {{ frame: "recorded", entity: number, contiguous: number, newest: number }} RecordedFrame */
/** @typedef {{ frame: "ended", entity: number, last: number, at: bigint }} EndedFrame */
/** @typedef {{ frame: "probe", sent: bigint }} ProbeFrame */
/** @typedef {{ frame: "echo", probe: bigint, arrived: bigint, held: bigint }} EchoFrame */
/**
 * @typedef {VectorFrame | IntroduceFrame | FeedbackFrame | ConfirmFrame | RecordedFrame | EndedFrame | ProbeFrame | EchoFrame} Frame
 */
/** @typedef {{ nonce: number, stamp: bigint | null, frames: Frame[] }} Message */

export const VERSION = 1;
/** First byte of a game message. This client does not look further into it, and no version uses this number. */
export const GAME = 0x47;
/** Longest reliable message, in bytes. */
export const MESSAGE_MAX = 64 * 1024;
/** Size of a header. */
export const HEADER_LEN = 13;
/** Size of the largest clock frame. */
export const CLOCK_LEN_MAX = 28;
/** Size of the largest feedback frame without its arrivals, and of an arrival in a run of its own. */
export const FEEDBACK_LEN_MAX = 22;
export const RUN_LEN_MAX = 25;
/** Arrivals in one feedback frame. */
export const FEEDBACK_MAX = 255;

const INTRODUCE = 0x14;
const FEEDBACK = 0x20;
const CONFIRM = 0x21;
const CONFIRM_HOLE = 0x22;
const RECORDED = 0x30;
const ENDED = 0x31;
export const CLOCK = 0x40;
const VECTOR = 0x80;
const PROBE = 0;
const ECHO = 1;

/** Stands for "no session time". */
export const NO_STAMP = -(1n << 63n);
/** Bound of session times on the wire, in nanoseconds and in whole microseconds. */
export const TIME_MAX = 1n << 60n;
const MICROS_MAX = Number(TIME_MAX / 1000n);
const NUMBER_MAX = (1n << 63n) - 1n;
/** Sequence numbers are below this. */
const SEQ_END = 0xffff_ffff;

/**
 * Returns a time in whole microseconds, rounded down.
 * @param {bigint} nanos
 */
export function micros(nanos) {
  const whole = nanos / 1000n;
  return Number(nanos % 1000n < 0n ? whole - 1n : whole);
}

/**
 * Returns a time unchanged if it is within bounds; throws otherwise.
 * @param {bigint} at
 * @returns {bigint}
 */
export function checkTime(at) {
  if (at > TIME_MAX || at < -TIME_MAX) throw new Rejected("field");
  return at;
}

/**
 * Parses a whole message; throws `Rejected` if it is malformed.
 * @param {Uint8Array} bytes
 * @returns {Message}
 */
export function parse(bytes) {
  const reader = new Reader(bytes);
  const version = reader.u8();
  if (version !== VERSION) {
    throw new Rejected("version", `received a message of version ${version}; this client speaks version ${VERSION}`);
  }
  const nonce = reader.u32();
  const nanos = reader.i64();
  const stamp = nanos === NO_STAMP ? null : checkTime(nanos);
  const stampMicros = stamp === null ? 0 : micros(stamp);
  /** @type {Frame[]} */
  const frames = [];
  while (!reader.isEmpty) {
    const tag = reader.u8();
    if (tag === CLOCK) frames.push(parseClock(reader));
    else if (stamp === null) throw new Rejected("field");
    else if (tag >= VECTOR) frames.push({ frame: "vector", ...parseVector(reader, tag, stampMicros) });
    else frames.push(parseRare(reader, tag, stamp, stampMicros));
  }
  return { nonce, stamp, frames };
}

/**
 * @param {Reader} reader
 * @param {number} tag
 * @param {bigint} stamp
 * @param {number} stampMicros
 * @returns {Frame}
 */
function parseRare(reader, tag, stamp, stampMicros) {
  switch (tag) {
    case INTRODUCE:
      return parseIntroduce(reader, stampMicros);
    case FEEDBACK:
      return parseFeedback(reader, stamp);
    case CONFIRM:
    case CONFIRM_HOLE: {
      const next = reader.varint();
      const given = parseTimeBefore(reader, stamp);
      return { frame: "confirm", next, stamp: given, held: reader.span(), hole: tag === CONFIRM_HOLE };
    }
    case RECORDED: {
      const [entity, contiguous] = [reader.varint32(), reader.varint32()];
      return { frame: "recorded", entity, contiguous, newest: reader.varint32() };
    }
    case ENDED: {
      const [entity, last] = [reader.varint32(), reader.varint32()];
      return { frame: "ended", entity, last, at: parseTimeBefore(reader, stamp) };
    }
    default:
      throw new Rejected("unknown tag");
  }
}

/**
 * @param {Reader} reader
 * @returns {ProbeFrame | EchoFrame}
 */
export function parseClock(reader) {
  const which = reader.u8();
  if (which === PROBE) return { frame: "probe", sent: reader.i64() };
  if (which !== ECHO) throw new Rejected("unknown tag");
  const [probe, arrived] = [reader.i64(), reader.i64()];
  return { frame: "echo", probe, arrived, held: reader.span() };
}

/**
 * @param {Reader} reader
 * @param {bigint} stamp
 */
export function parseTimeBefore(reader, stamp) {
  return checkTime(stamp - reader.zigzag());
}

/**
 * @param {Reader} reader
 * @param {number} tag
 * @param {number} stampMicros
 * @returns {VectorFields}
 */
function parseVector(reader, tag, stampMicros) {
  if (tag < VECTOR) throw new Rejected("unknown tag");
  const kind = KINDS[(tag >> 5) & 3];
  const [entity, first] = [reader.varint32(), reader.varint32()];
  const seq = first + reader.varint32() * 32 + (tag & 31);
  if (seq >= SEQ_END) throw new Rejected("field");
  const generated = stampMicros - reader.zigzag53();
  const state = parseState(reader);
  if (Math.abs(generated) > MICROS_MAX) throw new Rejected("field");
  return { entity, first, seq, kind, generated, ...state };
}

/**
 * @param {Reader} reader
 * @param {number} stampMicros
 * @returns {IntroduceFrame}
 */
function parseIntroduce(reader, stampMicros) {
  const distance = reader.f64();
  const heartbeat = reader.span();
  if (!Number.isFinite(distance) || distance < 0 || Object.is(distance, -0)) throw new Rejected("field");
  const fields = parseVector(reader, reader.u8(), stampMicros);
  return { frame: "introduce", ...fields, distance, heartbeat: heartbeat === 0n ? null : heartbeat };
}

/**
 * @param {Reader} reader
 * @param {bigint} stamp
 * @returns {FeedbackFrame}
 */
function parseFeedback(reader, stamp) {
  const oldest = reader.varint();
  const first = oldest + reader.varint();
  if (first > NUMBER_MAX) throw new Rejected("field");
  const count = reader.u8();
  /** @type {Arrival[]} */
  const arrivals = [];
  while (arrivals.length < count) {
    const before = arrivals.at(-1);
    const nonce = reader.u32();
    const at = parseTimeBefore(reader, stamp);
    const length = reader.u8();
    if (length === 0 || length > count - arrivals.length) throw new Rejected("field");
    for (let place = 0; place < length; place++) {
      const entity = reader.varint32();
      arrivals.push({ entity, seq: reader.varint32(), at, nonce });
    }
    // Two adjacent runs with the same nonce and time must have been one.
    if (before !== undefined && before.nonce === nonce && before.at === at) throw new Rejected("field");
  }
  return { frame: "feedback", oldest, first, arrivals };
}

/**
 * Emits a whole message.
 * @param {Message} message
 * @returns {Uint8Array}
 */
export function emit(message) {
  const writer = new Writer();
  emitHeader(writer, message.nonce, message.stamp);
  for (const frame of message.frames) emitFrame(writer, frame, message.stamp ?? 0n);
  return writer.finish();
}

/**
 * @param {Writer} writer
 * @param {number} nonce
 * @param {bigint | null} stamp
 */
export function emitHeader(writer, nonce, stamp) {
  writer.u8(VERSION);
  writer.u32(nonce);
  writer.i64(stamp ?? NO_STAMP);
}

/**
 * Appends a frame to a message with this stamp.
 * @param {Writer} writer
 * @param {Frame} frame
 * @param {bigint} stamp
 */
export function emitFrame(writer, frame, stamp) {
  switch (frame.frame) {
    case "vector":
      return emitVector(writer, frame, stamp);
    case "introduce":
      writer.u8(INTRODUCE);
      writer.f64(frame.distance);
      writer.varint(frame.heartbeat ?? 0n);
      return emitVector(writer, frame, stamp);
    case "feedback":
      return emitFeedback(writer, frame, stamp);
    case "confirm":
      writer.u8(frame.hole ? CONFIRM_HOLE : CONFIRM);
      writer.varint(frame.next);
      writer.zigzag(stamp - frame.stamp);
      return writer.varint(frame.held);
    case "recorded":
      writer.u8(RECORDED);
      writer.varint53(frame.entity);
      writer.varint53(frame.contiguous);
      return writer.varint53(frame.newest);
    case "ended":
      writer.u8(ENDED);
      writer.varint53(frame.entity);
      writer.varint53(frame.last);
      return writer.zigzag(stamp - frame.at);
    case "probe":
      writer.u8(CLOCK);
      writer.u8(PROBE);
      return writer.i64(frame.sent);
    case "echo":
      writer.u8(CLOCK);
      writer.u8(ECHO);
      writer.i64(frame.probe);
      writer.i64(frame.arrived);
      return writer.varint(frame.held);
  }
}

/**
 * @param {Writer} writer
 * @param {VectorFields} frame
 * @param {bigint} stamp
 */
function emitVector(writer, frame, stamp) {
  const life = frame.seq - frame.first;
  writer.u8(VECTOR | (KINDS.indexOf(frame.kind) << 5) | (life & 31));
  writer.varint53(frame.entity);
  writer.varint53(frame.first);
  writer.varint53(Math.floor(life / 32));
  writer.zigzag53(micros(stamp) - frame.generated);
  emitState(writer, frame);
}

/**
 * @param {Writer} writer
 * @param {FeedbackFrame} frame
 * @param {bigint} stamp
 */
function emitFeedback(writer, { oldest, first, arrivals }, stamp) {
  writer.u8(FEEDBACK);
  writer.varint(oldest);
  writer.varint(first - oldest);
  writer.u8(arrivals.length);
  let run = 0;
  while (run < arrivals.length) {
    const { nonce, at } = arrivals[run];
    let end = run + 1;
    while (end < arrivals.length && arrivals[end].nonce === nonce && arrivals[end].at === at) end++;
    writer.u32(nonce);
    writer.zigzag(stamp - at);
    writer.u8(end - run);
    for (; run < end; run++) {
      writer.varint53(arrivals[run].entity);
      writer.varint53(arrivals[run].seq);
    }
  }
}

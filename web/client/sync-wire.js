/**
 * Messages of Sync-MS: `parse` and `emit` for every frame of docs/WIRE-SYNC-MS.md, version 33.
 *
 * Times are `BigInt`s of nanoseconds, as in `wire.js`.
 */

import { Reader, Rejected, Writer } from "./bytes.js";
import { checkTime, CLOCK, emitFrame as emitClockFrame, NO_STAMP, parseClock, parseTimeBefore, TIME_MAX } from "./wire.js";

/** A time since an update was shown. @typedef {{ update: number, elapsed: bigint }} Moment */
/** Which part of a payload a frame holds. @typedef {{ index: number, count: number }} Part */
/** @typedef {{ frame: "action", seq: number, reaction: Moment | null, sent: bigint | null, part: Part, payload: Uint8Array }} ActionFrame */
/** @typedef {{ frame: "promise", next: number, moment: Moment }} PromiseFrame */
/** @typedef {{ frame: "heard", update: number, delay: bigint }} HeardFrame */
/** @typedef {{ frame: "pong", nonce: number }} PongFrame */
/** @typedef {{ frame: "update", id: number, stamp: bigint, hold: bigint, part: Part, payload: Uint8Array }} UpdateFrame */
/** @typedef {{ frame: "ping", heartbeat: bigint }} PingFrame */
/** @typedef {ActionFrame | PromiseFrame | HeardFrame | PongFrame | UpdateFrame | PingFrame | import("./wire.js").ProbeFrame | import("./wire.js").EchoFrame} SyncFrame */
/** @typedef {{ nonce: number, stamp: bigint | null, frames: SyncFrame[] }} SyncMessage */

/** First byte of every message. Those of other versions share its higher half. */
export const SYNC_VERSION = 0x21;
/** Longest action or update. */
export const PAYLOAD_MAX = 65_507;
/** Longest part of one in a frame, and the most parts. */
export const PART_LEN_MAX = 32_768;
export const PARTS_MAX = 1_024;
/** Size of the largest action or update frame without its payload. */
export const OVERHEAD_MAX = 39;

const ACTION = 0x01;
const PROMISE = 0x02;
const HEARD = 0x03;
const PONG = 0x04;
const UPDATE = 0x10;
const PING = 0x11;

const HAS_REACTION = 1;
const HAS_SENT = 2;
const IS_PART = 4;

/**
 * Returns whether a message is of Sync-MS, in whatever version.
 * @param {Uint8Array} bytes
 */
export function isSync(bytes) {
  return bytes[0] >> 4 === SYNC_VERSION >> 4;
}

/**
 * Parses a whole message; throws `Rejected` if it is malformed.
 * @param {Uint8Array} bytes
 * @returns {SyncMessage}
 */
export function parse(bytes) {
  const reader = new Reader(bytes);
  const version = reader.u8();
  if (version !== SYNC_VERSION) {
    throw new Rejected("version", `received a message of version ${version}; this client speaks version ${SYNC_VERSION}`);
  }
  const nonce = reader.u32();
  const nanos = reader.i64();
  const stamp = nanos === NO_STAMP ? null : checkTime(nanos);
  /** @type {SyncFrame[]} */
  const frames = [];
  while (!reader.isEmpty) frames.push(parseFrame(reader, stamp));
  return { nonce, stamp, frames };
}

/**
 * @param {Reader} reader
 * @param {bigint | null} stamp
 * @returns {SyncFrame}
 */
function parseFrame(reader, stamp) {
  switch (reader.u8()) {
    case CLOCK:
      return parseClock(reader);
    case ACTION:
      return parseAction(reader, stamp);
    case PROMISE:
      return { frame: "promise", next: reader.varint32(), moment: parseMoment(reader) };
    case HEARD:
      return { frame: "heard", update: reader.varint32(), delay: parseSpan(reader.zigzag()) };
    case PONG:
      return { frame: "pong", nonce: reader.u32() };
    case UPDATE:
      return parseUpdate(reader, stamp);
    case PING:
      return { frame: "ping", heartbeat: parseSpan(reader.span()) };
    default:
      throw new Rejected("unknown tag");
  }
}

/**
 * @param {Reader} reader
 * @param {bigint | null} stamp
 * @returns {ActionFrame}
 */
function parseAction(reader, stamp) {
  const flags = parseFlags(reader, HAS_REACTION | HAS_SENT | IS_PART);
  const [seq, part] = [reader.varint32(), parsePart(reader, flags)];
  const reaction = flags & HAS_REACTION ? parseMoment(reader) : null;
  if (flags & HAS_SENT && stamp === null) throw new Rejected("field");
  const sent = flags & HAS_SENT ? parseTimeBefore(reader, stamp ?? 0n) : null;
  return { frame: "action", seq, reaction, sent, part, payload: parsePayload(reader) };
}

/**
 * @param {Reader} reader
 * @param {bigint | null} stamp
 * @returns {UpdateFrame}
 */
function parseUpdate(reader, stamp) {
  const flags = parseFlags(reader, IS_PART);
  const [id, part] = [reader.varint32(), parsePart(reader, flags)];
  if (stamp === null) throw new Rejected("field");
  const sent = parseTimeBefore(reader, stamp);
  return { frame: "update", id, stamp: sent, hold: parseSpan(reader.span()), part, payload: parsePayload(reader) };
}

/**
 * @param {Reader} reader
 * @param {number} known
 */
function parseFlags(reader, known) {
  const flags = reader.u8();
  if ((flags & ~known) !== 0) throw new Rejected("field");
  return flags;
}

/**
 * @param {Reader} reader
 * @param {number} flags
 * @returns {Part}
 */
function parsePart(reader, flags) {
  if ((flags & IS_PART) === 0) return { index: 0, count: 1 };
  const [index, count] = [reader.varint32(), reader.varint32()];
  if (count < 2 || count > PARTS_MAX || index >= count) throw new Rejected("field");
  return { index, count };
}

/**
 * @param {Reader} reader
 * @returns {Moment}
 */
function parseMoment(reader) {
  return { update: reader.varint32(), elapsed: parseSpan(reader.zigzag()) };
}

/** @param {bigint} nanos */
function parseSpan(nanos) {
  if (nanos > TIME_MAX || nanos < -TIME_MAX) throw new Rejected("field");
  return nanos;
}

/** @param {Reader} reader */
function parsePayload(reader) {
  const length = reader.varint32();
  if (length > PART_LEN_MAX) throw new Rejected("field");
  const at = reader.view.byteOffset + reader.take(length);
  // A copy: the bytes are a view into the stream's buffer.
  return new Uint8Array(reader.view.buffer.slice(at, at + length));
}

/**
 * Emits a whole message.
 * @param {SyncMessage} message
 * @returns {Uint8Array}
 */
export function emit(message) {
  const writer = new Writer();
  emitHeader(writer, message.nonce, message.stamp);
  for (const frame of message.frames) emitFrame(writer, frame, message.stamp);
  return writer.finish();
}

/**
 * @param {Writer} writer
 * @param {number} nonce
 * @param {bigint | null} stamp
 */
export function emitHeader(writer, nonce, stamp) {
  writer.u8(SYNC_VERSION);
  writer.u32(nonce);
  writer.i64(stamp ?? NO_STAMP);
}

/**
 * Appends a frame to a message with this stamp. Without one, the sending time of an action is left out.
 * @param {Writer} writer
 * @param {SyncFrame} frame
 * @param {bigint | null} stamp
 */
export function emitFrame(writer, frame, stamp) {
  switch (frame.frame) {
    case "action":
      return emitAction(writer, frame, stamp);
    case "promise":
      writer.u8(PROMISE);
      writer.varint53(frame.next);
      return emitMoment(writer, frame.moment);
    case "heard":
      writer.u8(HEARD);
      writer.varint53(frame.update);
      return writer.zigzag(frame.delay);
    case "pong":
      writer.u8(PONG);
      return writer.u32(frame.nonce);
    case "update":
      writer.u8(UPDATE);
      writer.u8(partFlag(frame.part));
      writer.varint53(frame.id);
      emitPart(writer, frame.part);
      writer.zigzag((stamp ?? frame.stamp) - frame.stamp);
      writer.varint(frame.hold);
      return emitPayload(writer, frame.payload);
    case "ping":
      writer.u8(PING);
      return writer.varint(frame.heartbeat);
    default:
      return emitClockFrame(writer, frame, 0n);
  }
}

/**
 * @param {Writer} writer
 * @param {ActionFrame} frame
 * @param {bigint | null} stamp
 */
function emitAction(writer, { seq, reaction, sent, part, payload }, stamp) {
  const isSent = sent !== null && stamp !== null;
  writer.u8(ACTION);
  writer.u8((reaction === null ? 0 : HAS_REACTION) | (isSent ? HAS_SENT : 0) | partFlag(part));
  writer.varint53(seq);
  emitPart(writer, part);
  if (reaction !== null) emitMoment(writer, reaction);
  if (isSent) writer.zigzag(stamp - sent);
  emitPayload(writer, payload);
}

/** @param {Part} part */
const partFlag = ({ count }) => (count === 1 ? 0 : IS_PART);

/**
 * @param {Writer} writer
 * @param {Part} part
 */
function emitPart(writer, { index, count }) {
  if (count === 1) return;
  writer.varint53(index);
  writer.varint53(count);
}

/**
 * @param {Writer} writer
 * @param {Moment} moment
 */
function emitMoment(writer, { update, elapsed }) {
  writer.varint53(update);
  writer.zigzag(elapsed);
}

/**
 * @param {Writer} writer
 * @param {Uint8Array} payload
 */
function emitPayload(writer, payload) {
  writer.varint53(payload.length);
  const at = writer.grow(payload.length);
  writer.bytes.set(payload, at);
}

/** A relay for tests, turned by hand: it answers probes, records vectors and confirms arrivals, if it is told to. */

import { Peer } from "../client/peer.js";
import { THRESHOLD_DEFAULT } from "../client/owner.js";
import { emit, parse } from "../client/wire.js";
import { draws } from "./check.js";

/** @typedef {import("../client/wire.js").Frame} Frame */
/** @typedef {import("../client/wire.js").Message} Message */
/** @typedef {import("../client/quantize.js").MotionState} MotionState */

export const MS = 1e6;
export const TICK = 20 * MS;
export const PLAYER = 3;
export const DATAGRAM_MAX = 1000;
const ORIGIN = 217_000_000_000_000_000n;

/** @type {MotionState} */
export const REST = { position: [0, 0, 0], velocity: [0, 0, 0], acceleration: [0, 0, 0], turnRate: 0 };

/**
 * @param {number} x
 * @param {number} speed
 * @returns {MotionState}
 */
export const moving = (x, speed) => ({ ...REST, position: [x, 0, 0], velocity: [speed, 0, 0] });

/** A machine, a relay whose clock is the machine's and ORIGIN, and a network that takes no time. */
export class Room {
  now = 0;
  peer;
  /** Everything that left, with when and how. @type {(Message & { at: number, channel: "datagram" | "reliable", bytes: number })[]} */
  sent = [];
  hasClock = true;
  /** Whether it records vectors and confirms arrivals. */
  isRecording = false;
  #nonce = 1000;

  constructor({ tick = TICK } = {}) {
    const draw = draws(11);
    this.peer = new Peer({ player: PLAYER, tick, grain: 0, drawNonce: () => Math.floor(draw() * 2 ** 32) });
    this.peer.join(0, DATAGRAM_MAX);
  }

  /** A room whose clock is fixed. What was sent for that is forgotten. */
  static fixed(settings = {}) {
    const room = new Room(settings);
    room.run(400 * MS);
    room.sent = [];
    return room;
  }

  /** Session time now, on the wire. */
  get stamp() {
    return ORIGIN + BigInt(this.now);
  }

  /** Takes what the machine wants to send. */
  drain() {
    for (let bytes = this.peer.pollReliable(); bytes !== undefined; bytes = this.peer.pollReliable()) {
      this.#take("reliable", bytes);
    }
    for (let bytes = this.peer.pollDatagram(this.now); bytes !== undefined; bytes = this.peer.pollDatagram(this.now)) {
      this.#take("datagram", bytes);
    }
  }

  /**
   * @param {"datagram" | "reliable"} channel
   * @param {Uint8Array} bytes
   */
  #take(channel, bytes) {
    const message = parse(bytes);
    this.sent.push({ ...message, at: this.now, channel, bytes: bytes.length });
    for (const frame of message.frames) {
      if (frame.frame === "probe" && this.hasClock) {
        this.say({ frame: "echo", probe: frame.sent, arrived: this.stamp, held: 0n });
      }
      if (frame.frame === "feedback" && this.isRecording) {
        const next = frame.first + BigInt(frame.arrivals.length);
        this.say({ frame: "confirm", next, stamp: message.stamp ?? 0n, held: 0n, hole: false });
      }
      if (frame.frame === "vector" && this.isRecording) {
        this.say({ frame: "recorded", entity: frame.entity, contiguous: frame.seq, newest: frame.seq });
      }
    }
  }

  /**
   * Runs to a time, a millisecond at a time. `look` is what the page does in each.
   * @param {number} until
   * @param {() => void} [look]
   */
  run(until, look = () => {}) {
    while (this.now < until) {
      this.now += MS;
      look();
      if (this.peer.pollTimeout() <= this.now) this.peer.handleTimeout(this.now);
      this.drain();
    }
  }

  /**
   * The relay says something, on the channel where it belongs.
   * @param {...Frame} frames
   */
  say(...frames) {
    const isReliable = frames.some(({ frame }) => frame === "introduce" || frame === "ended");
    return this.hear(isReliable ? "reliable" : "datagram", ...frames);
  }

  /**
   * @param {"datagram" | "reliable"} channel
   * @param {...Frame} frames
   */
  hear(channel, ...frames) {
    this.#nonce += 1;
    const bytes = emit({ nonce: this.#nonce, stamp: this.stamp, frames });
    return this.peer.handleMessage(this.now, channel, bytes);
  }

  /**
   * A vector of somebody's entity, made now.
   * @param {number} entity
   * @param {number} seq
   * @param {number} [first]
   */
  fields(entity, seq, first = 0) {
    const generated = Number(this.stamp / 1000n);
    return { entity, first, seq, kind: /** @type {const} */ ("linear"), generated, ...moving(seq, 1) };
  }

  /**
   * @param {number} entity
   * @param {number} seq
   * @param {number} [first]
   */
  introduce(entity, seq, first = 0) {
    return this.say({ frame: "introduce", ...this.fields(entity, seq, first), distance: 0.1, heartbeat: null });
  }

  /**
   * @param {number} entity
   * @param {number} seq
   * @param {number} [first]
   */
  vector(entity, seq, first = 0) {
    return this.say({ frame: "vector", ...this.fields(entity, seq, first) });
  }

  /**
   * The page tells of its entity.
   * @param {number} local
   * @param {MotionState} state
   * @param {Partial<import("../client/owner.js").Threshold>} [threshold]
   */
  observe(local, state, threshold = {}) {
    this.peer.observe(this.now, local, state, { ...THRESHOLD_DEFAULT, ...threshold });
    this.drain();
  }

  /**
   * The frames of one kind that left.
   * @template {Frame["frame"]} K
   * @param {K} kind
   * @returns {(Extract<Frame, { frame: K }> & { left: number, channel: string })[]}
   */
  frames(kind) {
    return this.sent.flatMap(({ frames, at, channel }) =>
      frames.filter(({ frame }) => frame === kind).map((frame) => /** @type {any} */ ({ ...frame, left: at, channel })),
    );
  }
}

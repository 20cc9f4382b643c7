/** A fake relay with simulated time: it answers probes, and if asked to, records vectors and confirms arrivals. */

import { Peer } from "../client/peer.js";
import { THRESHOLD_DEFAULT } from "../client/owner.js";
import { emit, parse } from "../client/wire.js";
import { seededRandom } from "./harness.js";

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

/** A machine, a relay whose clock is the machine's plus ORIGIN, and a network without delay. */
export class TestRoom {
  now = 0;
  peer;
  /**
   * Everything that was sent, with time and channel.
   * @type {(Message & { at: number, channel: "datagram" | "reliable", bytes: number })[]}
   */
  sent = [];
  hasClock = true;
  /** Whether the relay records vectors and confirms arrivals. */
  isRecording = false;
  #nonce = 1000;

  constructor({ tick = TICK } = {}) {
    const draw = seededRandom(11);
    this.peer = new Peer({ player: PLAYER, tick, grain: 0, drawNonce: () => Math.floor(draw() * 2 ** 32) });
    this.peer.join(0, DATAGRAM_MAX);
  }

  /** Creates a room whose clock is fixed, and forgets what was sent for that. */
  static fixed(settings = {}) {
    const room = new TestRoom(settings);
    room.run(400 * MS);
    room.sent = [];
    return room;
  }

  /** Session time on the wire. */
  get stamp() {
    return ORIGIN + BigInt(this.now);
  }

  /** Takes everything that the machine wants to send. */
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
        this.send({ frame: "echo", probe: frame.sent, arrived: this.stamp, held: 0n });
      }
      if (frame.frame === "feedback" && this.isRecording) {
        const next = frame.first + BigInt(frame.arrivals.length);
        this.send({ frame: "confirm", next, stamp: message.stamp ?? 0n, held: 0n, hole: false });
      }
      if (frame.frame === "vector" && this.isRecording) {
        this.send({ frame: "recorded", entity: frame.entity, contiguous: frame.seq, newest: frame.seq });
      }
    }
  }

  /**
   * Runs to a time in steps of a millisecond. `look` is what the page does in each.
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
   * Sends frames from the relay, on the channel where they belong.
   * @param {...Frame} frames
   */
  send(...frames) {
    const isReliable = frames.some(({ frame }) => frame === "introduce" || frame === "ended");
    return this.deliver(isReliable ? "reliable" : "datagram", ...frames);
  }

  /**
   * @param {"datagram" | "reliable"} channel
   * @param {...Frame} frames
   */
  deliver(channel, ...frames) {
    this.#nonce += 1;
    const bytes = emit({ nonce: this.#nonce, stamp: this.stamp, frames });
    return this.peer.handleMessage(this.now, channel, bytes);
  }

  /**
   * Returns the fields of another player's vector, made now.
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
    return this.send({ frame: "introduce", ...this.fields(entity, seq, first), distance: 0.1, heartbeat: null });
  }

  /**
   * @param {number} entity
   * @param {number} seq
   * @param {number} [first]
   */
  vector(entity, seq, first = 0) {
    return this.send({ frame: "vector", ...this.fields(entity, seq, first) });
  }

  /**
   * The page reports its entity.
   * @param {number} local
   * @param {MotionState} state
   * @param {Partial<import("../client/owner.js").Threshold>} [threshold]
   */
  observe(local, state, threshold = {}) {
    this.peer.observe(this.now, local, state, { ...THRESHOLD_DEFAULT, ...threshold });
    this.drain();
  }

  /**
   * Returns the frames of one kind that were sent.
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

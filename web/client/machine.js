/**
 * A player's machine: its clock, its own entities, its copies of everybody else's. It knows no sockets and reads no clock: it is
 * told the time and what arrived, and asked what to send. After every call that changes it, take `pollReliable` and `pollDatagram`
 * until they are empty, then sleep until `pollTimeout` or the next arrival. Early, late or repeated timeouts are harmless.
 *
 * Times of the own clock are numbers of nanoseconds since it was started. Session times are numbers of nanoseconds since
 * `clock.base` (see `clock.js`); on the wire and only there they are a `BigInt` since the session's origin.
 *
 * Messages of the game itself are nothing to it: `session.js` passes them on before it, and they leave by `outbox.message`.
 */

import { Refused } from "./bytes.js";
import { ArrivalLog } from "./arrivals.js";
import { FollowerClock } from "./clock.js";
import { Copies } from "./copies.js";
import { Outbox } from "./outbox.js";
import { Own } from "./own.js";
import { Uplink } from "./uplink.js";
import { micros, parse } from "./wire.js";

/** @typedef {import("./motion.js").DrVector} DrVector */
/** @typedef {import("./own.js").Export} Export */
/** @typedef {import("./own.js").Threshold} Threshold */
/** @typedef {import("./quantize.js").MotionState} MotionState */
/** @typedef {import("./wire.js").Frame} Frame */
/** @typedef {import("./wire.js").Message} Message */
/** @typedef {import("./wire.js").VectorFields} VectorFields */

/** Bytes of reliable messages that wait for the session's clock; a relay that sends more counts as stalled. */
export const EARLY_BYTES_MAX = 1 << 20;
/** Names of entities are local number * 1024 + player number. */
export const PLAYERS_MAX = 1024;

/** What a relay may say, and on which channel. */
const EXPECTED = {
  vector: "datagram",
  introduce: "reliable",
  ended: "reliable",
  confirm: "datagram",
  recorded: "datagram",
  probe: "datagram",
  echo: "datagram",
  feedback: "never",
};

/** @returns {() => number} numbers of 32 bits that nobody can foresee */
export function secureNonces() {
  const drawn = new Uint32Array(256);
  let left = 0;
  return () => {
    if (left === 0) {
      crypto.getRandomValues(drawn);
      left = drawn.length;
    }
    left -= 1;
    return drawn[left];
  };
}

export class Machine {
  /** Messages that were refused, by their reason. @type {Record<string, number>} */
  refused = {};
  /** Whether the relay does not read, or says more than can wait: the connection must be given up. */
  isStalled = false;

  /** Who this player is, and the room's tick in nanoseconds. */
  player;
  tick;
  clock;
  copies = new Copies();
  log = new ArrivalLog();
  own;
  outbox;
  uplink;
  /** Something arrived that is not acknowledged yet. */
  #owes = false;
  /** The relay came before there was a session time to introduce entities at. */
  #isAwaited = false;
  /** What must not be lost and came before there was a session time to read it by. @type {Message[]} */
  #early = [];
  #earlyBytes = 0;
  /** The last session time that was worked with. */
  #worked = -Infinity;
  #latest = -Infinity;

  /**
   * @param {object} config
   * @param {number} config.player
   * @param {number} config.tick
   * @param {number} config.grain how far a reading of the own clock may be off, in nanoseconds
   * @param {number} [config.firstSeq] the number that the first own vector has
   * @param {() => number} [config.drawNonce]
   */
  constructor({ player, tick, grain, firstSeq = 0, drawNonce = secureNonces() }) {
    this.player = player;
    this.tick = tick;
    this.clock = new FollowerClock(grain);
    this.own = new Own(firstSeq);
    this.outbox = new Outbox(tick, drawNonce);
    this.uplink = new Uplink(this.outbox);
  }

  /**
   * The relay comes, or comes back.
   * @param {number} now
   * @param {number} datagramMax the longest datagram that reaches it
   */
  join(now, datagramMax) {
    this.leave(now);
    this.clock.join(this.#latest);
    this.outbox.join(datagramMax);
    this.log = new ArrivalLog();
    this.isStalled = false;
    this.#isAwaited = true;
    this.#wakeClock();
  }

  /**
   * The relay goes, and all copies with it.
   * @param {number} now
   */
  leave(now) {
    this.#setNow(now);
    this.copies.clear();
    this.clock.leave(this.#latest);
    this.outbox.leave();
    this.uplink.leave();
    this.#early = [];
    this.#earlyBytes = 0;
    this.#owes = false;
    this.#isAwaited = false;
  }

  /**
   * One of this player's entities was so at a time, which is not after now. While there is no session time, nothing happens.
   * @param {number} now
   * @param {number} local the game's number for it
   * @param {MotionState} state
   * @param {Threshold} threshold
   * @param {number} [at]
   */
  observe(now, local, state, threshold, at = now) {
    const session = this.#session(now);
    const seen = this.clock.session(at);
    if (session === null || seen === null) return;
    const made = this.own.observe(this.#name(local), state, threshold, Math.min(seen, session));
    if (made !== null) this.#tell(made, session);
    this.#startOver();
  }

  /**
   * One of this player's entities is no more.
   * @param {number} now
   * @param {number} local
   */
  end(now, local) {
    const session = this.#session(now);
    const last = this.own.end(this.#name(local));
    // Whoever comes to know the time introduces what there is, and what is over by then is not to come back.
    if (session !== null && last !== null) this.uplink.end(this.#name(local), last, this.#wire(session));
  }

  /**
   * A message came. Whatever its bytes are, nothing is thrown; what is no message, or not expected, is counted and has no effect.
   * @param {number} at when it arrived
   * @param {"datagram" | "reliable"} channel
   * @param {Uint8Array} bytes
   * @returns {Refused | null} why it was refused
   */
  handleMessage(at, channel, bytes) {
    let message;
    try {
      message = parse(bytes);
      if (message.frames.some(({ frame }) => EXPECTED[frame] !== channel)) throw new Refused("unexpected");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.refused[error.reason] = (this.refused[error.reason] ?? 0) + 1;
      return error;
    }
    if (!this.outbox.isHere) return null;
    // The clock first: it may fix the time by which the rest is read.
    this.#setNow(at);
    for (const frame of message.frames) {
      if (frame.frame === "echo") this.clock.handleEcho(this.#latest, frame);
    }
    this.#wakeClock();
    const session = this.#session(at);
    if (session !== null) {
      this.#applyAll(message, session);
    } else if (channel === "reliable") {
      // A datagram is as good as lost on the way, but this must not be.
      this.#earlyBytes += 32 + bytes.length;
      if (this.#earlyBytes > EARLY_BYTES_MAX) this.isStalled = true;
      else this.#early.push(message);
    }
    return null;
  }

  /**
   * It is time for something, perhaps.
   * @param {number} now
   */
  handleTimeout(now) {
    // The clock first: it may step, and what is due then is due now.
    this.#setNow(now);
    this.#wakeClock();
    const session = this.#session(now);
    if (session === null) return;
    if (this.log.repeatAt <= session) {
      for (const frame of this.log.repeat(session, this.outbox.framesMax)) this.outbox.datagram(frame);
    }
    for (const made of this.own.handleTimeout(session)) this.#tell(made, session);
    this.uplink.handleTimeout(session);
    this.#startOver();
  }

  /** The next reliable message; undefined if there is none. */
  pollReliable() {
    this.isStalled ||= this.outbox.isStalled;
    return this.outbox.takeReliable();
  }

  /**
   * The next datagram that may leave now; undefined if there is none. Before the last one leaves, acknowledgments and the clock
   * have something to add to it.
   * @param {number} now
   */
  pollDatagram(now) {
    this.#setNow(now);
    if (this.outbox.isTimeToRide) {
      if (this.#owes) {
        this.#owes = false;
        for (const frame of this.log.acknowledge(this.outbox.framesMax)) this.outbox.datagram(frame);
      }
      const sent = this.clock.pollProbe(this.#latest);
      if (sent !== null) this.outbox.ride({ frame: "probe", sent: BigInt(sent) });
    }
    return this.outbox.takeDatagram();
  }

  /** When to call `handleTimeout` and to poll again, by the own clock; Infinity: after the next arrival. */
  pollTimeout() {
    const session = Math.min(this.uplink.nextTimeout, this.own.nextTimeout, this.log.repeatAt);
    const machine = session === Infinity ? Infinity : (this.clock.local(session) ?? Infinity);
    return Math.min(machine, this.clock.pollTimeout(), this.outbox.nextTimeout);
  }

  /** @param {number} local */
  #name(local) {
    return local * PLAYERS_MAX + this.player;
  }

  /**
   * It is now; a clock that runs backwards is held.
   * @param {number} now
   */
  #setNow(now) {
    this.#latest = Math.max(this.#latest, now);
    const session = this.clock.session(this.#latest);
    this.outbox.setNow(this.#latest, session === null ? null : this.#wire(session));
    return session;
  }

  /**
   * The session's time. Whoever and whatever waited for it has its turn now.
   * @param {number} now
   */
  #session(now) {
    const session = this.#setNow(now);
    if (session === null) return null;
    // Another session: what was exported in the last one means nothing in it.
    if (session < this.#worked) this.own.startOver();
    this.#worked = session;
    if (this.#isAwaited) {
      this.#isAwaited = false;
      this.uplink.join(this.#introductions());
    }
    if (this.#early.length > 0) {
      const early = this.#early;
      this.#early = [];
      this.#earlyBytes = 0;
      for (const message of early) this.#applyAll(message, session);
    }
    return session;
  }

  /**
   * @param {Message} message
   * @param {number} session
   */
  #applyAll(message, session) {
    const at = this.#wire(session);
    for (const frame of message.frames) this.#apply(frame, message.nonce, session, at);
    if (this.#owes) this.outbox.want();
  }

  /**
   * @param {Frame} frame
   * @param {number} nonce
   * @param {number} session
   * @param {bigint} at the same on the wire
   */
  #apply(frame, nonce, session, at) {
    switch (frame.frame) {
      case "vector":
      case "introduce": {
        const isNew = this.copies.handleVector(frame, this.#vector(frame), frame.frame === "introduce");
        if (!isNew) return;
        this.log.note({ entity: frame.entity, seq: frame.seq, at, nonce }, session);
        this.#owes = true;
        return;
      }
      case "ended":
        return this.copies.handleEnded(frame.entity);
      case "recorded":
        return this.uplink.handleRecorded(frame, session);
      case "confirm": {
        const stamp = Number(frame.stamp - this.#base);
        const confirm = { next: Number(frame.next), stamp, held: Number(frame.held), hole: frame.hole };
        if (!this.log.confirm(confirm, session)) return;
        for (const repair of this.log.repair(this.outbox.framesMax)) this.outbox.datagram(repair);
      }
    }
  }

  /**
   * The relay is told of a vector that was just made.
   * @param {Export} made
   * @param {number} session
   */
  #tell(made, session) {
    if (made.seq === made.first) this.uplink.introduce(this.#introduction(made));
    else this.uplink.trigger({ frame: "vector", ...this.#fields(made) }, session);
  }

  /** If the relay has missed too much to be told of it, it learns of every entity anew. */
  #startOver() {
    if (this.uplink.hasGivenUp) this.uplink.join(this.#introductions());
  }

  #introductions() {
    return [...this.own.exports.values()].map((made) => this.#introduction(made));
  }

  /**
   * @param {Export} made
   * @returns {import("./wire.js").IntroduceFrame}
   */
  #introduction(made) {
    const { distance, heartbeat } = made.threshold;
    const span = heartbeat === Infinity ? null : BigInt(heartbeat);
    return { frame: "introduce", ...this.#fields(made), distance, heartbeat: span };
  }

  /**
   * A vector as it travels.
   * @param {Export} made
   * @returns {VectorFields}
   */
  #fields({ entity, first, seq, vector }) {
    return { ...vector, entity, first, seq, generated: micros(this.#base) + vector.generated / 1000 };
  }

  /**
   * A vector that came, by this machine's times.
   * @param {VectorFields} frame
   * @returns {DrVector}
   */
  #vector(frame) {
    const { kind, position, velocity, acceleration, turnRate } = frame;
    const generated = (frame.generated - micros(this.#base)) * 1000;
    return { kind, generated, position, velocity, acceleration, turnRate };
  }

  /** @param {number} session */
  #wire(session) {
    return this.#base + BigInt(session);
  }

  get #base() {
    return this.clock.base ?? 0n;
  }

  /** A datagram is wanted if the clock has a probe for it. */
  #wakeClock() {
    if (this.clock.pollDue(this.#latest)) this.outbox.want();
  }
}

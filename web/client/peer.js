/**
 * State machine of one player: its clock, its own entities, and its copies of everybody else's. It mirrors `DrPeer` of
 * the Rust crate `evenkeel-dr`.
 *
 * It does no I/O and reads no clock: the caller passes in the time and whatever arrived, and polls for what to send.
 * After every call that changes it, drain `pollReliable` and `pollDatagram`, then sleep until `pollTimeout` or the next
 * arrival. Early, late or repeated timeouts are harmless.
 *
 * Local times are numbers of nanoseconds since the local clock started. Session times are numbers of nanoseconds since
 * `clock.base` (see `clock.js`); only on the wire are they a `BigInt` since the session's origin.
 *
 * Game messages do not pass through it on the way in: `session.js` delivers them directly. They leave through
 * `outbox.message`.
 */

import { Rejected } from "./bytes.js";
import { ArrivalLog } from "./arrivals.js";
import { FollowerClock } from "./clock.js";
import { Copies } from "./copies.js";
import { Outbox } from "./outbox.js";
import { Owner } from "./owner.js";
import { Uplink } from "./uplink.js";
import { micros, parse } from "./wire.js";

/** @typedef {import("./motion.js").DrVector} DrVector */
/** @typedef {import("./owner.js").Export} Export */
/** @typedef {import("./owner.js").Threshold} Threshold */
/** @typedef {import("./quantize.js").MotionState} MotionState */
/** @typedef {import("./wire.js").Frame} Frame */
/** @typedef {import("./wire.js").Message} Message */
/** @typedef {import("./wire.js").VectorFields} VectorFields */

/** Bytes of reliable messages held until the session time is known; a relay that sends more counts as stalled. */
export const EARLY_BYTES_MAX = 1 << 20;
/** Entity ids are local number * 1024 + player number. */
export const PLAYERS_MAX = 1024;

/** Channel on which each frame may arrive from the relay. */
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

/** Returns a generator of unpredictable 32-bit numbers. @returns {() => number} */
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

export class Peer {
  /** Rejected messages, by reason. @type {Record<string, number>} */
  rejected = {};
  /** True once the relay does not read, or sends more than may be held: the connection must be closed. */
  isStalled = false;

  /** This player's number, and the room's tick in nanoseconds. */
  player;
  tick;
  clock;
  copies = new Copies();
  log = new ArrivalLog();
  owner;
  outbox;
  uplink;
  /** Something arrived that is not acknowledged yet. */
  #owesAcknowledgment = false;
  /** The own entities have not been introduced to the relay yet. */
  #needsIntroduction = false;
  /** Reliable messages that arrived before the session time was known. @type {Message[]} */
  #early = [];
  #earlyBytes = 0;
  /** Latest session time that was acted on. */
  #sessionLatest = -Infinity;
  #localLatest = -Infinity;

  /**
   * @param {object} config
   * @param {number} config.player
   * @param {number} config.tick
   * @param {number} config.grain error bound of a local clock reading, in nanoseconds
   * @param {number} [config.firstSeq] sequence number of the first own vector
   * @param {() => number} [config.drawNonce]
   */
  constructor({ player, tick, grain, firstSeq = 0, drawNonce = secureNonces() }) {
    this.player = player;
    this.tick = tick;
    this.clock = new FollowerClock(grain);
    this.owner = new Owner(firstSeq);
    this.outbox = new Outbox(tick, drawNonce);
    this.uplink = new Uplink(this.outbox);
  }

  /**
   * The relay connected, or reconnected.
   * @param {number} now
   * @param {number} datagramMax longest datagram that reaches the relay
   */
  join(now, datagramMax) {
    this.leave(now);
    this.clock.join(this.#localLatest);
    this.outbox.join(datagramMax);
    this.log = new ArrivalLog();
    this.isStalled = false;
    this.#needsIntroduction = true;
    this.#requestProbe();
  }

  /**
   * The relay disconnected. All copies are dropped.
   * @param {number} now
   */
  leave(now) {
    this.#advance(now);
    this.copies.clear();
    this.clock.leave(this.#localLatest);
    this.outbox.leave();
    this.uplink.leave();
    this.#early = [];
    this.#earlyBytes = 0;
    this.#owesAcknowledgment = false;
    this.#needsIntroduction = false;
  }

  /**
   * Reports the state of one of this player's entities at a time no later than now. Ignored while the session time is
   * unknown.
   * @param {number} now
   * @param {number} local the game's number for it
   * @param {MotionState} state
   * @param {Threshold} threshold
   * @param {number} [at]
   */
  observe(now, local, state, threshold, at = now) {
    this.observeEntity(now, this.#entityId(local), state, threshold, at);
  }

  /**
   * The same, by the number that is unique in the room.
   * @param {number} now
   * @param {number} entity
   * @param {MotionState} state
   * @param {Threshold} threshold
   * @param {number} [at]
   */
  observeEntity(now, entity, state, threshold, at = now) {
    const session = this.#advanceSession(now);
    const seen = this.clock.session(at);
    if (session === null || seen === null) return;
    const made = this.owner.observe(entity, state, threshold, Math.min(seen, session));
    if (made !== null) this.#export(made, session);
    this.#introduceAgain();
  }

  /**
   * Ends one of this player's entities.
   * @param {number} now
   * @param {number} local
   */
  end(now, local) {
    this.endEntity(now, this.#entityId(local));
  }

  /**
   * The same, by the number that is unique in the room.
   * @param {number} now
   * @param {number} entity
   */
  endEntity(now, entity) {
    const session = this.#advanceSession(now);
    const last = this.owner.end(entity);
    // Without a session time the end cannot be sent, but an entity that has ended is not introduced later either.
    if (session !== null && last !== null) this.uplink.end(entity, last, this.#toWireTime(session));
  }

  /**
   * Handles a message from the relay. Never throws, whatever the bytes: an invalid or unexpected message is counted and
   * has no effect.
   * @param {number} at arrival time
   * @param {"datagram" | "reliable"} channel
   * @param {Uint8Array} bytes
   * @returns {Rejected | null} why it was rejected, or null
   */
  handleMessage(at, channel, bytes) {
    let message;
    try {
      message = parse(bytes);
      if (message.frames.some(({ frame }) => EXPECTED[frame] !== channel)) throw new Rejected("unexpected");
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      this.rejected[error.reason] = (this.rejected[error.reason] ?? 0) + 1;
      return error;
    }
    if (!this.outbox.isConnected) return null;
    // Echoes first: they may fix the session time that the other frames need.
    this.#advance(at);
    for (const frame of message.frames) {
      if (frame.frame === "echo") this.clock.handleEcho(this.#localLatest, frame);
    }
    this.#requestProbe();
    const session = this.#advanceSession(at);
    if (session !== null) {
      this.#applyMessage(message, session);
    } else if (channel === "reliable") {
      // A datagram may be dropped as if the network had lost it; a reliable message may not.
      this.#earlyBytes += 32 + bytes.length;
      if (this.#earlyBytes > EARLY_BYTES_MAX) this.isStalled = true;
      else this.#early.push(message);
    }
    return null;
  }

  /**
   * Runs what is due. Call it at `pollTimeout`.
   * @param {number} now
   */
  handleTimeout(now) {
    // The clock first: if it steps, more may be due.
    this.#advance(now);
    this.#requestProbe();
    const session = this.#advanceSession(now);
    if (session === null) return;
    if (this.log.repeatAt <= session) {
      for (const frame of this.log.repeat(session, this.outbox.framesMax)) this.outbox.datagram(frame);
    }
    for (const made of this.owner.handleTimeout(session)) this.#export(made, session);
    this.uplink.handleTimeout(session);
    this.#introduceAgain();
  }

  /** Takes the next reliable message; undefined if there is none. */
  pollReliable() {
    this.isStalled ||= this.outbox.isStalled;
    return this.outbox.takeReliable();
  }

  /**
   * Takes the next datagram that may leave now; undefined if there is none. Acknowledgments and a probe are added to
   * the last one.
   * @param {number} now
   */
  pollDatagram(now) {
    this.#advance(now);
    if (this.outbox.canPiggyback) {
      if (this.#owesAcknowledgment) {
        this.#owesAcknowledgment = false;
        for (const frame of this.log.acknowledge(this.outbox.framesMax)) this.outbox.datagram(frame);
      }
      const sent = this.clock.pollProbe(this.#localLatest);
      if (sent !== null) this.outbox.piggyback({ frame: "probe", sent: BigInt(sent) });
    }
    return this.outbox.takeDatagram();
  }

  /** Returns the local time at which to call `handleTimeout` and poll again; Infinity: after the next arrival. */
  pollTimeout() {
    const session = Math.min(this.uplink.nextTimeout, this.owner.nextTimeout, this.log.repeatAt);
    const due = session === Infinity ? Infinity : (this.clock.local(session) ?? Infinity);
    return Math.min(due, this.clock.pollTimeout(), this.outbox.nextTimeout);
  }

  /** @param {number} local */
  #entityId(local) {
    return local * PLAYERS_MAX + this.player;
  }

  /**
   * Advances the local clock; a reading earlier than the last one is ignored.
   * @param {number} now
   */
  #advance(now) {
    this.#localLatest = Math.max(this.#localLatest, now);
    const session = this.clock.session(this.#localLatest);
    this.outbox.setNow(this.#localLatest, session === null ? null : this.#toWireTime(session));
    return session;
  }

  /**
   * Returns the session time, after running everything that waited for it to be known; null while unknown.
   * @param {number} now
   */
  #advanceSession(now) {
    const session = this.#advance(now);
    if (session === null) return null;
    // Time went back, so this is another session: exports of the previous one mean nothing in it.
    if (session < this.#sessionLatest) this.owner.startOver();
    this.#sessionLatest = session;
    if (this.#needsIntroduction) {
      this.#needsIntroduction = false;
      this.uplink.join(this.#introductions());
    }
    if (this.#early.length > 0) {
      const early = this.#early;
      this.#early = [];
      this.#earlyBytes = 0;
      for (const message of early) this.#applyMessage(message, session);
    }
    return session;
  }

  /**
   * @param {Message} message
   * @param {number} session
   */
  #applyMessage(message, session) {
    const at = this.#toWireTime(session);
    for (const frame of message.frames) this.#applyFrame(frame, message.nonce, session, at);
    if (this.#owesAcknowledgment) this.outbox.requestDatagram();
  }

  /**
   * @param {Frame} frame
   * @param {number} nonce
   * @param {number} session
   * @param {bigint} at the session time on the wire
   */
  #applyFrame(frame, nonce, session, at) {
    switch (frame.frame) {
      case "vector":
      case "introduce": {
        const isNew = this.copies.handleVector(frame, this.#vectorOf(frame), frame.frame === "introduce");
        if (!isNew) return;
        this.log.note({ entity: frame.entity, seq: frame.seq, at, nonce }, session);
        this.#owesAcknowledgment = true;
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
   * Sends a newly made vector to the relay.
   * @param {Export} made
   * @param {number} session
   */
  #export(made, session) {
    if (made.seq === made.first) this.uplink.introduce(this.#introductionOf(made));
    else this.uplink.trigger({ frame: "vector", ...this.#fieldsOf(made) }, session);
  }

  /** Introduces every entity again if the relay has missed too much. */
  #introduceAgain() {
    if (this.uplink.needsIntroductions) this.uplink.join(this.#introductions());
  }

  #introductions() {
    return [...this.owner.exports.values()].map((made) => this.#introductionOf(made));
  }

  /**
   * @param {Export} made
   * @returns {import("./wire.js").IntroduceFrame}
   */
  #introductionOf(made) {
    const { distance, heartbeat } = made.threshold;
    const span = heartbeat === Infinity ? null : BigInt(heartbeat);
    return { frame: "introduce", ...this.#fieldsOf(made), distance, heartbeat: span };
  }

  /**
   * Converts an export into the fields of a wire frame.
   * @param {Export} made
   * @returns {VectorFields}
   */
  #fieldsOf({ entity, first, seq, vector }) {
    return { ...vector, entity, first, seq, generated: micros(this.#base) + vector.generated / 1000 };
  }

  /**
   * Converts a received frame into a vector in this machine's times.
   * @param {VectorFields} frame
   * @returns {DrVector}
   */
  #vectorOf(frame) {
    const { kind, position, velocity, acceleration, turnRate } = frame;
    const generated = (frame.generated - micros(this.#base)) * 1000;
    return { kind, generated, position, velocity, acceleration, turnRate };
  }

  /** @param {number} session */
  #toWireTime(session) {
    return this.#base + BigInt(session);
  }

  get #base() {
    return this.clock.base ?? 0n;
  }

  /** Requests a datagram if a probe is due. */
  #requestProbe() {
    if (this.clock.pollDue(this.#localLatest)) this.outbox.requestDatagram();
  }
}

/**
 * State machine that shows a game's updates when everybody else does, and tags the player's actions with its reaction.
 * It mirrors `Smc` of the Rust crate `evenkeel-sync-ms` (docs/WIRE-SYNC-MS.md, "What a client does").
 *
 * It does no I/O and has no clock of its own: like `Peer` it is driven by its caller, and it reads that machine's clock.
 * Local times are numbers of nanoseconds since the local clock started. Places in the fair order are numbers of
 * nanoseconds since the stamp of the first update.
 */

import { Rejected } from "./bytes.js";
import { HeldUpdates, SeqWindow } from "./held-updates.js";
import { Outbox } from "./outbox.js";
import { PartBuffer, split } from "./parts.js";
import { emitFrame, emitHeader, OVERHEAD_MAX, parse, PART_LEN_MAX, PAYLOAD_MAX } from "./sync-wire.js";

/** @typedef {import("./held-updates.js").HeldUpdate} HeldUpdate */
/** @typedef {import("./sync-wire.js").ActionFrame} ActionFrame */
/** @typedef {import("./sync-wire.js").Moment} Moment */
/** @typedef {import("./sync-wire.js").SyncFrame} SyncFrame */
/** @typedef {import("./sync-wire.js").UpdateFrame} UpdateFrame */
/** What the machine reads of a session clock. @typedef {Pick<import("./clock.js").FollowerClock, "base" | "session" | "local">} SessionClock */
/** An update that has been shown, and when. @typedef {{ update: number, stamp: number, at: number }} Shown */
/** Show it now; `late` is how many nanoseconds later than for everybody else. @typedef {{ id: number, stamp: bigint, late: number, bytes: Uint8Array }} ShownUpdate */
/** @typedef {ActionFrame & { repeats: number }} SentAction */

/** Shown updates that wait for the caller; beyond it the oldest is dropped. */
const EVENTS_MAX = 4_096;
/** Delays that wait for the next packet; beyond it the oldest is dropped. */
const HEARD_MAX = 8;
/** Shortest heartbeat that the relay may ask for, and how long a ping asks for promises and heartbeats. */
const HEARTBEAT_MIN = 1e6;
const PINGED_FOR = 1e9;
/** A new action is repeated this soon. */
const REPEAT_AFTER = 4e6;
/** Later packets that repeat an action, and actions that are repeated at a time. */
const REPEATS = 2;
const REPEATED_MAX = 16;
/** Updates whose delays are compared. */
const SHOWN_MAX = 64;

export class Smc {
  /** Rejected messages, by reason. @type {Record<string, number>} */
  rejected = {};
  counts = { updates: 0, late: 0, notHeld: 0, unsent: 0, dropped: 0 };

  #clock;
  /** @type {Outbox<SyncFrame>} */
  #outbox;
  #latest = -Infinity;
  /** Longest silence that the relay accepts. */
  #heartbeat = Infinity;
  /** Until when the relay listens, unless another ping comes. */
  #pingedUntil = -Infinity;
  #arrived = new SeqWindow();
  #parts = new PartBuffer();
  #held = new HeldUpdates();
  /** @type {{ update: number, delay: bigint }[]} */
  #heard = [];
  /** What the next action reacts to. @type {Shown | null} */
  #newest = null;
  /** Delays of the last updates, up to a constant. @type {number[]} */
  #delays = [];
  /** Stamp of the first update. @type {bigint | null} */
  #origin = null;
  /** Place of the last action or promise: the next action is not before it. */
  #floor = -Infinity;
  #nextSeq = 0;
  /** Actions that packets still repeat, oldest first. @type {SentAction[]} */
  #sent = [];
  /** Nonce of a message with a ping. @type {number | null} */
  #unanswered = null;
  /** When a packet was last put together, and whether it held a new action. */
  #spoke = -Infinity;
  #isRepeating = false;
  /** @type {ShownUpdate[]} */
  #events = [];

  /**
   * @param {object} config
   * @param {SessionClock} config.clock
   * @param {() => number} config.drawNonce
   */
  constructor({ clock, drawNonce }) {
    this.#clock = clock;
    this.#outbox = new Outbox(0, drawNonce, { emitHeader, emitFrame, needsStamp: false });
  }

  /** True once the relay does not read: the connection must be closed. */
  get isStalled() {
    return this.#outbox.isStalled;
  }

  /**
   * The relay connected, or reconnected.
   * @param {number} now
   * @param {number} datagramMax longest datagram that reaches the relay
   */
  join(now, datagramMax) {
    this.#advance(now);
    this.#outbox.join(datagramMax);
    this.#startOver();
  }

  /**
   * The relay disconnected. What is held is shown.
   * @param {number} now
   */
  leave(now) {
    this.#advance(now);
    this.#outbox.leave();
    this.#startOver();
  }

  /**
   * Acts. Ignored while there is no connection.
   * @param {number} now
   * @param {Uint8Array} payload
   * @param {boolean} isReliable whether it must arrive, however late
   * @param {number} [at] when the player did so, if that is earlier
   */
  act(now, payload, isReliable, at = now) {
    const sent = this.#advance(now);
    if (payload.length > PAYLOAD_MAX || !this.#outbox.isConnected) {
      this.counts.unsent += 1;
      return;
    }
    if (this.#newest !== null) {
      this.#floor = Math.max(this.#floor, this.#newest.stamp + (Math.min(at, this.#latest) - this.#newest.at));
    }
    const part = { index: 0, count: 1 };
    /** @type {SentAction} */
    const action = { frame: "action", seq: this.#nextSeq, reaction: this.#moment(), sent, part, payload, repeats: REPEATS };
    this.#nextSeq += 1;
    if (isReliable) for (const each of split(payload, PART_LEN_MAX)) this.#outbox.reliable({ ...action, ...each });
    const parts = split(payload, this.#outbox.framesMax);
    for (const each of parts) this.#outbox.datagram({ ...action, ...each });
    if (parts.length === 0) this.counts.unsent += 1;
    // Too much to repeat.
    if (parts.length > 1) action.repeats = 0;
    if (this.#sent.length === REPEATED_MAX) this.#sent.shift();
    this.#sent.push(action);
    this.#speak(action.seq);
  }

  /**
   * Handles a message from the relay. Never throws: an invalid or unexpected message is counted and has no effect.
   * @param {number} at arrival time
   * @param {"datagram" | "reliable"} channel
   * @param {Uint8Array} bytes
   * @returns {Rejected | null} why it was rejected, or null
   */
  handleMessage(at, channel, bytes) {
    let message;
    try {
      message = parse(bytes);
      const isExpected = (/** @type {SyncFrame} */ { frame }) => frame === "update" || (frame === "ping" && channel === "datagram");
      if (!message.frames.every(isExpected)) throw new Rejected("unexpected");
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      this.rejected[error.reason] = (this.rejected[error.reason] ?? 0) + 1;
      return error;
    }
    if (!this.#outbox.isConnected) return null;
    const session = this.#advance(at);
    for (const frame of message.frames) {
      if (frame.frame === "update") this.#handleUpdate(frame, session);
      if (frame.frame === "ping") this.#handlePing(Number(frame.heartbeat), message.nonce);
    }
    if (this.#unanswered !== null) {
      this.#outbox.datagram({ frame: "pong", nonce: this.#unanswered });
      this.#unanswered = null;
      // The answer leaves at once anyway, so it brings the newest promise along.
      this.#speak(null);
    }
    return null;
  }

  /**
   * Shows what is due. Call it at `pollTimeout`, and when the session time is lost.
   * @param {number} now
   */
  handleTimeout(now) {
    this.#advance(now);
    if (this.#heartbeatAt <= this.#latest) this.#speak(null);
  }

  /** Takes the next reliable message; undefined if there is none. */
  pollReliable() {
    return this.#outbox.takeReliable();
  }

  /**
   * Takes the next datagram; undefined if there is none.
   * @param {number} now
   */
  pollDatagram(now) {
    this.#setNow(now);
    return this.#outbox.takeDatagram();
  }

  /** Takes the next update to show; undefined if there is none. */
  pollShown() {
    return this.#events.shift();
  }

  /** Returns the local time at which to call `handleTimeout` and poll again; Infinity: after the next arrival. */
  pollTimeout() {
    const showAt = this.#held.nextAt;
    const isKnown = showAt !== null && this.#clock.base !== null;
    const due = isKnown ? this.#clock.local(Number(showAt - /** @type {bigint} */ (this.#clock.base))) : null;
    return Math.min(due ?? Infinity, this.#heartbeatAt, this.#outbox.nextTimeout);
  }

  get #heartbeatAt() {
    if (!this.#outbox.isConnected || this.#newest === null || this.#heartbeat === Infinity) return Infinity;
    const at = this.#spoke + (this.#isRepeating ? Math.min(this.#heartbeat, REPEAT_AFTER) : this.#heartbeat);
    return at < this.#pingedUntil ? at : Infinity;
  }

  /** Forgets the connection: the numbers of its updates and actions mean nothing to another. */
  #startOver() {
    for (let held = this.#held.pop(); held !== undefined; held = this.#held.pop()) this.#show(held, 0);
    this.#newest = null;
    this.#heartbeat = Infinity;
    [this.#arrived, this.#parts] = [new SeqWindow(), new PartBuffer()];
    [this.#sent, this.#nextSeq, this.#floor] = [[], 0, -Infinity];
    this.#heard = [];
    this.#spoke = this.#latest;
  }

  /**
   * Advances the time. Returns the session time on the wire; null while unknown.
   * @param {number} now
   * @returns {bigint | null}
   */
  #setNow(now) {
    this.#latest = Math.max(this.#latest, now);
    const session = this.#clock.session(this.#latest);
    const stamp = session === null || this.#clock.base === null ? null : this.#clock.base + BigInt(session);
    this.#outbox.setNow(this.#latest, stamp);
    return stamp;
  }

  /**
   * Advances the time, and shows what is due.
   * @param {number} now
   */
  #advance(now) {
    const stamp = this.#setNow(now);
    for (let due = this.#held.popDue(stamp); due !== undefined; due = this.#held.popDue(stamp)) this.#show(due, 0);
    return stamp;
  }

  /**
   * @param {number} heartbeat
   * @param {number} nonce
   */
  #handlePing(heartbeat, nonce) {
    this.#heartbeat = heartbeat === 0 ? Infinity : Math.max(heartbeat, HEARTBEAT_MIN);
    this.#pingedUntil = this.#latest + PINGED_FOR;
    this.#unanswered = nonce;
  }

  /**
   * @param {UpdateFrame} frame
   * @param {bigint | null} session
   */
  #handleUpdate({ id, stamp, hold, part, payload }, session) {
    if (this.#arrived.has(id)) return;
    const bytes = this.#parts.add(id, part, payload);
    if (bytes === null) return;
    this.#arrived.note(id);
    this.counts.updates += 1;
    const update = { id, stamp, bytes };
    if (session === null) {
      this.counts.notHeld += hold > 0n ? 1 : 0;
      return this.#show(update, 0);
    }
    if (this.#heard.length === HEARD_MAX) this.#heard.shift();
    this.#heard.push({ update: id, delay: session - stamp });
    const showAt = stamp + hold;
    if (hold === 0n) return this.#show(update, 0);
    if (showAt < session) {
      this.counts.late += 1;
      return this.#show(update, Number(session - showAt));
    }
    this.#held.push(showAt, update);
    for (let crowded = this.#held.popCrowded(); crowded !== undefined; crowded = this.#held.popCrowded()) {
      this.counts.notHeld += 1;
      this.#show(crowded, 0);
    }
  }

  /**
   * @param {HeldUpdate} update
   * @param {number} late
   */
  #show({ id, stamp, bytes }, late) {
    this.#origin ??= stamp;
    const shown = { update: id, stamp: Number(stamp - this.#origin), at: this.#latest };
    if (this.#delays.length === SHOWN_MAX) this.#delays.shift();
    this.#delays.push(shown.at - shown.stamp);
    if (this.#newest === null || this.#newest.update < id) this.#newest = shown;
    if (this.#events.length === EVENTS_MAX) {
      this.#events.shift();
      this.counts.dropped += 1;
    }
    this.#events.push({ id, stamp, late, bytes });
  }

  /**
   * Adds what a packet carries beside a new action: the actions before it as far as they fit, delays, and a promise.
   * @param {number | null} isNew number of the new action
   */
  #speak(isNew) {
    this.#spoke = this.#latest;
    this.#isRepeating = isNew !== null;
    if (!this.#outbox.isConnected) return;
    this.#repeat(isNew);
    for (const { update, delay } of this.#heard) this.#outbox.datagram({ frame: "heard", update, delay });
    this.#heard = [];
    if (this.#newest === null || this.#latest >= this.#pingedUntil) return;
    // The next action may react to a later update, which took longer than this one.
    const margin = Math.max(0, Math.max(...this.#delays) - (this.#newest.at - this.#newest.stamp));
    this.#floor = Math.max(this.#floor, this.#newest.stamp + (this.#latest - this.#newest.at) - margin);
    const moment = /** @type {Moment} */ (this.#moment());
    this.#outbox.datagram({ frame: "promise", next: this.#nextSeq, moment });
  }

  /**
   * Repeats, newest first, the actions that fit beside the new one.
   * @param {number | null} isNew
   */
  #repeat(isNew) {
    let room = this.#outbox.framesMax;
    for (const action of [...this.#sent].reverse()) {
      const length = action.payload.length + OVERHEAD_MAX;
      if (action.seq === isNew) {
        room = Math.max(0, room - length);
      } else if (action.repeats > 0 && length <= room) {
        room -= length;
        action.repeats -= 1;
        this.#outbox.datagram(action);
      }
    }
    while (this.#sent.length > 0 && this.#sent[0].repeats === 0) this.#sent.shift();
  }

  /** Returns the floor relative to the newest update; null before the first. @returns {Moment | null} */
  #moment() {
    const shown = this.#newest;
    return shown === null ? null : { update: shown.update, elapsed: BigInt(this.#floor - shown.stamp) };
  }
}

/**
 * Sends own vectors to the relay: each one at once as a datagram, then repeatedly until the relay has recorded it. The
 * relay needs the newest vector early and all of them eventually (docs/WIRE.md, "Owning", 4 to 7).
 *
 * Times are numbers of nanoseconds since the base.
 */

import { Backoff, DelayEstimate } from "./delay.js";

/** @typedef {import("./outbox.js").Outbox} Outbox */
/** @typedef {import("./wire.js").VectorFrame} VectorFrame */
/** @typedef {import("./wire.js").IntroduceFrame} IntroduceFrame */
/** @typedef {import("./wire.js").RecordedFrame} RecordedFrame */
/** @typedef {{ frame: VectorFrame, sent: number, repeats: number }} Unrecorded */

/** Unrecorded vectors that are kept; beyond it every entity is introduced again. */
export const UNRECORDED_MAX = 1024;
/** Repetitions after which a vector is given up, as if too many were unrecorded. */
const REPEATS_MAX = 64;
/** Timeout before the first round trip is known. */
const REPEAT_FIRST = 500e6;

export class Uplink {
  /** Some vector will never be recorded, so every entity must be introduced again. */
  needsIntroductions = false;
  /** Vectors that were sent again. */
  repeated = 0;
  roundTrip = new DelayEstimate();
  #isConnected = false;
  /** In the order of their last transmission. @type {Unrecorded[]} */
  #unrecorded = [];
  #backoff = new Backoff();
  #outbox;

  /** @param {Outbox} outbox */
  constructor(outbox) {
    this.#outbox = outbox;
  }

  /** Number of vectors not recorded yet. */
  get unrecordedCount() {
    return this.#unrecorded.length;
  }

  /**
   * The relay connected, reconnected, or missed too much: introduces every entity.
   * @param {IntroduceFrame[]} frames
   */
  join(frames) {
    this.#isConnected = true;
    this.needsIntroductions = false;
    this.#unrecorded = [];
    for (const frame of frames) this.introduce(frame);
  }

  leave() {
    this.#isConnected = false;
    this.#unrecorded = [];
  }

  /**
   * Sends an entity's first vector, or the one from which the relay is to continue.
   * @param {IntroduceFrame} frame
   */
  introduce(frame) {
    if (this.#isConnected) this.#outbox.reliable(frame);
  }

  /**
   * Sends a further vector of an entity.
   * @param {VectorFrame} frame
   * @param {number} now
   */
  trigger(frame, now) {
    if (!this.#isConnected) return;
    if (this.#unrecorded.length >= UNRECORDED_MAX) {
      this.needsIntroductions = true;
      return;
    }
    this.#unrecorded.push({ frame, sent: now, repeats: 0 });
    this.#outbox.datagram(frame);
  }

  /**
   * Announces an entity's end. Its unrecorded vectors are still repeated: the relay's account needs them.
   * @param {number} entity
   * @param {number} last
   * @param {bigint} at
   */
  end(entity, last, at) {
    if (this.#isConnected) this.#outbox.reliable({ frame: "ended", entity, last, at });
  }

  /**
   * The relay has recorded an entity's vectors up to `contiguous`, and `newest` has just arrived.
   * @param {RecordedFrame} recorded
   * @param {number} now
   */
  handleRecorded({ entity, contiguous, newest }, now) {
    const answered = this.#unrecorded.find(({ frame }) => frame.entity === entity && frame.seq === newest);
    if (answered !== undefined && answered.repeats === 0) this.roundTrip.sample(now - answered.sent);
    this.#backoff.answered();
    this.#unrecorded = this.#unrecorded.filter(
      ({ frame }) => frame.entity !== entity || (frame.seq > contiguous && frame.seq !== newest),
    );
  }

  /**
   * Repeats vectors that were not recorded in time.
   * @param {number} now
   */
  handleTimeout(now) {
    const repeatAfter = this.#repeatAfter();
    const due = this.#unrecorded.findIndex(({ sent }) => sent + repeatAfter > now);
    const again = this.#unrecorded.splice(0, due < 0 ? this.#unrecorded.length : due);
    if (again.length > 0) this.#backoff.repeated();
    for (const each of again) {
      each.sent = now;
      each.repeats += 1;
      this.repeated += 1;
      if (each.repeats === REPEATS_MAX) this.needsIntroductions = true;
      this.#outbox.datagram(each.frame);
      this.#unrecorded.push(each);
    }
  }

  /** When `handleTimeout` is due. */
  get nextTimeout() {
    return this.#unrecorded.length === 0 ? Infinity : this.#unrecorded[0].sent + this.#repeatAfter();
  }

  #repeatAfter() {
    const { samples, mean, deviation } = this.roundTrip;
    // Repeating a little late is cheap while nothing is known.
    return this.#backoff.after(samples === 0 ? REPEAT_FIRST : mean + 4 * deviation + 50e6);
  }
}

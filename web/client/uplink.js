/**
 * The way of own vectors to the relay: every one at once as a datagram, and again until the relay has recorded it. The relay needs
 * the newest vector early and all of them eventually (docs/WIRE.md, "Owning", 4 to 7).
 *
 * Times are numbers of nanoseconds since the base.
 */

import { Backoff, DelayEstimate } from "./delay.js";

/** @typedef {import("./outbox.js").Outbox} Outbox */
/** @typedef {import("./wire.js").VectorFrame} VectorFrame */
/** @typedef {import("./wire.js").IntroduceFrame} IntroduceFrame */
/** @typedef {import("./wire.js").RecordedFrame} RecordedFrame */
/** @typedef {{ frame: VectorFrame, sent: number, repeats: number }} Unrecorded */

/** Vectors that the relay has not recorded; with more, every entity is introduced anew. */
export const UNRECORDED_MAX = 1024;
/** A vector that was sent again so often is given up, as if there were too many. */
const REPEATS_MAX = 64;
/** Before the first round trip is known, vectors are repeated after this time. */
const REPEAT_FIRST = 500e6;

export class Uplink {
  /** Some vector will never be recorded, so that the relay must learn of every entity anew. */
  hasGivenUp = false;
  /** Vectors that were sent again. */
  repeated = 0;
  roundTrip = new DelayEstimate();
  #isHere = false;
  /** In the order of their last sending. @type {Unrecorded[]} */
  #unrecorded = [];
  #backoff = new Backoff();
  #outbox;

  /** @param {Outbox} outbox */
  constructor(outbox) {
    this.#outbox = outbox;
  }

  /** How many vectors are not recorded yet. */
  get waiting() {
    return this.#unrecorded.length;
  }

  /**
   * The relay comes, or comes back, or has missed too much: it learns of every entity.
   * @param {IntroduceFrame[]} frames
   */
  join(frames) {
    this.#isHere = true;
    this.hasGivenUp = false;
    this.#unrecorded = [];
    for (const frame of frames) this.introduce(frame);
  }

  leave() {
    this.#isHere = false;
    this.#unrecorded = [];
  }

  /**
   * An entity's first vector, or one that the relay must go on from.
   * @param {IntroduceFrame} frame
   */
  introduce(frame) {
    if (this.#isHere) this.#outbox.reliable(frame);
  }

  /**
   * A further vector of an entity.
   * @param {VectorFrame} frame
   * @param {number} now
   */
  trigger(frame, now) {
    if (!this.#isHere) return;
    if (this.#unrecorded.length >= UNRECORDED_MAX) {
      this.hasGivenUp = true;
      return;
    }
    this.#unrecorded.push({ frame, sent: now, repeats: 0 });
    this.#outbox.datagram(frame);
  }

  /**
   * An entity ends. Its vectors are repeated until they are recorded all the same: they are part of the truth.
   * @param {number} entity
   * @param {number} last
   * @param {bigint} at
   */
  end(entity, last, at) {
    if (this.#isHere) this.#outbox.reliable({ frame: "ended", entity, last, at });
  }

  /**
   * The relay has recorded an entity's vectors up to `contiguous`, and `newest` has just come.
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
   * Sends again what is not recorded in time.
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
      if (each.repeats === REPEATS_MAX) this.hasGivenUp = true;
      this.#outbox.datagram(each.frame);
      this.#unrecorded.push(each);
    }
  }

  /** When to be called again. */
  get nextTimeout() {
    return this.#unrecorded.length === 0 ? Infinity : this.#unrecorded[0].sent + this.#repeatAfter();
  }

  #repeatAfter() {
    const { samples, mean, deviation } = this.roundTrip;
    // Repeating too late costs little, before anything is known.
    return this.#backoff.after(samples === 0 ? REPEAT_FIRST : mean + 4 * deviation + 50e6);
  }
}

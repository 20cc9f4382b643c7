/**
 * This player's own entities: their exported paths, and when a new DR vector is due (docs/WIRE.md, "Owning").
 *
 * The page reports their motion every frame. If it falls silent (a hidden tab draws no frames), its entities are
 * assumed to keep moving as last reported, and vectors are made of that.
 *
 * Times are numbers of nanoseconds since the base.
 */

import { project, stateAt } from "./motion.js";
import { isSane, quantize } from "./quantize.js";

/** @typedef {import("./motion.js").DrVector} DrVector */
/** @typedef {import("./motion.js").MotionKind} MotionKind */
/** @typedef {import("./quantize.js").MotionState} MotionState */

/**
 * When a new vector is made: the real path is farther than `distance` from the exported one, or `heartbeat` has passed.
 * @typedef {{ distance: number, heartbeat: number, kind: MotionKind }} Threshold
 */

/**
 * One life of an entity. `reported` is the motion that the page last reported.
 * @typedef {{ entity: number, first: number, seq: number, vector: DrVector, threshold: Threshold, reported: DrVector }} Export
 */

/** Entities per owner; more are not exported, since no relay accepts them. */
export const ENTITIES_MAX = 256;
/** A page that has not reported an entity for this long is silent. */
const SILENCE_MIN = 250e6;
/** How often the entities of a silent page are checked. */
const CHECK_INTERVAL = 50e6;
/** Highest sequence number of a vector. */
const SEQ_MAX = 0xffff_fffe;

/** The papers' threshold, with a heartbeat every second. @type {Threshold} */
export const THRESHOLD_DEFAULT = { distance: 0.09, heartbeat: 1e9, kind: "linear" };

/** The entities that this player owns. */
export class Owner {
  /** By entity id. @type {Map<number, Export>} */
  exports = new Map();
  /**
   * Above every number used by a life that has ended. A new life starts above all numbers used so far, so that vectors
   * of an earlier life still in the network are older than its introduction.
   */
  #firstSeq;
  #checkedAt = -Infinity;

  /** @param {number} firstSeq sequence number of the first vector */
  constructor(firstSeq) {
    this.#firstSeq = firstSeq;
  }

  /** First sequence number of the next life. */
  get nextSeq() {
    let next = this.#firstSeq;
    for (const { seq } of this.exports.values()) next = Math.max(next, seq + 1);
    return next;
  }

  /**
   * Takes the page's report on an entity. Returns its export if a vector was made: the entity is new or has strayed. A
   * state that is not finite or too large is ignored.
   * @param {number} entity
   * @param {MotionState} state
   * @param {Threshold} threshold applies to a new life
   * @param {number} now
   * @returns {Export | null}
   */
  observe(entity, state, threshold, now) {
    if (!isSane(state)) return null;
    const known = this.exports.get(entity);
    if (known !== undefined) {
      if (now <= known.reported.generated) return null;
      known.reported = { kind: known.threshold.kind, generated: now, ...state };
      return this.#check(known, state, now) ? known : null;
    }
    const first = this.nextSeq;
    if (this.exports.size >= ENTITIES_MAX || first > SEQ_MAX) return null;
    const vector = generate(state, threshold.kind, now);
    if (vector === null) return null;
    const reported = { kind: threshold.kind, generated: now, ...state };
    const made = { entity, first, seq: first, vector, threshold, reported };
    this.exports.set(entity, made);
    return made;
  }

  /**
   * Checks the entities of a silent page. Returns those for which a vector was made.
   * @param {number} now
   * @returns {Export[]}
   */
  handleTimeout(now) {
    if (now < this.nextTimeout) return [];
    this.#checkedAt = now;
    const silent = [...this.exports.values()].filter(({ reported }) => reported.generated + SILENCE_MIN <= now);
    return silent.filter((each) => this.#check(each, stateAt(each.reported, now), now));
  }

  /** When to check the entities, if the page stays silent. */
  get nextTimeout() {
    let silent = Infinity;
    for (const { reported } of this.exports.values()) silent = Math.min(silent, reported.generated + SILENCE_MIN);
    return Math.max(silent, this.#checkedAt + CHECK_INTERVAL);
  }

  /**
   * Ends an entity. Returns the sequence number of its last vector; null if there is no such entity.
   * @param {number} entity
   */
  end(entity) {
    const ended = this.exports.get(entity);
    if (ended === undefined) return null;
    this.#firstSeq = Math.max(this.#firstSeq, ended.seq + 1);
    this.exports.delete(entity);
    return ended.seq;
  }

  /** The session time starts over: every entity begins a new life with its next report. */
  startOver() {
    this.#firstSeq = this.nextSeq;
    this.exports.clear();
    this.#checkedAt = -Infinity;
  }

  /**
   * Makes a vector if one is due.
   * @param {Export} known
   * @param {MotionState} state
   * @param {number} now
   */
  #check(known, state, now) {
    if (now <= known.vector.generated || !hasStrayed(known, state, now) || known.seq >= SEQ_MAX) return false;
    const next = generate(state, known.threshold.kind, now);
    // Generation times are whole microseconds and must increase.
    if (next === null || next.generated <= known.vector.generated) return false;
    known.vector = next;
    known.seq += 1;
    return true;
  }
}

/**
 * True if the real path strayed from the exported one, or the heartbeat is due.
 * @param {Export} known
 * @param {MotionState} state
 * @param {number} now
 */
function hasStrayed({ vector, threshold }, state, now) {
  if (now >= vector.generated + threshold.heartbeat) return true;
  const [x, y, z] = project(vector, now);
  const [real, limit] = [state.position, threshold.distance];
  return (real[0] - x) ** 2 + (real[1] - y) ** 2 + (real[2] - z) ** 2 > limit * limit;
}

/**
 * Makes a vector of an entity's state, quantized; null if rounding takes it out of range.
 * @param {MotionState} state
 * @param {MotionKind} kind
 * @param {number} now
 * @returns {DrVector | null}
 */
export function generate(state, kind, now) {
  const generated = Math.floor(now / 1000) * 1000;
  const quantized = quantize(state, (now - generated) / 1e9);
  return isSane(quantized) ? { kind, generated, ...quantized } : null;
}

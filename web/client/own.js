/**
 * This player's own entities: their exported paths, and when a new DR vector is due (docs/WIRE.md, "Owning").
 *
 * The page tells how they move at each of its frames. If it falls silent (a hidden tab draws no frames), its entities go on as they
 * were last said to move, and vectors are made of that: an entity is where its owner last said it would be.
 *
 * Times are numbers of nanoseconds since the base.
 */

import { project, stateAt } from "./motion.js";
import { isSane, quantize } from "./quantize.js";

/** @typedef {import("./motion.js").DrVector} DrVector */
/** @typedef {import("./motion.js").MotionKind} MotionKind */
/** @typedef {import("./quantize.js").MotionState} MotionState */

/**
 * When new vectors are made: if the real path is farther than `distance` from the exported one, or after `heartbeat`.
 * @typedef {{ distance: number, heartbeat: number, kind: MotionKind }} Threshold
 */

/**
 * One life of an entity. `looked` is what the page last said of it.
 * @typedef {{ entity: number, first: number, seq: number, vector: DrVector, threshold: Threshold, looked: DrVector }} Export
 */

/** Entities of one owner; more are not exported, since no relay takes them. */
export const ENTITIES_MAX = 256;
/** A page that says nothing for so long is silent. */
const SILENT = 250e6;
/** How often entities are looked at then. */
const LOOK_INTERVAL = 50e6;
/** No vector may have a higher number. */
const SEQ_MAX = 0xffff_fffe;

/** The papers' limits, and a heartbeat each second. @type {Threshold} */
export const THRESHOLD = { distance: 0.09, heartbeat: 1e9, kind: "linear" };

/** The entities that this player owns. */
export class Own {
  /** By their names. @type {Map<number, Export>} */
  exports = new Map();
  /**
   * Above every number of lives that ended. A life begins above every number that any entity had, so that what is left of an earlier
   * life on the network is older than its introduction.
   */
  #firstSeq;
  #lookedAt = -Infinity;

  /** @param {number} firstSeq the number that the first vector has */
  constructor(firstSeq) {
    this.#firstSeq = firstSeq;
  }

  /** The number that the next life begins with. */
  get nextSeq() {
    let next = this.#firstSeq;
    for (const { seq } of this.exports.values()) next = Math.max(next, seq + 1);
    return next;
  }

  /**
   * The page looks at its entity. Gives its export if a vector was made of that: the entity is new or has strayed. A state that is
   * not finite, or of a size that no game has, is passed over.
   * @param {number} entity
   * @param {MotionState} state
   * @param {Threshold} threshold of a new life
   * @param {number} now
   * @returns {Export | null}
   */
  observe(entity, state, threshold, now) {
    if (!isSane(state)) return null;
    const known = this.exports.get(entity);
    if (known !== undefined) {
      if (now <= known.looked.generated) return null;
      known.looked = { kind: known.threshold.kind, generated: now, ...state };
      return this.#look(known, state, now) ? known : null;
    }
    const first = this.nextSeq;
    if (this.exports.size >= ENTITIES_MAX || first > SEQ_MAX) return null;
    const vector = generate(state, threshold.kind, now);
    if (vector === null) return null;
    const looked = { kind: threshold.kind, generated: now, ...state };
    const made = { entity, first, seq: first, vector, threshold, looked };
    this.exports.set(entity, made);
    return made;
  }

  /**
   * Looks at the entities of a page that is silent. Gives those that a vector was made for.
   * @param {number} now
   * @returns {Export[]}
   */
  handleTimeout(now) {
    if (now < this.nextTimeout) return [];
    this.#lookedAt = now;
    const silent = [...this.exports.values()].filter(({ looked }) => looked.generated + SILENT <= now);
    return silent.filter((each) => this.#look(each, stateAt(each.looked, now), now));
  }

  /** When to look at the entities, if the page stays silent. */
  get nextTimeout() {
    let silent = Infinity;
    for (const { looked } of this.exports.values()) silent = Math.min(silent, looked.generated + SILENT);
    return Math.max(silent, this.#lookedAt + LOOK_INTERVAL);
  }

  /**
   * The entity ceases to be. Gives the number of its last vector; null if there is no entity of that name.
   * @param {number} entity
   */
  end(entity) {
    const ended = this.exports.get(entity);
    if (ended === undefined) return null;
    this.#firstSeq = Math.max(this.#firstSeq, ended.seq + 1);
    this.exports.delete(entity);
    return ended.seq;
  }

  /** The session's time starts anew: every entity begins a new life when it is next looked at. */
  startOver() {
    this.#firstSeq = this.nextSeq;
    this.exports.clear();
    this.#lookedAt = -Infinity;
  }

  /**
   * Makes a vector if one is due.
   * @param {Export} known
   * @param {MotionState} state
   * @param {number} now
   */
  #look(known, state, now) {
    if (now <= known.vector.generated || !hasStrayed(known, state, now) || known.seq >= SEQ_MAX) return false;
    const next = generate(state, known.threshold.kind, now);
    // Within one microsecond there can be one vector only.
    if (next === null || next.generated <= known.vector.generated) return false;
    known.vector = next;
    known.seq += 1;
    return true;
  }
}

/**
 * Whether the real path strayed from the exported one, or the vector grew too old.
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
 * The vector that the owner makes of its entity's state, as it can travel; null if rounding makes it larger than any may be.
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

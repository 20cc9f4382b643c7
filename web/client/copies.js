/** Copies of the other players' entities, as the relay tells of them (docs/WIRE.md, "Receiving"). */

/** @typedef {import("./motion.js").DrVector} DrVector */
/** @typedef {import("./wire.js").VectorFields} VectorFields */

/** Entities of one sender; more are not taken. */
export const COPIES_MAX = 4096;
/** So many numbers back it is known which have arrived. */
const SEEN_MAX = 64;
/** No vector has this number. */
const NONE = 0xffff_ffff;

/**
 * A copy: one life of somebody's entity. `seen` has a place for each of the last 64 numbers, which holds the number if that has
 * arrived.
 * @typedef {{ first: number, newest: number, seen: Uint32Array, placed: DrVector }} Copy
 */

/** Everything that the relay shows this player. */
export class Copies {
  /** By the entity's name. @type {Map<number, Copy>} */
  copies = new Map();
  /** Vectors of unknown entities, repeated ones, and those beyond a limit. */
  ignored = 0;
  /**
   * Entities whose placed vector changed, or that ended (null), since this was last taken. It holds each once, so it is as bounded
   * as the copies are.
   * @type {Map<number, DrVector | null>}
   */
  #changed = new Map();

  /**
   * A vector arrives; only an introduction makes a new copy.
   * @param {VectorFields} frame
   * @param {DrVector} vector the same by this machine's times
   * @param {boolean} isIntroduction
   * @returns {boolean} whether it is to be acknowledged
   */
  handleVector(frame, vector, isIntroduction) {
    const { entity, first, seq } = frame;
    const copy = this.copies.get(entity);
    if (copy === undefined) {
      if (!isIntroduction || this.copies.size >= COPIES_MAX) return this.#ignore();
      const seen = new Uint32Array(SEEN_MAX).fill(NONE);
      seen[seq % SEEN_MAX] = seq;
      this.copies.set(entity, { first, newest: seq, seen, placed: vector });
      this.#changed.set(entity, vector);
      return true;
    }
    // Of another life: its introduction is still to come, or its end has passed.
    if (copy.first !== first) return this.#ignore();
    // It came twice, or too late.
    if (copy.newest - seq >= SEEN_MAX || copy.seen[seq % SEEN_MAX] === seq) return this.#ignore();
    copy.seen[seq % SEEN_MAX] = seq;
    if (seq > copy.newest) {
      copy.newest = seq;
      copy.placed = vector;
      this.#changed.set(entity, vector);
    }
    return true;
  }

  /**
   * An entity is no more.
   * @param {number} entity
   */
  handleEnded(entity) {
    if (this.copies.delete(entity)) this.#changed.set(entity, null);
  }

  /** The relay went, and all copies with it. */
  clear() {
    for (const entity of this.copies.keys()) this.#changed.set(entity, null);
    this.copies.clear();
  }

  /** What changed since this was asked last. */
  takeChanges() {
    const changed = this.#changed;
    if (changed.size > 0) this.#changed = new Map();
    return changed;
  }

  #ignore() {
    this.ignored += 1;
    return false;
  }
}

/** Copies of the other players' entities, as announced by the relay (docs/WIRE.md, "Receiving"). */

/** @typedef {import("./motion.js").DrVector} DrVector */
/** @typedef {import("./wire.js").VectorFields} VectorFields */

/** Entities per relay; more are ignored. */
export const COPIES_MAX = 4096;
/** How many of the latest sequence numbers are checked for duplicates. */
const SEEN_MAX = 64;
/** Not a sequence number. */
const SEQ_NONE = 0xffff_ffff;

/**
 * One life of another player's entity. `seen` is a ring of the latest 64 sequence numbers: a slot holds the number if
 * it has arrived.
 * @typedef {{ first: number, newest: number, seen: Uint32Array, placed: DrVector }} TrackedCopy
 */

/** Every entity that the relay shows this player. */
export class Copies {
  /** By entity id. @type {Map<number, TrackedCopy>} */
  copies = new Map();
  /** Vectors of unknown entities, duplicates, and those beyond a limit. */
  ignored = 0;
  /**
   * Entities whose placed vector changed, or that ended (null), since the last `takeChanges`. Holds each entity once,
   * so its size is bounded.
   * @type {Map<number, DrVector | null>}
   */
  #changed = new Map();

  /**
   * Handles a vector. Only an introduction creates a copy.
   * @param {VectorFields} frame
   * @param {DrVector} vector the frame's vector in this machine's times
   * @param {boolean} isIntroduction
   * @returns {boolean} whether to acknowledge it
   */
  handleVector(frame, vector, isIntroduction) {
    const { entity, first, seq } = frame;
    const copy = this.copies.get(entity);
    if (copy === undefined) {
      if (!isIntroduction || this.copies.size >= COPIES_MAX) return this.#ignore();
      const seen = new Uint32Array(SEEN_MAX).fill(SEQ_NONE);
      seen[seq % SEEN_MAX] = seq;
      this.copies.set(entity, { first, newest: seq, seen, placed: vector });
      this.#changed.set(entity, vector);
      return true;
    }
    // Another life: its introduction is still to come, or it has already ended.
    if (copy.first !== first) return this.#ignore();
    // A duplicate, or too late.
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
   * Removes an entity's copy.
   * @param {number} entity
   */
  handleEnded(entity) {
    if (this.copies.delete(entity)) this.#changed.set(entity, null);
  }

  /** Removes all copies: the relay disconnected. */
  clear() {
    for (const entity of this.copies.keys()) this.#changed.set(entity, null);
    this.copies.clear();
  }

  /** Takes the changes since the last call. */
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

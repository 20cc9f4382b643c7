/** Updates that have arrived: which ones, and those that are held until everybody shows them. */

/** An update that has arrived. @typedef {{ id: number, stamp: bigint, bytes: Uint8Array }} HeldUpdate */

/** Updates held at a time, and their bytes; beyond it the first is shown at once. */
const HELD_MAX = 2_048;
const HELD_BYTES_MAX = 4 << 20;
/** Numbers behind the newest that are remembered. */
const WINDOW = 1_024;

/** Which of the last numbers have come. Those that are too old to tell count as come. */
export class SeqWindow {
  #newest = -1;
  /** @type {Set<number>} */
  #received = new Set();

  /** @param {number} seq */
  has(seq) {
    return seq <= this.#newest && (this.#newest - seq >= WINDOW || this.#received.has(seq));
  }

  /** @param {number} seq */
  note(seq) {
    if (this.has(seq)) return;
    this.#received.add(seq);
    if (seq <= this.#newest) return;
    this.#newest = seq;
    if (this.#received.size < 2 * WINDOW) return;
    for (const old of this.#received) if (seq - old >= WINDOW) this.#received.delete(old);
  }
}

/** Updates by the time at which they are shown, then by their numbers. */
export class HeldUpdates {
  /** @type {{ showAt: bigint, update: HeldUpdate }[]} */
  #updates = [];
  #bytes = 0;

  /**
   * @param {bigint} showAt
   * @param {HeldUpdate} update
   */
  push(showAt, update) {
    const isBefore = (/** @type {{ showAt: bigint, update: HeldUpdate }} */ other) =>
      other.showAt < showAt || (other.showAt === showAt && other.update.id < update.id);
    const place = this.#updates.findLastIndex(isBefore) + 1;
    this.#updates.splice(place, 0, { showAt, update });
    this.#bytes += update.bytes.length;
  }

  /** Takes the first update, due or not; undefined if there is none. */
  pop() {
    const first = this.#updates.shift();
    this.#bytes -= first?.update.bytes.length ?? 0;
    return first?.update;
  }

  /** Takes the first update if there are too many. */
  popCrowded() {
    return this.#updates.length > HELD_MAX || this.#bytes > HELD_BYTES_MAX ? this.pop() : undefined;
  }

  /**
   * Takes the first update if it is due. Without a session time, every update is.
   * @param {bigint | null} now
   */
  popDue(now) {
    const at = this.nextAt;
    return at !== null && (now === null || at <= now) ? this.pop() : undefined;
  }

  /** When the first update is due; null if there is none. */
  get nextAt() {
    return this.#updates.length === 0 ? null : this.#updates[0].showAt;
  }
}

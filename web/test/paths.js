/** What players of tests drive, and how far others are seen to go. */

/** The circle that is driven: its radius, and the speed along it. */
const [RADIUS, SPEED] = [20, 8];

/**
 * Where whoever drives the circle is at a session time, and how it moves.
 * @param {number} at
 */
export function drive(at) {
  const turnRate = SPEED / RADIUS;
  const angle = ((at / 1000) * turnRate) % (2 * Math.PI);
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  return { position: [RADIUS * cos, RADIUS * sin], velocity: [-SPEED * sin, SPEED * cos], turnRate };
}

/** The way that each player has gone since it was first seen. */
export class Ways {
  /** By player. @type {Map<number, { last: readonly number[], way: number }>} */
  #ways = new Map();

  /**
   * Looks at everybody. Who is not there any more is forgotten.
   * @param {readonly import("../client/index.js").Copy[]} copies
   */
  look(copies) {
    const last = this.#ways;
    this.#ways = new Map();
    for (const { player, position } of copies) {
      const known = last.get(player);
      const way = known === undefined ? 0 : known.way + Math.hypot(...position.map((x, axis) => x - known.last[axis]));
      this.#ways.set(player, { last: position, way });
    }
  }

  /** How far each has gone, by player. */
  get all() {
    return Object.fromEntries([...this.#ways].map(([player, { way }]) => [player, way]));
  }
}

/** The circle that test players drive, and the distance others are seen to cover. */

/** Radius of the circle, and the speed along it. */
const [RADIUS, SPEED] = [20, 8];

/**
 * Returns the motion on the circle at a session time.
 * @param {number} at
 */
export function circleMotion(at) {
  const turnRate = SPEED / RADIUS;
  const angle = ((at / 1000) * turnRate) % (2 * Math.PI);
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  return { position: [RADIUS * cos, RADIUS * sin], velocity: [-SPEED * sin, SPEED * cos], turnRate };
}

/** Distance that each player has covered since it was first seen. */
export class Distances {
  /** By player. @type {Map<number, { last: readonly number[], distance: number }>} */
  #distances = new Map();

  /**
   * Adds the current positions. Players who are gone are forgotten.
   * @param {readonly import("../client/index.js").Copy[]} copies
   */
  look(copies) {
    const last = this.#distances;
    this.#distances = new Map();
    for (const { player, position } of copies) {
      const known = last.get(player);
      const distance = known === undefined ? 0 : known.distance + Math.hypot(...position.map((x, axis) => x - known.last[axis]));
      this.#distances.set(player, { last: position, distance });
    }
  }

  /** Distances by player. */
  get all() {
    return Object.fromEntries([...this.#distances].map(([player, { distance }]) => [player, distance]));
  }
}

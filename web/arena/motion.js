/** Placing DR vectors that were read from the relay's HTTP API, and deriving headings from velocities. */

import { project, velocityAt } from "../client/motion.js";
import { SPEED_BACKWARDS_MAX, wrapped } from "./rules.js";

/** Converts a vector from JSON. Times count from the session's base. */
export function vectorFromJson(json, base) {
  const { kind, position, velocity, acceleration = [0, 0, 0], turn_rate: turnRate = 0 } = json;
  return { kind, position, velocity, acceleration, turnRate, generated: Number(BigInt(json.generated) - base) };
}

/** Returns where a vector is at a time, and its velocity there. */
export function placeVector(vector, ns) {
  const [[x, y], [vx, vy]] = [project(vector, ns), velocityAt(vector, ns)];
  return { x, y, vx, vy, turnRate: vector.turnRate };
}

/** Below this speed the direction of the velocity means nothing. */
const STANDING_SPEED = 0.4;
/** Turn rate limit of a drawn heading in rad/s, so that corrections do not flicker. */
const DRAWN_TURN_RATE_MAX = 9;

/**
 * Returns the heading that a velocity implies, forwards or backwards, whichever is nearer to `angle`; at rest returns
 * `angle`.
 */
export function headingNear({ vx, vy }, angle) {
  if (Math.hypot(vx, vy) < STANDING_SPEED) return angle;
  const way = Math.atan2(vy, vx);
  return Math.abs(wrapped(way - angle)) > Math.PI / 2 ? wrapped(way + Math.PI) : way;
}

/** Heading of a copy, derived from its velocity. A sudden reversal means driving backwards. */
export class Heading {
  constructor(angle) {
    this.angle = angle;
    this.shown = angle;
  }

  follow({ vx, vy, turnRate = 0 }, seconds) {
    const speed = Math.hypot(vx, vy);
    if (speed < STANDING_SPEED) {
      this.angle = wrapped(this.angle + turnRate * seconds);
    } else {
      const way = Math.atan2(vy, vx);
      const isAgainst = Math.abs(wrapped(way - this.angle)) > Math.PI / 2;
      // Tanks are slower backwards than forwards.
      this.angle = isAgainst && speed <= SPEED_BACKWARDS_MAX * 1.05 ? wrapped(way + Math.PI) : way;
    }
    const most = DRAWN_TURN_RATE_MAX * seconds;
    const off = Math.min(Math.max(wrapped(this.angle - this.shown), -most), most);
    this.shown = wrapped(this.shown + off);
    return this.shown;
  }
}

/**
 * Where things are: a DR vector that was read from the relay's pages, at a time; and the heading that a vector does not tell.
 */

import { project, velocityAt } from "../client/motion.js";
import { SPEED_BACKWARDS_MAX, wrapped } from "./rules.js";

/** A vector as the relay's pages write it, as one that can be placed; times are from the session's base on. */
export function vectorOf(json, base) {
  const { kind, position, velocity, acceleration = [0, 0, 0], turn_rate: turnRate = 0 } = json;
  return { kind, position, velocity, acceleration, turnRate, generated: Number(BigInt(json.generated) - base) };
}

/** Where a vector is at a time, and how it moves there. */
export function placed(vector, ns) {
  const [[x, y], [vx, vy]] = [project(vector, ns), velocityAt(vector, ns)];
  return { x, y, vx, vy, turnRate: vector.turnRate };
}

/** Slower than this is standing: the direction of so small a velocity means nothing. */
const STANDING = 0.4;
/** The picture of a heading turns by at most so many rad/s, so that a corrected one does not flicker. */
const PICTURE_RATE = 9;

/** The heading that a velocity tells, forwards or backwards, whichever is nearer to an angle; at rest it tells none. */
export function headingNear({ vx, vy }, angle) {
  if (Math.hypot(vx, vy) < STANDING) return angle;
  const way = Math.atan2(vy, vx);
  return Math.abs(wrapped(way - angle)) > Math.PI / 2 ? wrapped(way + Math.PI) : way;
}

/** The heading of a copy, followed from its velocity. A sudden reversal is a tank that drives backwards. */
export class Heading {
  constructor(angle) {
    this.angle = angle;
    this.shown = angle;
  }

  follow({ vx, vy, turnRate = 0 }, seconds) {
    const speed = Math.hypot(vx, vy);
    if (speed < STANDING) {
      this.angle = wrapped(this.angle + turnRate * seconds);
    } else {
      const way = Math.atan2(vy, vx);
      const isAgainst = Math.abs(wrapped(way - this.angle)) > Math.PI / 2;
      // Nobody drives backwards as fast as forwards.
      this.angle = isAgainst && speed <= SPEED_BACKWARDS_MAX * 1.05 ? wrapped(way + Math.PI) : way;
    }
    const most = PICTURE_RATE * seconds;
    const off = Math.min(Math.max(wrapped(this.angle - this.shown), -most), most);
    this.shown = wrapped(this.shown + off);
    return this.shown;
  }
}

/** Everything on the field that other players own: tanks with headings, shots, and where others see one tank. */

import { Heading, headingNear, placeVector, vectorFromJson } from "./motion.js";
import { entityOf } from "./rules.js";

/** A shot last seen longer ago, in milliseconds, disappears without a spark. */
const SPARK_AGE_MAX = 200;

export class RemoteEntities {
  /** `on` receives the visible events: `fired(x, y, heading)` and `ended(x, y)`. */
  constructor(on) {
    this.on = on;
    this.tanks = new Map();
    this.shots = new Map();
    this.shown = [];
  }

  /** Places every copy; `now` is the page's clock in milliseconds. */
  place(session, now, seconds) {
    const seen = new Set();
    for (const copy of session.copies()) {
      if (copy.player === session.player) continue;
      const entity = entityOf(copy.player, copy.local);
      seen.add(entity);
      if (copy.local === 0) this.placeTank(entity, copy, now, seconds);
      else this.placeShot(entity, copy, now);
    }
    for (const [entity, shot] of this.shots) {
      if (seen.has(entity)) continue;
      if (now - shot.seen < SPARK_AGE_MAX) this.on.ended(shot.x, shot.y);
      this.shots.delete(entity);
    }
    for (const entity of this.tanks.keys()) {
      if (!seen.has(entity)) this.tanks.delete(entity);
    }
  }

  placeTank(entity, copy, now, seconds) {
    let tank = this.tanks.get(entity);
    if (!tank) {
      const { x, y, vx, vy } = copy;
      // A tank that has not moved yet probably faces the middle.
      const angle = Math.hypot(vx, vy) > 1 ? Math.atan2(vy, vx) : Math.atan2(-y, -x);
      tank = { heading: new Heading(angle), since: now };
      this.tanks.set(entity, tank);
    }
    Object.assign(tank, copy, { angle: tank.heading.follow(copy, seconds) });
  }

  placeShot(entity, copy, now) {
    const before = this.shots.get(entity);
    // The same id far away is the next shot.
    const isNew = !before || Math.hypot(copy.x - before.x, copy.y - before.y) > 12;
    if (isNew) this.on.fired(copy.x, copy.y, Math.atan2(copy.vy, copy.vx));
    this.shots.set(entity, { ...copy, seen: now });
  }

  /** Stores where each other player sees one tank, as reported by the relay. */
  setOutlines(answer, base) {
    this.shown = answer.map(({ by, vector }) => ({ by, vector: vectorFromJson(vector, base) }));
  }

  /** Returns where the others see that tank at a session time, given its true heading `angle`. */
  outlines(ns, angle) {
    return this.shown.map(({ by, vector }) => {
      const at = placeVector(vector, ns);
      return { by, ...at, angle: headingNear(at, angle) };
    });
  }

  clearOutlines() {
    this.shown = [];
  }
}

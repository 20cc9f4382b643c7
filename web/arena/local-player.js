/**
 * The local player: its tank and shots, advanced in steps of 10 ms and reported to the session.
 *
 * Both the drawing loop and a ticking worker call it; the first caller does the steps that are due, so the tank
 * keeps moving in a hidden tab. Reports are interpolated between steps: reporting the last step's position would shake
 * the tank by up to a quarter of a unit, and every shake would cost a message.
 */

import { triggerBytes } from "./game-message.js";
import { RESPAWN_DELAY, entityOf, MUZZLE, RELOAD, SHOT_LIFE, SHOT_SPEED, SHOTS_MAX, STEP, Tank } from "./rules.js";

/** After a longer pause, in milliseconds, the missed steps are skipped. */
const PAUSE_MAX = 1000;
/** Least interval between reports, in milliseconds. */
const REPORT_INTERVAL = 8;
const STANDING = { speed: 0, turnRate: 0 };

export class LocalPlayer {
  /** `on` receives the visible events: `fired(x, y, heading)` and `ended(x, y)`. */
  constructor(field, session, on) {
    Object.assign(this, { field, session, on });
    this.tank = null;
    this.shots = [];
    this.reload = 0;
    /** When it starts again after a hit, in milliseconds of the page's clock. */
    this.returns = null;
    this.since = null;
    this.hitBy = null;
    this.steppedAt = null;
    this.reportedAt = -Infinity;
    this.handles = new Map();
  }

  get player() {
    return this.session.player;
  }

  handleMessage(message, now) {
    if (message.kind === "spawn") {
      this.end(0);
      const [x, y] = this.field.free(...message.position);
      this.tank = new Tank(x, y, message.heading);
      Object.assign(this, { returns: null, since: now, hitBy: null });
    } else if (message.kind === "hit" && message.victim === this.player) {
      this.tank = null;
      this.end(0);
      Object.assign(this, { returns: now + RESPAWN_DELAY * 1000, hitBy: message.shooter });
    } else if (message.kind === "hit" && message.shooter === this.player) {
      const hit = this.shots.find((shot) => entityOf(this.player, shot.local) === message.shot);
      if (hit) this.endShot(hit);
    }
  }

  /** Does the steps that are due, with the desired motion `wish`, and reports the result. */
  advance(now, wish) {
    if (this.steppedAt === null || now - this.steppedAt > PAUSE_MAX) this.steppedAt = now;
    while (now - this.steppedAt >= STEP * 1000) {
      this.steppedAt += STEP * 1000;
      this.step(wish);
    }
    if (now - this.reportedAt >= REPORT_INTERVAL) {
      this.reportedAt = now;
      this.report(this.after(now));
    }
  }

  /** The trigger was pulled, some milliseconds ago. In a quick draw that counts even if the gun is not loaded. */
  pull(now, at = now) {
    const shot = this.tank && this.reload === 0 ? this.fire() : 0;
    this.session.act(triggerBytes({ shot, isPulled: true }), at);
    if (shot > 0) this.report(this.after(now));
  }

  /** Returns the seconds since the last step. */
  after(now) {
    return Math.min(Math.max((now - this.steppedAt) / 1000, 0), STEP);
  }

  step(wish) {
    this.reload = Math.max(this.reload - STEP, 0);
    if (this.tank) {
      this.tank.step(wish ?? STANDING);
      this.tank.stayOn(this.field);
      if (wish?.fire && this.reload === 0) this.fireAgain();
    }
    for (const shot of [...this.shots]) {
      const to = [shot.x + shot.vx * STEP, shot.y + shot.vy * STEP];
      const stop = this.field.stops([shot.x, shot.y], to);
      shot.left -= STEP;
      if (stop !== null) this.on.ended(shot.x + shot.vx * STEP * stop, shot.y + shot.vy * STEP * stop);
      [shot.x, shot.y] = to;
      if (stop !== null || shot.left <= 0) this.endShot(shot);
    }
  }

  /** A trigger that is held fires when the gun is loaded. */
  fireAgain() {
    const shot = this.fire();
    if (shot > 0) this.session.act(triggerBytes({ shot, isPulled: false }));
  }

  /** Returns the number of the shot; 0 if too many are flying. */
  fire() {
    const isFree = (local) => this.shots.every((shot) => shot.local !== local);
    const local = Array.from({ length: SHOTS_MAX }, (_, place) => place + 1).find(isFree);
    if (local === undefined) return 0;
    const { x, y, heading } = this.tank;
    const [east, north] = [Math.cos(heading), Math.sin(heading)];
    const [vx, vy] = [east * SHOT_SPEED, north * SHOT_SPEED];
    this.reload = RELOAD;
    this.shots.push({ local, x: x + east * MUZZLE, y: y + north * MUZZLE, vx, vy, left: SHOT_LIFE });
    this.on.fired(x + east * MUZZLE, y + north * MUZZLE, heading);
    return local;
  }

  /** Ends a shot. */
  endShot(shot) {
    this.shots = this.shots.filter((other) => other !== shot);
    this.end(shot.local);
  }

  /** Ends an own entity. */
  end(local) {
    this.handles.get(local)?.end();
    this.handles.delete(local);
  }

  report(after) {
    const move = (local, state) => {
      if (!this.handles.has(local)) this.handles.set(local, this.session.own(local));
      this.handles.get(local).move(state);
    };
    if (this.tank) move(0, this.tank.state(after));
    for (const { local, x, y, vx, vy } of this.shots) {
      const position = [x + vx * after, y + vy * after, 0];
      move(local, { position, velocity: [vx, vy, 0], acceleration: [0, 0, 0], turnRate: 0 });
    }
  }

  /** Ends all own entities. */
  close() {
    for (const local of [...this.handles.keys()]) this.end(local);
    this.tank = null;
    this.shots = [];
  }
}

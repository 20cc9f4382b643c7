/**
 * What a player moves itself: its tank and its shots, in steps of 10 ms, and what it tells of them.
 *
 * It is called from the picture's loop and from a ticking worker. Whoever calls first does the steps that are due, so the
 * tank goes on in a hidden tab. Between two steps it is told where it is right then, not where the last step left it:
 * otherwise the steps would shake it by up to a quarter of a unit, and every shake would cost a message.
 */

import { AWAY, entityOf, MUZZLE, RELOAD, SHOT_LIFE, SHOT_SPEED, SHOTS, STEP, Tank } from "./rules.js";

/** Who was away for longer, in milliseconds, has stood meanwhile. */
const PAUSE_MAX = 1000;
/** It is not told more often than this, in milliseconds. */
const TELL = 8;
const STANDING = { speed: 0, turnRate: 0 };

export class Own {
  /** `on` hears of what is worth a picture: `fired(x, y, heading)`, `ended(x, y)`. */
  constructor(field, session, on) {
    Object.assign(this, { field, session, on });
    this.tank = null;
    this.shots = [];
    this.reload = 0;
    /** When it was hit and starts again, on the page's clock in milliseconds. */
    this.returns = null;
    this.since = null;
    this.hitBy = null;
    this.at = null;
    this.told = -Infinity;
    this.handles = new Map();
  }

  get player() {
    return this.session.player;
  }

  hear(news, now) {
    if (news.kind === "spawn") {
      this.end(0);
      const [x, y] = this.field.free(...news.position);
      this.tank = new Tank(x, y, news.heading);
      Object.assign(this, { returns: null, since: now, hitBy: null });
    } else if (news.kind === "hit" && news.victim === this.player) {
      this.tank = null;
      this.end(0);
      Object.assign(this, { returns: now + AWAY * 1000, hitBy: news.shooter });
    } else if (news.kind === "hit" && news.shooter === this.player) {
      const hit = this.shots.find((shot) => entityOf(this.player, shot.local) === news.shot);
      if (hit) this.over(hit);
    }
  }

  /** Does the steps that are due by now, under a wish of the player's, and tells what has become of it. */
  advance(now, wish) {
    if (this.at === null || now - this.at > PAUSE_MAX) this.at = now;
    while (now - this.at >= STEP * 1000) {
      this.at += STEP * 1000;
      this.step(wish);
    }
    if (now - this.told >= TELL) {
      this.told = now;
      this.tell(this.after(now));
    }
  }

  /** Seconds since the last step. */
  after(now) {
    return Math.min(Math.max((now - this.at) / 1000, 0), STEP);
  }

  step(wish) {
    this.reload = Math.max(this.reload - STEP, 0);
    if (this.tank) {
      this.tank.step(wish ?? STANDING);
      this.tank.stayOn(this.field);
      if (wish?.fire && this.reload === 0) this.fire();
    }
    for (const shot of [...this.shots]) {
      const to = [shot.x + shot.vx * STEP, shot.y + shot.vy * STEP];
      const stop = this.field.stops([shot.x, shot.y], to);
      shot.left -= STEP;
      if (stop !== null) this.on.ended(shot.x + shot.vx * STEP * stop, shot.y + shot.vy * STEP * stop);
      [shot.x, shot.y] = to;
      if (stop !== null || shot.left <= 0) this.over(shot);
    }
  }

  fire() {
    const isFree = (local) => this.shots.every((shot) => shot.local !== local);
    const local = Array.from({ length: SHOTS }, (_, place) => place + 1).find(isFree);
    if (local === undefined) return;
    const { x, y, heading } = this.tank;
    const [east, north] = [Math.cos(heading), Math.sin(heading)];
    const [vx, vy] = [east * SHOT_SPEED, north * SHOT_SPEED];
    this.reload = RELOAD;
    this.shots.push({ local, x: x + east * MUZZLE, y: y + north * MUZZLE, vx, vy, left: SHOT_LIFE });
    this.on.fired(x + east * MUZZLE, y + north * MUZZLE, heading);
  }

  /** A shot is over. */
  over(shot) {
    this.shots = this.shots.filter((other) => other !== shot);
    this.end(shot.local);
  }

  /** An entity of its own is no more. */
  end(local) {
    this.handles.get(local)?.end();
    this.handles.delete(local);
  }

  tell(after) {
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

  /** Nothing is left of it. */
  close() {
    for (const local of [...this.handles.keys()]) this.end(local);
    this.tank = null;
    this.shots = [];
  }
}

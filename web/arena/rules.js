/**
 * The arena's rules, as far as a player's own tank and shots need them: the field, how a tank drives, how a shot flies.
 *
 * Mirrors `games/src/arena.rs`, `games/src/tank.rs` and `games/src/arena/field.rs`. The relay decides who is hit; this file does not.
 */

export const LENGTH = 6;
export const WIDTH = 2.8;
export const SPEED_MAX = 45;
export const SPEED_BACKWARDS_MAX = 22.5;
export const TURN_RATE_MAX = 0.8 * Math.PI;
const ACCELERATION_MAX = 90;
const ANGULAR_ACCELERATION_MAX = 12;

export const SHOT_SPEED = 90;
export const SHOT_LIFE = 1;
export const RELOAD = 1.6;
/** Distance from a tank's middle at which shots start. */
export const MUZZLE = 4.2;
/** Shots of one player in flight at once. */
export const SHOTS_MAX = 2;
/** Seconds until a player who was hit starts again, and for which it then cannot be hit. */
export const RESPAWN_DELAY = 2;
export const SPAWN_PROTECTION = 1.5;

/** Length of a simulation step, in seconds. */
export const STEP = 0.01;

/** Radius of a tank's hull for collisions with walls and blocks. */
const HULL_RADIUS = 2.6;
const PLAYERS_MAX = 1024;

export const entityOf = (player, local) => local * PLAYERS_MAX + player;
export const playerOf = (entity) => entity % PLAYERS_MAX;
export const localOf = (entity) => Math.floor(entity / PLAYERS_MAX);

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** Returns an angle wrapped to half a turn either way. */
export const wrapped = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));

export class Field {
  constructor({ half, blocks }) {
    this.half = half;
    this.blocks = blocks;
  }

  /** Returns the nearest place where a tank's hull is free. */
  free(x, y) {
    const [roomX, roomY] = [this.half[0] - HULL_RADIUS, this.half[1] - HULL_RADIUS];
    const inside = (place) => [clamp(place[0], -roomX, roomX), clamp(place[1], -roomY, roomY)];
    let at = inside([x, y]);
    // Blocks are farther apart, and farther from the walls, than a tank is wide: two rounds are enough.
    for (let round = 0; round < 2; round += 1) {
      for (const block of this.blocks) {
        const out = pushOut(block, at, HULL_RADIUS);
        if (out) at = inside(out);
      }
    }
    return at;
  }

  /** Returns the part of a straight path after which a shot hits a wall or a block, or null. */
  stops([x, y], [toX, toY]) {
    const [wayX, wayY] = [toX - x, toY - y];
    const parts = this.blocks.map((block) => entryOf(block, [x, y], [wayX, wayY])).filter((part) => part !== null);
    for (const [at, step, half] of [[x, wayX, this.half[0]], [y, wayY, this.half[1]]]) {
      const part = ((step > 0 ? half : -half) - at) / step;
      if (Math.abs(step) > 1e-12 && part <= 1) parts.push(part);
    }
    return parts.length ? Math.max(0, Math.min(...parts)) : null;
  }
}

/** Returns where to move a circle that overlaps a block, or null. */
function pushOut({ middle, half }, [x, y], radius) {
  const nearX = clamp(x, middle[0] - half[0], middle[0] + half[0]);
  const nearY = clamp(y, middle[1] - half[1], middle[1] + half[1]);
  const distance = Math.hypot(x - nearX, y - nearY);
  if (distance >= radius) return null;
  if (distance > 1e-9) {
    const part = radius / distance;
    return [nearX + (x - nearX) * part, nearY + (y - nearY) * part];
  }
  // The circle's middle is inside: leave by the nearest side.
  const [offX, offY] = [x - middle[0], y - middle[1]];
  if (half[0] - Math.abs(offX) < half[1] - Math.abs(offY)) {
    return [middle[0] + (offX < 0 ? -1 : 1) * (half[0] + radius), y];
  }
  return [x, middle[1] + (offY < 0 ? -1 : 1) * (half[1] + radius)];
}

/** Returns the part of a straight path at which it enters a block, or null. */
function entryOf({ middle, half }, from, way) {
  let [enter, leave] = [0, 1];
  for (let axis = 0; axis < 2; axis += 1) {
    const low = middle[axis] - half[axis] - from[axis];
    const high = middle[axis] + half[axis] - from[axis];
    if (Math.abs(way[axis]) < 1e-12) {
      if (low > 0 || high < 0) return null;
      continue;
    }
    const [first, last] = way[axis] > 0 ? [low, high] : [high, low];
    enter = Math.max(enter, first / way[axis]);
    leave = Math.min(leave, last / way[axis]);
  }
  return enter <= leave ? enter : null;
}

/** Moves a value towards a target by at most `change`, without overshooting. */
function towards(value, wish, change) {
  if (Math.abs(wish - value) <= change) return wish;
  return wish > value ? value + change : value - change;
}

/** A tank drives along its heading, forwards or backwards, and turns in place or in motion. */
export class Tank {
  constructor(x, y, heading) {
    Object.assign(this, { x, y, heading, speed: 0, turnRate: 0, acceleration: 0 });
  }

  /**
   * Advances one step: speed and turn rate move towards the wish, then the tank moves along the heading at half the
   * step.
   */
  step(wish, seconds = STEP) {
    const { speed, turnRate } = this;
    const speedWish = clamp(wish.speed, -SPEED_BACKWARDS_MAX, SPEED_MAX);
    const turnWish = clamp(wish.turnRate, -TURN_RATE_MAX, TURN_RATE_MAX);
    this.speed = towards(speed, speedWish, ACCELERATION_MAX * seconds);
    this.turnRate = towards(turnRate, turnWish, ANGULAR_ACCELERATION_MAX * seconds);
    this.acceleration = clamp((this.speed - speed) / seconds, -ACCELERATION_MAX, ACCELERATION_MAX);
    const turn = 0.5 * (turnRate + this.turnRate) * seconds;
    const distance = 0.5 * (speed + this.speed) * seconds;
    this.x += Math.cos(this.heading + 0.5 * turn) * distance;
    this.y += Math.sin(this.heading + 0.5 * turn) * distance;
    this.heading = wrapped(this.heading + turn);
  }

  /** Keeps the tank on the field after a step: it slides along obstacles, at the speed that remains. */
  stayOn(field, seconds = STEP) {
    const [x, y] = field.free(this.x, this.y);
    const [awayX, awayY] = [x - this.x, y - this.y];
    if (awayX === 0 && awayY === 0) return;
    [this.x, this.y] = [x, y];
    const along = awayX * Math.cos(this.heading) + awayY * Math.sin(this.heading);
    const speed = this.speed + along / seconds;
    // Obstacles do not throw it back.
    this.speed = this.speed >= 0 ? clamp(speed, 0, this.speed) : clamp(speed, this.speed, 0);
    this.acceleration = 0;
  }

  /** Returns the motion state that its owner reports, some seconds after the last step. */
  state(after = 0) {
    const [east, north] = [Math.cos(this.heading), Math.sin(this.heading)];
    return {
      position: [this.x + east * this.speed * after, this.y + north * this.speed * after, 0],
      velocity: [east * this.speed, north * this.speed, 0],
      acceleration: [east * this.acceleration, north * this.acceleration, 0],
      turnRate: this.turnRate,
    };
  }
}

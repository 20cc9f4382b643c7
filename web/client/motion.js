/**
 * DR vectors and their projection: where an entity was at some session time, and how it moves on from there
 * (docs/WIRE.md, "Projection").
 *
 * Times are numbers of nanoseconds since the base of the machine that holds the vector (see `peer.js`).
 */

/** @typedef {import("./quantize.js").Vec3} Vec3 */
/** @typedef {import("./quantize.js").MotionState} MotionState */

/** @typedef {"linear" | "quadratic" | "circular" | "damped"} MotionKind */

/**
 * Dead-reckoning vector.
 * @typedef {MotionState & { kind: MotionKind, generated: number }} DrVector
 */

/** All kinds, in the order of their wire tags. @type {readonly MotionKind[]} */
export const KINDS = ["linear", "quadratic", "circular", "damped"];

/**
 * The acceleration of a damped vector decays by a factor e per second. Projected backwards, it stops growing at this
 * age (s).
 */
const BACK_MAX = 2;
/** Below this value of (1 + |w|) t, the displacement by a damped acceleration is summed as a series. */
const SERIES_RANGE = 0.1;
/** Terms of that series; the next one is below 1e-17. */
const SERIES_TERMS = 10;

/**
 * Returns the position that a vector predicts for a time.
 * @param {DrVector} vector
 * @param {number} at
 * @returns {Vec3}
 */
export function project(vector, at) {
  const t = (at - vector.generated) / 1e9;
  const { position: p, velocity: v, acceleration: a, turnRate: w } = vector;
  switch (vector.kind) {
    case "linear":
      return [p[0] + v[0] * t, p[1] + v[1] * t, p[2] + v[2] * t];
    case "quadratic": {
      const half = 0.5 * t * t;
      return [
        p[0] + v[0] * t + (a[0] - v[1] * w) * half,
        p[1] + v[1] * t + (a[1] + v[0] * w) * half,
        p[2] + v[2] * t + a[2] * half,
      ];
    }
    case "circular": {
      const c = arc(v, w, t);
      return [p[0] + c[0], p[1] + c[1], p[2] + c[2]];
    }
    case "damped": {
      const c = arc(v, w, t);
      const [along, aside, up] = dampedDisplacement(w, t);
      return [
        p[0] + c[0] + (a[0] * along - a[1] * aside),
        p[1] + c[1] + (a[0] * aside + a[1] * along),
        p[2] + c[2] + a[2] * up,
      ];
    }
  }
}

/**
 * Returns the velocity that a vector predicts for a time, per second.
 * @param {DrVector} vector
 * @param {number} at
 * @returns {Vec3}
 */
export function velocityAt(vector, at) {
  const t = (at - vector.generated) / 1e9;
  const { velocity: v, acceleration: a, turnRate: w } = vector;
  if (vector.kind === "linear") return [v[0], v[1], v[2]];
  if (vector.kind === "quadratic") {
    return [v[0] + (a[0] - v[1] * w) * t, v[1] + (a[1] + v[0] * w) * t, v[2] + a[2] * t];
  }
  const [sin, cos] = [Math.sin(w * t), Math.cos(w * t)];
  // Integral of the damped acceleration's factor up to t.
  const made = vector.kind === "damped" ? -Math.expm1(-Math.max(t, -BACK_MAX)) : 0;
  const [x, y] = [v[0] + a[0] * made, v[1] + a[1] * made];
  return [x * cos - y * sin, x * sin + y * cos, v[2] + a[2] * made];
}

/**
 * Returns the full state that a vector predicts for a time. A silent owner's entity is assumed to follow it.
 * @param {DrVector} vector
 * @param {number} at
 * @returns {MotionState}
 */
export function stateAt(vector, at) {
  const t = (at - vector.generated) / 1e9;
  const { acceleration: a, turnRate } = vector;
  /** @type {Vec3} */
  let acceleration = [a[0], a[1], a[2]];
  if (vector.kind === "damped") {
    const left = Math.exp(-Math.max(t, -BACK_MAX));
    const [x, y] = [left * Math.cos(turnRate * t), left * Math.sin(turnRate * t)];
    acceleration = [a[0] * x - a[1] * y, a[0] * y + a[1] * x, a[2] * left];
  }
  return { position: project(vector, at), velocity: velocityAt(vector, at), acceleration, turnRate };
}

/**
 * Displacement after t seconds of a velocity that turns at a constant rate.
 * @param {Vec3} v
 * @param {number} w
 * @param {number} t
 * @returns {Vec3}
 */
function arc(v, w, t) {
  const half = 0.5 * w * t;
  const [sin, cos, way] = [Math.sin(half), Math.cos(half), t * sinc(half)];
  return [(v[0] * cos - v[1] * sin) * way, (v[0] * sin + v[1] * cos) * way, v[2] * t];
}

/**
 * sin(x) / x. Below 1e-4 the series is exact to the last bit and avoids dividing by 0.
 * @param {number} angle
 */
function sinc(angle) {
  return Math.abs(angle) < 1e-4 ? 1 - (angle * angle) / 6 : Math.sin(angle) / angle;
}

/**
 * Displacement after t seconds by a unit acceleration that turns with the velocity and decays: along itself, to its
 * left, and upwards.
 * @param {number} w
 * @param {number} t
 * @returns {Vec3}
 */
function dampedDisplacement(w, t) {
  t = Math.max(t, -BACK_MAX);
  if ((1 + Math.abs(w)) * Math.abs(t) < SERIES_RANGE) return dampedSeries(w, t);
  const half = 0.5 * w * t;
  const [sin, cos, k] = [Math.sin(half), Math.cos(half), t * sinc(half)];
  const lost = Math.expm1(-t);
  const kept = 1 + lost;
  const [x, y] = [lost - kept * (2 * sin * sin), kept * (2 * sin * cos)];
  const inverse = 1 / (1 + w * w);
  return [k * cos - (y * w - x) * inverse, k * sin + (x * w + y) * inverse, t + lost];
}

/**
 * `dampedDisplacement` for short times, where S and D of docs/WIRE.md nearly cancel: t² times the sum of h(n) / (n + 2)!, where
 * h(n) is the sum of all products of n factors that are iwt or (iw - 1)t.
 * @param {number} w
 * @param {number} t
 * @returns {Vec3}
 */
function dampedSeries(w, t) {
  const [a, b] = [w * t, -t];
  let [along, aside, up] = [0, 0, 0];
  let [hx, hy, px, py, fall, factor] = [1, 0, 1, 0, 1, 0.5];
  for (let n = 0; n < SERIES_TERMS; n++) {
    along += factor * hx;
    aside += factor * hy;
    up += factor * fall;
    [px, py] = [px * b - py * a, px * a + py * b];
    [hx, hy] = [px - hy * a, py + hx * a];
    fall *= b;
    factor /= n + 3;
  }
  return [along * t * t, aside * t * t, up * t * t];
}

/**
 * Sprites of tanks and shots, seen from above, and short-lived effects. Everything is drawn in units of the field,
 * north up.
 */

import { colour, colourOf, withAlpha, pathOf, mix, shapeNumber } from "./palette.js";
import { LENGTH, WIDTH } from "./rules.js";
import { drawSprite } from "./sprite-cache.js";

const HALF = [LENGTH / 2, WIDTH / 2];
/** Reach of a tank's sprite from its middle; the gun reaches farthest. */
const REACH = [4.5, WIDTH / 2 + 0.3];

/** Outlines have marks unless there are more than this. */
const MARKS_MAX = 12;

/** Outlines closer than this, in canvas pixels, look the same; a shorter line from outline to tank is not drawn. */
const SAME_DISTANCE = 0.25;
const OFFSET_MIN = 1;

/** Maps units of the field to a canvas. `fine` is canvas pixels per unit, `scale` CSS pixels per unit. */
export class View {
  /** Centres the view on `x`, `y`. */
  constructor(context, { fine, scale, x, y }) {
    const { width, height } = context.canvas;
    Object.assign(this, { context, fine, scale, left: width / 2 - x * fine, top: height / 2 + y * fine });
  }

  /** Switches to drawing in units, north up. */
  units() {
    this.context.setTransform(this.fine, 0, 0, -this.fine, this.left, this.top);
  }

  /** Switches to drawing at a place, turned by an angle. */
  turn(x, y, angle) {
    const { context, fine, left, top } = this;
    const [east, north] = [fine * Math.cos(angle), fine * Math.sin(angle)];
    context.setTransform(east, -north, north, east, left + fine * x, top - fine * y);
  }
}

function rounded(context, x, y, width, height, radius) {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
}

/** Draws tracks, hull, turret and gun, heading east. */
function drawBody(context, tint) {
  context.fillStyle = mix(tint, -0.5);
  for (const side of [-1, 1]) {
    rounded(context, -HALF[0], side > 0 ? HALF[1] - 0.8 : -HALF[1], LENGTH, 0.8, 0.35);
    context.fill();
  }
  context.fillStyle = tint;
  rounded(context, -HALF[0] + 0.25, -HALF[1] + 0.35, LENGTH - 0.6, WIDTH - 0.7, 0.5);
  context.fill();
  context.fillStyle = mix(tint, 0.22);
  rounded(context, HALF[0] - 1.2, -HALF[1] + 0.6, 0.6, WIDTH - 1.2, 0.25);
  context.fill();
  context.fillStyle = mix(tint, -0.35);
  rounded(context, 0, -0.27, 4.2, 0.54, 0.2);
  context.fill();
  context.beginPath();
  context.arc(-0.3, 0, 1.08, 0, 2 * Math.PI);
  context.fillStyle = mix(tint, -0.2);
  context.fill();
  context.lineWidth = 0.16;
  context.strokeStyle = mix(tint, 0.35);
  context.stroke();
}

function drawShade(context, shade) {
  context.fillStyle = shade;
  rounded(context, -HALF[0], -HALF[1], LENGTH, WIDTH, 0.6);
  context.fill();
}

/** Draws a tank with its player's mark. */
export function drawTank(view, { player, x, y, angle }) {
  const { context, fine } = view;
  const [tint, shade] = [colourOf(player), colour("shade")];
  view.turn(x + 0.35, y - 0.5, angle);
  drawSprite(context, `shade ${shade}`, REACH, fine, (inner) => drawShade(inner, shade));
  view.turn(x, y, angle);
  drawSprite(context, `tank ${tint}`, REACH, fine, (inner) => drawBody(inner, tint));
  // The mark stays upright to remain legible.
  view.turn(x - 0.3 * Math.cos(angle), y - 0.3 * Math.sin(angle), 0);
  drawMark(view, player, { tint: "#fff", size: 0.58 });
}

/** Ring around the own tank that shows the reload, or a dashed one around a tank that cannot be hit yet. */
export function drawRing({ context, scale }, { player, x, y, isProtected = false, reload = 0 }) {
  const tint = colourOf(player);
  context.lineWidth = 1.5 / scale;
  context.lineCap = "round";
  context.strokeStyle = withAlpha(tint, isProtected ? 0.9 : 0.35);
  if (isProtected) context.setLineDash([0.9, 0.9]);
  context.beginPath();
  context.arc(x, y, 4.9, 0, 2 * Math.PI);
  context.stroke();
  context.setLineDash([]);
  if (reload > 0) {
    context.strokeStyle = tint;
    context.lineWidth = 3 / scale;
    context.beginPath();
    context.arc(x, y, 4.9, Math.PI / 2, Math.PI / 2 - 2 * Math.PI * (1 - reload), true);
    context.stroke();
  }
}

/** Draws a player's mark, upright. */
function drawMark({ context, fine }, player, { tint, size }) {
  drawSprite(context, `mark ${shapeNumber(player)} ${tint} ${size}`, [1.3 * size, 1.3 * size], fine, (inner) => {
    inner.scale(size, -size);
    inner.fillStyle = tint;
    inner.fill(pathOf(player));
  });
}

/** True if two outlines look the same. */
function isSame(one, other, fine) {
  const near = SAME_DISTANCE / fine;
  return Math.abs(one.x - other.x) < near && Math.abs(one.y - other.y) < near
    && Math.abs(one.angle - other.angle) * HALF[0] < near;
}

/**
 * Draws where others see a tank: dashed outlines in their players' colours, with marks, each joined to the tank by a
 * line.
 */
export function drawOutlines(view, outlines, truth) {
  const { fine } = view;
  const count = outlines.length;
  // Overlapping outlines share their line: each takes its own part of the dashes.
  const shares = Math.min(Math.max(count, 2), 4);
  outlines.forEach((outline, place) => {
    if (Math.hypot(outline.x - truth.x, outline.y - truth.y) * fine >= OFFSET_MIN) drawOffset(view, outline, truth);
    // Players with the same vector show the same outline. Of equal ones, draw only the last in each part of the dashes.
    let after = place + shares;
    while (after < count && !isSame(outline, outlines[after], fine)) after += shares;
    if (after >= count) drawOutline(view, outline, { share: place % shares, shares });
    // Marks stand in a row behind the tank, so that they stay visible where outlines overlap. Too many would not fit.
    if (count > MARKS_MAX) return;
    const [east, north] = [Math.cos(outline.angle), Math.sin(outline.angle)];
    const [behind, aside] = [-HALF[0] - 1, 1.2 * (place - (count - 1) / 2)];
    view.turn(outline.x + east * behind - north * aside, outline.y + north * behind + east * aside, 0);
    drawMark(view, outline.by, { tint: colourOf(outline.by), size: 0.5 });
  });
  view.units();
}

function drawOffset(view, outline, truth) {
  const { context, scale } = view;
  view.units();
  context.strokeStyle = withAlpha(colourOf(outline.by), 0.55);
  context.lineWidth = 1 / scale;
  context.beginPath();
  context.moveTo(outline.x, outline.y);
  context.lineTo(truth.x, truth.y);
  context.stroke();
}

function drawOutline(view, { by, x, y, angle }, { share, shares }) {
  const { context, scale, fine } = view;
  const tint = colourOf(by);
  const dash = Math.max(3, Math.min(scale * 0.6, 6));
  view.turn(x, y, angle);
  drawSprite(context, `outline ${tint} ${share} ${shares} ${scale}`, REACH, fine, (inner) => {
    inner.strokeStyle = tint;
    inner.lineWidth = 2 / scale;
    inner.setLineDash([dash / scale, ((shares - 1) * dash) / scale]);
    inner.lineDashOffset = (-share * dash) / scale;
    rounded(inner, -HALF[0], -HALF[1], LENGTH, WIDTH, 0.6);
    inner.stroke();
  });
}

/** Draws where a tank really is, dashed, joined to where it is seen by a line. */
export function drawGhost(view, player, real, seen) {
  const { context, scale, fine } = view;
  const tint = colour("ink");
  if (Math.hypot(real.x - seen.x, real.y - seen.y) * fine >= OFFSET_MIN) {
    view.units();
    context.strokeStyle = colourOf(player);
    context.lineWidth = 2 / scale;
    context.lineCap = "round";
    context.beginPath();
    context.moveTo(seen.x, seen.y);
    context.lineTo(real.x, real.y);
    context.stroke();
  }
  view.turn(real.x, real.y, real.angle);
  drawSprite(context, `ghost ${tint} ${scale}`, REACH, fine, (inner) => {
    inner.strokeStyle = tint;
    inner.lineWidth = 1.5 / scale;
    inner.setLineDash([4 / scale, 3 / scale]);
    rounded(inner, -HALF[0], -HALF[1], LENGTH, WIDTH, 0.6);
    inner.stroke();
    inner.beginPath();
    inner.moveTo(HALF[0], 0);
    inner.lineTo(4.2, 0);
    inner.stroke();
  });
}

/** Draws a shot with its trail. */
export function drawShot({ context, scale }, shot) {
  const tint = colourOf(shot.player);
  const [tailX, tailY] = [shot.x - shot.vx * 0.055, shot.y - shot.vy * 0.055];
  const trail = context.createLinearGradient(tailX, tailY, shot.x, shot.y);
  trail.addColorStop(0, withAlpha(tint, 0));
  trail.addColorStop(1, tint);
  context.strokeStyle = trail;
  context.lineCap = "round";
  context.lineWidth = Math.max(0.55, 2 / scale);
  context.beginPath();
  context.moveTo(tailX, tailY);
  context.lineTo(shot.x, shot.y);
  context.stroke();
  context.fillStyle = colour("ink");
  context.beginPath();
  context.arc(shot.x, shot.y, Math.max(0.42, 1.6 / scale), 0, 2 * Math.PI);
  context.fill();
}

/** Short-lived effects: `part` runs from 0 to 1. */
const EFFECTS = {
  flash(context, effect, part, isCalm) {
    if (isCalm) return;
    context.translate(effect.x, effect.y);
    context.rotate(effect.angle);
    context.fillStyle = withAlpha(colour("pay"), 0.8 * (1 - part));
    context.beginPath();
    context.ellipse(0.6, 0, 1.4 * (1 - part) + 0.3, 0.7 * (1 - part) + 0.2, 0, 0, 2 * Math.PI);
    context.fill();
  },
  spark(context, effect, part, isCalm) {
    context.strokeStyle = withAlpha(colour("quiet"), 0.6 * (1 - part));
    context.lineWidth = 0.25;
    context.beginPath();
    context.arc(effect.x, effect.y, isCalm ? 0.8 : 0.4 + 1.4 * part, 0, 2 * Math.PI);
    context.stroke();
  },
  burst(context, effect, part, isCalm) {
    const tint = effect.tint;
    const grown = isCalm ? 0.6 : 1 - (1 - part) ** 3;
    context.fillStyle = withAlpha(tint, 0.28 * (1 - part));
    context.beginPath();
    context.arc(effect.x, effect.y, 1.5 + 5 * grown, 0, 2 * Math.PI);
    context.fill();
    context.strokeStyle = withAlpha(tint, 1 - part);
    context.lineWidth = 0.5 * (1 - part) + 0.1;
    context.stroke();
    if (isCalm) return;
    context.lineCap = "round";
    for (let piece = 0; piece < 11; piece += 1) {
      const [angle, way] = [piece * 2.4 + effect.x, (0.6 + 0.4 * Math.sin(piece * 5.3)) * grown];
      const [east, north] = [Math.cos(angle), Math.sin(angle)];
      context.beginPath();
      context.moveTo(effect.x + east * 5.5 * way, effect.y + north * 5.5 * way);
      context.lineTo(effect.x + east * 8 * way, effect.y + north * 8 * way);
      context.stroke();
    }
  },
};
/** Durations in milliseconds. */
const DURATIONS = { flash: 110, spark: 260, burst: 800 };
const EFFECTS_MAX = 64;

/** The effects being shown. */
export class Effects {
  constructor() {
    this.all = [];
  }

  add(kind, now, where) {
    this.all.push({ kind, since: now, ...where });
    if (this.all.length > EFFECTS_MAX) this.all.shift();
  }

  draw(context, now, isCalm) {
    this.all = this.all.filter(({ kind, since }) => now - since < DURATIONS[kind]);
    for (const effect of this.all) {
      context.save();
      EFFECTS[effect.kind](context, effect, Math.max(0, (now - effect.since) / DURATIONS[effect.kind]), isCalm);
      context.restore();
    }
  }
}

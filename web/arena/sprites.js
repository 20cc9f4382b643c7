/**
 * How a tank, a shot and what becomes of them look from above. Everything is drawn in units of the field, north up; a canvas
 * is set up for that by `scene.js`.
 */

import { colour, colourOf, faint, pathOf, shaded, shapeNumber } from "./palette.js";
import { LENGTH, WIDTH } from "./rules.js";
import { stampUnits } from "./stamps.js";

const HALF = [LENGTH / 2, WIDTH / 2];
/** A tank's picture goes no farther from its middle: the gun is the longest of it. */
const REACH = [4.5, WIDTH / 2 + 0.3];

/** Outlines have marks while there are no more of them. */
const MARKS_MAX = 12;

/** Outlines that are nearer to each other than this, in the canvas' pixels, look the same; a way that is shorter is none. */
const NEAR = 0.25;
const WAY_MIN = 1;

/** How units of the field lie on a canvas. `fine` are the canvas' pixels for one unit, `scale` the page's. */
export class View {
  /** The place `x`, `y` is in the middle of the canvas. */
  constructor(context, { fine, scale, x, y }) {
    const { width, height } = context.canvas;
    Object.assign(this, { context, fine, scale, left: width / 2 - x * fine, top: height / 2 + y * fine });
  }

  /** From now on it is drawn in units, north up. */
  units() {
    this.context.setTransform(this.fine, 0, 0, -this.fine, this.left, this.top);
  }

  /** From now on it is stamped at a place, turned by an angle. */
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

/** Tracks, hull, turret, and a gun that shots leave at its end; heading east. */
function drawBody(context, tint) {
  context.fillStyle = shaded(tint, -0.5);
  for (const side of [-1, 1]) {
    rounded(context, -HALF[0], side > 0 ? HALF[1] - 0.8 : -HALF[1], LENGTH, 0.8, 0.35);
    context.fill();
  }
  context.fillStyle = tint;
  rounded(context, -HALF[0] + 0.25, -HALF[1] + 0.35, LENGTH - 0.6, WIDTH - 0.7, 0.5);
  context.fill();
  context.fillStyle = shaded(tint, 0.22);
  rounded(context, HALF[0] - 1.2, -HALF[1] + 0.6, 0.6, WIDTH - 1.2, 0.25);
  context.fill();
  context.fillStyle = shaded(tint, -0.35);
  rounded(context, 0, -0.27, 4.2, 0.54, 0.2);
  context.fill();
  context.beginPath();
  context.arc(-0.3, 0, 1.08, 0, 2 * Math.PI);
  context.fillStyle = shaded(tint, -0.2);
  context.fill();
  context.lineWidth = 0.16;
  context.strokeStyle = shaded(tint, 0.35);
  context.stroke();
}

function drawShade(context, shade) {
  context.fillStyle = shade;
  rounded(context, -HALF[0], -HALF[1], LENGTH, WIDTH, 0.6);
  context.fill();
}

/** A tank with its player's mark, without what is around it. */
export function drawTank(view, { player, x, y, angle }) {
  const { context, fine } = view;
  const [tint, shade] = [colourOf(player), colour("shade")];
  view.turn(x + 0.35, y - 0.5, angle);
  stampUnits(context, `shade ${shade}`, REACH, fine, (inner) => drawShade(inner, shade));
  view.turn(x, y, angle);
  stampUnits(context, `tank ${tint}`, REACH, fine, (inner) => drawBody(inner, tint));
  // The mark stays upright, so that it can be read.
  view.turn(x - 0.3 * Math.cos(angle), y - 0.3 * Math.sin(angle), 0);
  drawMark(view, player, { tint: "#fff", size: 0.58 });
}

/** Around one's own tank: how far it is loaded. Around who has just started: it can't be hit yet. */
export function drawRing({ context, scale }, { player, x, y, isSpared = false, reload = 0 }) {
  const tint = colourOf(player);
  context.lineWidth = 1.5 / scale;
  context.lineCap = "round";
  context.strokeStyle = faint(tint, isSpared ? 0.9 : 0.35);
  if (isSpared) context.setLineDash([0.9, 0.9]);
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

/** A player's mark, upright. */
function drawMark({ context, fine }, player, { tint, size }) {
  stampUnits(context, `mark ${shapeNumber(player)} ${tint} ${size}`, [1.3 * size, 1.3 * size], fine, (inner) => {
    inner.scale(size, -size);
    inner.fillStyle = tint;
    inner.fill(pathOf(player));
  });
}

/** Whether two outlines cannot be told apart. */
function isSame(one, other, fine) {
  const near = NEAR / fine;
  return Math.abs(one.x - other.x) < near && Math.abs(one.y - other.y) < near
    && Math.abs(one.angle - other.angle) * HALF[0] < near;
}

/** Where the others see a tank: for each a dashed outline in its player's colour, with its mark, and the way it is off. */
export function drawOutlines(view, outlines, truth) {
  const { fine } = view;
  const count = outlines.length;
  // Outlines on top of each other share their line: each has its own part of the dashes.
  const shares = Math.min(Math.max(count, 2), 4);
  outlines.forEach((outline, place) => {
    if (Math.hypot(outline.x - truth.x, outline.y - truth.y) * fine >= WAY_MIN) drawWay(view, outline, truth);
    // Whoever has the same vector shows the same: of many outlines few are seen, the last one in each part of the dashes.
    let after = place + shares;
    while (after < count && !isSame(outline, outlines[after], fine)) after += shares;
    if (after >= count) drawOutline(view, outline, { share: place % shares, shares });
    // Marks stand in a row behind the tank, so that each can be seen where outlines are on top of each other; in a long row
    // they could not.
    if (count > MARKS_MAX) return;
    const [east, north] = [Math.cos(outline.angle), Math.sin(outline.angle)];
    const [behind, aside] = [-HALF[0] - 1, 1.2 * (place - (count - 1) / 2)];
    view.turn(outline.x + east * behind - north * aside, outline.y + north * behind + east * aside, 0);
    drawMark(view, outline.by, { tint: colourOf(outline.by), size: 0.5 });
  });
  view.units();
}

function drawWay(view, outline, truth) {
  const { context, scale } = view;
  view.units();
  context.strokeStyle = faint(colourOf(outline.by), 0.55);
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
  stampUnits(context, `outline ${tint} ${share} ${shares} ${scale}`, REACH, fine, (inner) => {
    inner.strokeStyle = tint;
    inner.lineWidth = 2 / scale;
    inner.setLineDash([dash / scale, ((shares - 1) * dash) / scale]);
    inner.lineDashOffset = (-share * dash) / scale;
    rounded(inner, -HALF[0], -HALF[1], LENGTH, WIDTH, 0.6);
    inner.stroke();
  });
}

/** A shot with its trail. */
export function drawShot({ context, scale }, shot) {
  const tint = colourOf(shot.player);
  const [tailX, tailY] = [shot.x - shot.vx * 0.055, shot.y - shot.vy * 0.055];
  const trail = context.createLinearGradient(tailX, tailY, shot.x, shot.y);
  trail.addColorStop(0, faint(tint, 0));
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

/** What is seen for a moment: `part` goes from 0 to 1 while it lasts. */
const EFFECTS = {
  flash(context, effect, part, isCalm) {
    if (isCalm) return;
    context.translate(effect.x, effect.y);
    context.rotate(effect.angle);
    context.fillStyle = faint(colour("pay"), 0.8 * (1 - part));
    context.beginPath();
    context.ellipse(0.6, 0, 1.4 * (1 - part) + 0.3, 0.7 * (1 - part) + 0.2, 0, 0, 2 * Math.PI);
    context.fill();
  },
  spark(context, effect, part, isCalm) {
    context.strokeStyle = faint(colour("quiet"), 0.6 * (1 - part));
    context.lineWidth = 0.25;
    context.beginPath();
    context.arc(effect.x, effect.y, isCalm ? 0.8 : 0.4 + 1.4 * part, 0, 2 * Math.PI);
    context.stroke();
  },
  burst(context, effect, part, isCalm) {
    const tint = effect.tint;
    const grown = isCalm ? 0.6 : 1 - (1 - part) ** 3;
    context.fillStyle = faint(tint, 0.28 * (1 - part));
    context.beginPath();
    context.arc(effect.x, effect.y, 1.5 + 5 * grown, 0, 2 * Math.PI);
    context.fill();
    context.strokeStyle = faint(tint, 1 - part);
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
/** How long each lasts, in milliseconds. */
const LASTS = { flash: 110, spark: 260, burst: 800 };
const EFFECTS_MAX = 64;

/** Everything that is seen for a moment. */
export class Effects {
  constructor() {
    this.all = [];
  }

  add(kind, now, where) {
    this.all.push({ kind, since: now, ...where });
    if (this.all.length > EFFECTS_MAX) this.all.shift();
  }

  draw(context, now, isCalm) {
    this.all = this.all.filter(({ kind, since }) => now - since < LASTS[kind]);
    for (const effect of this.all) {
      context.save();
      EFFECTS[effect.kind](context, effect, Math.max(0, (now - effect.since) / LASTS[effect.kind]), isCalm);
      context.restore();
    }
  }
}

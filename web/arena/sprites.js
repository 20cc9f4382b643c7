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

/** Runs a drawing with the origin at a place and east at an angle. */
export function at(context, { x, y, angle = 0 }, draw) {
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  draw();
  context.restore();
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

/** A tank with its player's mark. `fine` are the canvas' pixels for one unit, `scale` the page's. */
export function drawTank(context, tank, { scale, fine, isOwn = false, isSpared = false, reload = 0 }) {
  const tint = colourOf(tank.player);
  const shade = colour("shade");
  at(context, { x: tank.x + 0.35, y: tank.y - 0.5, angle: tank.angle }, () => {
    stampUnits(context, `shade ${shade}`, REACH, fine, (inner) => {
      inner.fillStyle = shade;
      rounded(inner, -HALF[0], -HALF[1], LENGTH, WIDTH, 0.6);
      inner.fill();
    });
  });
  at(context, tank, () => stampUnits(context, `tank ${tint}`, REACH, fine, (inner) => drawBody(inner, tint)));
  // The mark stays upright, so that it can be read.
  const turret = { x: tank.x - 0.3 * Math.cos(tank.angle), y: tank.y - 0.3 * Math.sin(tank.angle) };
  at(context, turret, () => drawMark(context, tank.player, { tint: "#fff", size: 0.58, fine }));
  if (isOwn || isSpared) drawRing(context, tank, { tint, scale, isSpared, reload });
}

/** Around one's own tank: how far it is loaded. Around who has just started: it can't be hit yet. */
function drawRing(context, tank, { tint, scale, isSpared, reload }) {
  context.lineWidth = 1.5 / scale;
  context.lineCap = "round";
  context.strokeStyle = faint(tint, isSpared ? 0.9 : 0.35);
  if (isSpared) context.setLineDash([0.9, 0.9]);
  context.beginPath();
  context.arc(tank.x, tank.y, 4.9, 0, 2 * Math.PI);
  context.stroke();
  context.setLineDash([]);
  if (reload > 0) {
    context.strokeStyle = tint;
    context.lineWidth = 3 / scale;
    context.beginPath();
    context.arc(tank.x, tank.y, 4.9, Math.PI / 2, Math.PI / 2 - 2 * Math.PI * (1 - reload), true);
    context.stroke();
  }
}

/** A player's mark, upright. */
function drawMark(context, player, { tint, size, fine }) {
  stampUnits(context, `mark ${shapeNumber(player)} ${tint} ${size}`, [1.3 * size, 1.3 * size], fine, (inner) => {
    inner.scale(size, -size);
    inner.fillStyle = tint;
    inner.fill(pathOf(player));
  });
}

/** Where another player sees a tank: a dashed outline in that player's colour, with its mark, and the way it is off. */
export function drawOutline(context, outline, truth, { scale, fine, dash, place, count }) {
  const tint = colourOf(outline.by);
  context.strokeStyle = faint(tint, 0.55);
  context.lineWidth = 1 / scale;
  context.beginPath();
  context.moveTo(outline.x, outline.y);
  context.lineTo(truth.x, truth.y);
  context.stroke();
  // Outlines on top of each other share their line: each has its own part of the dashes.
  const shares = Math.min(Math.max(count, 2), 4);
  const share = place % shares;
  at(context, outline, () => stampUnits(context, `outline ${tint} ${share} ${shares} ${dash}`, REACH, fine, (inner) => {
    inner.strokeStyle = tint;
    inner.lineWidth = 2 / scale;
    inner.setLineDash([dash / scale, ((shares - 1) * dash) / scale]);
    inner.lineDashOffset = (-share * dash) / scale;
    rounded(inner, -HALF[0], -HALF[1], LENGTH, WIDTH, 0.6);
    inner.stroke();
  }));
  // Marks stand in a row behind the tank, so that each can be seen where outlines are on top of each other; in a long row
  // they could not.
  if (count > MARKS_MAX) return;
  at(context, outline, () => {
    context.translate(-HALF[0] - 1, 1.2 * (place - (count - 1) / 2));
    context.rotate(-outline.angle);
    drawMark(context, outline.by, { tint, size: 0.5, fine });
  });
}

/** A shot with its trail. */
export function drawShot(context, shot, scale) {
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
    at(context, effect, () => {
      context.fillStyle = faint(colour("pay"), 0.8 * (1 - part));
      context.beginPath();
      context.ellipse(0.6, 0, 1.4 * (1 - part) + 0.3, 0.7 * (1 - part) + 0.2, 0, 0, 2 * Math.PI);
      context.fill();
    });
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

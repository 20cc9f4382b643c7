/**
 * The picture of the field, and the lens that shows one tank enlarged with everybody else's idea of it.
 *
 * Ground, grid and blocks are drawn once for each size and colour scheme. Both pictures have the display's pixels.
 */

import { colour, faint } from "./palette.js";
import { LENGTH } from "./rules.js";
import { drawOutline, drawShot, drawTank } from "./sprites.js";
import { forgetStamps, textStamp } from "./stamps.js";

/** Room around the field, in units: for its walls, and for the ring around a tank that stands at one. */
const MARGIN = 2.6;
/** Lines of the grid are so far apart. */
const GRID = 8;
/** Pixel ratios above this cost more than they show. */
const RATIO_MAX = 3;
/** The lens shows so many units from side to side. */
const LENS = 15;
/** What is drawn around a tank reaches so far from its middle, in units: ring, gun and marks. */
const AROUND = 5.2;
/** Its name reaches farther, in the page's pixels: to both sides, and above what is around it. */
const NAME = [40, 16];

const font = (size, weight = 500) => `${weight} ${size}px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif`;

/** Pixels of a canvas for one of the page's. */
export const ratioOf = (canvas) => canvas.width / canvas.clientWidth || 1;

/** Gives a canvas the display's pixels. Returns whether that has changed it. */
export function fit(canvas) {
  const ratio = Math.min(devicePixelRatio || 1, RATIO_MAX);
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  if (canvas.width === width && canvas.height === height) return false;
  [canvas.width, canvas.height] = [width, height];
  return true;
}

/** Whether a canvas has pixels at all. In a tiny window it may have none, and browsers refuse to copy from such a one. */
export const hasPixels = ({ width, height }) => width > 0 && height > 0;

function drawBlock(context, { middle: [x, y], half: [halfX, halfY] }) {
  context.fillStyle = colour("shade");
  context.beginPath();
  context.roundRect(x - halfX + 0.5, y - halfY - 1.1, 2 * halfX + 0.3, 2 * halfY, 0.9);
  context.fill();
  context.fillStyle = colour("block-side");
  context.beginPath();
  context.roundRect(x - halfX, y - halfY, 2 * halfX, 2 * halfY, 0.8);
  context.fill();
  context.fillStyle = colour("block");
  context.beginPath();
  context.roundRect(x - halfX, y - halfY + 0.9, 2 * halfX, 2 * halfY - 0.9, 0.8);
  context.fill();
}

/** Ground, grid, blocks and walls, in units; of blocks, those that are seen. */
function drawGround(context, { half, blocks }, scale, isSeen = () => true) {
  const [halfX, halfY] = half;
  context.fillStyle = colour("field");
  context.fillRect(-halfX, -halfY, 2 * halfX, 2 * halfY);
  context.strokeStyle = colour("field-grid");
  context.lineWidth = 1 / scale;
  context.beginPath();
  for (let x = GRID * Math.ceil(-halfX / GRID); x <= halfX; x += GRID) {
    context.moveTo(x, -halfY);
    context.lineTo(x, halfY);
  }
  for (let y = GRID * Math.ceil(-halfY / GRID); y <= halfY; y += GRID) {
    context.moveTo(-halfX, y);
    context.lineTo(halfX, y);
  }
  context.stroke();
  blocks.filter(isSeen).forEach((block) => drawBlock(context, block));
  context.strokeStyle = colour("wall");
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(-halfX - 0.5, -halfY - 0.5, 2 * halfX + 1, 2 * halfY + 1, 1.6);
  context.stroke();
}

export class Scene {
  constructor(canvas, lens) {
    Object.assign(this, { canvas, lens });
    // Nothing is seen through them: that saves the browser from mixing them with what lies below.
    this.context = canvas.getContext("2d", { alpha: false });
    this.lensContext = lens.getContext("2d", { alpha: false });
    this.ground = document.createElement("canvas");
    this.field = null;
    this.isStale = true;
  }

  setField(field) {
    this.field = field;
    this.canvas.style.aspectRatio = `${field.half[0] + MARGIN} / ${field.half[1] + MARGIN}`;
    this.isStale = true;
  }

  /** The colours have changed. */
  repaint() {
    forgetStamps();
    this.isStale = true;
  }

  /** Pixels of the canvas for one unit. */
  get scale() {
    return this.canvas.width / (2 * (this.field.half[0] + MARGIN));
  }

  /** A canvas' context in units: the place in the middle of the canvas, north up. */
  enter(context, scale, { x, y }) {
    const { width, height } = context.canvas;
    context.setTransform(scale, 0, 0, -scale, width / 2 - x * scale, height / 2 + y * scale);
  }

  paintGround() {
    const { width, height } = this.canvas;
    Object.assign(this.ground, { width, height });
    const context = this.ground.getContext("2d", { alpha: false });
    context.fillStyle = colour("wall");
    context.fillRect(0, 0, width, height);
    this.enter(context, this.scale, { x: 0, y: 0 });
    drawGround(context, this.field, this.scale);
    this.isStale = false;
  }

  /**
   * Draws everything: `tanks`, `shots`, `outlines` of the tank `focus`, `effects`; `label(player)` is what is written at
   * a tank.
   */
  draw(now, world) {
    if (fit(this.canvas)) this.isStale = true;
    if (!hasPixels(this.canvas)) return;
    if (this.isStale) this.paintGround();
    const { context, scale } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.ground, 0, 0);
    this.enter(context, scale, { x: 0, y: 0 });
    this.drawWorld(context, scale, now, world);
    this.drawLabels(world);
    if (world.focus && this.lens.clientWidth > 0) this.drawLens(now, world);
  }

  drawWorld(context, scale, now, { tanks, shots, outlines, focus, effects, isCalm }) {
    const pixel = scale / ratioOf(context.canvas);
    for (const shot of shots) drawShot(context, shot, pixel);
    for (const tank of tanks) drawTank(context, tank, { ...tank, scale: pixel, fine: scale });
    const dash = Math.max(3, Math.min(pixel * 0.6, 6));
    outlines.forEach((outline, place) => {
      drawOutline(context, outline, focus, { scale: pixel, fine: scale, dash, place, count: outlines.length });
    });
    effects.draw(context, now, isCalm);
  }

  /** Names stand above their tanks, or below where there is no room or another name. */
  drawLabels({ tanks, label }) {
    const { context, canvas, scale } = this;
    const ratio = ratioOf(canvas);
    const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
    const size = wide < 480 ? 10.5 : 12;
    const style = { seam: faint(colour("field"), 0.9), size, ratio };
    const [bold, plain] = [font(size, 600), font(size, 500)];
    // Whole pixels: what is written stays sharp, and is copied instead of mixed.
    context.setTransform(1, 0, 0, 1, 0, 0);
    const whole = (length) => Math.round(length * ratio);
    const lift = (5.4 * scale) / ratio + size * 0.6;
    const taken = [];
    for (const tank of tanks) {
      const { name, more } = label(tank.player);
      const parts = [{ text: name, font: bold, tint: colour("ink") }, { text: more, font: plain, tint: colour("quiet") }];
      const { canvas: picture, width, margin, middle } = textStamp(parts, style);
      const x = wide / 2 + (tank.x * scale) / ratio;
      const y = high / 2 - (tank.y * scale) / ratio;
      const left = Math.min(Math.max(x - width / 2, 8), wide - 8 - width);
      const isFree = (top) => top > size && top < high - size
        && taken.every((other) => Math.abs(other.top - top) > size + 2 || other.right < left || other.left > left + width);
      const top = [y - lift, y + lift, y - lift - size - 3].find(isFree) ?? Math.max(y - lift, size);
      taken.push({ top, left, right: left + width });
      context.drawImage(picture, whole(left - margin), whole(top - middle));
    }
  }

  /** Beyond which place, in units from the middle, a tank or its name is under the lens, be it on the right or on the left. */
  lensFrom() {
    const { canvas, scale } = this;
    const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = this.lens.parentElement;
    // A phone held upright has the lens below the field.
    if (offsetTop >= canvas.clientHeight) return { x: Infinity, y: Infinity };
    const unit = scale / ratioOf(canvas);
    const aside = Math.min(offsetLeft, canvas.clientWidth - offsetLeft - offsetWidth);
    return {
      x: (canvas.clientWidth / 2 - aside - offsetWidth) / unit - Math.max(AROUND, NAME[0] / unit),
      y: (canvas.clientHeight / 2 - offsetTop - offsetHeight) / unit - AROUND - NAME[1] / unit,
    };
  }

  /** The tank in focus, enlarged: so large that the others' ideas of it can be told apart. */
  drawLens(now, world) {
    fit(this.lens);
    if (!hasPixels(this.lens)) return;
    const { lensContext: context, lens, field } = this;
    const scale = lens.width / LENS;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = colour("wall");
    context.fillRect(0, 0, lens.width, lens.height);
    this.enter(context, scale, world.focus);
    const isNear = (x, y, beyond) => Math.abs(x - world.focus.x) < LENS / 2 + beyond[0]
      && Math.abs(y - world.focus.y) < LENS / 2 + beyond[1];
    drawGround(context, field, scale / ratioOf(lens), ({ middle: [x, y], half }) => isNear(x, y, half.map((side) => side + 2)));
    const isIn = ({ x, y }) => isNear(x, y, [LENGTH, LENGTH]);
    // Rings around tanks would only be in the way.
    const bare = world.tanks.filter(isIn).map((tank) => ({ ...tank, isOwn: false, isSpared: false }));
    this.drawWorld(context, scale, now, { ...world, tanks: bare, shots: world.shots.filter(isIn) });
  }

  /** The player whose tank is at a place of the page, or null. */
  playerAt(clientX, clientY, tanks) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const scale = this.scale / ratioOf(this.canvas);
    const [x, y] = [(clientX - left - width / 2) / scale, -(clientY - top - height / 2) / scale];
    const near = tanks.filter((tank) => Math.hypot(tank.x - x, tank.y - y) < 6);
    return near.length ? near[0].player : null;
  }
}

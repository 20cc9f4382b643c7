/**
 * The picture of the field, and the lens that shows one tank enlarged with everybody else's idea of it.
 *
 * Ground, grid and blocks are drawn once for each size and colour scheme. Both pictures have the display's pixels.
 */

import { colour, faint } from "./palette.js";
import { LENGTH } from "./rules.js";
import { drawOutlines, drawRing, drawShot, drawTank, View } from "./sprites.js";
import { forgetStamps, textStamp } from "./stamps.js";
import { Surface } from "./surface.js";

/** Room around the field, in units: for its walls, and for the ring around a tank that stands at one. */
const MARGIN = 2.6;
/** Lines of the grid are so far apart. */
const GRID = 8;
/** The lens shows so many units from side to side. */
const LENS = 15;
/** What is drawn around a tank reaches so far from its middle, in units: ring, gun and marks. */
const AROUND = 5.2;
/** Its name reaches farther, in the page's pixels: to both sides, and above what is around it. */
const NAME = [40, 16];

const font = (size, weight = 500) => `${weight} ${size}px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif`;

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

/** Ground, grid, blocks and walls, in units, as far as they are no farther from a place than `reach`. */
function drawGround(context, { half: [halfX, halfY], blocks }, scale, { x: atX, y: atY, reach }) {
  const [west, east] = [Math.max(-halfX, atX - reach), Math.min(halfX, atX + reach)];
  const [south, north] = [Math.max(-halfY, atY - reach), Math.min(halfY, atY + reach)];
  context.fillStyle = colour("field");
  context.fillRect(west, south, east - west, north - south);
  context.strokeStyle = colour("field-grid");
  context.lineWidth = 1 / scale;
  context.beginPath();
  for (let x = GRID * Math.ceil(west / GRID); x <= east; x += GRID) {
    context.moveTo(x, south);
    context.lineTo(x, north);
  }
  for (let y = GRID * Math.ceil(south / GRID); y <= north; y += GRID) {
    context.moveTo(west, y);
    context.lineTo(east, y);
  }
  context.stroke();
  for (const block of blocks) {
    const { middle: [x, y], half: [wide, high] } = block;
    if (Math.abs(x - atX) < reach + wide + 2 && Math.abs(y - atY) < reach + high + 2) drawBlock(context, block);
  }
  context.strokeStyle = colour("wall");
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(-halfX - 0.5, -halfY - 0.5, 2 * halfX + 1, 2 * halfY + 1, 1.6);
  context.stroke();
}

export class Scene {
  constructor(canvas, lens) {
    // Nothing is seen through them: that saves the browser from mixing them with what lies below.
    this.surface = new Surface(canvas, { alpha: false });
    this.lens = new Surface(lens, { alpha: false });
    this.ground = document.createElement("canvas");
    this.field = null;
    this.isStale = true;
    /** How names are written. */
    this.style = null;
    /** Where the lens is, if that was asked for since it may have changed. */
    this.from = null;
    const places = new ResizeObserver(() => {
      this.from = null;
    });
    for (const element of [canvas, lens.parentElement, lens.closest(".field")]) places.observe(element);
  }

  setField(field) {
    this.field = field;
    this.surface.canvas.style.aspectRatio = `${field.half[0] + MARGIN} / ${field.half[1] + MARGIN}`;
    this.isStale = true;
  }

  /** The colours have changed. */
  repaint() {
    forgetStamps();
    this.isStale = true;
  }

  /** Pixels of the canvas for one unit. */
  get scale() {
    return this.surface.canvas.width / (2 * (this.field.half[0] + MARGIN));
  }

  /** The whole field on a canvas of this size. */
  view(context) {
    const fine = this.scale;
    return new View(context, { fine, scale: fine / this.surface.ratio, x: 0, y: 0 });
  }

  paintGround() {
    const { width, height } = this.surface.canvas;
    Object.assign(this.ground, { width, height });
    const context = this.ground.getContext("2d", { alpha: false });
    context.fillStyle = colour("wall");
    context.fillRect(0, 0, width, height);
    this.view(context).units();
    drawGround(context, this.field, this.scale, { x: 0, y: 0, reach: Infinity });
    this.isStale = false;
    this.style = null;
  }

  /**
   * Draws everything: `tanks`, `shots`, `outlines` of the tank `focus`, `effects`; `label(player)` is what is written at
   * a tank.
   */
  draw(now, world) {
    const { surface, lens } = this;
    if (surface.fit()) this.isStale = true;
    lens.fit();
    if (!surface.isThere) return;
    if (this.isStale) this.paintGround();
    const { context } = surface;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.ground, 0, 0);
    this.drawWorld(this.view(context), now, world);
    this.drawLabels(world);
    if (world.focus && lens.isThere) this.drawLens(now, world);
  }

  drawWorld(view, now, { tanks, shots, outlines, focus, effects, isCalm }, areBare = false) {
    view.units();
    for (const shot of shots) drawShot(view, shot);
    for (const tank of tanks) {
      drawTank(view, tank);
      if (areBare || !(tank.isOwn || tank.isSpared)) continue;
      view.units();
      drawRing(view, tank);
    }
    if (focus) drawOutlines(view, outlines, focus);
    view.units();
    effects.draw(view.context, now, isCalm);
  }

  /** Names stand above their tanks, or below where there is no room or another name. */
  drawLabels({ tanks, label }) {
    const { surface: { context, wide, high, ratio }, scale } = this;
    this.style ??= this.styleFor(wide, ratio);
    const { style, style: { size } } = this;
    // Whole pixels: what is written stays sharp, and is copied instead of mixed.
    context.setTransform(1, 0, 0, 1, 0, 0);
    const whole = (length) => Math.round(length * ratio);
    const lift = (5.4 * scale) / ratio + size * 0.6;
    const taken = [];
    for (const tank of tanks) {
      const { picture, width, margin, middle } = stampOf(label(tank.player), style);
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

  styleFor(wide, ratio) {
    const size = wide < 480 ? 10.5 : 12;
    const [bold, plain] = [{ font: font(size, 600), tint: colour("ink") }, { font: font(size, 500), tint: colour("quiet") }];
    return { bold, plain, seam: faint(colour("field"), 0.9), size, ratio };
  }

  /** Beyond which place, in units from the middle, a tank or its name is under the lens, be it on the right or on the left. */
  lensFrom() {
    this.from ??= this.findLens();
    return this.from;
  }

  findLens() {
    const { surface: { wide, high, ratio }, scale } = this;
    const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = this.lens.canvas.parentElement;
    // A phone held upright has the lens below the field.
    if (offsetTop >= high) return { x: Infinity, y: Infinity };
    const unit = scale / ratio;
    const aside = Math.min(offsetLeft, wide - offsetLeft - offsetWidth);
    return {
      x: (wide / 2 - aside - offsetWidth) / unit - Math.max(AROUND, NAME[0] / unit),
      y: (high / 2 - offsetTop - offsetHeight) / unit - AROUND - NAME[1] / unit,
    };
  }

  /** The tank in focus, enlarged: so large that the others' ideas of it can be told apart. */
  drawLens(now, world) {
    const { lens: { context, canvas, ratio }, field } = this;
    const { x, y } = world.focus;
    const fine = canvas.width / LENS;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = colour("wall");
    context.fillRect(0, 0, canvas.width, canvas.height);
    const view = new View(context, { fine, scale: fine / ratio, x, y });
    view.units();
    // A little more than is seen: where something ends must not show at the rim.
    drawGround(context, field, view.scale, { x, y, reach: LENS / 2 + 1 });
    const isIn = (thing) => Math.abs(thing.x - x) < LENS / 2 + LENGTH && Math.abs(thing.y - y) < LENS / 2 + LENGTH;
    // Rings around tanks would only be in the way.
    this.drawWorld(view, now, { ...world, tanks: world.tanks.filter(isIn), shots: world.shots.filter(isIn) }, true);
  }

  /** The player whose tank is at a place of the page, or null. */
  playerAt(clientX, clientY, tanks) {
    const { left, top, width, height } = this.surface.canvas.getBoundingClientRect();
    const scale = this.scale / this.surface.ratio;
    const [x, y] = [(clientX - left - width / 2) / scale, -(clientY - top - height / 2) / scale];
    const near = tanks.filter((tank) => Math.hypot(tank.x - x, tank.y - y) < 6);
    return near.length ? near[0].player : null;
  }
}

/** What is written at a tank. It is looked up once for each label and style, not at each frame. */
function stampOf(label, style) {
  if (label.style === style) return label.stamp;
  const parts = [{ ...style.bold, text: label.name }, { ...style.plain, text: label.more }];
  Object.assign(label, { style, stamp: textStamp(parts, style) });
  return label.stamp;
}

/**
 * Draws the field, and the close-up that enlarges one tank together with where others see it.
 *
 * The ground is drawn once per size and colour scheme. Both canvases have the display's resolution.
 */

import { colour, withAlpha } from "./palette.js";
import { LENGTH } from "./rules.js";
import { drawOutlines, drawRing, drawShot, drawTank, View } from "./sprites.js";
import { clearSprites, textSprite } from "./sprite-cache.js";
import { Surface } from "./surface.js";

/** Margin around the field, in units: for its walls, and for the ring of a tank next to one. */
const MARGIN = 2.6;
/** Distance of the grid's lines, in units. */
const GRID_STEP = 8;
/** Width of the close-up, in units. */
const LENS_WIDTH = 15;
/** Reach of what is drawn around a tank, in units: ring, gun and marks. */
const RING_REACH = 5.2;
/** Reach of its name, in CSS pixels: to both sides, and above the ring. */
const NAME_REACH = [40, 16];

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

/** Draws ground, grid, blocks and walls, in units, up to `reach` from a place. */
function drawGround(context, { half: [halfX, halfY], blocks }, scale, { x: atX, y: atY, reach }) {
  const [west, east] = [Math.max(-halfX, atX - reach), Math.min(halfX, atX + reach)];
  const [south, north] = [Math.max(-halfY, atY - reach), Math.min(halfY, atY + reach)];
  context.fillStyle = colour("field");
  context.fillRect(west, south, east - west, north - south);
  context.strokeStyle = colour("field-grid");
  context.lineWidth = 1 / scale;
  context.beginPath();
  for (let x = GRID_STEP * Math.ceil(west / GRID_STEP); x <= east; x += GRID_STEP) {
    context.moveTo(x, south);
    context.lineTo(x, north);
  }
  for (let y = GRID_STEP * Math.ceil(south / GRID_STEP); y <= north; y += GRID_STEP) {
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
    // Opaque canvases spare the browser the compositing with what lies below.
    this.surface = new Surface(canvas, { alpha: false });
    this.lens = new Surface(lens, { alpha: false });
    this.ground = document.createElement("canvas");
    this.field = null;
    this.isStale = true;
    /** Style of the names. */
    this.labelStyle = null;
    /** Cached result of `findLensCorner`. */
    this.corner = null;
    const places = new ResizeObserver(() => {
      this.corner = null;
    });
    for (const element of [canvas, lens.parentElement, lens.closest(".field")]) places.observe(element);
  }

  setField(field) {
    this.field = field;
    this.surface.canvas.style.aspectRatio = `${field.half[0] + MARGIN} / ${field.half[1] + MARGIN}`;
    this.isStale = true;
  }

  /** Redraws everything: the colours have changed. */
  repaint() {
    clearSprites();
    this.isStale = true;
  }

  /** Canvas pixels per unit. */
  get scale() {
    return this.surface.canvas.width / (2 * (this.field.half[0] + MARGIN));
  }

  /** Returns a view of the whole field. */
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
    this.labelStyle = null;
  }

  /**
   * Draws a frame: `tanks`, `shots`, `outlines` of the tank `focus`, `effects`. `label(player)` returns the text at a
   * tank.
   */
  draw(now, world) {
    const { surface, lens } = this;
    if (surface.fit()) this.isStale = true;
    lens.fit();
    if (!surface.isVisible) return;
    if (this.isStale) this.paintGround();
    const { context } = surface;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.ground, 0, 0);
    this.drawWorld(this.view(context), now, world);
    this.drawLabels(world);
    if (world.focus && lens.isVisible) this.drawLens(now, world);
  }

  drawWorld(view, now, { tanks, shots, outlines, focus, effects, isCalm }, isBare = false) {
    view.units();
    for (const shot of shots) drawShot(view, shot);
    for (const tank of tanks) {
      drawTank(view, tank);
      if (isBare || !(tank.isOwn || tank.isProtected)) continue;
      view.units();
      drawRing(view, tank);
    }
    if (focus) drawOutlines(view, outlines, focus);
    view.units();
    effects.draw(view.context, now, isCalm);
  }

  /** Draws names above their tanks, or below if there is no room or another name. */
  drawLabels({ tanks, label }) {
    const { surface: { context, wide, high, ratio }, scale } = this;
    this.labelStyle ??= this.labelStyleFor(wide, ratio);
    const { labelStyle: style, labelStyle: { size } } = this;
    // Whole pixels keep text sharp and blitting fast.
    context.setTransform(1, 0, 0, 1, 0, 0);
    const whole = (length) => Math.round(length * ratio);
    const lift = (5.4 * scale) / ratio + size * 0.6;
    const taken = [];
    for (const tank of tanks) {
      const { bitmap, width, margin, middle } = labelSprite(label(tank.player), style);
      const x = wide / 2 + (tank.x * scale) / ratio;
      const y = high / 2 - (tank.y * scale) / ratio;
      const left = Math.min(Math.max(x - width / 2, 8), wide - 8 - width);
      const isFree = (top) => top > size && top < high - size
        && taken.every((other) => Math.abs(other.top - top) > size + 2 || other.right < left || other.left > left + width);
      const top = [y - lift, y + lift, y - lift - size - 3].find(isFree) ?? Math.max(y - lift, size);
      taken.push({ top, left, right: left + width });
      context.drawImage(bitmap, whole(left - margin), whole(top - middle));
    }
  }

  labelStyleFor(wide, ratio) {
    const size = wide < 480 ? 10.5 : 12;
    const [bold, plain] = [{ font: font(size, 600), tint: colour("ink") }, { font: font(size, 500), tint: colour("quiet") }];
    return { bold, plain, seam: withAlpha(colour("field"), 0.9), size, ratio };
  }

  /**
   * Returns the distance from the middle, in units, beyond which a tank or its name lies under the close-up on its
   * side.
   */
  lensCorner() {
    this.corner ??= this.findLensCorner();
    return this.corner;
  }

  findLensCorner() {
    const { surface: { wide, high, ratio }, scale } = this;
    const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = this.lens.canvas.parentElement;
    // On an upright phone the close-up is below the field.
    if (offsetTop >= high) return { x: Infinity, y: Infinity };
    const unit = scale / ratio;
    const aside = Math.min(offsetLeft, wide - offsetLeft - offsetWidth);
    return {
      x: (wide / 2 - aside - offsetWidth) / unit - Math.max(RING_REACH, NAME_REACH[0] / unit),
      y: (high / 2 - offsetTop - offsetHeight) / unit - RING_REACH - NAME_REACH[1] / unit,
    };
  }

  /** Draws the tank in focus, enlarged so that the outlines can be distinguished. */
  drawLens(now, world) {
    const { lens: { context, canvas, ratio }, field } = this;
    const { x, y } = world.focus;
    const fine = canvas.width / LENS_WIDTH;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = colour("wall");
    context.fillRect(0, 0, canvas.width, canvas.height);
    const view = new View(context, { fine, scale: fine / ratio, x, y });
    view.units();
    // Slightly more than visible, so that no edge shows at the rim.
    drawGround(context, field, view.scale, { x, y, reach: LENS_WIDTH / 2 + 1 });
    const isIn = (thing) => Math.abs(thing.x - x) < LENS_WIDTH / 2 + LENGTH && Math.abs(thing.y - y) < LENS_WIDTH / 2 + LENGTH;
    // Rings would only be in the way.
    this.drawWorld(view, now, { ...world, tanks: world.tanks.filter(isIn), shots: world.shots.filter(isIn) }, true);
  }

  /** Returns the player whose tank is at a position on the page, or null. */
  playerAt(clientX, clientY, tanks) {
    const { left, top, width, height } = this.surface.canvas.getBoundingClientRect();
    const scale = this.scale / this.surface.ratio;
    const [x, y] = [(clientX - left - width / 2) / scale, -(clientY - top - height / 2) / scale];
    const near = tanks.filter((tank) => Math.hypot(tank.x - x, tank.y - y) < 6);
    return near.length ? near[0].player : null;
  }
}

/** Returns the sprite of a tank's label, cached per label and style. */
function labelSprite(label, style) {
  if (label.style === style) return label.sprite;
  const parts = [{ ...style.bold, text: label.name }, { ...style.plain, text: label.more }];
  Object.assign(label, { style, sprite: textSprite(parts, style) });
  return label.sprite;
}

/** Draws the field at the display's resolution. The ground is drawn once per size and colour scheme. */

import { drawGround } from "./ground.js";
import { colour, withAlpha } from "./palette.js";
import { drawOutlines, drawRing, drawShot, drawTank, View } from "./sprites.js";
import { clearSprites, textSprite } from "./sprite-cache.js";
import { Surface } from "./surface.js";

/** Margin around the field, in units: for its walls, and for the ring of a tank next to one. */
const MARGIN = 2.6;
const font = (size, weight = 500) => `${weight} ${size}px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif`;

export class Scene {
  constructor(canvas) {
    // Opaque canvases spare the browser the compositing with what lies below.
    this.surface = new Surface(canvas, { alpha: false });
    this.ground = document.createElement("canvas");
    this.field = null;
    this.isStale = true;
    /** Style of the names. */
    this.labelStyle = null;
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
   * Draws a frame: `tanks`, `shots`, `outlines` of the tank `focus`, `effects`, `beacon`. `label(player)` returns the text at a
   * tank.
   */
  draw(now, world) {
    const { surface } = this;
    if (surface.fit()) this.isStale = true;
    if (!surface.isVisible) return;
    if (this.isStale) this.paintGround();
    const { context } = surface;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.ground, 0, 0);
    this.drawWorld(this.view(context), now, world);
    this.drawLabels(world);
  }

  drawWorld(view, now, { tanks, shots, outlines, focus, effects, beacon, isCalm }) {
    beacon.draw(view, now, this.field, isCalm);
    view.units();
    for (const shot of shots) drawShot(view, shot);
    for (const tank of tanks) {
      drawTank(view, tank);
      if (!(tank.isOwn || tank.isProtected)) continue;
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

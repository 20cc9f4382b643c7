/**
 * Cache of sprites: filling paths and drawing text sixty times a second costs several times as much as copying pixels.
 */

/** Sprites that are kept; beyond it the cache is cleared. */
const SPRITES_MAX = 512;
/** Sprites are drawn finer than the canvas, since they get rotated. */
const OVERSAMPLING = 1.5;

/** By pixels per unit, then by key. */
const sprites = new Map();
let count = 0;

/** Clears the cache: the colours have changed. */
export function clearSprites() {
  sprites.clear();
  count = 0;
}

function cached(scale, key, make) {
  let sprite = sprites.get(scale)?.get(key);
  if (sprite) return sprite;
  if (count >= SPRITES_MAX) clearSprites();
  sprite = make();
  if (!sprites.has(scale)) sprites.set(scale, new Map());
  sprites.get(scale).set(key, sprite);
  count += 1;
  return sprite;
}

/** Creates a canvas that is not on the page. */
export function createCanvas(width, height) {
  const [wide, high] = [Math.ceil(width), Math.ceil(height)];
  if ("OffscreenCanvas" in globalThis) return new OffscreenCanvas(wide, high);
  return Object.assign(document.createElement("canvas"), { width: wide, height: high });
}

/** Turns a finished canvas into a bitmap, which is faster to copy from. */
export const toBitmap = (canvas) => canvas.transferToImageBitmap?.() ?? canvas;

/**
 * Copies what `draw(context)` draws in units, north up, around the middle and within `half`. The target context is in
 * units of `scale` pixels, north down. Sprites with the same key must look the same.
 */
export function drawSprite(context, key, [halfX, halfY], scale, draw) {
  const { bitmap, half: [x, y] } = cached(scale, key, () => {
    const fine = scale * OVERSAMPLING;
    const canvas = createCanvas(2 * halfX * fine, 2 * halfY * fine);
    const { width, height } = canvas;
    const inner = canvas.getContext("2d");
    inner.setTransform(fine, 0, 0, -fine, width / 2, height / 2);
    draw(inner);
    return { bitmap: toBitmap(canvas), half: [width / fine / 2, height / fine / 2] };
  });
  context.drawImage(bitmap, -x, -y, 2 * x, 2 * y);
}

/**
 * Returns a sprite of a text of several parts, `{ text, font, tint }`, with an outline in another colour, and its size
 * in CSS pixels.
 */
export function textSprite(parts, { seam, size, ratio }) {
  const words = parts.map(({ text, font, tint }) => `${text}|${font}|${tint}`);
  return cached(ratio, `${words.join("|")}|${seam}`, () => {
    const measure = createCanvas(1, 1).getContext("2d");
    const widths = parts.map(({ text, font }) => {
      measure.font = font;
      return measure.measureText(text).width;
    });
    const width = widths.reduce((sum, one) => sum + one, 0);
    const margin = 4;
    const canvas = createCanvas((width + 2 * margin) * ratio, (2 * size + 2 * margin) * ratio);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    Object.assign(context, { textBaseline: "middle", lineJoin: "round", lineWidth: 3.5, strokeStyle: seam });
    let start = margin;
    parts.forEach(({ text, font, tint }, place) => {
      Object.assign(context, { font, fillStyle: tint });
      context.strokeText(text, start, size + margin);
      context.fillText(text, start, size + margin);
      start += widths[place];
    });
    return { bitmap: toBitmap(canvas), width, margin, middle: size + margin };
  });
}

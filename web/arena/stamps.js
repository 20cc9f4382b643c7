/**
 * Pictures that are drawn once and then stamped: to fill paths and to write text sixty times a second costs several times as
 * much as to copy their pixels.
 */

/** More are not kept: all are drawn anew then. */
const STAMPS_MAX = 512;
/** Finer than the canvas, since they are turned. */
const FINE = 1.5;

/** By the pixels that a unit has, and then by their keys. */
const stamps = new Map();
let count = 0;

/** The colours have changed. */
export function forgetStamps() {
  stamps.clear();
  count = 0;
}

function keep(scale, key, make) {
  let stamp = stamps.get(scale)?.get(key);
  if (stamp) return stamp;
  if (count >= STAMPS_MAX) forgetStamps();
  stamp = make();
  if (!stamps.has(scale)) stamps.set(scale, new Map());
  stamps.get(scale).set(key, stamp);
  count += 1;
  return stamp;
}

/** A canvas that is not on the page. */
export function canvasOf(width, height) {
  const [wide, high] = [Math.ceil(width), Math.ceil(height)];
  if ("OffscreenCanvas" in globalThis) return new OffscreenCanvas(wide, high);
  return Object.assign(document.createElement("canvas"), { width: wide, height: high });
}

/** The picture of a canvas that is not drawn on any more: unlike the canvas, it need not be looked at for changes. */
export const pictureOf = (canvas) => canvas.transferToImageBitmap?.() ?? canvas;

/**
 * Stamps what `draw(context)` draws in units, north up, around the middle and not beyond `half`. The context is in units too, of so
 * many pixels each (`scale`), but north down. Pictures with the same key look the same.
 */
export function stampUnits(context, key, [halfX, halfY], scale, draw) {
  const { picture, half: [x, y] } = keep(scale, key, () => {
    const fine = scale * FINE;
    const canvas = canvasOf(2 * halfX * fine, 2 * halfY * fine);
    const { width, height } = canvas;
    const inner = canvas.getContext("2d");
    inner.setTransform(fine, 0, 0, -fine, width / 2, height / 2);
    draw(inner);
    return { picture: pictureOf(canvas), half: [width / fine / 2, height / fine / 2] };
  });
  context.drawImage(picture, -x, -y, 2 * x, 2 * y);
}

/** Text of several parts, `{ text, font, tint }`, with a seam of another colour: a picture and its size in the page's pixels. */
export function textStamp(parts, { seam, size, ratio }) {
  const words = parts.map(({ text, font, tint }) => `${text}|${font}|${tint}`);
  return keep(ratio, `${words.join("|")}|${seam}`, () => {
    const measure = canvasOf(1, 1).getContext("2d");
    const widths = parts.map(({ text, font }) => {
      measure.font = font;
      return measure.measureText(text).width;
    });
    const width = widths.reduce((sum, one) => sum + one, 0);
    const margin = 4;
    const canvas = canvasOf((width + 2 * margin) * ratio, (2 * size + 2 * margin) * ratio);
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
    return { picture: pictureOf(canvas), width, margin, middle: size + margin };
  });
}

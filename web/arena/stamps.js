/**
 * Pictures that are drawn once and then stamped: to fill paths and to write text sixty times a second costs several times as
 * much as to copy their pixels.
 */

/** More are not kept: all are drawn anew then. */
const STAMPS_MAX = 512;
/** Finer than the canvas, since they are turned. */
const FINE = 1.5;

const stamps = new Map();

/** The colours have changed. */
export function forgetStamps() {
  stamps.clear();
}

function keep(key, make) {
  let stamp = stamps.get(key);
  if (stamp) return stamp;
  if (stamps.size >= STAMPS_MAX) stamps.clear();
  stamp = make();
  stamps.set(key, stamp);
  return stamp;
}

function canvasOf(width, height) {
  return Object.assign(document.createElement("canvas"), { width: Math.ceil(width), height: Math.ceil(height) });
}

/**
 * Stamps what `draw(context)` draws in units, north up, around the middle and not beyond `half`. The context is in units too, of so
 * many pixels each (`scale`). Pictures with the same key look the same.
 */
export function stampUnits(context, key, [halfX, halfY], scale, draw) {
  const picture = keep(`${key} ${scale.toFixed(2)}`, () => {
    const fine = scale * FINE;
    const canvas = canvasOf(2 * halfX * fine, 2 * halfY * fine);
    const inner = canvas.getContext("2d");
    inner.setTransform(fine, 0, 0, -fine, canvas.width / 2, canvas.height / 2);
    draw(inner);
    return { canvas, half: [canvas.width / fine / 2, canvas.height / fine / 2] };
  });
  const [x, y] = picture.half;
  context.scale(1, -1);
  context.drawImage(picture.canvas, -x, -y, 2 * x, 2 * y);
}

/** Text of several parts, `{ text, font, tint }`, with a seam of another colour: a picture and its size in the page's pixels. */
export function textStamp(parts, { seam, size, ratio }) {
  const words = parts.map(({ text, font, tint }) => `${text}|${font}|${tint}`);
  return keep(`${words.join("|")}|${seam}|${ratio}`, () => {
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
    return { canvas, width, margin, middle: size + margin };
  });
}

/**
 * The curve: everybody's error over the last two minutes, what was switched on when, and how wide the errors lie apart.
 */

import { GAP, SHOWN } from "./history.js";
import { colour, colourOf, faint, pathOf } from "./palette.js";
import { fit, hasPixels, ratioOf } from "./scene.js";
import { amount } from "./words.js";

const STRIP = 20;
const BOTTOM = 24;
const LABEL = 15;
const FONT = "system-ui, -apple-system, \"Segoe UI\", Roboto, sans-serif";

/** An axis in round steps, about four of them, that has room for these values. */
function axisFor(low, high) {
  const rough = (high - low) / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 2.5, 5, 10].find((times) => rough <= times * unit * 1.0001);
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  const isWhole = (value) => Math.abs(value - Math.round(value)) < 1e-6;
  const digits = [0, 1, 2].find((count) => isWhole(step * 10 ** count)) ?? 3;
  return { low: first * step, high: last * step, step, steps: last - first, digits };
}

/** Moves labels apart, highest first, that would lie on each other, as little as it takes. */
function spreadOut(labels, low, high) {
  let floor = low;
  for (const label of labels) {
    label.at = Math.max(label.y, floor);
    floor = label.at + LABEL;
  }
  let ceiling = high;
  for (const label of [...labels].reverse()) {
    label.at = Math.min(label.at, ceiling);
    ceiling = label.at - LABEL;
  }
}

/** The highest and the lowest of the labels, as many as there is room for. */
function outermost(labels, room) {
  const count = Math.max(1, Math.floor(room / LABEL) + 1);
  if (labels.length <= count) return labels;
  const upper = Math.ceil(count / 2);
  return labels.filter((_, place) => place < upper || place >= labels.length - (count - upper));
}

/** What was measured, in pieces between which nothing was. */
function runsOf(samples) {
  const runs = [];
  let last = -Infinity;
  for (const sample of samples) {
    if (sample.t - last > GAP) runs.push([]);
    runs.at(-1).push(sample);
    last = sample.t;
  }
  return runs;
}

export class Chart {
  constructor(canvas, history) {
    Object.assign(this, { canvas, history });
    this.context = canvas.getContext("2d");
    this.kind = "error";
    this.pointer = null;
    canvas.addEventListener("pointermove", (event) => {
      this.pointer = event.clientX - canvas.getBoundingClientRect().left;
    });
    canvas.addEventListener("pointerleave", () => {
      this.pointer = null;
    });
  }

  /** `nameOf(player)` and `choiceName(choice)` say what people call them. */
  draw(now, { players, nameOf, choiceName }) {
    fit(this.canvas);
    if (!hasPixels(this.canvas)) return;
    const { context, canvas } = this;
    const ratio = ratioOf(canvas);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    const isNarrow = canvas.clientWidth < 420;
    const frame = {
      left: this.kind === "error" ? 34 : 42, right: canvas.clientWidth - (isNarrow ? 62 : 84), top: STRIP + 12,
      bottom: canvas.clientHeight - BOTTOM,
    };
    const last = this.history.samples.at(-1);
    const end = last ? Math.max(last.t, now - 1000) : now;
    this.scaleTo(players);
    const x = (t) => frame.right - ((end - t) / SHOWN) * (frame.right - frame.left);
    const { low, high } = this.axis;
    const y = (value) => frame.bottom - ((value - low) / (high - low)) * (frame.bottom - frame.top);
    this.drawAxes(frame, y);
    this.drawStrip(frame, x, choiceName);
    context.save();
    context.beginPath();
    context.rect(frame.left, frame.top - 4, frame.right - frame.left + 6, frame.bottom - frame.top + 6);
    context.clip();
    this.drawBand(players, x, y);
    for (const player of players) this.drawLine(player, x, y);
    context.restore();
    if (last) this.drawLabels(players, last, frame, { x, y }, nameOf);
    if (this.pointer !== null) this.drawReading(players, frame, end, { x, y }, nameOf);
  }

  /** The axis follows what is shown, in steps. A mean counts from nought; a sum from where it was at the left. */
  scaleTo(players) {
    let [least, most] = [Infinity, -Infinity];
    for (const { values } of this.history.samples) {
      for (const player of players) {
        const value = values.get(player)?.[this.kind];
        if (value < least) least = value;
        if (value > most) most = value;
      }
    }
    const low = this.kind === "error" || least === Infinity ? 0 : least;
    this.axis = axisFor(low, Math.max(low + (this.kind === "error" ? 0.25 : 4), most * 1.03));
  }

  text(text, x, y, { size = 11.5, weight = 400, align = "left", tint = colour("quiet") } = {}) {
    const { context } = this;
    context.font = `${weight} ${size}px ${FONT}`;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillStyle = tint;
    context.fillText(text, x, y);
  }

  drawAxes(frame, y) {
    const { context } = this;
    context.lineWidth = 1;
    for (let step = 0; step <= this.axis.steps; step += 1) {
      const value = this.axis.low + this.axis.step * step;
      const at = Math.round(y(value)) + 0.5;
      context.strokeStyle = colour("line");
      context.setLineDash(step ? [3, 4] : []);
      context.beginPath();
      context.moveTo(frame.left, at);
      context.lineTo(frame.right, at);
      context.stroke();
      this.text(value === 0 ? "0" : value.toFixed(this.axis.digits), frame.left - 7, at, { align: "right" });
    }
    context.setLineDash([]);
    const ticks = frame.right - frame.left < 300 ? [120, 60, 0] : [120, 90, 60, 30, 0];
    for (const ago of ticks) {
      const at = frame.right - (ago / 120) * (frame.right - frame.left);
      const align = ago === 120 ? "left" : ago === 0 ? "right" : "center";
      this.text(ago === 120 ? "2 min ago" : ago ? `${ago} s` : "now", at, frame.bottom + 14, { align });
    }
  }

  /** Above the curve: what was on. A dashed line marks each moment at which the switch was turned. */
  drawStrip(frame, x, choiceName) {
    const { context } = this;
    const { marks } = this.history;
    marks.forEach(({ t, choice }, place) => {
      const from = Math.max(x(t), frame.left);
      const to = place + 1 < marks.length ? Math.max(x(marks[place + 1].t), frame.left) : frame.right;
      const tint = choice === "even" ? colour("accent") : colour("quiet");
      context.fillStyle = faint(tint, choice === "even" ? 0.16 : choice === "base" ? 0.1 : 0.2);
      context.beginPath();
      context.roundRect(from + 0.5, 1, Math.max(to - from - 1, 1), STRIP - 3, 4);
      context.fill();
      const name = choiceName(choice);
      context.font = `600 11px ${FONT}`;
      if (context.measureText(name).width < to - from - 10) {
        this.text(name, (from + to) / 2, STRIP / 2, { size: 11, weight: 600, align: "center", tint });
      }
      if (x(t) > frame.left + 1 && place > 0) {
        context.strokeStyle = colour("accent");
        context.lineWidth = 1.5;
        context.setLineDash([4, 4]);
        context.beginPath();
        context.moveTo(from, STRIP);
        context.lineTo(from, frame.bottom);
        context.stroke();
        context.setLineDash([]);
      }
    });
  }

  /** Between the one who is worst off and the one who is best off. */
  drawBand(players, x, y) {
    const { context } = this;
    const range = this.history.samples.map(({ t, values }) => {
      const here = players.map((player) => values.get(player)?.[this.kind]).filter((value) => value !== undefined);
      return { t, low: Math.min(...here), high: Math.max(...here), count: here.length };
    }).filter(({ count }) => count > 1);
    context.beginPath();
    for (const run of runsOf(range)) {
      run.forEach(({ t, high }, place) => (place ? context.lineTo(x(t), y(high)) : context.moveTo(x(t), y(high))));
      run.reverse().forEach(({ t, low }) => context.lineTo(x(t), y(low)));
      context.closePath();
    }
    context.fillStyle = faint(colour("accent"), 0.08);
    context.fill();
  }

  drawLine(player, x, y) {
    const { context } = this;
    context.strokeStyle = colourOf(player);
    context.lineWidth = 2;
    context.lineJoin = "round";
    context.beginPath();
    let last = -Infinity;
    for (const { t, values } of this.history.samples) {
      const value = values.get(player)?.[this.kind];
      if (value === undefined) continue;
      if (t - last > GAP) context.moveTo(x(t), y(value));
      else context.lineTo(x(t), y(value));
      last = t;
    }
    context.stroke();
  }

  mark(player, x, y, size) {
    const { context } = this;
    context.save();
    context.translate(x, y);
    context.scale(size, size);
    context.fillStyle = colourOf(player);
    context.fill(pathOf(player));
    context.restore();
  }

  drawLabels(players, last, frame, { x, y }, nameOf) {
    const { context } = this;
    const all = [];
    for (const player of players) {
      const value = last.values.get(player)?.[this.kind];
      if (value !== undefined) all.push({ player, y: y(value) });
    }
    const labels = outermost(all.sort((a, b) => a.y - b.y), frame.bottom - frame.top);
    spreadOut(labels, frame.top, frame.bottom);
    for (const { player, y: from, at } of labels) {
      context.strokeStyle = faint(colourOf(player), 0.6);
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x(last.t) + 2, from);
      context.lineTo(frame.right + 12, at);
      context.stroke();
      this.mark(player, frame.right + 18, at, 4);
      const room = this.canvas.clientWidth - frame.right - 28;
      this.text(this.cut(nameOf(player), room), frame.right + 27, at, { weight: 600, size: 12, tint: colour("ink") });
    }
  }

  /** As much of a name as there is room for. */
  cut(name, room) {
    const { context } = this;
    context.font = `600 12px ${FONT}`;
    let text = name;
    while (text.length > 1 && context.measureText(text).width > room) text = `${text.slice(0, -2)}…`;
    return text;
  }

  /** What the values were where the pointer is. */
  drawReading(players, frame, end, { x, y }, nameOf) {
    const part = (frame.right - this.pointer) / (frame.right - frame.left);
    const sample = part >= 0 && part <= 1 ? this.history.nearest(end - part * SHOWN) : null;
    if (!sample || Math.abs(x(sample.t) - this.pointer) > 12) return;
    const { context } = this;
    const rows = players.filter((player) => sample.values.has(player))
      .map((player) => ({ player, value: sample.values.get(player)[this.kind] }))
      .sort((a, b) => b.value - a.value);
    const [width, height] = [128, rows.length * 17 + 12];
    const at = x(sample.t);
    const left = at + width + 12 < frame.right ? at + 10 : at - width - 10;
    const top = Math.max(Math.min(frame.top + 4, frame.bottom - height), 2);
    context.strokeStyle = colour("quiet");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(at, frame.top);
    context.lineTo(at, frame.bottom);
    context.stroke();
    context.fillStyle = colour("card");
    context.strokeStyle = colour("line");
    context.beginPath();
    context.roundRect(left, top, width, height, 8);
    context.fill();
    context.stroke();
    rows.forEach(({ player, value }, place) => {
      const row = top + 15 + place * 17;
      this.mark(player, at, y(value), 3.5);
      this.mark(player, left + 13, row, 3.5);
      this.text(this.cut(nameOf(player), 52), left + 23, row, { tint: colour("ink") });
      const words = amount(value, this.kind === "error" ? 2 : 0);
      this.text(words, left + width - 10, row, { align: "right", weight: 600, tint: colour("ink") });
    });
  }
}

/**
 * The curve: every player's error over the last two minutes, the spread between them, and when the policy was switched.
 */

import { GAP_MIN, nearest, HISTORY_LENGTH } from "./history.js";
import { colour, colourOf, withAlpha, pathOf } from "./palette.js";
import { createCanvas, toBitmap } from "./sprite-cache.js";
import { Surface } from "./surface.js";
import { formatNumber } from "./format.js";

const STRIP_HEIGHT = 20;
const AXIS_HEIGHT = 24;
const LABEL_HEIGHT = 15;
/**
 * Distance of a line's points, in milliseconds. Errors are means over ten seconds, so a finer line would look the same.
 */
const POINT_INTERVAL = 1000;
/** Lines drawn per frame: drawing all of them at once would miss a frame. */
const LINES_PER_FRAME = 8;
/** An unfinished drawing older than this, in milliseconds, is restarted: the page was hidden. */
const DRAWING_AGE_MAX = 1000;
const FONT = "system-ui, -apple-system, \"Segoe UI\", Roboto, sans-serif";

/** Picks an axis in round steps, about four, that covers these values. */
function axisFor(low, high) {
  const rough = (high - low) / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 2.5, 5, 10].find((times) => rough <= times * unit * 1.0001);
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  const isWhole = (value) => Math.abs(value - Math.round(value)) < 1e-6;
  const digits = [0, 1, 2].find((count) => isWhole(step * 10 ** count)) ?? 3;
  return { low: first * step, high: last * step, step, steps: last - first, digits };
}

/** Moves overlapping labels apart as little as possible. Labels are sorted, highest first. */
function spreadOut(labels, low, high) {
  let floor = low;
  for (const label of labels) {
    label.at = Math.max(label.y, floor);
    floor = label.at + LABEL_HEIGHT;
  }
  let ceiling = high;
  for (const label of [...labels].reverse()) {
    label.at = Math.min(label.at, ceiling);
    ceiling = label.at - LABEL_HEIGHT;
  }
}

/** Returns the highest and the lowest labels, as many as fit. */
function outermostLabels(labels, room) {
  const count = Math.max(1, Math.floor(room / LABEL_HEIGHT) + 1);
  if (labels.length <= count) return labels;
  const upper = Math.ceil(count / 2);
  return labels.filter((_, place) => place < upper || place >= labels.length - (count - upper));
}

/** Splits samples into runs without gaps. */
function runsOf(samples) {
  const runs = [];
  let last = -Infinity;
  for (const sample of samples) {
    if (sample.t - last > GAP_MIN) runs.push([]);
    runs.at(-1).push(sample);
    last = sample.t;
  }
  return runs;
}

/**
 * Keeps the ends of a run and the last sample of each interval. Intervals follow the clock, so points stay the same
 * while a line moves to the left.
 */
function thinned(run) {
  const intervalOf = (place) => Math.floor(run[place].t / POINT_INTERVAL);
  return run.filter((_, place) => place === 0 || place + 1 === run.length || intervalOf(place) !== intervalOf(place + 1));
}

export class Chart {
  constructor(canvas, history) {
    this.history = history;
    this.surface = new Surface(canvas);
    this.context = this.surface.context;
    this.kind = "error";
    this.pointer = null;
    /** The drawing in progress, or null. */
    this.drawing = null;
    canvas.addEventListener("pointermove", (event) => {
      this.pointer = event.clientX - canvas.getBoundingClientRect().left;
    });
    canvas.addEventListener("pointerleave", () => {
      this.pointer = null;
    });
  }

  /**
   * Draws a part of the chart and returns whether it was the last one. `nameOf(player)` and `choiceName(choice)` return
   * display names.
   */
  draw(now, { players, nameOf, choiceName }) {
    if (this.drawing && now - this.drawing.begun > DRAWING_AGE_MAX) this.abandon();
    this.drawing ??= this.begin(now, players);
    if (this.drawing === null) return true;
    const { remaining, isBlank } = this.drawing;
    if (isBlank) this.drawLines(remaining.splice(0));
    if (remaining.length > 0) {
      this.drawLines(remaining.splice(0, LINES_PER_FRAME));
      return false;
    }
    this.finish(nameOf, choiceName);
    this.drawing = null;
    return true;
  }

  /** Abandons the drawing in progress. */
  abandon() {
    for (const picture of this.drawing.pictures) picture.close?.();
    this.drawing = null;
  }

  /**
   * Starts a drawing; null if the canvas has no size. A resized canvas is blank, so everything is then drawn at once.
   */
  begin(now, players) {
    const { surface } = this;
    const isBlank = surface.fit();
    if (!surface.isVisible) return null;
    const isNarrow = surface.wide < 420;
    const frame = {
      left: this.kind === "error" ? 34 : 42, right: surface.wide - (isNarrow ? 62 : 84), top: STRIP_HEIGHT + 12,
      bottom: surface.high - AXIS_HEIGHT,
    };
    const last = this.history.samples.at(-1);
    const end = last ? Math.max(last.t, now - 1000) : now;
    const runs = runsOf(this.history.samples).map(thinned);
    const axis = this.axisOf(players, runs);
    const x = (t) => frame.right - ((end - t) / HISTORY_LENGTH) * (frame.right - frame.left);
    const y = (value) => frame.bottom - ((value - axis.low) / (axis.high - axis.low)) * (frame.bottom - frame.top);
    const drawn = { players, remaining: [...players], isBlank, pictures: [] };
    return { begun: now, kind: this.kind, frame, last, end, runs, axis, x, y, ...drawn };
  }

  /** Draws some of the lines into a bitmap of their own, so that their pixels are rendered now. */
  drawLines(players) {
    const { width, height } = this.surface.canvas;
    const canvas = createCanvas(width, height);
    const context = canvas.getContext("2d");
    context.scale(this.surface.ratio, this.surface.ratio);
    for (const player of players) this.drawLine(context, player);
    this.drawing.pictures.push(toBitmap(canvas));
  }

  finish(nameOf, choiceName) {
    const { context, surface: { wide, high, ratio }, drawing: { frame, pictures, last } } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, wide, high);
    this.drawAxes();
    this.drawPolicyStrip(choiceName);
    context.save();
    context.beginPath();
    context.rect(frame.left, frame.top - 4, frame.right - frame.left + 6, frame.bottom - frame.top + 6);
    context.clip();
    this.drawBand();
    context.setTransform(1, 0, 0, 1, 0, 0);
    for (const picture of pictures) {
      context.drawImage(picture, 0, 0);
      picture.close?.();
    }
    context.restore();
    if (last) this.drawLabels(nameOf);
    if (this.pointer !== null) this.drawTooltip(nameOf);
  }

  /** Fits the axis to the values. Mean errors start at zero, accumulated ones at their value on the left edge. */
  axisOf(players, runs) {
    let [least, most] = [Infinity, -Infinity];
    for (const { values } of runs.flat()) {
      for (const player of players) {
        const value = values.get(player)?.[this.kind];
        if (value < least) least = value;
        if (value > most) most = value;
      }
    }
    const low = this.kind === "error" || least === Infinity ? 0 : least;
    return axisFor(low, Math.max(low + (this.kind === "error" ? 0.25 : 4), most * 1.03));
  }

  text(text, x, y, { size = 11.5, weight = 400, align = "left", tint = colour("quiet") } = {}) {
    const { context } = this;
    context.font = `${weight} ${size}px ${FONT}`;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillStyle = tint;
    context.fillText(text, x, y);
  }

  drawAxes() {
    const { context, drawing: { frame, axis, y } } = this;
    context.lineWidth = 1;
    for (let step = 0; step <= axis.steps; step += 1) {
      const value = axis.low + axis.step * step;
      const at = Math.round(y(value)) + 0.5;
      context.strokeStyle = colour("line");
      context.setLineDash(step ? [3, 4] : []);
      context.beginPath();
      context.moveTo(frame.left, at);
      context.lineTo(frame.right, at);
      context.stroke();
      this.text(value === 0 ? "0" : value.toFixed(axis.digits), frame.left - 7, at, { align: "right" });
    }
    context.setLineDash([]);
    const ticks = frame.right - frame.left < 300 ? [120, 60, 0] : [120, 90, 60, 30, 0];
    for (const ago of ticks) {
      const at = frame.right - (ago / 120) * (frame.right - frame.left);
      const align = ago === 120 ? "left" : ago === 0 ? "right" : "center";
      this.text(ago === 120 ? "2 min ago" : ago ? `${ago} s` : "now", at, frame.bottom + 14, { align });
    }
  }

  /** Strip above the curve that shows the active policy. A dashed line marks each switch. */
  drawPolicyStrip(choiceName) {
    const { context, drawing: { frame, x } } = this;
    const { marks } = this.history;
    marks.forEach(({ t, choice }, place) => {
      const from = Math.max(x(t), frame.left);
      const to = place + 1 < marks.length ? Math.max(x(marks[place + 1].t), frame.left) : frame.right;
      const tint = choice === "even" ? colour("accent") : colour("quiet");
      context.fillStyle = withAlpha(tint, choice === "even" ? 0.16 : choice === "base" ? 0.1 : 0.2);
      context.beginPath();
      context.roundRect(from + 0.5, 1, Math.max(to - from - 1, 1), STRIP_HEIGHT - 3, 4);
      context.fill();
      const name = choiceName(choice);
      context.font = `600 11px ${FONT}`;
      if (context.measureText(name).width < to - from - 10) {
        this.text(name, (from + to) / 2, STRIP_HEIGHT / 2, { size: 11, weight: 600, align: "center", tint });
      }
      if (x(t) > frame.left + 1 && place > 0) {
        context.strokeStyle = colour("accent");
        context.lineWidth = 1.5;
        context.setLineDash([4, 4]);
        context.beginPath();
        context.moveTo(from, STRIP_HEIGHT);
        context.lineTo(from, frame.bottom);
        context.stroke();
        context.setLineDash([]);
      }
    });
  }

  /** Band between the largest and the smallest error. */
  drawBand() {
    const { context, drawing: { players, kind, runs, x, y } } = this;
    const rangeOf = ({ t, values }) => {
      let [low, high, count] = [Infinity, -Infinity, 0];
      for (const player of players) {
        const value = values.get(player)?.[kind];
        if (value === undefined) continue;
        low = Math.min(low, value);
        high = Math.max(high, value);
        count += 1;
      }
      return { t, low, high, count };
    };
    const fillBetween = (run) => {
      run.forEach(({ t, high }, place) => (place ? context.lineTo(x(t), y(high)) : context.moveTo(x(t), y(high))));
      run.reverse().forEach(({ t, low }) => context.lineTo(x(t), y(low)));
      context.closePath();
    };
    context.beginPath();
    for (const samples of runs) {
      const run = [];
      for (const range of samples.map(rangeOf)) {
        // A single player has no band.
        if (range.count > 1) run.push(range);
        else fillBetween(run.splice(0));
      }
      fillBetween(run);
    }
    context.fillStyle = withAlpha(colour("accent"), 0.08);
    context.fill();
  }

  drawLine(context, player) {
    const { kind, runs, x, y } = this.drawing;
    context.strokeStyle = colourOf(player);
    context.lineWidth = 2;
    context.lineJoin = "round";
    context.beginPath();
    for (const run of runs) {
      let isDown = false;
      for (const { t, values } of run) {
        const value = values.get(player)?.[kind];
        if (value !== undefined && isDown) context.lineTo(x(t), y(value));
        else if (value !== undefined) context.moveTo(x(t), y(value));
        isDown = value !== undefined;
      }
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

  drawLabels(nameOf) {
    const { context, drawing: { players, kind, last, frame, x, y } } = this;
    const all = [];
    for (const player of players) {
      const value = last.values.get(player)?.[kind];
      if (value !== undefined) all.push({ player, y: y(value) });
    }
    const labels = outermostLabels(all.sort((a, b) => a.y - b.y), frame.bottom - frame.top);
    spreadOut(labels, frame.top, frame.bottom);
    for (const { player, y: from, at } of labels) {
      context.strokeStyle = withAlpha(colourOf(player), 0.6);
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x(last.t) + 2, from);
      context.lineTo(frame.right + 12, at);
      context.stroke();
      this.mark(player, frame.right + 18, at, 4);
      const room = this.surface.wide - frame.right - 28;
      this.text(this.ellipsize(nameOf(player), room), frame.right + 27, at, { weight: 600, size: 12, tint: colour("ink") });
    }
  }

  /** Shortens a name to the available width. */
  ellipsize(name, room) {
    const { context } = this;
    context.font = `600 12px ${FONT}`;
    let text = name;
    while (text.length > 1 && context.measureText(text).width > room) text = `${text.slice(0, -2)}…`;
    return text;
  }

  /** Tooltip with the values at the pointer. */
  drawTooltip(nameOf) {
    const { players, kind, frame, end, runs, x, y } = this.drawing;
    const part = (frame.right - this.pointer) / (frame.right - frame.left);
    const sample = part >= 0 && part <= 1 ? nearest(runs.flat(), end - part * HISTORY_LENGTH) : null;
    if (!sample || Math.abs(x(sample.t) - this.pointer) > 12) return;
    const { context } = this;
    const rows = players.filter((player) => sample.values.has(player))
      .map((player) => ({ player, value: sample.values.get(player)[kind] }))
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
      this.text(this.ellipsize(nameOf(player), 52), left + 23, row, { tint: colour("ink") });
      const words = formatNumber(value, kind === "error" ? 2 : 0);
      this.text(words, left + width - 10, row, { align: "right", weight: 600, tint: colour("ink") });
    });
  }
}

/** The figures on top, and the table of who pays, all compared with without us. */

import { DelaySlider } from "./controls.js";
import { setClass, setText } from "./dom.js";
import { dumbbell } from "./dumbbell.js";
import { reconcileRows, createMark } from "./palette.js";
import { formatBudget, formatChange, formatNumber, formatShare, formatSigned } from "./format.js";

const UNITS = "In units: a tank is 6 long. Pays: now minus without us.";

export class Figures {
  constructor(root) {
    this.parts = Object.fromEntries([...root.querySelectorAll("[data-figure]")].map((part) => [part.dataset.figure, {
      value: part.querySelector("b"), against: part.querySelector(".against"),
    }]));
  }

  show(arena, reference) {
    this.set("spread", formatNumber(arena.spread), this.compare(arena.spread, reference, reference.spread));
    this.set("mean", formatNumber(arena.mean), this.compare(arena.mean, reference, reference.mean));
    const budget = arena.budget ? `budget ${formatBudget(arena.budget)}` : "";
    const sent = reference.kind === "measured" ? formatChange(arena.sent_per_s, reference.sent) : null;
    this.set("sent", formatNumber(arena.sent_per_s, 0), { text: sent ? `${sent} vs without us` : budget });
    const { count, fair, fair_without: unaided } = arena.duels;
    this.set("fair", count > 0 ? formatShare(fair) : "–", this.compareDuels(arena.duels, reference, { fair, unaided }));
    const { clock_ms: clock } = arena;
    this.set("clock", formatNumber(clock, clock < 100 ? 1 : 0), { text: "certified bound" });
  }

  /** Compares a value with its reference. Less is better. */
  compare(value, reference, compared) {
    if (reference.kind === "itself") return { text: "this is without us" };
    const by = formatChange(value, compared);
    if (!by) return { text: typeof compared === "number" ? "hardly any without us" : "not measured yet" };
    const title = "compared with the last measurement \u201cwithout us\u201d";
    return { text: `${by} vs without us`, isGood: value <= compared, isBad: value > compared * 1.005, title };
  }

  /** Compares the share of duels that the fastest won with the same duels without us. More is better. */
  compareDuels({ count }, reference, { fair, unaided }) {
    if (count === 0) return { text: "no duel yet" };
    if (reference.kind === "itself") return { text: "this is without us" };
    const title = "in the same duels, had shots counted as they arrived";
    return { text: `${formatShare(unaided)} without us`, isGood: fair > unaided, isBad: fair < unaided, title };
  }

  set(name, value, { text, isGood = false, isBad = false, title = "" }) {
    const part = this.parts[name];
    setText(part.value, value);
    setText(part.against, text || "\u00a0");
    if (part.against.title !== title) part.against.title = title;
    setClass(part.against, "good", isGood);
    setClass(part.against, "pay", isBad);
  }
}

export class PlayerTable {
  /** `onFocus(player)` is called when the user wants to see where others see that player. */
  constructor(body, note, { onFocus, onFailed }) {
    Object.assign(this, { body, note, onFocus, onFailed });
    this.rows = new Map();
  }

  show(arena, reference, { nameOf, own, focus }) {
    reconcileRows(this.body, this.rows, arena.players, (player) => this.build(player));
    const errors = [...reference.errors.values(), ...arena.players.map(({ error }) => error)];
    // Round the scale up to steps, so that the plots do not jitter.
    const most = Math.max(0.5, Math.ceil(Math.max(...errors, 0) * 2) / 2);
    for (const player of arena.players) this.fill(player, reference.errors.get(player.player), most, { nameOf, own, focus });
    setText(this.note, typeof arena.cap === "number"
      ? `${UNITS} Cap: ${formatNumber(arena.cap, 1)} × 1/m base.`
      : UNITS);
  }

  build(player) {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "who";
    const name = document.createElement("span");
    button.append(createMark(player), name);
    button.addEventListener("click", () => this.onFocus(player));
    head.append(button);
    const cells = Object.fromEntries(["slider", "delay", "now", "export", "without", "plot", "pays"].map((cell) => {
      const data = document.createElement("td");
      if (["export", "without", "plot"].includes(cell)) data.className = `wide ${cell}`;
      return [cell, data];
    }));
    const [picture, slider] = [dumbbell(player), new DelaySlider(player, this.onFailed)];
    cells.plot.append(picture.svg);
    cells.slider.append(slider.input);
    cells.delay.append(slider.output);
    row.append(head, ...Object.values(cells));
    return { row, button, name, picture, ...cells, slider };
  }

  fill({ player, delay_ms: delay, error, export: exported }, without, most, { nameOf, own, focus }) {
    const row = this.rows.get(player);
    setText(row.name, nameOf(player));
    const isPressed = String(player === focus);
    if (row.button.ariaPressed !== isPressed) row.button.ariaPressed = isPressed;
    const whose = player === own ? "you" : nameOf(player);
    const title = `Show where others see ${whose}`;
    if (row.button.title !== title) row.button.title = title;
    row.slider.show(delay, nameOf(player));
    setText(row.now, formatNumber(error));
    setText(row.export, formatNumber(exported));
    setText(row.without, formatNumber(without));
    const paid = typeof without === "number" && typeof error === "number" ? error - without : null;
    setText(row.pays, formatSigned(paid));
    setClass(row.pays, "good", paid !== null && paid < -0.005);
    setClass(row.pays, "pay", paid !== null && paid > 0.005);
    row.picture.show({ now: error, without, most, isGood: error <= without });
  }
}

/** The four figures on top, and the table of who pays. Each value is compared with the one without us. */

import { reconcileRows, createMark } from "./palette.js";
import { formatBudget, formatChange, formatNumber, formatSigned } from "./format.js";

const UNITS = "Errors in units (a tank is 6 long), delay and clock in ms.";
const SVG = "http://www.w3.org/2000/svg";

/** Sets a text if it has changed, to avoid needless layout. It reuses the text node, so that no garbage accumulates. */
export function setText(element, text) {
  const { firstChild: node, lastChild } = element;
  if (node === null || node !== lastChild || node.nodeType !== Node.TEXT_NODE) element.textContent = text;
  else if (node.data !== text) node.data = text;
}

/** Sets an attribute if it has changed: setting the same value would repaint a drawing. */
function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

function setClass(element, name, isOn) {
  if (element.classList.contains(name) !== isOn) element.classList.toggle(name, isOn);
}

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
    this.set("sent", formatNumber(arena.sent_per_s, 0), { text: sent ? `${budget}, ${sent}` : budget });
    const count = arena.players.filter(({ interval_ms: interval }) => typeof interval === "number").length;
    const worst = `worst of ${count} player${count === 1 ? "" : "s"}`;
    const { clock_ms: clock } = arena;
    this.set("clock", typeof clock === "number" ? `±${formatNumber(clock, clock < 100 ? 1 : 0)}` : "–", { text: worst });
  }

  /** Compares a value with its reference. Less is better. */
  compare(value, reference, compared) {
    if (reference.kind === "itself") return { text: "this is without us" };
    const by = formatChange(value, compared);
    if (!by) return { text: typeof compared === "number" ? "hardly any without us" : "nothing to compare yet" };
    const title = reference.kind === "measured"
      ? "compared with the last measurement \u201cwithout us\u201d"
      : "compared with the relay's own estimate without us, at the same budget";
    return { text: `${by} vs without us`, isGood: value <= compared, isBad: value > compared * 1.005, title };
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
  constructor(body, note, onFocus) {
    Object.assign(this, { body, note, onFocus });
    this.rows = new Map();
  }

  show(arena, reference, { nameOf, own, focus }) {
    reconcileRows(this.body, this.rows, arena.players, (player) => this.build(player));
    const errors = [...reference.errors.values(), ...arena.players.map(({ error }) => error)];
    // Round the scale up to steps, so that the plots do not jitter.
    const most = Math.max(0.5, Math.ceil(Math.max(...errors, 0) * 2) / 2);
    for (const player of arena.players) this.fill(player, reference.errors.get(player.player), most, { nameOf, own, focus });
    setText(this.note, typeof arena.cap === "number"
      ? `Cap: at most ${formatNumber(arena.cap, 1)} times the error without us. ${UNITS}`
      : `There is no cap on the error. ${UNITS}`);
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
    const cells = Object.fromEntries(["delay", "clock", "now", "without", "pays", "plot"].map((cell) => {
      const data = document.createElement("td");
      if (cell === "clock" || cell === "plot") data.className = `wide ${cell}`;
      return [cell, data];
    }));
    const picture = dumbbell(player);
    cells.plot.append(picture.svg);
    row.append(head, ...Object.values(cells));
    return { row, button, name, picture, ...cells };
  }

  fill({ player, delay_ms: delay, interval_ms: interval, error }, without, most, { nameOf, own, focus }) {
    const row = this.rows.get(player);
    setText(row.name, nameOf(player));
    const isPressed = String(player === focus);
    if (row.button.ariaPressed !== isPressed) row.button.ariaPressed = isPressed;
    const whose = player === own ? "you" : nameOf(player);
    const title = `Show where others see ${whose}`;
    if (row.button.title !== title) row.button.title = title;
    setText(row.delay, formatNumber(delay, 0));
    setText(row.clock, typeof interval === "number" ? `±${formatNumber(interval, 1)}` : "–");
    setText(row.now, formatNumber(error));
    setText(row.without, formatNumber(without));
    const paid = typeof without === "number" && typeof error === "number" ? error - without : null;
    setText(row.pays, formatSigned(paid));
    setClass(row.pays, "good", paid !== null && paid < -0.005);
    setClass(row.pays, "pay", paid !== null && paid > 0.005);
    row.picture.show(error, without, most);
  }
}

/** Plot of the error without us (hollow) and now (filled) on one scale; in a column, the filled ones draw together. */
function dumbbell(player) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "dumbbell");
  svg.setAttribute("aria-hidden", "true");
  const [rail, way, hollow] = ["line", "line", "circle"].map((tag) => document.createElementNS(SVG, tag));
  const full = createMark(player);
  rail.setAttribute("class", "rail");
  hollow.setAttribute("class", "hollow");
  hollow.setAttribute("r", "4");
  way.setAttribute("class", "way");
  for (const line of [rail, way]) for (const end of ["y1", "y2"]) line.setAttribute(end, "50%");
  hollow.setAttribute("cy", "50%");
  rail.setAttribute("x1", "0%");
  rail.setAttribute("x2", "100%");
  const group = document.createElementNS(SVG, "svg");
  group.setAttribute("overflow", "visible");
  group.setAttribute("y", "50%");
  for (const [name, value] of [["x", "-6"], ["y", "-6"], ["width", "12"], ["height", "12"]]) full.setAttribute(name, value);
  group.append(full);
  svg.append(rail, way, hollow, group);
  const show = (error, without, most) => {
    const at = (value) => `${(4 + (92 * Math.min(value, most)) / most).toFixed(1)}%`;
    const isKnown = typeof without === "number";
    for (const part of [way, hollow]) setAttribute(part, "visibility", isKnown ? "visible" : "hidden");
    setAttribute(group, "x", at(error ?? 0));
    if (!isKnown) return;
    setAttribute(hollow, "cx", at(without));
    setAttribute(way, "x1", at(without));
    setAttribute(way, "x2", at(error ?? 0));
    setAttribute(way, "class", `way ${error > without ? "pay" : "good"}`);
  };
  return { svg, show };
}

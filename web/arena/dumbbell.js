/**
 * Plot of a figure without us (hollow) and now (filled) on one scale, and a tick for what it should be; in a column, they show
 * how players draw together.
 */

import { setAttribute } from "./dom.js";
import { createMark } from "./palette.js";

const SVG = "http://www.w3.org/2000/svg";

/** Creates a plot with a player's mark: `svg`, and `show({ now, without, mark, most, isGood })`. */
export function dumbbell(player) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "dumbbell");
  svg.setAttribute("aria-hidden", "true");
  const [rail, way, tick, hollow] = ["line", "line", "line", "circle"].map((tag) => document.createElementNS(SVG, tag));
  const full = createMark(player);
  rail.setAttribute("class", "rail");
  tick.setAttribute("class", "earned");
  hollow.setAttribute("class", "hollow");
  hollow.setAttribute("r", "4");
  for (const line of [rail, way]) for (const end of ["y1", "y2"]) line.setAttribute(end, "50%");
  tick.setAttribute("y1", "12%");
  tick.setAttribute("y2", "88%");
  hollow.setAttribute("cy", "50%");
  rail.setAttribute("x1", "0%");
  rail.setAttribute("x2", "100%");
  const group = document.createElementNS(SVG, "svg");
  group.setAttribute("overflow", "visible");
  group.setAttribute("y", "50%");
  for (const [name, value] of [["x", "-6"], ["y", "-6"], ["width", "12"], ["height", "12"]]) full.setAttribute(name, value);
  group.append(full);
  svg.append(rail, tick, way, hollow, group);
  const show = ({ now, without = null, mark = null, most, isGood }) => {
    const at = (value) => `${(4 + (92 * Math.min(value, most)) / most).toFixed(1)}%`;
    const isVisible = (value) => (typeof value === "number" ? "visible" : "hidden");
    for (const part of [way, hollow]) setAttribute(part, "visibility", isVisible(without));
    setAttribute(tick, "visibility", isVisible(mark));
    setAttribute(group, "x", at(now ?? 0));
    if (typeof mark === "number") for (const end of ["x1", "x2"]) setAttribute(tick, end, at(mark));
    if (typeof without !== "number") return;
    setAttribute(hollow, "cx", at(without));
    setAttribute(way, "x1", at(without));
    setAttribute(way, "x2", at(now ?? 0));
    setAttribute(way, "class", `way ${isGood ? "good" : "pay"}`);
  };
  return { svg, show };
}

/**
 * Colour and shape of each player, the same in field, curve and tables. Colours come from the style sheet, light or
 * dark; shapes distinguish players for people with colour blindness.
 */

/** Shapes within a circle of radius 1, as SVG paths. The first is the player at this page. */
const SHAPES = [
  "M1 0A1 1 0 1 1-1 0A1 1 0 1 1 1 0Z",
  "M-.82-.82H.82V.82H-.82Z",
  "M0-1.05L1 .8H-1Z",
  "M0-1.1L1.1 0L0 1.1L-1.1 0Z",
  "M-.34-1H.34V-.34H1V.34H.34V1H-.34V.34H-1V-.34H-.34Z",
  "M-.6-1H.6L1.05 0L.6 1H-.6L-1.05 0Z",
  "M-1-.5H1V.5H-1Z",
];
/** Number of colours of the other players; 0 is the player at this page. */
const OTHER_COLOURS = 6;

const paths = SHAPES.map((shape) => new Path2D(shape));
const slots = new Map();
let own = null;
let colours = {};

/** Sets the player at this page; null if it only watches. */
export function setOwnPlayer(player) {
  own = player;
  slots.delete(player);
}

/** Sets the players in the room. Those who stay keep their colour and shape. */
export function setPlayers(players) {
  for (const player of slots.keys()) {
    if (!players.includes(player)) slots.delete(player);
  }
  const taken = new Set(slots.values());
  for (const player of players) {
    if (player === own || slots.has(player)) continue;
    let place = 0;
    while (taken.has(place)) place += 1;
    taken.add(place);
    slots.set(player, place);
  }
}

const slotOf = (player) => slots.get(player) ?? 0;
const colourNumber = (player) => (player === own ? 0 : 1 + (slotOf(player) % OTHER_COLOURS));
export const shapeNumber = (player) => {
  const place = slotOf(player);
  return player === own ? 0 : 1 + ((place + Math.floor(place / OTHER_COLOURS)) % OTHER_COLOURS);
};

/** Reads the style sheet's colours again, after a switch between light and dark. */
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = [
    "ink", "quiet", "line", "card", "accent", "beacon", "field", "field-grid", "block", "block-side", "wall", "shade", "good", "pay",
    ...Array.from({ length: OTHER_COLOURS + 1 }, (_, number) => `p${number}`),
  ];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export const colour = (name) => colours[name];
export const colourOf = (player) => colours[`p${colourNumber(player)}`];
export const pathOf = (player) => paths[shapeNumber(player)];

/** Returns a colour with an opacity from 0 to 1. */
export function withAlpha(hex, part) {
  return `${hex}${Math.round(Math.min(Math.max(part, 0), 1) * 255).toString(16).padStart(2, "0")}`;
}

/** Mixes a colour with black (below 0) or white (above). */
export function mix(hex, by) {
  const to = by < 0 ? 0 : 255;
  const channels = [1, 3, 5].map((place) => {
    const part = parseInt(hex.slice(place, place + 2), 16);
    return Math.round(part + (to - part) * Math.abs(by)).toString(16).padStart(2, "0");
  });
  return `#${channels.join("")}`;
}

/** Creates a player's mark for tables. Its colour is a CSS class, so it follows light and dark by itself. */
export function createMark(player) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "-1.2 -1.2 2.4 2.4");
  svg.setAttribute("class", `mark p${colourNumber(player)}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", SHAPES[shapeNumber(player)]);
  svg.append(path);
  return svg;
}

/**
 * Updates the rows of a table: removes those of players who left, inserts new ones made by `build(player)`, which
 * returns `{ row }`, and replaces those whose colour changed. Other rows are left alone, since a user may be focused on
 * them.
 */
export function reconcileRows(root, rows, players, build) {
  const marks = new Map(players.map(({ player }) => [player, colourNumber(player)]));
  for (const [player, { row, mark }] of rows) {
    if (marks.get(player) === mark) continue;
    row.remove();
    rows.delete(player);
  }
  players.forEach(({ player }, place) => {
    if (rows.has(player)) return;
    const made = Object.assign(build(player), { mark: marks.get(player) });
    rows.set(player, made);
    root.insertBefore(made.row, root.children[place] ?? null);
  });
}

/** Key that changes whenever a player's mark does. */
export const marksKey = (players) => players.map((player) => `${player}:${colourNumber(player)}`).join();

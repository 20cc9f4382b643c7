/**
 * One colour and one shape for each player, the same in field, curve and tables. Colours come from the style sheet, light or
 * dark; shapes tell players apart for whoever does not see colours as most do.
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
/** Colours of the others; 0 is the player at this page. */
const OTHERS = 6;

const paths = SHAPES.map((shape) => new Path2D(shape));
const places = new Map();
let own = null;
let colours = {};

/** Says who is at this page; null: nobody, it only watches. */
export function setOwn(player) {
  own = player;
  places.delete(player);
}

/** Says who is here. Who stays keeps colour and shape. */
export function setPlayers(players) {
  for (const player of places.keys()) {
    if (!players.includes(player)) places.delete(player);
  }
  const taken = new Set(places.values());
  for (const player of players) {
    if (player === own || places.has(player)) continue;
    let place = 0;
    while (taken.has(place)) place += 1;
    taken.add(place);
    places.set(player, place);
  }
}

const placeOf = (player) => places.get(player) ?? 0;
const colourNumber = (player) => (player === own ? 0 : 1 + (placeOf(player) % OTHERS));
export const shapeNumber = (player) => {
  const place = placeOf(player);
  return player === own ? 0 : 1 + ((place + Math.floor(place / OTHERS)) % OTHERS);
};

/** Reads the style sheet's colours again, after a change from light to dark. */
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = [
    "ink", "quiet", "line", "card", "accent", "field", "field-grid", "block", "block-side", "wall", "shade", "good", "pay",
    ...Array.from({ length: OTHERS + 1 }, (_, number) => `p${number}`),
  ];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export const colour = (name) => colours[name];
export const colourOf = (player) => colours[`p${colourNumber(player)}`];
export const pathOf = (player) => paths[shapeNumber(player)];

/** A colour of the style sheet, with so much of it: 0 none, 1 all. */
export function faint(hex, part) {
  return `${hex}${Math.round(Math.min(Math.max(part, 0), 1) * 255).toString(16).padStart(2, "0")}`;
}

/** A colour nearer to black (below 0) or to white (above). */
export function shaded(hex, by) {
  const to = by < 0 ? 0 : 255;
  const mixed = [1, 3, 5].map((place) => {
    const part = parseInt(hex.slice(place, place + 2), 16);
    return Math.round(part + (to - part) * Math.abs(by)).toString(16).padStart(2, "0");
  });
  return `#${mixed.join("")}`;
}

/** A player's mark, for tables. It takes its colour from the style sheet, so it follows light and dark by itself. */
export function markOf(player) {
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
 * Keeps a row for each player: those who went lose theirs, those who come get one behind the others (`build(player)` gives `{ row }`),
 * and who has another colour now gets a new one. The others stay what they are: somebody may be at them.
 */
export function keepRows(root, rows, players, build) {
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

/** Changes when somebody's mark does. */
export const marksKey = (players) => players.map((player) => `${player}:${colourNumber(player)}`).join();

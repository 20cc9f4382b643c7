/**
 * Two small views of the same tanks at the same instant: as the farthest player sees them, and as the nearest does. Each
 * shows a tank where that player sees it, and dashed where it really is.
 *
 * The host knows both of its bots: a bot's own tank, and the copies by which the bot aims. What the player at this page
 * sees is what this page draws.
 */

import { setText } from "./dom.js";
import { formatChange, formatNumber } from "./format.js";
import { drawGround } from "./ground.js";
import { headingNear, placeVector, vectorFromJson } from "./motion.js";
import { colour, createMark } from "./palette.js";
import { LENGTH } from "./rules.js";
import { drawGhost, drawTank, View } from "./sprites.js";
import { Surface } from "./surface.js";

/** Width of a view, in units. */
const WIDTH = 44;
/** The farthest player changes only if another is farther by this, in milliseconds. */
const FARTHER_MIN = 5;

/** Returns the players to compare: the farthest, and the one at this page or else the nearest. */
export function chooseViewers(players, own, before) {
  const byDelay = [...players].filter(({ player }) => player !== own).sort((a, b) => b.delay_ms - a.delay_ms);
  const known = byDelay.find(({ player }) => player === before?.far?.player);
  const farthest = byDelay[0] ?? null;
  const far = known && farthest.delay_ms - known.delay_ms < FARTHER_MIN ? known : farthest;
  const near = players.find(({ player }) => player === own) ?? byDelay.at(-1) ?? null;
  return far !== null && near !== null && far.player !== near.player ? { far, near } : null;
}

/** Where the tanks really are and where one player sees them, as answered by the host. */
class Sight {
  constructor({ tanks }, base) {
    const read = (vector) => vector && vectorFromJson(vector, base);
    this.tanks = tanks.map(({ player, real, heading, seen }) => ({ player, heading, real: read(real), seen: read(seen) }));
  }

  /** Places every tank that the player sees at a session time. */
  place(ns) {
    const placed = new Map();
    for (const { player, heading, real, seen } of this.tanks) {
      const at = placeVector(real, ns);
      const truth = { ...at, angle: heading === null ? headingNear(at, 0) : heading };
      const copy = seen && placeVector(seen, ns);
      placed.set(player, { player, real: truth, seen: copy && { ...copy, angle: headingNear(copy, truth.angle) } });
    }
    return placed;
  }
}

/** One of the two views. */
class SightView {
  constructor(root) {
    this.root = root;
    this.surface = new Surface(root.querySelector("canvas"), { alpha: false });
    [this.name, this.words] = root.querySelectorAll("figcaption > *");
    this.player = null;
  }

  /** Shows whose view it is and how far off that player sees the others. */
  label({ player, delay_ms: delay, recent }, without, nameOf, own) {
    if (this.player !== player) {
      this.player = player;
      this.name.replaceChildren(createMark(player), document.createElement("span"));
    }
    setText(this.name.lastChild, player === own ? "What you see" : `What ${nameOf(player)} sees`);
    const change = formatChange(recent, without);
    setText(this.words, `${formatNumber(delay, 0)} ms away, ${formatNumber(recent, 1)} units off${change ? ` (${change})` : ""}`);
  }

  draw(field, tanks, { x, y }) {
    const { surface } = this;
    surface.fit();
    if (!surface.isVisible) return;
    const { context, canvas, ratio } = surface;
    const fine = canvas.width / WIDTH;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = colour("wall");
    context.fillRect(0, 0, canvas.width, canvas.height);
    const view = new View(context, { fine, scale: fine / ratio, x, y });
    view.units();
    drawGround(context, field, view.scale, { x, y, reach: WIDTH / 2 + 1 });
    const isIn = (at) => Math.abs(at.x - x) < WIDTH / 2 + LENGTH && Math.abs(at.y - y) < WIDTH / 2 + LENGTH;
    for (const { player, seen } of tanks) if (isIn(seen)) drawTank(view, { player, ...seen });
    for (const { player, real, seen } of tanks) if (isIn(real)) drawGhost(view, player, real, seen);
  }
}

export class SightViews {
  constructor(root) {
    this.root = root;
    const part = (name) => new SightView(root.querySelector(`[data-sight=${name}]`));
    this.views = { far: part("far"), near: part("near") };
    this.viewers = null;
    this.sights = new Map();
    /** The owner of the tank in the middle. */
    this.subject = null;
    /** What was drawn last, by view. */
    this.drawn = { far: [], near: [] };
  }

  /** Chooses whom to compare, from the relay's figures. */
  choose(players, own, nameOf, reference) {
    this.viewers = chooseViewers(players, own, this.viewers);
    // A third player's tank is needed that both see.
    const isOn = this.viewers !== null && players.length > 2;
    if (this.root.hidden === isOn) this.root.hidden = !isOn;
    if (!isOn) this.viewers = null;
    for (const [name, view] of Object.entries(this.views)) {
      if (this.viewers) view.label(this.viewers[name], reference.errors.get(this.viewers[name].player), nameOf, own);
    }
  }

  /** The players whose sights to request. This page knows its own. */
  wanted(own) {
    const { far, near } = this.viewers ?? {};
    return [far, near].filter((viewer) => viewer && viewer.player !== own).map(({ player }) => player);
  }

  setSight(player, answer, base) {
    this.sights.set(player, new Sight(answer, base));
  }

  /** Forgets what was seen: the session is over. */
  clear() {
    this.sights.clear();
    this.drawn = { far: [], near: [] };
  }

  /** Draws both views at a session time. `own` is the own player and tank, `copies` the tanks that this page shows. */
  draw(field, ns, own, copies) {
    this.drawn = { far: [], near: [] };
    const { far, near } = this.viewers ?? {};
    const farSight = far && this.sights.get(far.player)?.place(ns);
    if (!farSight) return;
    const real = new Map([...farSight].map(([player, tank]) => [player, tank.real]));
    if (own.tank) real.set(own.player, own.tank);
    else real.delete(own.player);
    const nearSight = near.player === own.player ? null : this.sights.get(near.player)?.place(ns);
    const seenBy = (viewer, player) => {
      if (viewer === player) return real.get(player);
      if (viewer === own.player) return copies.get(player) ?? null;
      return (viewer === far.player ? farSight : nearSight)?.get(player)?.seen ?? null;
    };
    const tanksOf = (viewer) => [...real].map(([player, at]) => ({ player, real: at, seen: seenBy(viewer, player) }))
      .filter(({ seen }) => seen);
    const tanks = { far: tanksOf(far.player), near: tanksOf(near.player) };
    const middle = this.follow(tanks);
    if (!middle) return;
    for (const [name, view] of Object.entries(this.views)) view.draw(field, tanks[name], middle);
    this.drawn = tanks;
  }

  /** Returns the place of the tank in the middle: another player's that both see, the same one while it is there. */
  follow({ far, near }) {
    const viewers = [this.viewers.far.player, this.viewers.near.player];
    const common = far.filter(({ player }) => !viewers.includes(player) && near.some((other) => other.player === player));
    const subject = common.find(({ player }) => player === this.subject) ?? common[0] ?? null;
    this.subject = subject?.player ?? null;
    return subject?.real ?? null;
  }
}

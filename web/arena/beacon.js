/**
 * The beacon of the quick draw: what it shows, the call above the field, and how it is drawn. The field's edge lights up with
 * it, so that it is seen wherever one looks.
 */

import { setText } from "./dom.js";
import { formatNumber } from "./format.js";
import { colour, colourOf, createMark, withAlpha } from "./palette.js";

/** Where it stands, and its size, in units. */
const PLACE = [12, 5];
const RADIUS = 2.4;
/** How long the winner is shown, in milliseconds. */
const WINNER_TIME = 1600;
/** A sooner shot is a guess: the relay does not count it. */
export const REACTION_MIN = 100;

export class Beacon {
  /** `root` shows the call. */
  constructor(root) {
    this.root = root;
    this.light = "off";
    this.litAt = null;
    this.winner = null;
    this.until = 0;
    /** The own reaction in this duel in milliseconds, "early", or null. */
    this.own = null;
  }

  /** Shows another light. */
  set(light, now) {
    if (light === this.light) return;
    this.light = light;
    if (light === "ready") Object.assign(this, { own: null, winner: null });
    this.litAt = light === "fire" ? now : this.litAt;
  }

  /** Somebody has won. */
  win(player, now) {
    this.set("off", now);
    Object.assign(this, { winner: player, until: now + WINNER_TIME });
  }

  /** The player at this page has pulled the trigger. */
  pull(now) {
    if (this.own !== null) return;
    const reaction = this.litAt === null ? null : now - this.litAt;
    if (this.light === "ready") this.own = "early";
    else if (this.light === "fire") this.own = reaction < REACTION_MIN ? "early" : reaction;
  }

  /** Shows the call. */
  show(now, { nameOf, own, isPlaying }) {
    const { root, light } = this;
    const words = this.words(now, { nameOf, own, isPlaying });
    root.hidden = words === null;
    if (words === null) return;
    if (root.dataset.light !== light) root.dataset.light = light;
    if (light !== "off" || this.winner === null) return setText(root, words);
    if (root.textContent !== words || !root.querySelector(".mark")) root.replaceChildren(createMark(this.winner), words);
  }

  words(now, { nameOf, own, isPlaying }) {
    if (this.own === "early" && this.light !== "off") return "Too early: this one does not count";
    if (this.light === "ready") return isPlaying ? "Get ready\u2026" : "Ready\u2026";
    if (this.light === "fire") return typeof this.own === "number" ? `Fired after ${formatNumber(this.own, 0)} ms` : "Fire!";
    if (this.winner === null || now > this.until) return null;
    return this.winner === own ? "You were first" : `${nameOf(this.winner)} was first`;
  }

  /** Draws it, in units. */
  draw(view, now, field, isCalm) {
    const { context, scale } = view;
    const [x, y] = PLACE;
    const isWon = this.light === "off" && this.winner !== null && now < this.until;
    const tint = isWon ? colourOf(this.winner) : colour("beacon");
    view.units();
    if (this.light === "fire") drawEdge(context, field, tint);
    context.lineWidth = 2.5 / scale;
    context.strokeStyle = this.light === "off" && !isWon ? colour("quiet") : tint;
    context.fillStyle = this.light === "fire" || isWon ? tint : colour("card");
    if (this.light === "fire") drawHalo(context, x, y, tint, isCalm ? 0.5 : ((now - this.litAt) / 700) % 1);
    context.beginPath();
    context.arc(x, y, RADIUS, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
    if (this.light === "off" && !isWon) return;
    // Ready: a ring inside; lit: filled. Not only the colour tells.
    context.beginPath();
    context.arc(x, y, RADIUS * 0.45, 0, 2 * Math.PI);
    context.fillStyle = this.light === "ready" ? tint : colour("card");
    context.fill();
  }
}

function drawHalo(context, x, y, tint, part) {
  context.fillStyle = withAlpha(tint, 0.16);
  context.beginPath();
  context.arc(x, y, RADIUS * 3.2, 0, 2 * Math.PI);
  context.fill();
  context.strokeStyle = withAlpha(tint, 1 - part);
  context.beginPath();
  context.arc(x, y, RADIUS * (1.3 + 2.4 * part), 0, 2 * Math.PI);
  context.stroke();
}

function drawEdge(context, { half: [halfX, halfY] }, tint) {
  const width = context.lineWidth;
  context.strokeStyle = tint;
  context.lineWidth = 1.5;
  context.beginPath();
  context.roundRect(-halfX - 0.8, -halfY - 0.8, 2 * halfX + 1.6, 2 * halfY + 1.6, 1.6);
  context.stroke();
  context.lineWidth = width;
}

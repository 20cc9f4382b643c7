/** The maze with eaters and stones. Eaters glide between two answers of the peer. */

import { Surface } from "../arena/surface.js";
import { colourOf, pathOf, withAlpha } from "../arena/palette.js";

/** A jump by more than this many pixels is shown as one. */
const JUMP = 24;
/** How long an eater glides, in ms: a step. */
const GLIDE_MS = 60;

export class Board {
  constructor(canvas) {
    this.surface = new Surface(canvas);
    this.maze = null;
    this.stones = [];
    /** By eater: where it was, where it is, and since when. */
    this.eaters = new Map();
    this.names = new Map();
    this.isStale = true;
    this.ground = document.createElement("canvas");
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.isStale = true;
    });
  }

  get hasMaze() {
    return this.maze !== null;
  }

  setMaze(maze) {
    this.maze = maze;
    this.surface.canvas.style.aspectRatio = `${maze.columns} / ${maze.rows}`;
    this.isStale = true;
  }

  setNames(players) {
    this.names = new Map(players.map((player) => [player.id, player]));
  }

  setPlaces({ eaters, stones }) {
    this.stones = stones;
    const now = performance.now();
    const present = new Set();
    for (const [id, x, y] of eaters) {
      present.add(id);
      const known = this.eaters.get(id);
      const from = known ? this.at(known, now) : { x, y };
      const isJump = Math.hypot(from.x - x, from.y - y) > JUMP;
      this.eaters.set(id, { from: isJump ? { x, y } : from, to: { x, y }, since: now });
    }
    for (const id of this.eaters.keys()) if (!present.has(id)) this.eaters.delete(id);
  }

  at({ from, to, since }, now) {
    const part = Math.min((now - since) / GLIDE_MS, 1);
    return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
  }

  draw() {
    if (!this.maze || document.hidden) return;
    const { surface } = this;
    if (surface.fit()) this.isStale = true;
    if (!surface.isVisible) return;
    const scale = surface.canvas.width / (this.maze.columns * this.maze.cell);
    if (this.isStale) this.drawGround(scale);
    const { context } = surface;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, surface.canvas.width, surface.canvas.height);
    context.drawImage(this.ground, 0, 0);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    this.drawStones(context);
    const now = performance.now();
    for (const [id, eater] of this.eaters) this.drawEater(context, id, this.at(eater, now));
  }

  drawGround(scale) {
    const { columns, rows, cell, open } = this.maze;
    Object.assign(this.ground, { width: this.surface.canvas.width, height: this.surface.canvas.height });
    const context = this.ground.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--wall");
    Object.assign(context, { lineWidth: 3, lineCap: "round" });
    context.beginPath();
    context.rect(1.5, 1.5, columns * cell - 3, rows * cell - 3);
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        const ways = open[row * columns + column];
        const [x, y] = [(column + 1) * cell, (row + 1) * cell];
        if (!(ways & 1) && column + 1 < columns) {
          context.moveTo(x, y - cell);
          context.lineTo(x, y);
        }
        if (!(ways & 2) && row + 1 < rows) {
          context.moveTo(x - cell, y);
          context.lineTo(x, y);
        }
      }
    }
    context.stroke();
    this.isStale = false;
  }

  drawStones(context) {
    const { cell } = this.maze;
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--stone");
    for (const [column, row] of this.stones) {
      const [x, y] = [(column + 0.5) * cell, (row + 0.5) * cell];
      context.beginPath();
      context.moveTo(x, y - 5);
      context.lineTo(x + 5, y);
      context.lineTo(x, y + 5);
      context.lineTo(x - 5, y);
      context.fill();
    }
  }

  drawEater(context, id, { x, y }) {
    const player = this.names.get(id);
    const colour = colourOf(id);
    context.save();
    context.translate(x, y);
    if (player?.me) {
      context.strokeStyle = withAlpha(colour, 0.45);
      context.lineWidth = 3;
      context.beginPath();
      context.arc(0, 0, 12, 0, 2 * Math.PI);
      context.stroke();
    }
    context.scale(8, 8);
    context.fillStyle = colour;
    context.fill(pathOf(id));
    context.restore();
    if (!player) return;
    context.font = "600 10px system-ui, sans-serif";
    context.textAlign = "center";
    context.fillStyle = colour;
    context.fillText(player.me ? "you" : player.name, x, y - 12);
  }
}

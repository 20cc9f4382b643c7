/** The ground of the field: grid, blocks and walls, drawn in units. */

import { colour } from "./palette.js";

/** Distance of the grid's lines, in units. */
const GRID_STEP = 8;

function drawBlock(context, { middle: [x, y], half: [halfX, halfY] }) {
  context.fillStyle = colour("shade");
  context.beginPath();
  context.roundRect(x - halfX + 0.5, y - halfY - 1.1, 2 * halfX + 0.3, 2 * halfY, 0.9);
  context.fill();
  context.fillStyle = colour("block-side");
  context.beginPath();
  context.roundRect(x - halfX, y - halfY, 2 * halfX, 2 * halfY, 0.8);
  context.fill();
  context.fillStyle = colour("block");
  context.beginPath();
  context.roundRect(x - halfX, y - halfY + 0.9, 2 * halfX, 2 * halfY - 0.9, 0.8);
  context.fill();
}

/** Draws the ground up to `reach` from a place. `scale` is CSS pixels per unit. */
export function drawGround(context, { half: [halfX, halfY], blocks }, scale, { x: atX, y: atY, reach }) {
  const [west, east] = [Math.max(-halfX, atX - reach), Math.min(halfX, atX + reach)];
  const [south, north] = [Math.max(-halfY, atY - reach), Math.min(halfY, atY + reach)];
  context.fillStyle = colour("field");
  context.fillRect(west, south, east - west, north - south);
  context.strokeStyle = colour("field-grid");
  context.lineWidth = 1 / scale;
  context.beginPath();
  for (let x = GRID_STEP * Math.ceil(west / GRID_STEP); x <= east; x += GRID_STEP) {
    context.moveTo(x, south);
    context.lineTo(x, north);
  }
  for (let y = GRID_STEP * Math.ceil(south / GRID_STEP); y <= north; y += GRID_STEP) {
    context.moveTo(west, y);
    context.lineTo(east, y);
  }
  context.stroke();
  for (const block of blocks) {
    const { middle: [x, y], half: [wide, high] } = block;
    if (Math.abs(x - atX) < reach + wide + 2 && Math.abs(y - atY) < reach + high + 2) drawBlock(context, block);
  }
  context.strokeStyle = colour("wall");
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(-halfX - 0.5, -halfY - 0.5, 2 * halfX + 1, 2 * halfY + 1, 1.6);
  context.stroke();
}

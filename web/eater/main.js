/**
 * The page of one peer of the Eater game: where everybody is, what the protocol costs, and who was caught.
 *
 * The peer itself runs in the program that serves this page. Twenty times a second it is asked where everybody is, four
 * times a second for the figures; a hidden tab asks nothing.
 */

import { readColours, setOwnPlayer, setPlayers } from "../arena/palette.js";
import { Board } from "./board.js";
import { drawChart } from "./chart.js";
import { listenToKeys } from "./steering.js";
import { showCaught, showComings, showFigures, showPlayers, showReasons } from "./tables.js";

const BOARD_MS = 50;
const FIGURES_MS = 250;
const SILENT_MS = 2_000;

const element = (id) => document.getElementById(id);
const board = new Board(element("maze"));
let figures = null;
let heardAt = performance.now();

async function ask(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  heardAt = performance.now();
  return answer.json();
}

/** Calls again after each answer, never twice at once, and not while the tab is hidden. */
function repeat(every, what) {
  const next = async () => {
    const began = performance.now();
    if (!document.hidden) await what().catch(() => {});
    setTimeout(next, Math.max(every - (performance.now() - began), 5));
  };
  next();
}

function showState() {
  const others = figures ? figures.players.filter((player) => !player.me && player.is_present).length : 0;
  let [state, text] = ["connecting", "connecting"];
  if (performance.now() - heardAt > SILENT_MS) {
    [state, text] = ["gone", "your peer has stopped: start it again with evenkeel eater"];
  } else if (figures && others === 0) {
    [state, text] = ["waiting", "waiting for others: send them the ticket"];
  } else if (figures && !figures.is_playing) {
    [state, text] = ["clock", "agreeing on the time"];
  } else if (figures) {
    [state, text] = ["playing", `playing with ${others} ${others === 1 ? "other" : "others"}`];
  }
  element("state").dataset.state = state;
  // Only on a change, as screen readers read it aloud.
  if (element("state-text").textContent !== text) element("state-text").textContent = text;
}

function showBanner(caught) {
  element("banner").hidden = caught.length === 0;
  if (caught.length === 0) return;
  const names = caught.map((one) => one.name).join(" and ");
  const text = `${names} ${caught.length === 1 ? "was" : "were"} caught cheating and is out of the game`;
  if (element("banner-text").textContent !== text) element("banner-text").textContent = text;
}

async function updateFigures() {
  figures = await ask("/api/eater");
  const { players, caught, now, history } = figures;
  setOwnPlayer(players[0].id);
  setPlayers([...new Set([...players, ...caught].map((player) => player.id))]);
  board.setNames(players);
  showFigures(figures);
  showPlayers(players, caught);
  showReasons(now);
  showCaught(caught);
  showComings(figures.comings);
  showBanner(caught);
  drawChart(element("chart"), history);
  element("automate").disabled = figures.is_bot;
  element("how").textContent = figures.is_bot
    ? "A bot plays for you: steer with the arrow keys or WASD to take over."
    : "Steer with the arrow keys or WASD. You go on until a wall.";
}

async function copyTicket() {
  if (!figures) return;
  const command = `evenkeel eater join ${figures.ticket}`;
  const button = element("copy");
  try {
    await navigator.clipboard.writeText(command);
    button.textContent = "Copied: paste it to a friend";
  } catch {
    window.prompt("Send this to a friend:", command);
  }
  setTimeout(() => {
    button.textContent = "Copy the ticket for a friend";
  }, 2_500);
}

async function start() {
  readColours();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
  element("copy").addEventListener("click", copyTicket);
  listenToKeys(element("automate"), document.querySelectorAll("[data-way]"));
  repeat(FIGURES_MS, updateFigures);
  repeat(BOARD_MS, async () => {
    if (!board.hasMaze) board.setMaze(await ask("/api/eater/maze"));
    board.setPlaces(await ask("/api/eater/board"));
  });
  setInterval(showState, 250);
  const draw = () => {
    board.draw();
    requestAnimationFrame(draw);
  };
  requestAnimationFrame(draw);
}

start();

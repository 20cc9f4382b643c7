/**
 * Two players of this page in a room of a real relay: one drives in a circle, the other watches it, and both see whoever else is there.
 * Then the page says nothing more of the driver, as a hidden tab would.
 *
 * Query: `url`, `token` (with two seats or more), `hash` (of the relay's certificate, if it signed it itself), `seats` ("1,2" if left
 * out), `looks` (how often the driver's copy is looked at, 200 if left out).
 */

import { connect } from "../client/index.js";
import { drive, Ways } from "./paths.js";

const query = new URLSearchParams(location.search);
const looks = Number(query.get("looks") ?? 200);
const [driverSeat, watcherSeat] = (query.get("seats") ?? "1,2").split(",").map(Number);
const output = /** @type {HTMLElement} */ (document.getElementById("summary"));

/** The page is silent for so long at least, in milliseconds: longer than a heartbeat. */
const SILENCE_MIN = 1500;

/** @param {number} seat */
function enter(seat) {
  const started = performance.now();
  /** @type {{ after: number, status: string, words: string }[]} */
  const states = [];
  const session = connect(query.get("url") ?? "", {
    token: query.get("token") ?? "",
    seat,
    hashes: query.has("hash") ? [query.get("hash") ?? ""] : [],
    onState: ({ status, words }) => states.push({ after: Math.round(performance.now() - started), status, words }),
  });
  return { session, states };
}

/** @param {readonly number[]} values */
function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (/** @type {number} */ part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { count: values.length, least: sorted[0], median: at(0.5), mean, p99: at(0.99), most: sorted.at(-1) };
}

/**
 * Waits until something is so, however busy the machine is. If it never is, the page stays as it is, which whoever waits for its title sees.
 * @param {() => boolean} isSo
 */
async function until(isSo) {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function play() {
  const [driver, watcher] = [enter(driverSeat), enter(watcherSeat)];
  const summary = /** @type {Record<string, any>} */ ({ verdict: "failed", driver: driver.states, watcher: watcher.states });
  try {
    await Promise.all([driver.session.ready, watcher.session.ready]);
  } catch (error) {
    return { ...summary, error: String(error) };
  }
  const tank = driver.session.own(0, { distance: 0.09, kind: "circular" });
  const player = driver.session.state.player;
  /** @type {number[][]} */
  const [errors, silentErrors, apart, widths] = [[], [], [], []];
  const ways = new Ways();
  let backwards = 0;
  let [last, silentSince] = [-Infinity, Infinity];
  while (silentErrors.length < looks || performance.now() < silentSince + SILENCE_MIN) {
    await new Promise(requestAnimationFrame);
    const [now, seen, after] = [driver.session.now(), watcher.session.now(), driver.session.now()];
    const interval = watcher.session.interval();
    if (now === null || seen === null || after === null || interval === null) continue;
    const isSilent = errors.length >= looks;
    if (!isSilent) tank.move(drive(now));
    else silentSince = Math.min(silentSince, performance.now());
    if (seen < last) backwards += 1;
    last = seen;
    apart.push(Math.max(0, now - seen, seen - after));
    widths.push(interval[1] - interval[0]);
    const copies = watcher.session.copies(seen);
    ways.look(copies);
    const copy = copies.find((each) => each.player === player);
    if (copy === undefined) continue;
    const truth = drive(seen).position;
    (isSilent ? silentErrors : errors).push(Math.hypot(copy.position[0] - truth[0], copy.position[1] - truth[1]));
  }
  tank.end();
  await until(() => !watcher.session.copies().some((copy) => copy.player === player));
  const counts = { driver: driver.session.counts, watcher: watcher.session.counts };
  driver.session.close();
  watcher.session.close();
  await until(() => [driver, watcher].every(({ session }) => session.state.status === "over"));
  // The page may be held up between two of its lines, so a few of them may be off.
  const isSeen = [errors, silentErrors].every((each) => spread(each).median < 0.1);
  return {
    ...summary,
    verdict: isSeen && backwards === 0 ? "passed" : "failed",
    player,
    isIsolated: crossOriginIsolated,
    "distance of the copy from the truth": spread(errors),
    "the same while the page is silent": spread(silentErrors),
    "ms between the two sessions' times": spread(apart),
    "ms of the certified interval": spread(widths),
    "way of everybody who was seen": ways.all,
    backwards,
    counts,
  };
}

const summary = await play();
output.textContent = JSON.stringify(summary, null, 2);
document.title = summary.verdict;

/**
 * Two players of this page in a room of a real relay: one drives in a circle, the other watches, and both see everyone
 * else in the room. Then the page stops reporting the driver's motion, as a hidden tab would.
 *
 * Query: `url`, `token` (with at least two seats), `hash` (of the relay's certificate, if it signed it itself), `seats`
 * (default "1,2"), `looks` (how often the driver's copy is compared, default 200).
 */

import { connect } from "../client/index.js";
import { circleMotion, Distances } from "./paths.js";

const query = new URLSearchParams(location.search);
const looks = Number(query.get("looks") ?? 200);
const [driverSeat, watcherSeat] = (query.get("seats") ?? "1,2").split(",").map(Number);
const output = /** @type {HTMLElement} */ (document.getElementById("summary"));

/** Least duration of the silent phase, in milliseconds: longer than a heartbeat. */
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
 * Waits for a condition, however busy the machine is. If it never holds, the page keeps its title, and whoever waits
 * for that notices.
 * @param {() => boolean} isSo
 */
async function until(isSo) {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** @returns {Promise<Record<string, any>>} */
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
  const distances = new Distances();
  let backwards = 0;
  let [last, silentSince] = [-Infinity, Infinity];
  while (silentErrors.length < looks || performance.now() < silentSince + SILENCE_MIN) {
    await new Promise(requestAnimationFrame);
    const [now, seen, after] = [driver.session.now(), watcher.session.now(), driver.session.now()];
    const interval = watcher.session.interval();
    if (now === null || seen === null || after === null || interval === null) continue;
    const isSilent = errors.length >= looks;
    if (!isSilent) tank.move(circleMotion(now));
    else silentSince = Math.min(silentSince, performance.now());
    if (seen < last) backwards += 1;
    last = seen;
    apart.push(Math.max(0, now - seen, seen - after));
    widths.push(interval[1] - interval[0]);
    const copies = watcher.session.copies(seen);
    distances.look(copies);
    const copy = copies.find((each) => each.player === player);
    if (copy === undefined) continue;
    const truth = circleMotion(seen).position;
    (isSilent ? silentErrors : errors).push(Math.hypot(copy.position[0] - truth[0], copy.position[1] - truth[1]));
  }
  tank.end();
  await until(() => !watcher.session.copies().some((copy) => copy.player === player));
  const counts = { driver: driver.session.counts, watcher: watcher.session.counts };
  driver.session.close();
  watcher.session.close();
  await until(() => [driver, watcher].every(({ session }) => session.state.status === "over"));
  // The page may be held up between two lines, so single values may be off.
  const isSeen = [errors, silentErrors].every((each) => spread(each).median < 0.1);
  return {
    ...summary,
    verdict: isSeen && backwards === 0 ? "passed" : "failed",
    player,
    isIsolated: crossOriginIsolated,
    "distance of the copy from the truth": spread(errors),
    "distance while the page is silent": spread(silentErrors),
    "ms between the two sessions' times": spread(apart),
    "ms of the certified interval": spread(widths),
    "distance driven, by player": distances.all,
    backwards,
    counts,
  };
}

const summary = await play();
output.textContent = JSON.stringify(summary, null, 2);
document.title = summary.verdict;

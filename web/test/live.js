/**
 * Two players of this page in a room of a real relay: one drives in a circle, the other watches it, and both see whoever else is there.
 * In the last third of the time the page says nothing more of the driver, as a hidden tab would.
 *
 * Query: `url`, `token` (with two seats or more), `hash` (of the relay's certificate, if it signed it itself), `seats` ("1,2" if left
 * out), `seconds` (10), `report` (where the summary is posted, if anywhere).
 */

import { connect } from "../client/index.js";

const query = new URLSearchParams(location.search);
const seconds = Number(query.get("seconds") ?? 10);
const [driverSeat, watcherSeat] = (query.get("seats") ?? "1,2").split(",").map(Number);
const output = /** @type {HTMLElement} */ (document.getElementById("summary"));

/** The circle that is driven: its radius, and the speed along it. */
const [RADIUS, SPEED] = [20, 8];

/**
 * Where the driver is at a session time.
 * @param {number} at
 */
function drive(at) {
  const turnRate = SPEED / RADIUS;
  const angle = ((at / 1000) * turnRate) % (2 * Math.PI);
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  return { position: [RADIUS * cos, RADIUS * sin], velocity: [-SPEED * sin, SPEED * cos], turnRate };
}

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

/** @param {number} milliseconds */
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

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
  /** The way that each of the others goes, by player. @type {Map<number, { last: readonly number[], way: number }>} */
  const others = new Map();
  const start = performance.now();
  const [silence, end] = [start + (seconds * 2000) / 3, start + seconds * 1000];
  let backwards = 0;
  let last = -Infinity;
  while (performance.now() < end) {
    await new Promise(requestAnimationFrame);
    const [now, seen, after] = [driver.session.now(), watcher.session.now(), driver.session.now()];
    const interval = watcher.session.interval();
    if (now === null || seen === null || after === null || interval === null) continue;
    const isSilent = performance.now() > silence;
    if (!isSilent) tank.move(drive(now));
    if (seen < last) backwards += 1;
    last = seen;
    apart.push(Math.max(0, now - seen, seen - after));
    widths.push(interval[1] - interval[0]);
    for (const copy of watcher.session.copies(seen)) {
      if (copy.player === player) {
        const truth = drive(seen).position;
        (isSilent ? silentErrors : errors).push(Math.hypot(copy.position[0] - truth[0], copy.position[1] - truth[1]));
        continue;
      }
      const known = others.get(copy.player);
      const way = known === undefined ? 0 : known.way + Math.hypot(...copy.position.map((x, axis) => x - known.last[axis]));
      others.set(copy.player, { last: copy.position, way });
    }
  }
  tank.end();
  await sleep(500);
  const isGone = !watcher.session.copies().some((copy) => copy.player === player);
  const counts = { driver: driver.session.counts, watcher: watcher.session.counts };
  driver.session.close();
  watcher.session.close();
  await sleep(300);
  const isSeen = [errors, silentErrors].every((each) => each.length > 10 && spread(each).p99 < 1);
  const isLeft = [driver, watcher].every(({ session }) => session.state.status === "over");
  return {
    ...summary,
    verdict: isSeen && isGone && isLeft && backwards === 0 ? "passed" : "failed",
    player,
    isIsolated: crossOriginIsolated,
    "distance of the copy from the truth": spread(errors),
    "the same while the page is silent": spread(silentErrors),
    "ms between the two sessions' times": spread(apart),
    "ms of the certified interval": spread(widths),
    "way of the others": Object.fromEntries([...others].map(([other, { way }]) => [other, way])),
    isGone,
    backwards,
    counts,
  };
}

const summary = await play();
output.textContent = JSON.stringify(summary, null, 2);
document.title = summary.verdict;
const report = query.get("report");
if (report !== null) await fetch(report, { method: "POST", body: output.textContent });

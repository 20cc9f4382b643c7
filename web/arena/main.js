/**
 * The arena's page: connects session, field, figures and controls.
 *
 * One loop draws, and only while the page is visible. A worker ticks fifty times a second regardless, so that the own
 * tank keeps moving and being reported in a hidden tab. Figures and curve are drawn four times a second.
 */

import { requestInvitation, poll, readArena, readOutlines, readSight } from "./api.js";
import { Beacon } from "./beacon.js";
import { Chart } from "./chart.js";
import { PolicySwitch } from "./controls.js";
import { setText } from "./dom.js";
import { ShareTable, VerdictList } from "./duels.js";
import { RemoteEntities } from "./remote-entities.js";
import { Figures, PlayerTable } from "./figures.js";
import { History, Baseline } from "./history.js";
import { Input } from "./input.js";
import { Invitation } from "./invitation.js";
import { join } from "./player-session.js";
import { parseUpdate } from "./game-message.js";
import { LocalPlayer } from "./local-player.js";
import { HitFeed, Scoreboard, StatusOverlay } from "./overlay.js";
import { colourOf, readColours, setOwnPlayer, setPlayers } from "./palette.js";
import { Field, RELOAD, SPAWN_PROTECTION } from "./rules.js";
import { Scene } from "./scene.js";
import { SightViews } from "./sights.js";
import { Effects } from "./sprites.js";
import { enableTooltips } from "./tooltips.js";
import { WatchSession } from "./watch-session.js";

const FIGURES_INTERVAL = 250;
const OUTLINES_INTERVAL = 100;
const SIGHTS_INTERVAL = 50;
/** After this long without an answer, in milliseconds, the relay counts as gone. */
const STALE_AGE = 2000;
/** How long a notice stays, in milliseconds. */
const NOTICE_LENGTH = 6000;
/** Session-storage key of the player's name: after a reload it is the same player. */
const NAME_KEY = "evenkeel-arena-name";

const $ = (id) => document.getElementById(id);
const parameters = new URLSearchParams(location.search);
const isWatching = parameters.has("watch");
const calm = matchMedia("(prefers-reduced-motion: reduce)");

let session = null;
let own = null;
let field = null;
let arena = null;
let answeredAt = -Infinity;
let state = "connecting";
/** Last state reported by the session. */
let lastState = { state };
/** Certificate hash of the relay that this page joined. Another relay requires joining again. */
let relay = null;
/** The player whom the outlines show, if one was chosen. */
let chosen = null;
let isFresh = false;
/** Number of the current attempt to join. */
let attempt = 0;
/** Game messages that arrived before there was a tank. */
const early = [];
const EARLY_MAX = 256;
/** Players of the last figures by number, and the labels of their tanks. */
let players = new Map();
let labels = new Map();

const history = new History();
const baseline = new Baseline();
const effects = new Effects();
const effectHandlers = {
  fired: (x, y, angle) => effects.add("flash", performance.now(), { x, y, angle }),
  ended: (x, y) => effects.add("spark", performance.now(), { x, y }),
};
const remotes = new RemoteEntities(effectHandlers);
const scene = new Scene($("scene"));
const sights = new SightViews($("sights"));
const chart = new Chart($("chart"), history);
const input = new Input({ stick: $("stick"), knob: $("knob"), trigger: $("trigger") });
const figures = new Figures($("figures"));
const playerTable = new PlayerTable($("pays"), $("cap"), { onFocus: choosePlayer, onFailed: notify });
const policySwitch = new PolicySwitch($("switch"), $("budget"), { onSwitch: () => invitation.finish(), onFailed: notify });
const invitation = new Invitation({
  root: $("invitation"), words: $("invitation-words"), accept: $("invitation-accept"), dismiss: $("invitation-dismiss"),
}, () => policySwitch.select("even"));
const beacon = new Beacon($("call"));
const verdicts = new VerdictList($("verdicts"));
const shareTable = new ShareTable($("shares"), $("duels-words"), $("duels-note"));
const feed = new HitFeed($("feed"), $("own-hits"));
const scoreboard = new Scoreboard($("score"));
const statusOverlay = new StatusOverlay({
  veil: $("veil"), title: $("veil-title"), text: $("veil-text"), more: $("veil-words"), spinner: $("veil-spinner"),
  again: $("veil-again"), watch: $("veil-watch"), pill: $("state"), pillWords: $("state-words"),
}, () => enter());

const playerOf = (id) => players.get(id);
/** Returns a player's display name. Everyone is "you" to themselves and a guest to others. */
const nameOf = (id) =>
  (id === session?.player ? "you" : playerOf(id)?.name.replace(/^you-?/, "guest ").trim() ?? `player ${id}`);
const ownPlayer = () => session?.player ?? null;

function notify(words) {
  const notice = $("notice");
  notice.textContent = words;
  notice.hidden = false;
  clearTimeout(notify.timer);
  notify.timer = setTimeout(() => {
    notice.hidden = true;
  }, NOTICE_LENGTH);
}

/** Returns the player whom the outlines show: the chosen one, or the player at this page, or the first. */
function focused() {
  const isHere = (player) => player !== null && (player === ownPlayer() || playerOf(player));
  return [chosen, ownPlayer(), arena?.players[0]?.player ?? null].find(isHere) ?? null;
}

function choosePlayer(player) {
  chosen = player === chosen ? null : player;
  remotes.clearOutlines();
  isFresh = true;
}

function onState(next) {
  lastState = next;
  state = next.state;
  showState();
  setOwnPlayer(ownPlayer());
  const isPlaying = state === "playing";
  input.isOn = isPlaying;
  $("thumbs").hidden = !isPlaying;
  document.body.dataset.state = state;
  if (state === "gone" || state === "refused") leave();
}

/** Shows the session's state. A relay that stopped answering counts as gone, unless the session knows more. */
function showState() {
  const isSilent = document.body.classList.contains("stale") && !["stopped", "refused", "unsupported"].includes(state);
  statusOverlay.show(isSilent ? { state: "silent" } : lastState);
}

function leave() {
  own?.close();
  session?.close();
  [own, session] = [null, null];
  early.length = 0;
  beacon.set("off", performance.now());
  remotes.clearOutlines();
  sights.clear();
}

function onUpdate({ bytes }) {
  if (!own) {
    if (early.length < EARLY_MAX) early.push({ bytes });
    return;
  }
  const message = parseUpdate(bytes);
  if (!message) return;
  const now = performance.now();
  own.handleMessage(message, now);
  if (message.kind === "hit") {
    const [x, y] = message.at;
    effects.add("burst", now, { x, y, tint: colourOf(message.victim) });
    feed.add(message.shooter, message.victim, { nameOf, own: ownPlayer() });
  } else if (message.kind === "beacon") {
    beacon.set(message.light, now);
  } else if (message.kind === "won") {
    beacon.win(message.winner, now);
  } else if (message.kind === "scores" && arena) {
    for (const { player, hits, losses } of message.scores) Object.assign(playerOf(player) ?? {}, { hits, losses });
    scoreboard.show(arena.players, { nameOf });
  }
}

/** Joins, or watches. Callbacks of an abandoned session are ignored. */
async function enter() {
  leave();
  attempt += 1;
  const thisAttempt = attempt;
  const ifCurrent = (hear) => (next) => thisAttempt === attempt && hear(next);
  if (isWatching) {
    session = new WatchSession(ifCurrent(onState));
    return;
  }
  onState({ state: "connecting" });
  try {
    const invitation = await requestInvitation(sessionStorage.getItem(NAME_KEY));
    sessionStorage.setItem(NAME_KEY, invitation.player_name);
    relay = invitation.hashes[0] ?? null;
    const joined = await join(invitation, { onState: ifCurrent(onState), onUpdate: ifCurrent(onUpdate) });
    if (thisAttempt !== attempt) return joined?.close();
    session = joined;
    start();
  } catch (error) {
    ifCurrent(onState)({ state: "gone", words: error.message, again: true });
  }
}

/** Creates the tank once there are a session and a field. */
function start() {
  if (own || !session || !field || isWatching) return;
  own = new LocalPlayer(field, session, effectHandlers);
  early.splice(0).forEach(onUpdate);
}

/** True if another relay answers than the one joined: it was restarted. */
function isOtherRelay(answer) {
  const wasSilent = performance.now() - answeredAt > STALE_AGE;
  return !isWatching && ((relay !== null && answer.relay !== relay) || (state === "gone" && wasSilent));
}

/** Handles figures from the relay. */
function onArena(answer) {
  if (isOtherRelay(answer)) {
    relay = answer.relay;
    enter();
  }
  arena = answer;
  players = new Map(answer.players.map((player) => [player.player, player]));
  labels = new Map();
  answeredAt = performance.now();
  if (!field && answer.field) {
    field = new Field(answer.field);
    scene.setField(field);
    start();
  }
  setOwnPlayer(ownPlayer());
  setPlayers(answer.players.map(({ player }) => player));
  history.add(answeredAt, answer);
  baseline.update(answeredAt, answer);
  isFresh = true;
}

function onOutlines(answer) {
  if (session && answer?.player === focused()) remotes.setOutlines(answer.shown, session.base);
}

async function requestOutlines() {
  const player = focused();
  if (document.hidden || player === null || (session?.now() ?? null) === null) return null;
  return { player, shown: await readOutlines(player) };
}

/** Drives the tank. In a hidden tab no keys are held, but the tank still has to be reported. */
function drive(now) {
  if (own && (session?.now() ?? null) !== null) own.advance(now, input.wish(own.tank?.heading ?? 0));
}

/** The trigger was pulled at this time: every millisecond counts. */
function pullTrigger(at) {
  const now = performance.now();
  if (!own || (session?.now() ?? null) === null) return;
  drive(now);
  beacon.pull(at);
  own.pull(now, at);
}

/** A spectator learns from the relay's answers what the beacon shows. */
function watchBeacon(now) {
  if (!isWatching || !session) return;
  const { light } = session;
  const newest = arena?.duels.recent[0];
  beacon.set(light, now);
  if (newest && newest.number !== watchBeacon.seen) {
    if (watchBeacon.seen !== undefined) beacon.win(newest.winner, now);
    watchBeacon.seen = newest.number;
  }
}

/** Collects everything to draw. */
function gather(now, ns) {
  const tanks = [...remotes.tanks.values()].map((tank) => ({ ...tank, isProtected: now - tank.since < SPAWN_PROTECTION * 1000 }));
  const shots = [...remotes.shots.values()];
  if (own?.tank) {
    const { position: [x, y] } = own.tank.state(own.after(now));
    const isProtected = now - own.since < SPAWN_PROTECTION * 1000;
    tanks.push({ player: own.player, x, y, angle: own.tank.heading, isOwn: true, isProtected, reload: own.reload / RELOAD });
  }
  for (const shot of own?.shots ?? []) {
    const after = own.after(now);
    shots.push({ ...shot, player: own.player, x: shot.x + shot.vx * after, y: shot.y + shot.vy * after });
  }
  const about = focused();
  const focus = tanks.find(({ player }) => player === about) ?? null;
  const outlines = focus && ns !== null ? remotes.outlines(ns, focus.angle) : [];
  return { tanks, shots, outlines, focus, effects, beacon, isCalm: calm.matches, label: labelOf };
}

/** Draws what the farthest player sees next to what this page, or the nearest player, sees. */
function drawSights({ tanks }, ns) {
  const tank = tanks.find(({ isOwn }) => isOwn) ?? null;
  const copies = new Map([...remotes.tanks.values()].map((copy) => [copy.player, copy]));
  sights.draw(field, ns, { player: ownPlayer(), tank }, copies);
}

async function requestSights() {
  const wanted = sights.wanted(ownPlayer());
  if (document.hidden || wanted.length === 0 || (session?.now() ?? null) === null) return null;
  return Promise.all(wanted.map(async (player) => ({ player, sight: await readSight(player) })));
}

function onSights(answers) {
  if (!session) return;
  for (const { player, sight } of answers ?? []) sights.setSight(player, sight, session.base);
}

function labelOf(player) {
  let label = labels.get(player);
  if (!label) {
    const delay = playerOf(player)?.delay_ms;
    label = { name: nameOf(player), more: typeof delay === "number" ? ` · ${Math.round(delay)} ms` : "" };
    labels.set(player, label);
  }
  return label;
}

function showWait(now) {
  const wait = $("wait");
  const isOut = state === "playing" && own && !own.tank && $("veil").hidden;
  wait.hidden = !isOut;
  if (!isOut) return;
  const left = Math.max(0, Math.ceil(((own.returns ?? now) - now) / 1000));
  setText(wait, own.hitBy === null ? "You start in a moment." : `Hit by ${nameOf(own.hitBy)}. Back in ${left} s.`);
}

/** The relay does not know how well this page knows the time; the page does. */
function showOwnClock() {
  const own = playerOf(ownPlayer());
  const width = session?.clockMs?.() ?? null;
  if (!own || width === null) return;
  own.interval_ms = width;
  arena.clock_ms = Math.max(arena.clock_ms ?? 0, width);
}

/**
 * Renderers of the relay's figures. All at once would take longer than a frame, so each frame runs one; a renderer that
 * returns false continues in the next frame.
 */
const PANELS = [
  () => {
    showOwnClock();
    const reference = baseline.baselineFor(arena);
    figures.show(arena, reference);
    policySwitch.show(arena);
    sights.choose(arena.players, ownPlayer(), nameOf, reference);
    const isMeasured = baseline.measured !== null;
    invitation.show({ choice: arena.choice, viewers: sights.viewers, isMeasured, duels: arena.duels }, nameOf, ownPlayer());
    const count = arena.players.length;
    const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
    const place = isLocal ? "relay on this machine" : `relay at ${location.hostname}`;
    setText($("where"), `arena · ${count} player${count === 1 ? "" : "s"} · ${place}`);
  },
  () => playerTable.show(arena, baseline.baselineFor(arena), { nameOf, own: ownPlayer(), focus: focused() }),
  () => {
    shareTable.show(arena, { nameOf });
    verdicts.show(arena.duels.recent, nameOf);
  },
  () => scoreboard.show(arena.players, { nameOf }),
  (now) => {
    const players = arena.players.map(({ player }) => player);
    return chart.draw(now, { players, nameOf, choiceName: (id) => policySwitch.nameOf(id) });
  },
];

/** Runs the next renderer, or starts over when there are new figures. */
function showFigures(now) {
  const isDone = panel === PANELS.length;
  if (isDone && (isFresh || now - drawn > FIGURES_INTERVAL)) {
    [isFresh, drawn, panel] = [false, now, 0];
    showStale(now);
  }
  if (arena && panel < PANELS.length && PANELS[panel](now) !== false) panel += 1;
}

function showStale(now) {
  const isStale = arena !== null && now - answeredAt > STALE_AGE;
  if (isStale === document.body.classList.contains("stale")) return;
  document.body.classList.toggle("stale", isStale);
  showState();
}

let before = performance.now();
let drawn = -Infinity;
/** Index of the next panel to draw. */
let panel = PANELS.length;

function frame() {
  requestAnimationFrame(frame);
  if (document.hidden) return;
  const now = performance.now();
  const seconds = Math.min((now - before) / 1000, 0.1);
  before = now;
  drive(now);
  const ns = session?.now() ?? null;
  if (ns !== null) remotes.place(session, now, seconds);
  watchBeacon(now);
  beacon.show(now, { nameOf, own: ownPlayer(), isPlaying: state === "playing" });
  if (field) {
    const world = gather(now, ns);
    scene.draw(now, world);
    scene.tanks = world.tanks;
    if (ns !== null) drawSights(world, ns);
    if (world.focus) setText($("hint-who"), world.focus.player === ownPlayer() ? "you" : nameOf(world.focus.player));
  }
  showWait(now);
  showFigures(now);
}

function listen() {
  input.onPull = pullTrigger;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColours();
    scene.repaint();
  });
  for (const kind of document.querySelectorAll("input[name=kind]")) {
    kind.addEventListener("change", () => {
      chart.kind = kind.value;
      setText($("curve-words"), kind.value === "error"
        ? "mean, in units"
        : "in units × seconds");
      isFresh = true;
    });
  }
  // After using a control with the pointer, the keys drive again. Clicks made by keys have no count.
  const returnKeys = () => {
    input.isRegainingKeys = true;
    setTimeout(() => {
      input.isRegainingKeys = false;
      $("field").focus({ preventScroll: true });
    });
  };
  document.addEventListener("click", (event) => {
    if (event.detail > 0 && event.target.closest?.(".switch label, .tabs label, .invitation button, .term, button.who")) returnKeys();
  });
  document.addEventListener("pointerup", (event) => event.target.matches?.("input[type=range]") && returnKeys());
  $("scene").addEventListener("click", (event) => {
    const player = scene.playerAt(event.clientX, event.clientY, scene.tanks ?? []);
    if (player !== null) choosePlayer(player);
  });
  const mode = $("mode");
  parameters.delete("watch");
  mode.href = isWatching ? `?${parameters}` : `?${new URLSearchParams([...parameters, ["watch", ""]])}`;
  $("veil-watch").href = `?${new URLSearchParams([...parameters, ["watch", ""]])}`;
  mode.textContent = isWatching ? "play" : "just watch";
  const ticks = new Worker(new URL("tick-worker.js", import.meta.url));
  ticks.addEventListener("message", () => drive(performance.now()));
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (event) => event.persisted && enter());
}

/** Read-only view of the page's state, as `arena` in the browser's console. */
const view = {
  get state() {
    return state;
  },
  /** Number of the player at this page, or null. */
  get player() {
    return ownPlayer();
  },
  /** Session time in nanoseconds, or null while unknown. */
  get now() {
    return session?.now() ?? null;
  },
  /** Positions of the tanks in the last frame. */
  get tanks() {
    return (scene.tanks ?? []).map(({ player, x, y, angle }) => ({ player, name: nameOf(player), x, y, angle }));
  },
  /** What the two small views showed in the last frame: whose view, and where each tank is seen and really is. */
  get sights() {
    const { viewers, drawn, subject } = sights;
    const at = ({ x, y }) => [x, y];
    const tanks = (name) => drawn[name].map(({ player, seen, real }) => ({ player, seen: at(seen), real: at(real) }));
    const view = (name) => ({ viewer: viewers[name].player, name: nameOf(viewers[name].player), tanks: tanks(name) });
    return viewers && { subject, far: view("far"), near: view("near") };
  },
  /** What the beacon of the quick draw shows: "off", "ready" or "fire". */
  get light() {
    return beacon.light;
  },
  /** Latest figures of the relay. */
  get figures() {
    return structuredClone(arena);
  },
  /** The curve: every player's error and accumulated error at each time, in milliseconds. */
  get curve() {
    return history.samples.map(({ t, values }) => ({ t, values: structuredClone(Object.fromEntries(values)) }));
  },
  /** The policy switches that the curve covers. */
  get choices() {
    return structuredClone(history.marks);
  },
};
Object.defineProperty(globalThis, "arena", { value: Object.freeze(view) });

readColours();
enableTooltips($("tip"));
listen();
poll(readArena, FIGURES_INTERVAL, onArena, () => {});
poll(requestOutlines, OUTLINES_INTERVAL, onOutlines, () => {});
poll(requestSights, SIGHTS_INTERVAL, onSights, () => {});
enter();
requestAnimationFrame(frame);

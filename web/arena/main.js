/**
 * The arena's page: brings session, field, figures and controls together.
 *
 * One loop draws, and only while somebody can see it. A worker ticks fifty times a second whether or not, so that one's own tank
 * goes on and is told of in a hidden tab too. Figures and curve are drawn four times a second.
 */

import { askIn, poll, readArena, readShown } from "./api.js";
import { Chart } from "./chart.js";
import { Network, Switch } from "./controls.js";
import { Crowd } from "./crowd.js";
import { Figures, Pays, setText } from "./figures.js";
import { History, Reference } from "./history.js";
import { Input } from "./input.js";
import { join } from "./link.js";
import { parseNews } from "./news.js";
import { Own } from "./own.js";
import { Feed, Score, Veil } from "./overlay.js";
import { colourOf, readColours, setOwn, setPlayers } from "./palette.js";
import { Field, RELOAD, SPARED } from "./rules.js";
import { Scene } from "./scene.js";
import { Effects } from "./sprites.js";
import { explainTerms } from "./terms.js";
import { WatchSession } from "./watch.js";

const FIGURES = 250;
const SHOWN = 100;
/** Without an answer for so long, in milliseconds, the relay is taken to be gone. */
const STALE = 2000;
/** A notice stays for so long, in milliseconds. */
const NOTICE = 6000;
/** Where the browser keeps who somebody was, so that it is the same player after the page was loaded again. */
const NAME = "evenkeel-arena-name";

const $ = (id) => document.getElementById(id);
const parameters = new URLSearchParams(location.search);
const isWatching = parameters.has("watch");
const calm = matchMedia("(prefers-reduced-motion: reduce)");

let session = null;
let own = null;
let field = null;
let arena = null;
let heard = -Infinity;
let state = "connecting";
/** How it stands with the session, as it was told last. */
let told = { state };
/** The relay that let this page in, by its certificate. Another one has to be asked anew. */
let relay = null;
/** Whom the lens and the outlines are about, if somebody was chosen. */
let chosen = null;
let isFresh = false;
/** On which side the lens is: 1 on the right, -1 on the left. */
let lensSide = 1;
/** Which attempt to join this is. */
let attempt = 0;
/** What the relay said before there was a tank to hear it; no more than this. */
const early = [];
const EARLY_MAX = 256;
/** Everybody in the last figures, by number; and what stands at its tank. */
let players = new Map();
let labels = new Map();

const history = new History();
const reference = new Reference();
const effects = new Effects();
const pictures = {
  fired: (x, y, angle) => effects.add("flash", performance.now(), { x, y, angle }),
  ended: (x, y) => effects.add("spark", performance.now(), { x, y }),
};
const crowd = new Crowd(pictures);
const scene = new Scene($("scene"), $("lens-scene"));
const chart = new Chart($("chart"), history);
const input = new Input({ stick: $("stick"), knob: $("knob"), trigger: $("trigger") });
const figures = new Figures($("figures"));
const pays = new Pays($("pays"), $("cap"), choosePlayer);
const network = new Network($("network"), notify);
const turn = new Switch($("switch"), $("budget"), notify);
const feed = new Feed($("feed"), $("own-hits"));
const score = new Score($("score"));
const veil = new Veil({
  veil: $("veil"), title: $("veil-title"), text: $("veil-text"), more: $("veil-words"), spinner: $("veil-spinner"),
  again: $("veil-again"), watch: $("veil-watch"), pill: $("state"), pillWords: $("state-words"),
}, () => enter());

const playerOf = (id) => players.get(id);
/** What to call a player. Every person calls itself "you"; to others it is a guest. */
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
  }, NOTICE);
}

/** Who the outlines are about: whoever was chosen, or the player at this page, or the first. */
function focused() {
  const isHere = (player) => player !== null && (player === ownPlayer() || playerOf(player));
  return [chosen, ownPlayer(), arena?.players[0]?.player ?? null].find(isHere) ?? null;
}

function choosePlayer(player) {
  chosen = player === chosen ? null : player;
  crowd.forgetShown();
  isFresh = true;
}

function onState(said) {
  told = said;
  state = said.state;
  showState();
  setOwn(ownPlayer());
  const isPlaying = state === "playing";
  input.isOn = isPlaying;
  $("thumbs").hidden = !isPlaying;
  document.body.dataset.state = state;
  if (state === "gone" || state === "refused") leave();
}

/** A relay of which nothing is heard any more is gone, whatever the last attempt to reach it came to; unless it said more. */
function showState() {
  const isSilent = document.body.classList.contains("stale") && !["stopped", "refused", "unsupported"].includes(state);
  veil.show(isSilent ? { state: "silent" } : told);
}

function leave() {
  own?.close();
  session?.close();
  [own, session] = [null, null];
  early.length = 0;
  crowd.forgetShown();
}

function onMessage(bytes) {
  if (!own) {
    if (early.length < EARLY_MAX) early.push(bytes);
    return;
  }
  const news = parseNews(bytes);
  if (!news) return;
  own.hear(news, performance.now());
  if (news.kind === "hit") {
    const [x, y] = news.at;
    effects.add("burst", performance.now(), { x, y, tint: colourOf(news.victim) });
    feed.add(news.shooter, news.victim, { nameOf, own: ownPlayer() });
  } else if (news.kind === "scores" && arena) {
    for (const { player, hits, losses } of news.scores) Object.assign(playerOf(player) ?? {}, { hits, losses });
    score.show(arena.players, { nameOf });
  }
}

/** Joins, or watches. What a session says that was left since is not heard. */
async function enter() {
  leave();
  attempt += 1;
  const mine = attempt;
  const ifCurrent = (hear) => (said) => mine === attempt && hear(said);
  if (isWatching) {
    session = new WatchSession(ifCurrent(onState));
    return;
  }
  onState({ state: "connecting" });
  try {
    const invitation = await askIn(sessionStorage.getItem(NAME));
    sessionStorage.setItem(NAME, invitation.player_name);
    relay = invitation.hashes[0] ?? null;
    const joined = await join(invitation, { onState: ifCurrent(onState), onMessage: ifCurrent(onMessage) });
    if (mine !== attempt) return joined?.close();
    session = joined;
    start();
  } catch (error) {
    ifCurrent(onState)({ state: "gone", words: error.message, again: true });
  }
}

/** There is a tank to move as soon as there are a session and a field. */
function start() {
  if (own || !session || !field || isWatching) return;
  own = new Own(field, session, pictures);
  early.splice(0).forEach(onMessage);
}

/** Whether the relay that answers is not the one that this page is with: it was stopped and started again. */
function isOtherRelay(answer) {
  const wasSilent = performance.now() - heard > STALE;
  return !isWatching && ((relay !== null && answer.relay !== relay) || (state === "gone" && wasSilent));
}

/** Figures from the relay. */
function onArena(answer) {
  if (isOtherRelay(answer)) {
    relay = answer.relay;
    enter();
  }
  arena = answer;
  players = new Map(answer.players.map((player) => [player.player, player]));
  labels = new Map();
  heard = performance.now();
  if (!field && answer.field) {
    field = new Field(answer.field);
    scene.setField(field);
    start();
  }
  setOwn(ownPlayer());
  setPlayers(answer.players.map(({ player }) => player));
  history.add(heard, answer);
  reference.hear(heard, answer);
  isFresh = true;
}

function onShown(answer) {
  if (session && answer?.player === focused()) crowd.hearShown(answer.shown, session.base);
}

async function askShown() {
  const player = focused();
  if (document.hidden || player === null || (session?.now() ?? null) === null) return null;
  return { player, shown: await readShown(player) };
}

/** What the tank is asked to do goes on in a hidden tab, where nobody holds a key. */
function drive(now) {
  if (own && (session?.now() ?? null) !== null) own.advance(now, input.wish(own.tank?.heading ?? 0));
}

/** Everything there is to draw, at this moment. */
function gather(now, ns) {
  const tanks = [...crowd.tanks.values()].map((tank) => ({ ...tank, isSpared: now - tank.since < SPARED * 1000 }));
  const shots = [...crowd.shots.values()];
  if (own?.tank) {
    const { position: [x, y] } = own.tank.state(own.after(now));
    const isSpared = now - own.since < SPARED * 1000;
    tanks.push({ player: own.player, x, y, angle: own.tank.heading, isOwn: true, isSpared, reload: own.reload / RELOAD });
  }
  for (const shot of own?.shots ?? []) {
    const after = own.after(now);
    shots.push({ ...shot, player: own.player, x: shot.x + shot.vx * after, y: shot.y + shot.vy * after });
  }
  const about = focused();
  const focus = tanks.find(({ player }) => player === about) ?? null;
  const outlines = focus && ns !== null ? crowd.outlines(ns, focus.angle) : [];
  return { tanks, shots, outlines, focus, effects, isCalm: calm.matches, label: labelOf };
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

/** The lens gives way to the tank that it is about, and to nobody else: it would never come to rest. */
function placeLens({ focus }) {
  const lens = $("lens");
  const isOn = focus !== null && $("lens-on").checked;
  if (lens.hidden === isOn) lens.hidden = !isOn;
  if (!focus) return;
  const from = scene.lensFrom();
  const isUnder = (side) => side * focus.x > from.x && focus.y > from.y;
  if (isUnder(lensSide) && !isUnder(-lensSide)) {
    lensSide = -lensSide;
    lens.classList.toggle("left", lensSide < 0);
  }
  const who = focus.player === ownPlayer() ? "you" : nameOf(focus.player);
  setText($("lens-words"), `as others see ${who}`);
  setText($("hint-who"), who);
}

function showWait(now) {
  const wait = $("wait");
  const isOut = state === "playing" && own && !own.tank && $("veil").hidden;
  wait.hidden = !isOut;
  if (!isOut) return;
  const left = Math.max(0, Math.ceil(((own.returns ?? now) - now) / 1000));
  setText(wait, own.hitBy === null ? "You start in a moment." : `Hit by ${nameOf(own.hitBy)}. You start again in ${left} s.`);
}

/** The relay does not know how sure this page is of the time; the page does. */
function showOwnClock() {
  const own = playerOf(ownPlayer());
  const width = session?.clockMs?.() ?? null;
  if (!own || width === null) return;
  own.interval_ms = width;
  arena.clock_ms = Math.max(arena.clock_ms ?? 0, width);
}

/**
 * What shows the relay's figures. All of it at once would take longer than a frame has: it is a part in each. One that gives false
 * goes on in the next frame.
 */
const PANELS = [
  () => {
    showOwnClock();
    figures.show(arena, reference.for(arena));
    turn.show(arena);
    const count = arena.players.length;
    const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
    const place = isLocal ? "relay on this machine" : `relay at ${location.hostname}`;
    setText($("where"), `arena · ${count} player${count === 1 ? "" : "s"} · ${place}`);
  },
  () => pays.show(arena, reference.for(arena), { nameOf, own: ownPlayer(), focus: focused() }),
  () => network.show(arena, { nameOf }),
  () => score.show(arena.players, { nameOf }),
  (now) => {
    const players = arena.players.map(({ player }) => player);
    return chart.draw(now, { players, nameOf, choiceName: (id) => turn.nameOf(id) });
  },
];

/** The next part of the figures, or of new ones if there are any. */
function showFigures(now) {
  const isDone = panel === PANELS.length;
  if (isDone && (isFresh || now - drawn > FIGURES)) {
    [isFresh, drawn, panel] = [false, now, 0];
    showStale(now);
  }
  if (arena && panel < PANELS.length && PANELS[panel](now) !== false) panel += 1;
}

function showStale(now) {
  const isStale = arena !== null && now - heard > STALE;
  if (isStale === document.body.classList.contains("stale")) return;
  document.body.classList.toggle("stale", isStale);
  showState();
}

let before = performance.now();
let drawn = -Infinity;
/** Which of the panels is next. */
let panel = PANELS.length;

function frame() {
  requestAnimationFrame(frame);
  if (document.hidden) return;
  const now = performance.now();
  const seconds = Math.min((now - before) / 1000, 0.1);
  before = now;
  drive(now);
  const ns = session?.now() ?? null;
  if (ns !== null) crowd.place(session, now, seconds);
  if (field) {
    const world = gather(now, ns);
    scene.draw(now, world);
    scene.tanks = world.tanks;
    placeLens(world);
  }
  showWait(now);
  showFigures(now);
}

function listen() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColours();
    scene.repaint();
  });
  for (const kind of document.querySelectorAll("input[name=kind]")) {
    kind.addEventListener("change", () => {
      chart.kind = kind.value;
      setText($("curve-words"), kind.value === "error"
        ? "mean distance in units; a tank is 6 long"
        : "since you came here, in units × seconds");
      isFresh = true;
    });
  }
  // Who has set or pressed something with the pointer goes on driving with the keys. Keys click too, but not with a count.
  const goOn = () => {
    input.isNext = true;
    setTimeout(() => {
      input.isNext = false;
      $("field").focus({ preventScroll: true });
    });
  };
  document.addEventListener("click", (event) => {
    if (event.detail > 0 && event.target.closest?.(".switch label, .tabs label, .lens-switch, .term, button.who")) goOn();
  });
  document.addEventListener("pointerup", (event) => event.target.matches?.("input[type=range]") && goOn());
  $("scene").addEventListener("click", (event) => {
    const player = scene.playerAt(event.clientX, event.clientY, scene.tanks ?? []);
    if (player !== null) choosePlayer(player);
  });
  const mode = $("mode");
  parameters.delete("watch");
  mode.href = isWatching ? `?${parameters}` : `?${new URLSearchParams([...parameters, ["watch", ""]])}`;
  $("veil-watch").href = `?${new URLSearchParams([...parameters, ["watch", ""]])}`;
  mode.textContent = isWatching ? "play" : "only watch";
  const ticks = new Worker(new URL("tick.js", import.meta.url));
  ticks.addEventListener("message", () => drive(performance.now()));
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (event) => event.persisted && enter());
}

/** What the page shows, for whoever is curious: `arena` in the browser's console. It can be looked at, not changed. */
const view = {
  get state() {
    return state;
  },
  /** The number of the player at this page, or null. */
  get player() {
    return ownPlayer();
  },
  /** The session's time in nanoseconds, or null before it is known. */
  get now() {
    return session?.now() ?? null;
  },
  /** Where the tanks were in the last picture. */
  get tanks() {
    return (scene.tanks ?? []).map(({ player, x, y, angle }) => ({ player, name: nameOf(player), x, y, angle }));
  },
  /** The relay's last figures. */
  get figures() {
    return structuredClone(arena);
  },
  /** The curve: everybody's error and sum at each time, in milliseconds. */
  get curve() {
    return history.samples.map(({ t, values }) => ({ t, values: structuredClone(Object.fromEntries(values)) }));
  },
  /** When the switch was in which position, as far as the curve goes back. */
  get choices() {
    return structuredClone(history.marks);
  },
};
Object.defineProperty(globalThis, "arena", { value: Object.freeze(view) });

readColours();
explainTerms($("tip"));
listen();
poll(readArena, FIGURES, onArena, () => {});
poll(askShown, SHOWN, onShown, () => {});
enter();
requestAnimationFrame(frame);

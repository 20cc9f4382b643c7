/**
 * The card of quick draws: what became of the last duels, and each player's share of them: won, as it would be without us,
 * and earned by its reactions.
 */

import { setClass, setText } from "./dom.js";
import { dumbbell } from "./dumbbell.js";
import { formatNumber, formatShare } from "./format.js";
import { createMark, reconcileRows } from "./palette.js";

/** Margins below this, in milliseconds, are nobody's merit. */
const CLOSE = 1;
/** The length of the list of duels. */
const VERDICTS_MAX = 3;
/** Shares farther than this from what was earned are coloured. */
const UNFAIR_MIN = 0.08;

/**
 * Says who won a duel, and whether rightly: `parts` are words, and players' numbers in between. `kind` is "fair" if the
 * fastest won although another shot arrived first, "unfair" if another won, else "plain".
 */
export function verdictOf({ winner, fastest, without, shots }) {
  const reaction = (player) => shots.find((shot) => shot.player === player).reaction_ms;
  const sooner = (player) => {
    const margin = reaction(player) - reaction(fastest);
    return margin < CLOSE ? `less than ${CLOSE}\u00a0ms` : `${formatNumber(margin, 0)}\u00a0ms`;
  };
  if (winner !== fastest) return { kind: "unfair", parts: [winner, ` won, though `, fastest, ` fired ${sooner(winner)} sooner.`] };
  if (without !== winner) {
    return { kind: "fair", parts: [winner, ` fired ${sooner(without)} sooner; by arrival `, without, " would have won."] };
  }
  const others = shots.filter(({ player }) => player !== winner).sort((a, b) => a.reaction_ms - b.reaction_ms);
  if (others.length === 0) return { kind: "plain", parts: [winner, " was the only one to fire."] };
  return { kind: "plain", parts: [winner, ` fired ${sooner(others[0].player)} before `, others[0].player, "."] };
}

/** The last duels, the newest first. */
export class VerdictList {
  constructor(root) {
    this.root = root;
    this.newest = 0;
  }

  show(recent, nameOf) {
    // After a restart of the relay, duels are numbered anew.
    if (recent.length === 0 || recent[0].number < this.newest) this.clear();
    for (const duel of recent.filter(({ number }) => number > this.newest).reverse()) this.add(duel, nameOf);
    while (this.root.children.length > VERDICTS_MAX) this.root.lastChild.remove();
  }

  clear() {
    this.root.replaceChildren();
    this.newest = 0;
  }

  add(duel, nameOf) {
    const { kind, parts } = verdictOf(duel);
    const item = document.createElement("li");
    item.className = kind;
    item.append(...parts.map((part) => {
      if (typeof part === "string") return part;
      const name = document.createElement("b");
      name.append(createMark(part), nameOf(part));
      return name;
    }));
    this.root.prepend(item);
    this.newest = duel.number;
  }
}
const COLUMNS = ["plot", "won", "without", "earned", "passed", "waits"];

/** Each player's share of the duels. */
export class ShareTable {
  constructor(body, words, note) {
    Object.assign(this, { body, words, note, rows: new Map() });
  }

  show({ players, duels }, { nameOf }) {
    reconcileRows(this.body, this.rows, players, (player) => this.build(player));
    const shares = players.flatMap(({ duels: { won, without, earned } }) => [won, without, earned]);
    // Round the scale up to steps, so that the plots do not jitter.
    const most = Math.max(0.4, Math.ceil(Math.max(...shares, 0) * 5) / 5);
    for (const player of players) this.fill(player, duels.count, most, nameOf);
    const { count } = duels;
    setText(this.words, count > 0
      ? `first to fire wins: ${count} duel${count === 1 ? "" : "s"} since the switch was set`
      : "after the beacon lights up, the first to fire wins");
    const far = players.filter(({ standing }) => standing === "beyond-cap");
    setText(this.note, far.length > 0
      ? `Too far away to be waited for: ${far.map(({ player }) => nameOf(player)).join(", ")}.`
      : "Without: had shots counted as they arrived, in the same duels. Earned: by reaction time.");
  }

  build(player) {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    const [who, name] = [document.createElement("span"), document.createElement("span")];
    head.scope = "row";
    who.className = "who";
    who.append(createMark(player), name);
    head.append(who);
    const cells = Object.fromEntries(COLUMNS.map((column) => [column, document.createElement("td")]));
    cells.plot.className = "plot";
    cells.passed.className = "wide";
    const picture = dumbbell(player);
    cells.plot.append(picture.svg);
    row.append(head, ...Object.values(cells));
    return { row, name, picture, cells };
  }

  fill({ player, duels: { won, without, earned, ahead, behind, adds_ms: adds } }, count, most, nameOf) {
    const { name, picture, cells } = this.rows.get(player);
    const isKnown = count > 0;
    setText(name, nameOf(player));
    setText(cells.won, isKnown ? formatShare(won) : "–");
    setText(cells.without, isKnown ? formatShare(without) : "–");
    setText(cells.earned, isKnown ? formatShare(earned) : "–");
    setText(cells.passed, isKnown ? `${formatShare(behind)} / ${formatShare(ahead)}` : "–");
    setText(cells.waits, typeof adds === "number" ? `${formatNumber(adds, 0)} ms` : "–");
    const isFairer = Math.abs(won - earned) < Math.abs(without - earned);
    setClass(cells.won, "good", isKnown && isFairer);
    setClass(cells.won, "pay", isKnown && !isFairer && Math.abs(won - earned) > UNFAIR_MIN);
    picture.show({ now: isKnown ? won : 0, without: isKnown ? without : null, mark: isKnown ? earned : null, most, isGood: isFairer });
  }
}

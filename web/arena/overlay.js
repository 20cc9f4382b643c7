/**
 * What lies over the field and below it: states with what to do, who hit whom, how long until one starts again, the score.
 */

import { setText } from "./figures.js";
import { markOf, marksKey } from "./palette.js";
import { STATES } from "./words.js";

/** News of a hit stays for so long, in milliseconds; so many at once. */
const FEED = 4000;
const FEED_MAX = 3;

export class Veil {
  constructor(parts, onAgain) {
    this.parts = parts;
    parts.again.addEventListener("click", onAgain);
  }

  /** Says how it stands. What it says stays the same while nothing changes. */
  show({ state, words, again }) {
    const { veil, title, text, more, spinner, again: button, watch, pill, pillWords } = this.parts;
    const said = STATES[state];
    pill.dataset.state = state;
    setText(pillWords, said.pill);
    veil.hidden = !said.title;
    if (!said.title) return;
    setText(title, said.title);
    setText(text, said.text);
    setText(more, words ?? "");
    spinner.hidden = !["connecting", "clock", "lost", "stopped", "silent"].includes(state);
    button.hidden = !again;
    watch.hidden = !["unsupported", "refused", "gone"].includes(state);
  }
}

/** Who hit whom, for a few seconds. Who listens instead of looking is told of its own hits only: bots never rest. */
export class Feed {
  constructor(root, told) {
    Object.assign(this, { root, told });
  }

  add(shooter, victim, { nameOf, own }) {
    const item = document.createElement("li");
    const [by, of] = [shooter, victim].map((player) => {
      const name = document.createElement("b");
      name.append(markOf(player), nameOf(player));
      return name;
    });
    item.append(by, " hit ", of);
    this.root.append(item);
    while (this.root.children.length > FEED_MAX) this.root.firstChild.remove();
    const isOwn = shooter === own || victim === own;
    if (isOwn) [this.last, this.told.textContent] = [item, item.textContent];
    setTimeout(() => {
      item.remove();
      // The same words again are told only if there were none in between.
      if (this.last === item) this.told.textContent = "";
    }, FEED);
  }
}

export class Score {
  constructor(root) {
    this.root = root;
    this.key = "";
    this.rows = new Map();
  }

  show(players, { nameOf }) {
    const key = marksKey(players.map(({ player }) => player));
    if (key !== this.key) {
      this.rows.clear();
      this.root.replaceChildren(...players.map(({ player }) => {
        const item = document.createElement("li");
        const [name, count] = [document.createElement("span"), document.createElement("b")];
        item.append(markOf(player), name, count);
        this.rows.set(player, { name, count });
        return item;
      }));
    }
    this.key = key;
    for (const { player, hits, losses } of players) {
      const row = this.rows.get(player);
      setText(row.name, nameOf(player));
      setText(row.count, `${hits}:${losses}`);
      const title = `${hits} hit${hits === 1 ? "" : "s"}, hit ${losses} time${losses === 1 ? "" : "s"}`;
      if (row.count.title !== title) row.count.title = title;
    }
  }
}

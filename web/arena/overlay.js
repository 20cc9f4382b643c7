/** Overlays of the field: status messages, the feed of hits, the scoreboard. */

import { setText } from "./dom.js";
import { createMark, marksKey } from "./palette.js";
import { STATES } from "./text.js";

/** How long a hit stays in the feed, in milliseconds, and the length of the feed. */
const FEED_TIME = 4000;
const FEED_MAX = 3;

export class StatusOverlay {
  constructor(parts, onAgain) {
    this.parts = parts;
    parts.again.addEventListener("click", onAgain);
  }

  /** Shows a session state. */
  show({ state, words, again }) {
    const { veil, title, text, more, spinner, again: button, watch, pill, pillWords } = this.parts;
    const message = STATES[state];
    pill.dataset.state = state;
    setText(pillWords, message.pill);
    veil.hidden = !message.title;
    if (!message.title) return;
    setText(title, message.title);
    setText(text, message.text);
    setText(more, words ?? "");
    spinner.hidden = !["connecting", "clock", "lost", "stopped", "silent"].includes(state);
    button.hidden = !again;
    watch.hidden = !["unsupported", "refused", "gone"].includes(state);
  }
}

/** Feed of hits. Screen readers announce only the player's own hits, since bots never rest. */
export class HitFeed {
  constructor(root, announcer) {
    Object.assign(this, { root, announcer });
  }

  add(shooter, victim, { nameOf, own }) {
    const item = document.createElement("li");
    const [by, of] = [shooter, victim].map((player) => {
      const name = document.createElement("b");
      name.append(createMark(player), nameOf(player));
      return name;
    });
    item.append(by, " hit ", of);
    this.root.append(item);
    while (this.root.children.length > FEED_MAX) this.root.firstChild.remove();
    const isOwn = shooter === own || victim === own;
    if (isOwn) [this.last, this.announcer.textContent] = [item, item.textContent];
    setTimeout(() => {
      item.remove();
      // Clear it, so that the same text can be announced again.
      if (this.last === item) this.announcer.textContent = "";
    }, FEED_TIME);
  }
}

export class Scoreboard {
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
        item.append(createMark(player), name, count);
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

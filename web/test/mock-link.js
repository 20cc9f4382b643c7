/**
 * A pretended client, for work on the page: it speaks with `mock.py` instead of a relay, and has the calls of `client/index.js`
 * that the page uses.
 *
 * `?mock=lost`, `?mock=over`, `?mock=refused`, `?mock=clock` and `?mock=connecting` show these states and stay there.
 */

import { WatchSession } from "../arena/watch.js";

const PERIOD = 40;
const STAYS = {
  connecting: { status: "connecting", words: "" },
  clock: { status: "syncing", words: "" },
  lost: { status: "lost", words: "the connection was lost: nothing came for 10 s" },
  over: { status: "over", words: "the relay closed the connection: the relay is shutting down", code: 5 },
  refused: { status: "over", words: "the relay closed the connection: no place is left", code: 9 },
};

const bytesOf = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));

export function connect(_url, { onState, onMessage }) {
  return new MockSession(onState, onMessage);
}

class MockSession {
  constructor(onState, onMessage) {
    Object.assign(this, { onState, onMessage });
    this.state = { status: "connecting", words: "", player: null, code: null };
    this.entities = new Map();
    this.heard = null;
    const stays = STAYS[new URLSearchParams(location.search).get("mock")];
    if (stays) {
      setTimeout(() => this.say(stays), 300);
      return;
    }
    this.watch = new WatchSession(() => [], () => {});
    setTimeout(() => this.say({ status: "syncing" }), 300);
    setTimeout(() => this.say({ status: "playing" }), 900);
    this.timer = setInterval(() => this.tell(), PERIOD);
  }

  say(state) {
    this.state = { words: "", code: null, ...this.state, ...state };
    this.onState(this.state);
  }

  async tell() {
    if (this.isTelling || this.state.status !== "playing") return;
    this.isTelling = true;
    const entities = [...this.entities].map(([local, state]) => ({ local, ...state }));
    const options = { method: "POST", body: JSON.stringify({ entities, heard: this.heard }) };
    try {
      const { player, heard, news } = await (await fetch("/test/own", options)).json();
      this.state.player = player;
      this.heard = heard;
      for (const message of news) this.onMessage(bytesOf(message));
    } finally {
      this.isTelling = false;
    }
  }

  now() {
    const now = this.state.status === "playing" ? this.watch.now() : null;
    return now === null ? null : (Number(this.watch.base) + now) / 1e6;
  }

  copies() {
    const others = [...this.watch.copies()].filter(({ player }) => player !== this.state.player);
    return others.map(({ x, y, vx, vy, ...copy }) => ({ ...copy, position: [x, y, 0], velocity: [vx, vy, 0] }));
  }

  own(local) {
    return { move: (state) => this.entities.set(local, state), end: () => this.entities.delete(local) };
  }

  close() {
    clearInterval(this.timer);
    this.watch?.close();
    this.entities.clear();
  }
}

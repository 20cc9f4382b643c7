/**
 * A session of somebody who only watches: the relay is asked for the newest vectors ten times a second, nobody joins.
 *
 * It has the verbs of a player's session, so the picture does not know the difference. The clock comes from the answers:
 * the relay's time is taken to be that of the middle between question and answer, of the quickest one in the last minute.
 *
 * A relay that has no page for watchers is asked what is shown of each tank. The newest vector of it is nearly as good, but
 * shots can't be seen, and the time is that of the newest vector of all.
 */

import { poll, readShown, readWatch } from "./api.js";
import { placed, vectorOf } from "./motion.js";
import { entityOf, localOf, playerOf } from "./rules.js";

const PERIOD = 100;
/** How long, in milliseconds, an answer may set the clock. */
const MEMORY = 60_000;

export class WatchSession {
  /** `players()` says who is there. */
  constructor(players, onState) {
    this.players = players;
    this.player = null;
    this.base = null;
    this.vectors = new Map();
    this.quickest = null;
    this.asked = 0;
    onState({ state: "connecting" });
    const question = () => {
      this.asked = performance.now();
      return this.isPlain ? this.readTanks() : readWatch();
    };
    const failed = (error) => {
      if (error.status === 404) this.isPlain = true;
      else onState({ state: "lost", words: error.message });
    };
    this.close = poll(question, PERIOD, (answer) => this.hear(answer, onState), failed);
  }

  hear({ now, entities }, onState) {
    const arrived = performance.now();
    const wide = (arrived - this.asked) / 2;
    if (now === null) return;
    this.base ??= BigInt(now);
    const offset = Number(BigInt(now) - this.base) - (this.asked + wide) * 1e6;
    const last = this.quickest;
    const isBetter = this.isPlain ? offset > last?.offset : wide <= last?.wide;
    if (!last || isBetter || arrived - last.at > MEMORY) this.quickest = { offset, wide, at: arrived };
    this.vectors = new Map(entities.map(({ entity, vector }) => [entity, vectorOf(vector, this.base)]));
    onState({ state: "watching" });
  }

  async readTanks() {
    const shown = await Promise.all(this.players().map(async (player) => ({ player, all: await readShown(player) })));
    const later = (a, b) => (BigInt(b.generated) > BigInt(a.generated) ? b : a);
    const entities = shown.filter(({ all }) => all.length).map(({ player, all }) => (
      { entity: entityOf(player, 0), vector: all.map(({ vector }) => vector).reduce(later) }));
    const newest = entities.map(({ vector }) => vector).reduce((a, b) => (a ? later(a, b) : b), null);
    return { now: newest?.generated ?? null, entities };
  }

  now() {
    if (!this.quickest) return null;
    return performance.now() * 1e6 + this.quickest.offset;
  }

  *copies() {
    const now = this.now();
    for (const [entity, vector] of this.vectors) {
      yield { player: playerOf(entity), local: localOf(entity), ...placed(vector, now) };
    }
  }
}

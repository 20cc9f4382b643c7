/**
 * A session of somebody who only watches: the relay is asked for the newest vectors ten times a second, nobody joins.
 *
 * It has the verbs of a player's session, so the picture does not know the difference. The clock comes from the answers:
 * the relay's time is taken to be that of the middle between question and answer, of the quickest one in the last minute.
 */

import { poll, readWatch } from "./api.js";
import { placed, vectorOf } from "./motion.js";
import { localOf, playerOf } from "./rules.js";

const PERIOD = 100;
/** How long, in milliseconds, an answer may set the clock. */
const MEMORY = 60_000;

export class WatchSession {
  constructor(onState) {
    this.player = null;
    this.base = null;
    this.vectors = new Map();
    this.quickest = null;
    this.asked = 0;
    onState({ state: "connecting" });
    const question = () => {
      this.asked = performance.now();
      return readWatch();
    };
    const failed = (error) => onState({ state: "lost", words: error.message });
    this.close = poll(question, PERIOD, (answer) => this.hear(answer, onState), failed);
  }

  hear({ now, entities }, onState) {
    const arrived = performance.now();
    const wide = (arrived - this.asked) / 2;
    if (now === null) return;
    this.base ??= BigInt(now);
    const offset = Number(BigInt(now) - this.base) - (this.asked + wide) * 1e6;
    const last = this.quickest;
    if (!last || wide <= last.wide || arrived - last.at > MEMORY) this.quickest = { offset, wide, at: arrived };
    this.vectors = new Map(entities.map(({ entity, vector }) => [entity, vectorOf(vector, this.base)]));
    onState({ state: "watching" });
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

/**
 * Session of a spectator: polls the relay for the newest vectors ten times a second, without joining.
 *
 * It has the interface of a player's session. The clock is taken from the answers: the relay's time belongs to the
 * middle between request and answer, using the quickest request of the last minute.
 */

import { poll, readWatch } from "./api.js";
import { placeVector, vectorFromJson } from "./motion.js";
import { localOf, playerOf } from "./rules.js";

const PERIOD = 100;
/** How long an answer may set the clock, in milliseconds. */
const CLOCK_AGE_MAX = 60_000;

export class WatchSession {
  constructor(onState) {
    this.player = null;
    this.base = null;
    this.vectors = new Map();
    this.fastest = null;
    /** What the beacon shows. */
    this.light = "off";
    this.askedAt = 0;
    onState({ state: "connecting" });
    const send = () => {
      this.askedAt = performance.now();
      return readWatch();
    };
    const onError = (error) => onState({ state: "lost", words: error.message });
    this.close = poll(send, PERIOD, (answer) => this.handleAnswer(answer, onState), onError);
  }

  handleAnswer({ now, entities, light }, onState) {
    const arrived = performance.now();
    const halfTrip = (arrived - this.askedAt) / 2;
    if (now === null) return;
    this.light = light;
    this.base ??= BigInt(now);
    const offset = Number(BigInt(now) - this.base) - (this.askedAt + halfTrip) * 1e6;
    const last = this.fastest;
    if (!last || halfTrip <= last.halfTrip || arrived - last.at > CLOCK_AGE_MAX) this.fastest = { offset, halfTrip, at: arrived };
    this.vectors = new Map(entities.map(({ entity, vector }) => [entity, vectorFromJson(vector, this.base)]));
    onState({ state: "watching" });
  }

  now() {
    if (!this.fastest) return null;
    return performance.now() * 1e6 + this.fastest.offset;
  }

  *copies() {
    const now = this.now();
    for (const [entity, vector] of this.vectors) {
      yield { player: playerOf(entity), local: localOf(entity), ...placeVector(vector, now) };
    }
  }
}

/**
 * The last two minutes of everybody's error, when the switch was turned, and what to compare with.
 */

/** How much is kept, in milliseconds. */
export const SHOWN = 120_000;
/** Errors are means over this long, in milliseconds: so long after a change they still tell of what was before. */
export const WINDOW = 10_000;
/** A newcomer's error is a mean over so much, in seconds, before it is shown: less is hardly more than one message. */
const SETTLED = 2;
/** Samples that are farther apart, in milliseconds, have something between them that was not measured. */
export const GAP = 1500;
/** The relay's figures are means over so much, in milliseconds, or since the switch was turned. */
const FIGURES = 60_000;
/** The choice that others are compared with. */
export const WITHOUT = "base";

export class History {
  constructor() {
    this.samples = [];
    /** When which choice was taken, the first included. */
    this.marks = [];
    /** When each player was first seen here, and what had been summed up of its error then. */
    this.firsts = new Map();
  }

  add(t, { choice, policy, players }) {
    const values = new Map();
    for (const { player, recent, total } of players) {
      const first = this.first(player, t, total);
      // Whoever has just come has a sum that is short of what such a mean adds up to; of noughts only the time tells.
      const settled = total > 0 ? total >= SETTLED * recent : t - first.t >= 1000 * SETTLED;
      if (settled) values.set(player, { error: recent, total: total - first.total });
    }
    this.samples.push({ t, values });
    while (this.samples.length && this.samples[0].t < t - SHOWN - 1000) this.samples.shift();
    // Somebody may have set a policy that is on no position of the switch.
    const decides = choice ?? policy;
    if (this.marks.at(-1)?.choice !== decides) this.marks.push({ t, choice: decides });
    // The mark before the first that is shown says what was on at the left edge.
    while (this.marks.length > 1 && this.marks[1].t < t - SHOWN) this.marks.shift();
  }

  /** A sum that is smaller than before has begun anew. */
  first(player, t, total) {
    if (!(this.firsts.get(player)?.total <= total)) this.firsts.set(player, { t, total });
    return this.firsts.get(player);
  }
}

/** The sample that is nearest to a time. */
export function nearest(samples, t) {
  let best = null;
  for (const sample of samples) {
    if (!best || Math.abs(sample.t - t) < Math.abs(best.t - t)) best = sample;
  }
  return best;
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The population's standard deviation. */
function spread(values) {
  const middle = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
}

/** Whether a network is no longer the one that was measured. */
const isOther = (delay, before) => before === undefined || Math.abs(delay - before) > Math.max(10, 0.25 * before);

/**
 * What to compare with: what was measured the last time that nobody was helped, in the same network and with the same players; or
 * else what the relay reckons alongside.
 */
export class Reference {
  constructor() {
    this.measured = null;
    this.delays = null;
    this.choice = null;
    this.since = 0;
    this.wait = WINDOW;
  }

  hear(t, arena) {
    const { choice } = this;
    const delays = new Map(arena.players.map(({ player, delay_ms: delay }) => [player, delay]));
    const { delays: before } = this;
    const isNew = before && (delays.size !== before.size
      || [...delays].some(([player, delay]) => isOther(delay, before.get(player))));
    if (isNew || !before) this.delays = delays;
    if (isNew) this.measured = null;
    // Figures are means since the switch was turned, but of a network that was another one they tell for their whole length.
    if (arena.choice !== choice) Object.assign(this, { choice: arena.choice, since: t, wait: WINDOW });
    else if (isNew) Object.assign(this, { since: t, wait: FIGURES });
    if (arena.choice !== WITHOUT || t - this.since < this.wait || !arena.players.length) return;
    const errors = new Map(arena.players.map(({ player, error }) => [player, error]));
    this.measured = { kind: "measured", t, errors, spread: arena.spread, mean: arena.mean, sent: arena.sent_per_s };
  }

  /** What to compare these figures with; its `kind` is "itself", "measured", "reckoned" or "none". */
  for(arena) {
    if (arena.choice === WITHOUT) return { kind: "itself", errors: new Map() };
    if (this.measured) return this.measured;
    const known = arena.players.filter(({ without }) => typeof without === "number");
    if (!known.length || known.length < arena.players.length) return { kind: "none", errors: new Map() };
    const errors = new Map(known.map(({ player, without }) => [player, without]));
    const values = [...errors.values()];
    return { kind: "reckoned", errors, spread: spread(values), mean: mean(values), sent: null };
  }
}

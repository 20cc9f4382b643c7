/** Every player's error over the last two minutes, the times of policy switches, and the baseline for comparisons. */

/** Length of the history, in milliseconds. */
export const HISTORY_LENGTH = 120_000;
/** Errors are means over this long, in milliseconds; after a change they reflect the time before it for as long. */
export const WINDOW = 10_000;
/** Length of the mean, in seconds, from which a newcomer's error is shown: less covers hardly more than one message. */
const NEWCOMER_MIN = 2;
/** Samples farther apart, in milliseconds, have a gap between them. */
export const GAP_MIN = 1500;
/** The baseline covers at most this long, in milliseconds. */
const BASELINE_LENGTH = 60_000;
/** The policy that the others are compared with. */
export const BASE = "base";

export class History {
  constructor() {
    this.samples = [];
    /** Policy switches, including the initial policy. */
    this.marks = [];
    /** Each player's accumulated error when first seen here. */
    this.firsts = new Map();
  }

  add(t, { choice, policy, players }) {
    const values = new Map();
    for (const { player, recent, total } of players) {
      const first = this.first(player, t, total);
      // A newcomer's total is still below its mean times the minimum length. With no error at all, only time can tell.
      const settled = total > 0 ? total >= NEWCOMER_MIN * recent : t - first.t >= 1000 * NEWCOMER_MIN;
      if (settled) values.set(player, { error: recent, total: total - first.total });
    }
    this.samples.push({ t, values });
    while (this.samples.length && this.samples[0].t < t - HISTORY_LENGTH - 1000) this.samples.shift();
    // The operator may have set a policy that is not on the switch.
    const decides = choice ?? policy;
    if (this.marks.at(-1)?.choice !== decides) this.marks.push({ t, choice: decides });
    // Keep the mark before the first visible one: it tells the policy at the left edge.
    while (this.marks.length > 1 && this.marks[1].t < t - HISTORY_LENGTH) this.marks.shift();
  }

  /** Returns a player's first sample. A total below the first one means that the count was restarted. */
  first(player, t, total) {
    if (!(this.firsts.get(player)?.total <= total)) this.firsts.set(player, { t, total });
    return this.firsts.get(player);
  }
}

/** Returns the sample nearest to a time. */
export function nearest(samples, t) {
  let best = null;
  for (const sample of samples) {
    if (!best || Math.abs(sample.t - t) < Math.abs(best.t - t)) best = sample;
  }
  return best;
}

/** True if a delay differs too much from the one that was measured. */
const isDifferent = (delay, before) => before === undefined || Math.abs(delay - before) > Math.max(10, 0.25 * before);

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Population standard deviation. */
function spread(values) {
  const middle = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
}

/**
 * The baseline of comparisons: the last measurement without us, in the same network and with the same players. It averages
 * the errors of the last minute without us, as far as they contain nothing older than the last change.
 */
export class Baseline {
  constructor() {
    /** What has been measured, or null. */
    this.measured = null;
    this.samples = [];
    this.delays = null;
    this.choice = null;
    this.since = 0;
  }

  update(t, { choice, players, sent_per_s: sent }) {
    const delays = new Map(players.map(({ player, delay_ms: delay }) => [player, delay]));
    const { delays: before } = this;
    const isNew = before === null || delays.size !== before.size
      || [...delays].some(([player, delay]) => isDifferent(delay, before.get(player)));
    if (isNew) Object.assign(this, { delays, measured: null });
    if (isNew || choice !== this.choice) Object.assign(this, { choice, since: t, samples: [] });
    if (choice !== BASE || t - this.since < WINDOW || players.length === 0) return;
    this.samples.push({ t, sent, errors: players.map(({ recent }) => recent) });
    while (this.samples[0].t < t - BASELINE_LENGTH) this.samples.shift();
    const values = players.map((_, place) => mean(this.samples.map(({ errors }) => errors[place])));
    const errors = new Map(players.map(({ player }, place) => [player, values[place]]));
    const sentMean = mean(this.samples.map((sample) => sample.sent));
    this.measured = { kind: "measured", errors, spread: spread(values), mean: mean(values), sent: sentMean };
  }

  /** Returns the baseline for these figures; its `kind` is "itself", "measured" or "none". */
  baselineFor({ choice }) {
    if (choice === BASE) return { kind: "itself", errors: new Map() };
    return this.measured ?? { kind: "none", errors: new Map() };
  }
}

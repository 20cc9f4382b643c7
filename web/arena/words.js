/**
 * What the page says: numbers as people read them, the exact terms behind its words, and what to do when something is wrong.
 */

const DOCS = "https://github.com/evenkeel/evenkeel/blob/main/docs";
const MINUS = "\u2212";

/** A number with so many digits behind the point; a dash if there is none. */
export function amount(value, digits = 2) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** The same with its sign. */
export function signed(value, digits = 2) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return text;
  return (value < 0 ? MINUS : "+") + text;
}

/** What is less is as good as nothing: parts of it are only rounding and chance. */
const HARDLY = 0.02;

/** By how much something differs from what it is compared with, or null if that says nothing. */
export function change(value, reference) {
  if (typeof value !== "number" || typeof reference !== "number" || reference < HARDLY) return null;
  const part = value / reference;
  if (part >= 10) return `${part.toFixed(0)} times`;
  return `${signed((part - 1) * 100, 0)} %`;
}

/** The exact terms. Each has what it means in a sentence or two, and where more is said. */
export const TERMS = {
  spread: {
    title: "Spread of error",
    text:
      "How far apart the players' errors lie. At 0 everybody sees the others equally well. Exactly: the standard "
      + "deviation, over the players, of the mean export error of the last minute, or since the switch was turned.",
    link: `${DOCS}/even.md#who-is-worse-off`,
  },
  mean: {
    title: "Mean error",
    text:
      "By how much the others are shown in the wrong place, over all players and the last minute, in units of the field. "
      + "A tank is 6 long. Exactly: the mean export error, the distance between exported and placed path.",
    link: `${DOCS}/even.md#what-it-cannot-do`,
  },
  sent: {
    title: "Messages",
    text:
      "How many dead-reckoning (DR) vectors the relay sends to players each second. The budget says which part of all "
      + "it may send. It is the same for all three positions of the switch.",
    link: `${DOCS}/even.md#what-it-costs`,
  },
  clock: {
    title: "Clock",
    text:
      "Everybody shows the same instant. So far the session's time may be wrong, at the player with the widest bound. "
      + "Exactly: half of the certified interval of the session clock.",
    link: `${DOCS}/guide.md`,
  },
  error: {
    title: "Where the others are, wrongly",
    text:
      "The distance between where the others say they are and where a player shows them, while a message is on its way "
      + "or was not sent. Exactly: the export error, as a mean over the last 10 s, or accumulated (AEE, in unit · "
      + "seconds).",
    link: `${DOCS}/even.md`,
  },
  pays: {
    title: "Who pays",
    text:
      "The farthest player's error is mostly delay, which no message takes away. Fair means that near players get a "
      + "little less, and far ones as much as they can use. Pays: error now minus what it would be without us, at the "
      + "same budget (1/m base).",
    link: `${DOCS}/even.md#what-it-cannot-do`,
  },
  sending: {
    title: "Who is sent what, and when",
    text:
      "Three ways to spend one budget of messages. Without us: every m-th message to everybody (base 1/m). The papers' "
      + "best: the deterministic budget algorithm of 2005. Even: our own policy, which makes everybody's error alike.",
    link: `${DOCS}/even.md#how-it-works`,
  },
  network: {
    title: "Network of each player",
    text:
      "How long a message takes from the relay to a player, and by how much that varies. The lines of players in this "
      + "room are made longer on purpose, yours too, so you can try what you like.",
    link: `${DOCS}/relay.md`,
  },
  outlines: {
    title: "Dashed: where the others see it",
    text:
      "Each dashed outline is where another player shows this tank right now, in that player's colour. It is the placed "
      + "path; the tank itself is the real one.",
    link: `${DOCS}/even.md`,
  },
};

/** What the page says when there is nothing to play yet, or no more. */
export const STATES = {
  connecting: { pill: "connecting", title: "Connecting to the relay", text: "This takes a moment." },
  clock: {
    pill: "setting the clock", title: "Setting the clock",
    text: "Your tank starts as soon as this browser and the relay agree on the time: a second or two.",
  },
  playing: { pill: "playing" },
  watching: { pill: "watching" },
  lost: { pill: "connection lost", title: "The connection to the relay broke", text: "It is being tried again." },
  stopped: {
    pill: "relay gone", title: "The relay has stopped",
    text: "Start \u201cevenkeel arena\u201d again: this page comes back by itself.",
  },
  silent: {
    pill: "relay gone", title: "The relay does not answer",
    text: "What you see is old. If the relay was stopped, start \u201cevenkeel arena\u201d again: this page comes back by itself.",
  },
  gone: {
    pill: "relay gone", title: "The relay is gone",
    text: "See that the program which serves this page still runs, start it again if not, and connect again.",
  },
  refused: {
    pill: "not let in", title: "The relay did not let you in",
    text: "The room may be full, the invitation too old, or the same player in another tab. Try again, or watch.",
  },
  unsupported: {
    pill: "cannot join", title: "This browser has no WebTransport",
    text:
      "Playing needs it. Chrome and Edge have it from version 100, Firefox from 125, Safari from 26.4. You can watch "
      + "with any browser.",
  },
};

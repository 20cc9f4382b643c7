/** Texts of the page: explanations of terms, and status messages. */

const DOCS = "https://github.com/evenkeel/evenkeel/blob/main/docs";

/** Explanations of terms, each with a link to the documentation. */
export const TERMS = {
  spread: {
    title: "Error spread",
    text:
      "How far apart the players' errors are. At 0 everyone sees the others equally well. Exactly: the standard deviation, "
      + "over all players, of the mean export error of the last minute, or since the policy was switched.",
    link: `${DOCS}/even.md#fairness-control`,
  },
  mean: {
    title: "Mean error",
    text:
      "How far from their true place players see each other, averaged over everyone and the last minute. A tank is 6 units "
      + "long. Exactly: the mean export error, the distance between exported and placed path.",
    link: `${DOCS}/even.md#limits`,
  },
  sent: {
    title: "Messages",
    text:
      "Dead-reckoning (DR) vectors that the relay sends to players each second. The budget is the share of all vectors that "
      + "it may send, the same for all three policies.",
    link: `${DOCS}/even.md#price-and-budget`,
  },
  clock: {
    title: "Clock",
    text:
      "All players share one clock. This is the most it can be off, for the player who knows it least. Exactly: half the "
      + "certified interval of the session clock.",
    link: `${DOCS}/guide.md`,
  },
  error: {
    title: "How far off others appear",
    text:
      "The distance between where players say they are and where another player sees them, while a message is on its way or "
      + "was not sent. Exactly: the export error, as a mean over the last 10 s, or accumulated (AEE, in units × seconds).",
    link: `${DOCS}/even.md`,
  },
  pays: {
    title: "Who pays",
    text:
      "A far player's error is mostly delay, which more messages cannot remove. Fairness therefore gives near players a "
      + "little less, and far players as much as helps them. Pays: the error now minus the error without us, at the same "
      + "budget (1/m base).",
    link: `${DOCS}/even.md#limits`,
  },
  sending: {
    title: "Who is sent what, and when",
    text:
      "Three ways to spend the same message budget. Without us: every m-th message to everyone (base 1/m). The papers' best: "
      + "the deterministic budget algorithm of 2005. Even: our own policy, which evens out everyone's errors.",
    link: `${DOCS}/even.md#design`,
  },
  network: {
    title: "Each player's network",
    text:
      "How long messages take from the relay to each player, and how much that varies. The relay adds this delay on purpose, "
      + "to your connection too, so try whatever you like.",
    link: `${DOCS}/relay.md`,
  },
  outlines: {
    title: "Dashed: where others see it",
    text:
      "Each dashed outline shows where another player sees this tank right now, in that player's colour. Exactly: the placed "
      + "path; the tank itself is on the real one.",
    link: `${DOCS}/even.md`,
  },
};

/** Status messages. States without a title show nothing over the field. */
export const STATES = {
  connecting: { pill: "connecting", title: "Connecting to the relay", text: "This takes a moment." },
  clock: {
    pill: "setting the clock", title: "Setting the clock",
    text: "Your tank starts as soon as your browser and the relay agree on the time, in a second or two.",
  },
  playing: { pill: "playing" },
  watching: { pill: "watching" },
  lost: { pill: "connection lost", title: "Connection to the relay lost", text: "Reconnecting\u2026" },
  stopped: {
    pill: "relay gone", title: "The relay has stopped",
    text: "Start \u201cevenkeel arena\u201d again. This page then reconnects by itself.",
  },
  silent: {
    pill: "relay gone", title: "The relay does not answer",
    text: "The page shows old data. If the relay was stopped, start \u201cevenkeel arena\u201d again. This page then reconnects by itself.",
  },
  gone: {
    pill: "relay gone", title: "The relay is gone",
    text: "Check that the program that serves this page is running, then connect again.",
  },
  refused: {
    pill: "not let in", title: "The relay did not let you in",
    text: "The room may be full, the invitation may have expired, or you may be playing in another tab. Try again, or watch.",
  },
  unsupported: {
    pill: "cannot join", title: "This browser has no WebTransport",
    text:
      "Playing needs it: Chrome or Edge 100, Firefox 125, Safari 26.4, or later. You can watch with any browser.",
  },
};

/** Texts of the page: explanations of terms, and status messages. */

/** Served by the arena itself, so that links work offline. */
const DOCS = "/docs";

/** Explanations of terms, each with a link to the documentation. */
export const TERMS = {
  spread: {
    title: "Error spread",
    text:
      "How far apart the players' errors are. At 0 everyone sees the others equally well. Exactly: the standard deviation, "
      + "over all players, of the mean error of the last minute, or since the policy was switched.",
    link: `${DOCS}/even.md`,
  },
  mean: {
    title: "Mean error",
    text:
      "How far from their true place players see each other, averaged over everyone and the last minute. A tank is 6 units "
      + "long. It is judged by where the owner really is.",
    link: `${DOCS}/arena.md`,
  },
  sent: {
    title: "Messages",
    text:
      "Dead-reckoning (DR) vectors that the relay sends to players each second. The budget is the share of all vectors that "
      + "it may send, the same for all three policies.",
    link: `${DOCS}/even.md`,
  },
  clock: {
    title: "Clocks within",
    text:
      "All players share one clock. This bound is certified: no player's clock can be further off, however the delay is "
      + "split between the way there and the way back. It grows with distance; it is not the clocks' error. Exactly: half "
      + "the widest certified interval of the session clock.",
    link: `${DOCS}/guide.md`,
  },
  sights: {
    title: "The same tank at the same instant",
    text:
      "Filled: where that player's screen shows the tank now. Dashed: where it really is now. Both are read from the "
      + "programs of bots and from this page; other people's by the relay's ledger.",
    link: `${DOCS}/arena.md`,
  },
  error: {
    title: "How far off others appear",
    text:
      "The distance between where players really are and where another player sees them, while a message is on its way or "
      + "was not sent: as a mean over the last 10 s, or accumulated in units × seconds.",
    link: `${DOCS}/arena.md`,
  },
  export: {
    title: "Export error",
    text:
      "The error that a policy can influence: the distance to where the owner says it is, by its newest message. The owner "
      + "itself is at most the threshold away from there.",
    link: `${DOCS}/glossary.md`,
  },
  pays: {
    title: "Who pays",
    text:
      "A far player's error is mostly delay, which more messages cannot remove. Fairness therefore gives near players "
      + "less, and far players as much as helps them. Pays: the error now minus the error without us, at the same budget.",
    link: `${DOCS}/even.md`,
  },
  sending: {
    title: "Who is sent what, and whose shot counts first",
    text:
      "Three ways to spend the same message budget. Without us: what games do, the same messages to everyone, and shots count "
      + "as they arrive. The papers' best: the deterministic budget algorithm of 2005, and Sync-MS of 2002 with SelectWait. "
      + "Even: our own policy, which evens out everyone's errors; everybody sees the beacon at once, and the faster reaction "
      + "counts first.",
    link: `${DOCS}/arena.md`,
  },
  fair: {
    title: "Won by the fastest",
    text:
      "The share of quick draws that were won by whoever reacted fastest, since the switch was set. Compared with what it would "
      + "have been in the same duels, had shots counted as they arrived.",
    link: `${DOCS}/arena.md`,
  },
  duels: {
    title: "Quick draw",
    text:
      "Every few seconds the beacon gets ready, and lights up after a time that nobody can guess. The first to fire wins; "
      + "whoever fires too early is out of that duel. Bots react as people do, in 250 ms give or take 50, all of them alike: "
      + "each should win as often as the others.",
    link: `${DOCS}/arena.md`,
  },
  won: {
    title: "Won",
    text: "The share of all duels since the switch was set, a hundred at most, that the player won.",
    link: `${DOCS}/arena.md`,
  },
  unaided: {
    title: "Without us",
    text:
      "The share that the player would have won in the same duels without us: if the beacon were shown as soon as its message "
      + "arrives, and shots counted as they arrive.",
    link: `${DOCS}/arena.md`,
  },
  earned: {
    title: "Earned",
    text: "The share of duels in which the player reacted fastest, counted from when it saw the beacon light up.",
    link: `${DOCS}/arena.md`,
  },
  passed: {
    title: "Passed over, and ahead",
    text:
      "The share of the player's shots that were served after later ones of others, \u201cbehind\u201d as the papers call it, and of those "
      + "that were served before earlier ones, \u201cahead\u201d. All shots count, not only duels.",
    link: `${DOCS}/glossary.md`,
  },
  waits: {
    title: "Waits",
    text:
      "How much later than without us the player's shots count, on average: because everybody sees the beacon at the same "
      + "time, and because a shot waits for faster ones that may be on their way.",
    link: `${DOCS}/arena.md`,
  },
  network: {
    title: "Each player's network delay",
    text:
      "How long messages take from the relay to each player, one way, give or take a tenth. The relay adds this delay on "
      + "purpose, to your connection too, so try whatever you like.",
    link: `${DOCS}/arena.md`,
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

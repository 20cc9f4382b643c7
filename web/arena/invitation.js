/**
 * The invitation to use the switch: shown once the page has shown for some time what it looks like without us. It does
 * not come back once the person has switched or dismissed it.
 */

import { setText } from "./dom.js";
import { formatNumber } from "./format.js";
import { BASE } from "./history.js";

/** Duels from which a share means something. */
const DUELS_MIN = 2;
/** Session-storage key of a person who needs no invitation any more. */
const DONE_KEY = "evenkeel-arena-invited";

export class Invitation {
  /** `parts` are `root`, `words`, `accept` and `dismiss`. `onAccept` switches. */
  constructor(parts, onAccept) {
    this.parts = parts;
    this.isDone = sessionStorage.getItem(DONE_KEY) !== null;
    parts.accept.addEventListener("click", () => onAccept());
    parts.dismiss.addEventListener("click", () => this.finish());
  }

  /** Hides it for good. */
  finish() {
    this.isDone = true;
    sessionStorage.setItem(DONE_KEY, "");
    this.parts.root.hidden = true;
  }

  /**
   * Shows it if it is time. `viewers` are the far and the near player, or null; `isMeasured` is true once the error without
   * us has been measured, which takes ten seconds.
   */
  show({ choice, viewers, isMeasured, duels }, nameOf, own) {
    const isDue = !this.isDone && choice === BASE && viewers !== null;
    const isShown = isDue && (isMeasured || !this.parts.root.hidden);
    const { root, words } = this.parts;
    // The words stay as they were when it appeared: screen readers would announce every change.
    if (isShown && root.hidden) setText(words, wordsFor(viewers, duels, nameOf, own));
    if (root.hidden === isShown) root.hidden = !isShown;
  }
}

const times = (count) => formatNumber(count, 0);

function wordsFor({ far, near }, { count }, nameOf, own) {
  const [off, offNear] = [far, near].map(({ recent }) => formatNumber(recent, 1));
  const who = near.player === own ? "you" : nameOf(near.player);
  const seen = `${nameOf(far.player)} sees the others ${off} units off, ${who} ${offNear}`;
  const { won, earned } = far.duels;
  // One duel says little.
  if (count < DUELS_MIN || won >= earned) return `${seen}.`;
  const fastest = `was fastest in ${times(earned * count)} of ${count} duels`;
  return `${seen}. ${nameOf(far.player)} ${fastest} and won ${won > 0 ? times(won * count) : "none"}.`;
}

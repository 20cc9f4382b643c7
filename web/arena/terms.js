/**
 * The exact term behind a word: shown at a word that the pointer is on, that has the focus, or that was tapped.
 *
 * What is said stands at the page's end, where no heading and no table lends it its type and its name. So Tab is led there from
 * the word, and back behind it.
 */

import { TERMS } from "./words.js";

/** So long, in milliseconds, the pointer may take from the word to what is said about it. */
const GRACE = 220;

export function explainTerms(tip) {
  let open = null;
  let timer = 0;
  /** Whether the pointer has opened it: then it does not go with the focus. */
  let isTapped = false;
  const more = Object.assign(document.createElement("a"), { textContent: "More in the docs", target: "_blank", rel: "noopener" });

  const hide = () => {
    clearTimeout(timer);
    tip.hidden = true;
    open?.removeAttribute("aria-describedby");
    [open, isTapped] = [null, false];
  };
  const hideSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(hide, GRACE);
  };
  const show = (word) => {
    clearTimeout(timer);
    if (open === word) return;
    hide();
    open = word;
    const { title, text, link } = TERMS[word.dataset.term];
    const [heading, words] = ["b", "p"].map((tag) => document.createElement(tag));
    heading.textContent = title;
    words.textContent = text;
    more.href = link;
    tip.replaceChildren(heading, words, more);
    tip.hidden = false;
    word.setAttribute("aria-describedby", tip.id);
    placeAt(tip, word);
  };

  for (const word of document.querySelectorAll("[data-term]")) {
    word.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show(word));
    word.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hideSoon());
    word.addEventListener("focus", () => word.matches(":focus-visible") && show(word));
    word.addEventListener("blur", () => open === word && !isTapped && hideSoon());
    word.addEventListener("click", (event) => {
      show(word);
      isTapped = event.detail > 0;
    });
    word.addEventListener("keydown", (event) => {
      if (event.key !== "Tab" || event.shiftKey || open !== word) return;
      event.preventDefault();
      more.focus();
    });
  }
  more.addEventListener("keydown", (event) => {
    if (event.key !== "Tab" || !open) return;
    // From the word the browser goes on by itself.
    if (event.shiftKey) event.preventDefault();
    open.focus();
  });
  tip.addEventListener("pointerenter", () => clearTimeout(timer));
  tip.addEventListener("pointerleave", hideSoon);
  tip.addEventListener("focusin", () => clearTimeout(timer));
  tip.addEventListener("focusout", hideSoon);
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
  addEventListener("pointerdown", (event) => {
    if (open && !tip.contains(event.target) && !open.contains(event.target)) hide();
  });
  // Who comes to a word by keys may have had the page scrolled for it.
  addEventListener("scroll", () => {
    if (open?.matches(":focus-visible")) placeAt(tip, open);
    else hide();
  }, { passive: true });
  addEventListener("resize", hide);
}

/** Below the word if there is room, else above it; never over the page's edge, even if it lies on the word then. */
function placeAt(tip, word) {
  const from = word.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const within = (place, most) => Math.max(Math.min(place, most - 8), 8);
  const isBelow = from.bottom + height + 14 < innerHeight || from.top < height + 14;
  tip.style.left = `${within(from.left, innerWidth - width)}px`;
  tip.style.top = `${within(isBelow ? from.bottom + 6 : from.top - height - 6, innerHeight - height)}px`;
}

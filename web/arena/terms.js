/**
 * The exact term behind a word: shown at a word that the pointer is on, that has the focus, or that was tapped.
 */

import { TERMS } from "./words.js";

/** So long, in milliseconds, the pointer may take from the word to what is said about it. */
const GRACE = 220;

export function explainTerms(tip) {
  let open = null;
  let timer = 0;

  const hide = () => {
    clearTimeout(timer);
    tip.hidden = true;
    open?.removeAttribute("aria-describedby");
    open = null;
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
    const [heading, words, more] = ["b", "p", "a"].map((tag) => document.createElement(tag));
    heading.textContent = title;
    words.textContent = text;
    Object.assign(more, { href: link, textContent: "More in the docs", target: "_blank", rel: "noopener" });
    tip.replaceChildren(heading, words, more);
    // Right behind the word, so that the next Tab reaches the link.
    if (word.nextElementSibling !== tip) word.after(tip);
    tip.hidden = false;
    word.setAttribute("aria-describedby", tip.id);
    placeAt(tip, word);
  };

  for (const word of document.querySelectorAll("[data-term]")) {
    word.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show(word));
    word.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hideSoon());
    word.addEventListener("focus", () => word.matches(":focus-visible") && show(word));
    word.addEventListener("blur", hideSoon);
    word.addEventListener("click", () => show(word));
  }
  tip.addEventListener("pointerenter", () => clearTimeout(timer));
  tip.addEventListener("pointerleave", hideSoon);
  tip.addEventListener("focusin", () => clearTimeout(timer));
  tip.addEventListener("focusout", hideSoon);
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
  addEventListener("pointerdown", (event) => {
    if (open && !tip.contains(event.target) && !open.contains(event.target)) hide();
  });
  addEventListener("scroll", hide, { passive: true });
  addEventListener("resize", hide);
}

/** Below the word if there is room, else above it; never over the page's edge. */
function placeAt(tip, word) {
  const from = word.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(Math.max(from.left, 8), Math.max(innerWidth - width - 8, 8));
  const isBelow = from.bottom + height + 14 < innerHeight || from.top < height + 14;
  tip.style.left = `${left}px`;
  tip.style.top = `${isBelow ? from.bottom + 6 : from.top - height - 6}px`;
}

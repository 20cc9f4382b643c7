/**
 * Tooltips with the exact term behind a word: shown for a word that is hovered, focused or tapped.
 *
 * The tooltip is at the end of the document, where it inherits nothing from headings. So Tab is redirected from the
 * word into the tooltip, and back.
 */

import { TERMS } from "./text.js";

/** Time for the pointer to get from the word to the tooltip, in milliseconds. */
const HIDE_DELAY = 220;

export function enableTooltips(tip) {
  let open = null;
  let timer = 0;
  /** True if the pointer opened it: then it stays open without focus. */
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
    timer = setTimeout(hide, HIDE_DELAY);
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
    // From the word, the browser's own Tab goes on.
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
  // Focusing a word by keyboard may have scrolled the page.
  addEventListener("scroll", () => {
    if (open?.matches(":focus-visible")) placeAt(tip, open);
    else hide();
  }, { passive: true });
  addEventListener("resize", hide);
}

/**
 * Places the tooltip below the word if there is room, else above; always within the window, even if it then covers the
 * word.
 */
function placeAt(tip, word) {
  const from = word.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const within = (place, most) => Math.max(Math.min(place, most - 8), 8);
  const isBelow = from.bottom + height + 14 < innerHeight || from.top < height + 14;
  tip.style.left = `${within(from.left, innerWidth - width)}px`;
  tip.style.top = `${within(isBelow ? from.bottom + 6 : from.top - height - 6, innerHeight - height)}px`;
}

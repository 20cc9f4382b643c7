/** Controls: the policy switch, and the sliders for each player's network. */

import { setPolicy, setLink } from "./api.js";
import { setText } from "./figures.js";
import { formatBudget } from "./format.js";
import { reconcileRows, createMark } from "./palette.js";

/** After a setting was changed here, the relay's older value is ignored for this long, in milliseconds. */
const SETTING_GRACE = 1500;
/** Least interval between two requests while a slider moves, in milliseconds. */
const SEND_INTERVAL = 200;
const DELAY_MAX = 400;
const JITTER_MAX = 100;

/** Switch with the three policies. */
export class PolicySwitch {
  constructor(root, budget, onFailed) {
    Object.assign(this, { root, budget, onFailed });
    this.inputs = [...root.querySelectorAll("input")];
    this.thumb = root.querySelector(".thumb");
    this.names = new Map(this.inputs.map((input) => [input.value, input.nextElementSibling.textContent]));
    /** What each position of the switch sets. */
    this.settings = new Map();
    this.set = { choice: null, at: -Infinity };
    for (const input of this.inputs) input.addEventListener("change", () => this.select(input.value));
    new ResizeObserver(() => this.slide()).observe(root);
  }

  nameOf(choice) {
    return this.names.get(choice) ?? choice;
  }

  async select(choice) {
    this.set = { choice, at: performance.now() };
    this.slide();
    try {
      await setPolicy(this.settings.get(choice));
    } catch (error) {
      this.set.at = -Infinity;
      this.onFailed(`Could not switch the policy. ${error.message}`);
    }
  }

  show({ choice, choices, budget }) {
    for (const { id, name, set } of choices ?? []) {
      this.names.set(id, name);
      this.settings.set(id, set);
      const input = this.inputs.find((one) => one.value === id);
      if (input) setText(input.nextElementSibling, name);
    }
    this.root.disabled = false;
    setText(this.budget, budget ? `same budget: ${formatBudget(budget)}` : "same budget");
    const isMine = performance.now() - this.set.at < SETTING_GRACE;
    const wanted = this.inputs.find((input) => input.value === (isMine ? this.set.choice : choice));
    if (wanted && !wanted.checked) wanted.checked = true;
    if (!wanted) for (const input of this.inputs) input.checked = false;
    if (wanted !== this.shown) this.slide();
    this.shown = wanted;
  }

  /** Moves the thumb under the chosen position. */
  slide() {
    const label = this.inputs.find((input) => input.checked)?.parentElement;
    if (this.thumb.hidden !== !label) this.thumb.hidden = !label;
    if (!label) return;
    const [left, width] = [`${label.offsetLeft}px`, `${label.offsetWidth}px`];
    if (this.thumb.style.left !== left) this.thumb.style.left = left;
    if (this.thumb.style.width !== width) this.thumb.style.width = width;
  }
}

/** Sliders for each player's delay and jitter. */
export class NetworkSliders {
  constructor(root, onFailed) {
    Object.assign(this, { root, onFailed });
    this.lines = new Map();
  }

  show({ players }, { nameOf }) {
    reconcileRows(this.root, this.lines, players, (player) => this.build(player));
    for (const { player, delay_ms: delay, jitter_ms: jitter } of players) {
      const line = this.lines.get(player);
      setText(line.name, nameOf(player));
      for (const [slider, word] of [[line.delay, "delay"], [line.jitter, "jitter"]]) {
        const name = `${word} of ${nameOf(player)} in milliseconds`;
        if (slider.ariaLabel !== name) slider.ariaLabel = name;
      }
      if (performance.now() - line.at < SETTING_GRACE) continue;
      for (const [slider, value] of [[line.delay, delay], [line.jitter, jitter]]) {
        if (value > slider.max) slider.max = Math.ceil(value / 100) * 100;
        if (slider.value !== String(Math.round(value))) slider.value = Math.round(value);
      }
      this.write(line);
    }
  }

  write(line) {
    setText(line.delayWords, `${line.delay.value} ms`);
    setText(line.jitterWords, `±${line.jitter.value}`);
    for (const slider of [line.delay, line.jitter]) {
      const part = `${(100 * slider.value) / slider.max}%`;
      if (slider.style.getPropertyValue("--part") !== part) slider.style.setProperty("--part", part);
    }
  }

  build(player) {
    const row = document.createElement("div");
    row.className = "line";
    const who = document.createElement("span");
    who.className = "who";
    const name = document.createElement("span");
    who.append(createMark(player), name);
    row.append(who);
    // On a narrow page the second slider has a row of its own and needs a label.
    const word = Object.assign(document.createElement("span"), { className: "jitter-word quiet", textContent: "varies by" });
    word.setAttribute("aria-hidden", "true");
    const line = { row, name, at: -Infinity, sentAt: -Infinity, timer: 0 };
    for (const [kind, most] of [["delay", DELAY_MAX], ["jitter", JITTER_MAX]]) {
      const slider = document.createElement("input");
      Object.assign(slider, { type: "range", min: 0, max: most, step: 1, className: kind });
      const words = Object.assign(document.createElement("output"), { className: `${kind}-words` });
      slider.addEventListener("input", () => this.moved(player, line));
      Object.assign(line, { [kind]: slider, [`${kind}Words`]: words });
      row.append(...(kind === "jitter" ? [word] : []), slider, words);
    }
    return line;
  }

  moved(player, line) {
    line.at = performance.now();
    // Jitter cannot exceed the delay: nothing arrives before it was sent.
    line.jitter.value = Math.min(line.jitter.value, line.delay.value);
    this.write(line);
    if (line.timer) return;
    const send = async () => {
      line.timer = 0;
      line.sentAt = performance.now();
      try {
        await setLink(player, Number(line.delay.value), Number(line.jitter.value));
      } catch (error) {
        line.at = -Infinity;
        this.onFailed(`Could not change the network. ${error.message}`);
      }
    };
    line.timer = setTimeout(send, Math.max(0, SEND_INTERVAL - (line.at - line.sentAt)));
  }
}

/** Controls: the switch, and the sliders for each player's delay. */

import { setChoice, setLink } from "./api.js";
import { setText } from "./dom.js";
import { formatBudget } from "./format.js";

/** After a setting was changed here, the relay's older value is ignored for this long, in milliseconds. */
const SETTING_GRACE = 1500;
/** Least interval between two requests while a slider moves, in milliseconds. */
const SEND_INTERVAL = 200;
const DELAY_MAX = 400;
/** Jitter as a share of the delay. */
const JITTER = 0.1;

/** Switch with three positions: how positions are sent, and in which order actions are served. */
export class PolicySwitch {
  /** `onSwitch(choice)` is called when the person switches. */
  constructor(root, budget, { onSwitch, onFailed }) {
    Object.assign(this, { root, budget, onSwitch, onFailed });
    this.inputs = [...root.querySelectorAll("input")];
    this.thumb = root.querySelector(".thumb");
    this.names = new Map(this.inputs.map((input) => [input.value, input.nextElementSibling.textContent]));
    this.set = { choice: null, at: -Infinity };
    for (const input of this.inputs) input.addEventListener("change", () => this.select(input.value));
    new ResizeObserver(() => this.slide()).observe(root);
  }

  nameOf(choice) {
    return this.names.get(choice) ?? choice;
  }

  async select(choice) {
    this.onSwitch(choice);
    const input = this.inputs.find((one) => one.value === choice);
    if (input) input.checked = true;
    this.set = { choice, at: performance.now() };
    this.slide();
    try {
      await setChoice(choice);
    } catch (error) {
      this.set.at = -Infinity;
      this.onFailed(`Could not switch. ${error.message}`);
    }
  }

  show({ choice, choices, budget }) {
    for (const { id, name } of choices ?? []) {
      this.names.set(id, name);
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

/** Slider of a player's delay. Its jitter follows. */
export class DelaySlider {
  constructor(player, onFailed) {
    Object.assign(this, { player, onFailed, movedAt: -Infinity, sentAt: -Infinity, timer: 0 });
    this.input = document.createElement("input");
    Object.assign(this.input, { type: "range", min: 0, max: DELAY_MAX, step: 1, className: "delay" });
    this.output = document.createElement("output");
    this.input.addEventListener("input", () => this.moved());
  }

  show(delay, name) {
    const { input } = this;
    const label = `delay of ${name} in milliseconds`;
    if (input.ariaLabel !== label) input.ariaLabel = label;
    if (performance.now() - this.movedAt < SETTING_GRACE) return;
    if (delay > input.max) input.max = Math.ceil(delay / 100) * 100;
    if (input.value !== String(Math.round(delay))) input.value = Math.round(delay);
    this.write();
  }

  write() {
    const { input, output } = this;
    setText(output, `${input.value} ms`);
    const part = `${(100 * input.value) / input.max}%`;
    if (input.style.getPropertyValue("--part") !== part) input.style.setProperty("--part", part);
  }

  moved() {
    this.movedAt = performance.now();
    this.write();
    this.timer ||= setTimeout(() => this.send(), Math.max(0, SEND_INTERVAL - (this.movedAt - this.sentAt)));
  }

  async send() {
    this.timer = 0;
    this.sentAt = performance.now();
    const delay = Number(this.input.value);
    try {
      await setLink(this.player, delay, JITTER * delay);
    } catch (error) {
      this.movedAt = -Infinity;
      this.onFailed(`Could not change the network. ${error.message}`);
    }
  }
}

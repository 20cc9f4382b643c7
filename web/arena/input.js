/**
 * Input of the local player: keys (arrows or WASD, space), or two thumbs.
 *
 * Keys steer the tank: forwards, backwards, left, right. The left thumb points where to drive; the tank turns there, or
 * backs up if that is behind it.
 */

import { SPEED_BACKWARDS_MAX, SPEED_MAX, TURN_RATE_MAX, wrapped } from "./rules.js";

const KEYS = {
  ArrowUp: "ahead", KeyW: "ahead", ArrowDown: "back", KeyS: "back", ArrowLeft: "left", KeyA: "left", ArrowRight: "right",
  KeyD: "right", Space: "fire",
};
/** Dead zone of the thumb stick, as a share of its radius. */
const DEAD_ZONE = 0.18;
/** Pointing further than this from the front, in radians, means backing up. */
const BACK_UP_ANGLE = 2.2;
/** A click without pointer or key, as by a screen reader, fires for this long, in milliseconds. */
const CLICK_FIRE_TIME = 60;

export class Input {
  constructor({ stick, knob, trigger }) {
    this.held = new Set();
    this.thumb = null;
    this.isFiring = false;
    this.isOn = false;
    /** Called with the time at which the trigger was pulled, by the page's clock. */
    this.onPull = () => {};
    /** True while the keyboard is being handed back to the tank, whatever still has the focus. */
    this.isRegainingKeys = false;
    this.listenToKeys();
    this.listenToStick(stick, knob);
    this.listenToTrigger(trigger);
  }

  release() {
    this.held.clear();
    this.thumb = null;
    this.isFiring = false;
  }

  /** Returns the desired motion of a tank with this heading. */
  wish(heading) {
    const fire = this.isFiring || this.held.has("fire");
    if (this.thumb) return { ...towardsThumb(this.thumb, heading), fire };
    const either = (one, other) => Number(this.held.has(one)) - Number(this.held.has(other));
    const [ahead, left] = [either("ahead", "back"), either("left", "right")];
    return { speed: ahead > 0 ? SPEED_MAX : ahead * SPEED_BACKWARDS_MAX, turnRate: left * TURN_RATE_MAX, fire };
  }

  listenToKeys() {
    addEventListener("keydown", (event) => {
      const verb = KEYS[event.code];
      const isTaken = !this.isRegainingKeys && isUsedByFocus(event);
      if (!verb || !this.isOn || event.ctrlKey || event.metaKey || event.altKey || isTaken) return;
      event.preventDefault();
      if (verb === "fire" && !event.repeat && !this.held.has(verb)) this.onPull(event.timeStamp);
      this.held.add(verb);
    });
    addEventListener("keyup", (event) => this.held.delete(KEYS[event.code]));
    addEventListener("blur", () => this.release());
    document.addEventListener("visibilitychange", () => this.release());
  }

  listenToStick(stick, knob) {
    let pointer = null;
    const follow = (event) => {
      const { left, top, width, height } = stick.getBoundingClientRect();
      const reach = Math.min(width, height) / 2;
      const [x, y] = [(event.clientX - left - width / 2) / reach, (event.clientY - top - height / 2) / reach];
      const size = Math.hypot(x, y);
      const part = size > 1 ? 1 / size : 1;
      this.thumb = { x: x * part, y: -y * part };
      knob.style.transform = `translate(${x * part * reach * 0.6}px, ${y * part * reach * 0.6}px)`;
    };
    const release = (event) => {
      if (event.pointerId !== pointer) return;
      pointer = null;
      this.thumb = null;
      knob.style.transform = "";
    };
    stick.addEventListener("pointerdown", (event) => {
      pointer = event.pointerId;
      stick.setPointerCapture(pointer);
      follow(event);
    });
    stick.addEventListener("pointermove", (event) => {
      if (event.pointerId === pointer) follow(event);
    });
    stick.addEventListener("pointerup", release);
    stick.addEventListener("pointercancel", release);
  }

  listenToTrigger(trigger) {
    const set = (isFiring) => ({ timeStamp }) => {
      if (isFiring && !this.isFiring) this.onPull(timeStamp);
      this.isFiring = isFiring;
    };
    trigger.addEventListener("pointerdown", set(true));
    for (const end of ["pointerup", "pointercancel", "pointerleave", "blur"]) trigger.addEventListener(end, set(false));
    for (const [kind, isFiring] of [["keydown", true], ["keyup", false]]) {
      trigger.addEventListener(kind, (event) => {
        if (event.code !== "Space" && event.code !== "Enter") return;
        // It would also trigger a click.
        event.preventDefault();
        set(isFiring)(event);
      });
    }
    // Screen readers neither touch nor press it: they click.
    trigger.addEventListener("click", (event) => {
      if (event.detail > 0) return;
      set(true)(event);
      setTimeout(() => set(false)(event), CLICK_FIRE_TIME);
    });
  }
}

/** True if the focused element uses the key itself: arrows in a slider or switch, space on a button. */
function isUsedByFocus(event) {
  const target = event.target;
  if (!(target instanceof Element)) return false;
  if (event.code === "Space") return target.closest("button, a, input, summary") !== null;
  return event.code.startsWith("Arrow") && target.closest("input, select") !== null;
}

function towardsThumb({ x, y }, heading) {
  const size = Math.hypot(x, y);
  if (size < DEAD_ZONE) return { speed: 0, turnRate: 0 };
  const off = wrapped(Math.atan2(y, x) - heading);
  const turn = (angle) => Math.min(Math.max(2.5 * angle, -TURN_RATE_MAX), TURN_RATE_MAX);
  if (Math.abs(off) > BACK_UP_ANGLE) {
    return { speed: -SPEED_BACKWARDS_MAX * size, turnRate: turn(wrapped(off - Math.PI)) };
  }
  return { speed: SPEED_MAX * size * Math.max(Math.cos(off), 0.15), turnRate: turn(off) };
}

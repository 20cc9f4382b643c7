/**
 * What the player wants of its tank: from keys (arrows or WASD, space) or from two thumbs.
 *
 * Keys steer the tank: forwards, backwards, left, right. The left thumb points where to drive; the tank turns there, or
 * backs up if that is behind it.
 */

import { SPEED_BACKWARDS_MAX, SPEED_MAX, TURN_RATE_MAX, wrapped } from "./rules.js";

const KEYS = {
  ArrowUp: "ahead", KeyW: "ahead", ArrowDown: "back", KeyS: "back", ArrowLeft: "left", KeyA: "left", ArrowRight: "right",
  KeyD: "right", Space: "fire",
};
/** A thumb that moves by less than this part of the way means nothing. */
const DEAD = 0.18;
/** Who points more than this away from the front, in radians, wants to back up. */
const BEHIND = 2.2;
/** A click that is neither of a finger nor of a key fires for so long, in milliseconds. */
const CLICK = 60;

export class Input {
  constructor({ stick, knob, trigger }) {
    this.held = new Set();
    this.thumb = null;
    this.isFiring = false;
    this.isOn = false;
    /** The keys are about to be the tank's again, whatever has the focus for a moment yet. */
    this.isNext = false;
    this.listenToKeys();
    this.listenToStick(stick, knob);
    this.listenToTrigger(trigger);
  }

  release() {
    this.held.clear();
    this.thumb = null;
    this.isFiring = false;
  }

  /** What to do, for a tank that heads there. */
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
      const isTaken = !this.isNext && isTakenBy(event);
      if (!verb || !this.isOn || event.ctrlKey || event.metaKey || event.altKey || isTaken) return;
      event.preventDefault();
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
    const set = (isFiring) => () => {
      this.isFiring = isFiring;
    };
    trigger.addEventListener("pointerdown", set(true));
    for (const end of ["pointerup", "pointercancel", "pointerleave", "blur"]) trigger.addEventListener(end, set(false));
    for (const [kind, isFiring] of [["keydown", true], ["keyup", false]]) {
      trigger.addEventListener(kind, (event) => {
        if (event.code !== "Space" && event.code !== "Enter") return;
        // It would be a click too.
        event.preventDefault();
        this.isFiring = isFiring;
      });
    }
    // Screen readers neither touch nor press it: they click.
    trigger.addEventListener("click", (event) => {
      if (event.detail > 0) return;
      this.isFiring = true;
      setTimeout(set(false), CLICK);
    });
  }
}

/** Whether a key belongs to what has the focus: arrows to a slider or a switch, space to a button. */
function isTakenBy(event) {
  const target = event.target;
  if (!(target instanceof Element)) return false;
  if (event.code === "Space") return target.closest("button, a, input, summary") !== null;
  return event.code.startsWith("Arrow") && target.closest("input, select") !== null;
}

function towardsThumb({ x, y }, heading) {
  const size = Math.hypot(x, y);
  if (size < DEAD) return { speed: 0, turnRate: 0 };
  const off = wrapped(Math.atan2(y, x) - heading);
  const turn = (angle) => Math.min(Math.max(2.5 * angle, -TURN_RATE_MAX), TURN_RATE_MAX);
  if (Math.abs(off) > BEHIND) {
    return { speed: -SPEED_BACKWARDS_MAX * size, turnRate: turn(wrapped(off - Math.PI)) };
  }
  return { speed: SPEED_MAX * size * Math.max(Math.cos(off), 0.15), turnRate: turn(off) };
}

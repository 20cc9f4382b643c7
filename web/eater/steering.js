/** A person's keys, and the buttons for touch screens. */

const WAYS = {
  ArrowUp: "north", KeyW: "north", ArrowRight: "east", KeyD: "east",
  ArrowDown: "south", KeyS: "south", ArrowLeft: "west", KeyA: "west",
};

/** One request at a time, so that the last key counts; of those that wait only the newest is kept. */
let waiting = null;
let isSending = false;

async function tell(steering) {
  waiting = steering;
  if (isSending) return;
  isSending = true;
  while (waiting !== null) {
    const body = JSON.stringify(waiting);
    waiting = null;
    await fetch("/api/eater/steer", { method: "POST", headers: { "Content-Type": "application/json" }, body }).catch(() => {});
  }
  isSending = false;
}

/** Steers with keys and buttons. */
export function listenToKeys(automate, buttons) {
  addEventListener("keydown", (event) => {
    const way = WAYS[event.code];
    if (!way || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    if (!event.repeat) tell({ go: way });
  });
  for (const button of buttons) {
    button.addEventListener("click", () => tell({ go: button.dataset.way }));
  }
  automate.addEventListener("click", () => tell("automate"));
}

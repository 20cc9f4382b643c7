/** HTTP requests of the arena's page to the relay: figures, what other players see, joining, and settings. */

const ARENA = "/api/arena";
/** Timeout of a request, in milliseconds. */
const TIMEOUT = 4000;

async function request(path, options = {}) {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(TIMEOUT), ...options });
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({}));
  throw Object.assign(new Error(error ?? `the relay answers ${answer.status}`), { status: answer.status });
}

const read = async (path) => (await request(path)).json();

const post = (path, body) =>
  request(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

export const readArena = () => read(ARENA);
export const readOutlines = (player) => read(`${ARENA}/shown?player=${player}`);
export const readSight = (player) => read(`${ARENA}/sight?player=${player}`);
export const readWatch = () => read(`${ARENA}/watch`);
/** Requests an invitation. Pass an earlier name to come back as the same player. */
export const requestInvitation = async (name) => (await post(`${ARENA}/join`, name ? { name } : {})).json();
/** Sets the switch: "base", "papers" or "even". */
export const setChoice = (choice) => post(`${ARENA}/choice`, { choice });
export const setLink = (player, delay, jitter) => post(`${ARENA}/link`, { player, delay_ms: delay, jitter_ms: jitter });

/**
 * Repeats a request every `period` milliseconds, one at a time, and calls `onAnswer(answer)` or `onError(error)` with each
 * outcome. Returns a function that stops it.
 */
export function poll(send, period, onAnswer, onError) {
  let isOver = false;
  let timer = 0;
  const run = async () => {
    const began = performance.now();
    try {
      const answer = await send();
      if (!isOver) onAnswer(answer);
    } catch (error) {
      if (!isOver) onError(error);
    }
    if (!isOver) timer = setTimeout(run, Math.max(period - (performance.now() - began), 10));
  };
  run();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

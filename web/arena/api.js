/**
 * The relay's pages about the arena: figures four times a second, what the others show ten times a second, and what is set.
 */

const ROOT = "/api/arena";
/** Longer than this, in milliseconds, is no answer. */
const PATIENCE = 4000;

async function ask(path, options = {}) {
  const answer = await fetch(ROOT + path, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE), ...options });
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({}));
  throw Object.assign(new Error(error ?? `the relay answers ${answer.status}`), { status: answer.status });
}

const read = async (path) => (await ask(path)).json();

const post = (path, body) =>
  ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

export const readArena = () => read("");
export const readShown = (player) => read(`/shown?player=${player}`);
export const readWatch = () => read("/watch");
/** Asks for what lets somebody in; a name says who it was before. */
export const askIn = async (name) => (await post("/join", name ? { name } : {})).json();
export const choose = (choice) => post("/policy", { choice });
export const setLink = (player, delay, jitter) => post("/link", { player, delay_ms: delay, jitter_ms: jitter });

/**
 * Asks again and again, one question at a time. `heard(answer)` or `failed(error)` is called with what came of it. Returns a
 * function that ends it.
 */
export function poll(question, period, heard, failed) {
  let isOver = false;
  let timer = 0;
  const turn = async () => {
    const began = performance.now();
    try {
      const answer = await question();
      if (!isOver) heard(answer);
    } catch (error) {
      if (!isOver) failed(error);
    }
    if (!isOver) timer = setTimeout(turn, Math.max(period - (performance.now() - began), 10));
  };
  turn();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/**
 * Takes pictures of the arena's page in a headless Chromium, for people to look at.
 *
 *     node --experimental-websocket web/test/shots.mjs OUT [URL]
 *
 * `web/test/mock.py` must be running. For each size and colour scheme a page drives and fires, turns the switch after a while,
 * and is photographed. Whatever a page writes to its console is printed.
 */

import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [out = "shots", base = "http://127.0.0.1:8123/"] = process.argv.slice(2);
/** The number that the mock gives to the page's player. */
const HUMAN = 5;
const only = process.env.ONLY?.split(",");
const long = Number(process.env.SECONDS ?? 20);

/** Waits until there is such an element. */
const wait = (selector) => `new Promise((resolve) => {
  const timer = setInterval(() => document.querySelector("${selector}") && resolve(clearInterval(timer)), 50);
})`;

const SHOTS = [
  { name: "1400-light", width: 1400, height: 800 },
  { name: "1400-dark", width: 1400, height: 800, scheme: "dark" },
  { name: "800-light", width: 800, height: 1000 },
  { name: "360-light", width: 360, height: 740, ratio: 2, isTouch: true, isWhole: true },
  { name: "360-dark", width: 360, height: 740, ratio: 2, isTouch: true, scheme: "dark", isWhole: true },
  { name: "landscape", width: 740, height: 360, ratio: 2, isTouch: true },
  { name: "tip", width: 1000, height: 800, act: "document.querySelector('[data-term=spread]').click()" },
  { name: "total", width: 1400, height: 800, act: "document.querySelector('input[value=total]').click()" },
  { name: "focus", width: 1400, height: 800, act: "document.querySelector('button.who').click()" },
  { name: "hit", width: 1400, height: 800, act: wait("#feed li") },
  { name: "out", width: 1000, height: 800, act: wait("#wait:not([hidden])") },
  { name: "watch", width: 1400, height: 800, query: "?mock&watch" },
  ...["clock", "lost", "over", "refused"].map((state) => (
    { name: `state-${state}`, width: 1000, height: 800, query: `?mock=${state}`, seconds: 3 })),
  { name: "state-alone", width: 1000, height: 800, query: "?", seconds: 3 },
  { name: "state-unsupported", width: 360, height: 740, query: "?", seconds: 3, before: "delete globalThis.WebTransport" },
];

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

class Page {
  static async open(port) {
    const target = await (await fetch(`http://127.0.0.1:${port}/json/new?about:blank`, { method: "PUT" })).json();
    const page = new Page();
    page.socket = new WebSocket(target.webSocketDebuggerUrl);
    page.waiting = new Map();
    page.printed = new Set();
    page.count = 0;
    page.socket.addEventListener("message", ({ data }) => page.hear(JSON.parse(data)));
    await new Promise((resolve) => page.socket.addEventListener("open", resolve));
    return page;
  }

  hear({ id, result, error, method, params }) {
    if (id) {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (error) reject(new Error(error.message));
      else resolve(result);
    } else if (method === "Runtime.consoleAPICalled") {
      this.print("console", params.type, ...params.args.map(({ value, description }) => value ?? description));
    } else if (method === "Runtime.exceptionThrown") {
      this.print("thrown", params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    } else if (method === "Log.entryAdded") {
      this.print("log", params.entry.level, params.entry.text, params.entry.url ?? "");
    }
  }

  /** Once is enough. */
  print(...words) {
    const line = `  ${words.join(" ")}`;
    if (!this.printed.has(line)) console.log(line);
    this.printed.add(line);
  }

  ask(method, params = {}) {
    this.count += 1;
    const id = this.count;
    this.socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  async value(expression) {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails: thrown } = await this.ask("Runtime.evaluate", options);
    if (thrown) throw new Error(thrown.exception?.description ?? thrown.text);
    return result.value;
  }

  /** Two thumbs: one drives to the upper right, the other fires. */
  async touch() {
    const middle = (id) => this.value(`(({ x, y, width, height }) => [x + width / 2, y + height / 2])(
      document.getElementById("${id}").getBoundingClientRect())`);
    const [[x, y], [fireX, fireY]] = [await middle("stick"), await middle("trigger")];
    const touchPoints = [{ x: x + 30, y: y - 30, id: 1 }, { x: fireX, y: fireY, id: 2 }];
    await this.ask("Input.dispatchTouchEvent", { type: "touchStart", touchPoints });
  }

  key(type, code, key = code) {
    return this.ask("Input.dispatchKeyEvent", { type, code, key });
  }
}

/** Where the page's player is, as the mock was told. */
async function whereabouts() {
  const { entities } = await (await fetch(new URL("/api/arena/watch", base))).json();
  return entities?.find(({ entity }) => entity === HUMAN)?.vector.position;
}

async function shoot(port, shot) {
  const { name, width, height, ratio = 1, scheme = "light", isTouch = false, isWhole = false } = shot;
  const { query = "?mock", seconds = long, before, act } = shot;
  console.log(name);
  const page = await Page.open(port);
  for (const domain of ["Page", "Runtime", "Log"]) await page.ask(`${domain}.enable`);
  await page.ask("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: ratio, mobile: isTouch });
  await page.ask("Emulation.setTouchEmulationEnabled", { enabled: isTouch, maxTouchPoints: 2 });
  const features = [{ name: "prefers-color-scheme", value: scheme }];
  if (isTouch) features.push({ name: "pointer", value: "coarse" });
  await page.ask("Emulation.setEmulatedMedia", { features });
  if (before) await page.ask("Page.addScriptToEvaluateOnNewDocument", { source: before });
  await page.ask("Page.navigate", { url: base + query });
  await pause(2);
  if (seconds > 3) {
    await fetch(new URL("/api/arena/policy", base), { method: "POST", body: JSON.stringify({ choice: "base" }) });
    const from = await whereabouts();
    if (isTouch) await page.touch();
    else await page.key("keyDown", "ArrowUp");
    await pause(seconds * 0.4);
    await page.value("document.querySelector('input[value=even]').click()");
    if (!isTouch) {
      await page.key("keyDown", "ArrowLeft");
      await page.key("keyDown", "Space", " ");
    }
    await pause(seconds * 0.6);
    const to = await whereabouts();
    if (from && to) console.log(`  driven by ${Math.hypot(to[0] - from[0], to[1] - from[1]).toFixed(1)} units`);
  }
  if (act) {
    await page.value(act);
    await pause(1);
  }
  const metrics = isWhole ? await page.ask("Page.getLayoutMetrics") : null;
  const clip = metrics && { x: 0, y: 0, width, height: metrics.cssContentSize.height, scale: 1 };
  const over = await page.value("document.documentElement.scrollWidth - innerWidth");
  if (over > 0) console.log(`  wider than the window by ${over}`);
  const options = { format: "png", captureBeyondViewport: isWhole, ...(clip ? { clip } : {}) };
  const { data } = await page.ask("Page.captureScreenshot", options);
  await writeFile(join(out, `${name}.png`), Buffer.from(data, "base64"));
  // It is gone before it could answer.
  page.ask("Page.close").catch(() => {});
}

await mkdir(out, { recursive: true });
const profile = await mkdtemp(join(tmpdir(), "shots-"));
const port = 9333;
const browser = spawn("chromium", [
  "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", `--user-data-dir=${profile}`,
  `--remote-debugging-port=${port}`, "about:blank",
], { stdio: "ignore" });
try {
  for (let tries = 0; ; tries += 1) {
    await pause(0.5);
    if (await fetch(`http://127.0.0.1:${port}/json/version`).catch(() => null)) break;
    if (tries > 60) throw new Error("chromium does not answer");
  }
  for (const shot of SHOTS) if (!only || only.some((word) => shot.name.includes(word))) await shoot(port, shot);
} finally {
  browser.kill();
  await pause(1);
  await rm(profile, { recursive: true, force: true });
}

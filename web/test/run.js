/** Runs all tests and summarizes them in plain text. */

import { arenaTests } from "./arena.js";
import { assert, runAll, test } from "./harness.js";
import { clockTests } from "./clock.js";
import { sendingTests } from "./sending.js";
import { receivingTests } from "./receiving.js";
import { objectTests } from "./objects.js";
import { transportTests } from "./transport.js";
import { syncTests } from "./sync.js";
import { motionTests, wireTests } from "./vectors.js";

/** @param {(path: string) => Promise<string>} load reads a file of the repository */
export async function run(load) {
  wireTests(JSON.parse(await load("vectors/wire.json")), JSON.parse(await load("vectors/sync-ms.json")));
  const motion = JSON.parse(await load("vectors/motion.json"));
  motionTests(motion);
  clockTests();
  receivingTests();
  sendingTests();
  syncTests(JSON.parse(await load("vectors/smc.json")));
  objectTests(JSON.parse(await load("vectors/objects.json")));
  transportTests();
  arenaTests(motion);
  const [guide, example] = [await load("docs/browser.md"), await load("web/example/index.html")];
  test("the example in the documentation is the real one, and short", () => {
    assert(guide.includes("```html\n" + example + "```\n"), "docs/browser.md differs from web/example/index.html");
    assert(example.split("\n").length <= 61, "the example has more than 60 lines");
  });
  const results = await runAll();
  const failed = results.filter(({ failure }) => failure !== null);
  const lines = failed.map(({ name, failure }) => `FAILED: ${name}\n${failure}`);
  const verdict = failed.length === 0 ? "passed" : "failed";
  return { verdict, text: [`${verdict}: ${results.length - failed.length} of ${results.length} tests`, ...lines].join("\n\n") };
}

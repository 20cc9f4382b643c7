/** Runs all tests and writes a plain summary into the document. */

import { parseGreeting } from "../client/connection.js";
import { Closed } from "../client/reason.js";
import { assert, equal, runAll, test, unhex } from "./check.js";
import { clockTests } from "./clock.js";
import { owningTests } from "./owning.js";
import { receivingTests } from "./receiving.js";
import { motionTests, wireTests } from "./vectors.js";

function transportTests() {
  test("a greeting says who the player is, and nothing else is taken for one", () => {
    equal(parseGreeting(unhex("010380dac409")), { player: 3, tick: 20_000_000 });
    const why = (/** @type {string} */ hex) => {
      try {
        return parseGreeting(unhex(hex)).player;
      } catch (error) {
        return error instanceof Closed ? error.code : error;
      }
    };
    equal(["", "02", "0100", "010001", "01800801", "01038194ebdc03"].map(why), [8, 4, 8, 8, 8, 8]);
  });

  test("close codes have words, and say whether to try again", () => {
    const final = Array.from({ length: 20 }, (_, code) => code).filter((code) => Closed.byRelay(code, "").isFinal);
    equal(final, [1, 3, 4, 6, 10, 11]);
    equal(Closed.byRelay(3, "it expired").message, "the relay closed the connection: it expired");
  });
}

/** @param {(path: string) => Promise<string>} load reads a file of the repository */
export async function run(load) {
  wireTests(JSON.parse(await load("vectors/wire.json")));
  motionTests(JSON.parse(await load("vectors/motion.json")));
  clockTests();
  receivingTests();
  owningTests();
  transportTests();
  const [guide, example] = [await load("docs/browser.md"), await load("web/example/index.html")];
  test("the example of the document is the one that there is, and short", () => {
    assert(guide.includes("```html\n" + example + "```\n"), "docs/browser.md has another one than web/example/index.html");
    assert(example.split("\n").length <= 61, "it has more than 60 lines");
  });
  const results = runAll();
  const failed = results.filter(({ failure }) => failure !== null);
  const lines = failed.map(({ name, failure }) => `FAILED: ${name}\n${failure}`);
  const verdict = failed.length === 0 ? "passed" : "failed";
  return { verdict, text: [`${verdict}: ${results.length - failed.length} of ${results.length} tests`, ...lines].join("\n\n") };
}

/** Tests of the arena's page: rules, game messages, headings and comparisons. */

import { Baseline } from "../arena/history.js";
import { Heading, placeVector, vectorFromJson } from "../arena/motion.js";
import { verdictOf } from "../arena/duels.js";
import { parseUpdate } from "../arena/game-message.js";
import { LocalPlayer } from "../arena/local-player.js";
import { Field, SPEED_MAX, Tank, TURN_RATE_MAX } from "../arena/rules.js";
import { formatChange, formatSigned } from "../arena/format.js";
import { chooseViewers } from "../arena/sights.js";
import { assert, seededRandom, equal, near, test, unhex } from "./harness.js";

const BLOCKS = [[-30, 20, 6, 5], [2, 26, 3, 9], [34, 16, 5, 4], [-8, -4, 4, 4], [26, -14, 7, 4], [-38, -18, 4, 8], [-2, -30, 8, 3]];
const field = () => new Field({ half: [64, 44], blocks: BLOCKS.map(([x, y, w, h]) => ({ middle: [x, y], half: [w, h] })) });

/** A fake session that records what is reported to it. */
function listener() {
  const reports = new Map();
  /** @type {number[][]} */
  const actions = [];
  const own = (local) => ({ move: (state) => reports.set(local, state), end: () => reports.delete(local) });
  return { player: 7, reports, actions, own, act: (bytes) => actions.push([...bytes]) };
}

/** @param {any} motion motion.json */
export function arenaTests(motion) {
  test("a vector from the HTTP API is placed where Rust places it, within 1e-6, whatever the base", () => {
    let [points, most] = [0, 0];
    for (const { vector, points: path } of motion.paths) {
      for (const base of [0n, BigInt(vector.generated) - 12_345_678_901n]) {
        for (const { at, position: [x, y] } of path) {
          const found = placeVector(vectorFromJson(vector, base), Number(BigInt(at) - base));
          most = Math.max(most, Math.abs(found.x - x), Math.abs(found.y - y));
          points += 1;
        }
      }
    }
    assert(points > 40 && most <= 1e-6, `the largest error of ${points} positions is ${most}`);
  });

  test("shots end at walls and blocks", () => {
    equal(field().stops([60, 0], [68, 0]), 0.5);
    equal(field().stops([60, 0], [63, 0]), null);
    equal(field().stops([-8, 10], [-8, -10]), 0.5, "at the middle block the part");
    equal(field().stops([-8, -4], [-8, -5]), 0, "from inside a block the part");
  });

  test("a tank is always moved to a free place, and stays where it is free", () => {
    const draw = seededRandom(1);
    for (let round = 0; round < 500; round += 1) {
      const at = field().free(400 * draw() - 200, 400 * draw() - 200);
      const again = field().free(...at);
      near(Math.hypot(again[0] - at[0], again[1] - at[1]), 0, 1e-9, `the way out of ${at}`);
    }
  });

  test("a steady turn closes its circle", () => {
    const tank = new Tank(0, 0, 0.3);
    Object.assign(tank, { speed: SPEED_MAX, turnRate: TURN_RATE_MAX });
    const radius = SPEED_MAX / TURN_RATE_MAX;
    for (let step = 0; step < 250; step += 1) tank.step({ speed: SPEED_MAX, turnRate: TURN_RATE_MAX });
    near(Math.hypot(tank.x, tank.y) / radius, 0, 1e-4, "the distance left after a whole turn");
  });

  test("a tank that runs into a wall stops and is not thrown back", () => {
    const tank = new Tank(50, 10, 0);
    for (let step = 0; step < 300; step += 1) {
      tank.step({ speed: SPEED_MAX, turnRate: 0 });
      tank.stayOn(field());
      assert(tank.speed >= 0, "it is not thrown back");
    }
    near(tank.x, 64 - 2.6, 1e-9, "x");
    assert(tank.speed <= 1, `it still drives at ${tank.speed}`);
  });

  test("the referee's updates are parsed to the last byte, and nothing shorter or longer", () => {
    const spawn = unhex("000000000000000c4000000000000000c0000000000000f43f");
    const hit = unhex("010384078428000000000000e03f0000000000002240");
    const scores = unhex("020201" + "00ac02" + "bc050902");
    const [beacon, won] = [unhex("03ac0202"), unhex("04028407")];
    equal(parseUpdate(spawn), { kind: "spawn", position: [3.5, -2], heading: 1.25 });
    equal(parseUpdate(hit), { kind: "hit", victim: 3, shooter: 900, shot: 5124, at: [0.5, 9] });
    equal(parseUpdate(scores).scores, [{ player: 1, hits: 0, losses: 300 }, { player: 700, hits: 9, losses: 2 }]);
    equal(parseUpdate(beacon), { kind: "beacon", duel: 300, light: "fire" });
    equal(parseUpdate(won), { kind: "won", duel: 2, winner: 900 });
    equal(parseUpdate(unhex("03ac0203")), null, "an unknown light");
    for (const whole of [spawn, hit, scores, beacon, won]) {
      for (let length = 0; length < whole.length; length += 1) equal(parseUpdate(whole.subarray(0, length)), null, `${length} bytes`);
      equal(parseUpdate(Uint8Array.of(...whole, 0)), null, "with a trailing byte the update");
    }
  });

  test("each pull of the trigger is an action, loaded or not, and so is each shot of one that is held", () => {
    const session = listener();
    const own = new LocalPlayer(field(), session, { fired() {}, ended() {} });
    own.pull(0);
    own.handleMessage({ kind: "spawn", position: [-60, 8], heading: 0 }, 0);
    own.advance(0, null);
    own.pull(5);
    own.pull(15);
    equal(session.actions, [[1, 0], [1, 1], [1, 0]]);
    equal([...session.reports.keys()], [0, 1], "the shot is reported at once; entities");
    for (let now = 10; now <= 1700; now += 10) own.advance(now, { speed: 0, turnRate: 0, fire: true });
    equal(session.actions.slice(3), [[0, 1]], "a held trigger's actions");
  });

  test("a verdict says who fired sooner, and who would have won by arrival", () => {
    const shot = (player, reaction_ms) => ({ player, reaction_ms });
    const duel = { winner: 1, fastest: 1, without: 2, shots: [shot(1, 220), shot(2, 250.6), shot(3, 240)] };
    equal(verdictOf(duel), { kind: "fair", parts: [1, " fired 31\u00a0ms sooner; by arrival ", 2, " would have won."] });
    equal(verdictOf({ ...duel, without: 1 }), { kind: "plain", parts: [1, " fired 20\u00a0ms before ", 3, "."] });
    equal(verdictOf({ ...duel, winner: 2 }), { kind: "unfair", parts: [2, " won, though ", 1, " fired 31\u00a0ms sooner."] });
    const close = { ...duel, shots: [shot(1, 220), shot(2, 220.4)] };
    equal(verdictOf(close).parts[1], " fired less than 1\u00a0ms sooner; by arrival ");
    equal(verdictOf({ winner: 1, fastest: 1, without: 1, shots: [shot(1, 220)] }).parts, [1, " was the only one to fire."]);
  });

  test("a heading follows the velocity, and a sudden reversal means driving backwards", () => {
    const heading = new Heading(0);
    const follow = (vx, vy) => {
      for (let frame = 0; frame < 60; frame += 1) heading.follow({ vx, vy }, 1 / 60);
      return heading.shown;
    };
    near(follow(10, 10), Math.PI / 4, 1e-9);
    near(follow(-5, -5), Math.PI / 4, 1e-9, "the heading backwards");
    near(follow(0, 0), Math.PI / 4, 1e-9, "the heading at rest");
    near(follow(-20, -20), -0.75 * Math.PI, 1e-9, "the heading when too fast for backwards");
  });

  test("between two steps a tank is reported where it is at that moment", () => {
    const session = listener();
    const own = new LocalPlayer(field(), session, { fired() {}, ended() {} });
    own.handleMessage({ kind: "spawn", position: [-60, 8], heading: 0 }, 0);
    own.advance(0, { speed: SPEED_MAX, turnRate: 0 });
    let before = 0;
    for (let frame = 1; frame <= 300; frame += 1) {
      own.advance(8.3 * frame, { speed: SPEED_MAX, turnRate: 0 });
      const [x] = session.reports.get(0).position;
      // It has reached its top speed by then.
      if (frame > 200) near(x - before, (SPEED_MAX * 8.3) / 1000, 1e-9, "the distance of 8.3 ms");
      before = x;
    }
  });

  test("a shot is loaded, flies, and ends at a wall; a player who was hit has no tank", () => {
    const session = listener();
    const ends = [];
    const own = new LocalPlayer(field(), session, { fired() {}, ended: (x, y) => ends.push([x, y]) });
    own.handleMessage({ kind: "spawn", position: [40, 0], heading: 0 }, 0);
    const fire = { speed: 0, turnRate: 0, fire: true };
    for (let now = 0; now <= 200; now += 10) own.advance(now, fire);
    equal([...session.reports.keys()], [0, 1]);
    for (let now = 210; now <= 500; now += 10) own.advance(now, fire);
    equal([...session.reports.keys()], [0], "what is reported after the wall");
    near(ends[0][0], 64, 1e-9, "the x of its end");
    own.handleMessage({ kind: "hit", victim: 7, shooter: 2, shot: 1026, at: [40, 0] }, 500);
    equal([own.tank, session.reports.size, own.returns], [null, 0, 2500]);
  });

  test("figures are compared with those measured without us, in the same network and with the same players only", () => {
    const baseline = new Baseline();
    const arena = (choice, delay, recent) => ({ choice, sent_per_s: 200, players: [{ player: 1, delay_ms: delay, recent }] });
    const kindIn = (...about) => baseline.baselineFor(arena(...about)).kind;
    baseline.update(0, arena("base", 100, 0.9));
    baseline.update(9000, arena("base", 100, 0.9));
    equal(kindIn("even", 100, 0.4), "none", "before the window is full, the baseline");
    baseline.update(11_000, arena("base", 100, 0.8));
    baseline.update(12_000, arena("base", 100, 1.0));
    baseline.update(13_000, arena("even", 100, 0.4));
    near(baseline.baselineFor(arena("even", 100, 0.4)).errors.get(1), 0.9, 1e-9, "the mean error without us");
    equal(kindIn("base", 100, 0.9), "itself", "without us, the baseline");
    baseline.update(14_000, arena("even", 300, 0.4));
    equal(kindIn("even", 300, 0.4), "none", "in another network, the baseline");
    baseline.update(20_000, arena("base", 300, 1.2));
    baseline.update(31_000, arena("base", 300, 1.2));
    equal(kindIn("even", 300, 0.5), "measured", "after ten seconds without us, the baseline");
    const joined = arena("base", 300, 1.2);
    joined.players.push({ player: 2, delay_ms: 0, recent: 0.2 });
    baseline.update(32_000, joined);
    equal(kindIn("even", 300, 0.5), "none", "with another player, the baseline");
    baseline.update(42_500, joined);
    near(baseline.measured.spread, 0.5, 1e-9, "the spread");
  });

  test("the farthest player is compared with the one at this page, or else with the nearest", () => {
    const player = (number, delay) => ({ player: number, delay_ms: delay });
    const players = [player(1, 200), player(2, 80), player(3, 5), player(4, 0)];
    const numbers = (found) => found && [found.far.player, found.near.player];
    equal(numbers(chooseViewers(players, 4, null)), [1, 4]);
    equal(numbers(chooseViewers(players, 2, null)), [1, 2]);
    equal(numbers(chooseViewers(players, null, null)), [1, 4], "for a spectator the players");
    equal(numbers(chooseViewers(players.slice(3), 4, null)), null, "alone the players");
    const before = chooseViewers(players, 4, null);
    equal(numbers(chooseViewers([player(1, 200), player(2, 203), player(4, 0)], 4, before)), [1, 4], "with hardly any difference the players");
    equal(numbers(chooseViewers([player(1, 200), player(2, 230), player(4, 0)], 4, before)), [2, 4], "with another farthest player the players");
  });

  test("changes are formatted for people", () => {
    equal([formatChange(0.01, 0.4), formatChange(0.5, 0.4), formatChange(4, 0.1), formatChange(1, 0)], ["\u221298 %", "+25 %", "40 times", null]);
    equal([formatSigned(-0.001), formatSigned(-0.49), formatSigned(0.1), formatSigned(null)], ["0.00", "\u22120.49", "+0.10", "–"]);
  });
}

/** Tests of copies, the arrival log, and acknowledgments. */

import { ArrivalLog, LOG_MAX } from "../client/arrivals.js";
import { COPIES_MAX } from "../client/copies.js";
import { EARLY_BYTES_MAX } from "../client/peer.js";
import { assert, seededRandom, equal, near, test } from "./harness.js";
import { MS, TestRoom, TICK } from "./relay.js";

/** @param {number} seq */
const arrival = (seq) => ({ entity: 5, seq, at: BigInt(seq), nonce: seq });
/** A size that fits any number of arrivals. */
const WIDE = 100_000;

/**
 * Returns the arrival numbers that frames report.
 * @param {import("../client/wire.js").FeedbackFrame[]} frames
 */
const numbers = (frames) => frames.flatMap(({ first, arrivals }) => arrivals.map((_, place) => Number(first) + place));

/**
 * @param {number} from
 * @param {number} to
 */
const range = (from, to) => Array.from({ length: to - from }, (_, place) => from + place);

function logTests() {
  test("an acknowledgment holds what is new, the content of the three before, and at least the last eight arrivals", () => {
    const log = new ArrivalLog();
    for (const seq of range(0, 10)) log.note(arrival(seq), 0);
    equal(numbers(log.acknowledge(WIDE)), range(0, 10));
    for (const [from, to] of [[10, 30], [30, 50], [50, 70]]) {
      for (const seq of range(from, to)) log.note(arrival(seq), 0);
      equal(numbers(log.acknowledge(WIDE)), range(0, to));
    }
    log.note(arrival(70), 0);
    equal(numbers(log.acknowledge(WIDE)), range(10, 71), "arrivals without those of the fourth before");
    for (const seq of range(71, 74)) {
      log.note(arrival(seq), 0);
      log.acknowledge(WIDE);
    }
    log.note(arrival(74), 0);
    equal(numbers(log.acknowledge(WIDE)), range(67, 75), "arrivals, at least the last eight,");
  });

  test("confirmed arrivals leave the log, and the rest is repeated in time, less and less often", () => {
    const log = new ArrivalLog();
    for (const seq of range(0, 20)) log.note(arrival(seq), 0);
    equal(log.repeatAt, 1000 * MS, "the timeout before a round trip is known");
    equal(log.confirm({ next: 5, stamp: 0, held: 10 * MS, hole: false }, 110 * MS), false);
    equal(log.length, 15);
    equal(log.roundTrip.mean, 100 * MS, "the round trip, now - stamp - held,");
    equal(log.repeatAt, 610 * MS, "the timeout, mean + 4 deviations + 400 ms,");
    equal(numbers(log.repeat(610 * MS, WIDE)), range(5, 20));
    equal(log.repeatAt, 1610 * MS, "the doubled timeout");
    log.repeat(1610 * MS, WIDE);
    equal(log.repeatAt, 3610 * MS, "the longest timeout");
    log.confirm({ next: 20, stamp: 0, held: 0, hole: false }, 3700 * MS);
    equal([log.length, log.repeatAt], [0, Infinity]);
  });

  test("a hole is repaired at once, 1024 arrivals at a time, and not twice within a round trip", () => {
    const log = new ArrivalLog();
    for (const seq of range(0, 3000)) log.note(arrival(seq), 0);
    const hole = { next: 10, stamp: 0, held: 0, hole: true };
    equal(log.confirm(hole, 100 * MS), true);
    equal(numbers(log.repair(WIDE)), range(10, 1034));
    equal(log.confirm(hole, 101 * MS), true, "while there is more to repair, it");
    equal(numbers(log.repair(WIDE)), range(1034, 2058));
    log.confirm(hole, 102 * MS);
    equal(numbers(log.repair(WIDE)), range(2058, 3000));
    equal(log.confirm(hole, 103 * MS), false, "with all of it in flight, it");
    equal(log.confirm({ ...hole, next: 3 }, 104 * MS), false, "for an outdated confirmation, it");
    equal(log.confirm(hole, 2000 * MS), true, "after a round trip, it");
    equal(numbers(log.repair(WIDE)), range(10, 1034));
  });

  test("beyond its limit the log drops the oldest arrivals and reports the new start", () => {
    const log = new ArrivalLog();
    for (const seq of range(0, LOG_MAX + 100)) log.note(arrival(seq), 0);
    equal([log.length, log.dropped], [LOG_MAX, 100]);
    const [frame] = log.acknowledge(WIDE);
    equal([frame.oldest, frame.first, frame.arrivals[0].seq], [100n, 100n, 100]);
    log.confirm({ next: 2 ** 60, stamp: 0, held: 0, hole: false }, 1);
    equal(log.length, 0, "the length after everything is confirmed");
  });

  test("frames fit the datagram even if every arrival needs a run of its own", () => {
    const room = TestRoom.fixed();
    room.hasClock = false;
    for (const entity of range(0, 200)) room.introduce(2 ** 31 + entity, 9e8, 9e8);
    room.run(room.now + 2 * TICK);
    equal(numbers(room.frames("feedback")).slice(0, 200), range(0, 200));
    for (const { bytes } of room.sent) assert(bytes <= 1000, `${bytes} bytes in a datagram`);
  });
}

function copyTests() {
  test("only an introduction makes a copy; vectors that are older, duplicated or of another life change nothing", () => {
    const { copies } = TestRoom.fixed().peer;
    const room = new TestRoom();
    const place = (/** @type {boolean} */ isIntroduction, /** @type {number} */ seq, first = 0) => {
      const fields = room.fields(1029, seq, first);
      const isNoted = copies.handleVector(fields, { ...fields, generated: seq }, isIntroduction);
      return [isNoted, copies.copies.get(1029)?.newest];
    };
    equal(place(false, 3), [false, undefined], "a vector of an unknown entity");
    equal(place(true, 3), [true, 3]);
    equal(place(true, 3), [false, 3], "a duplicate");
    equal(place(false, 7), [true, 7]);
    equal(place(false, 5), [true, 7], "a late one");
    equal(place(false, 5), [false, 7], "a late duplicate");
    equal(place(false, 80), [true, 80]);
    equal(place(false, 17), [true, 80], "63 back");
    equal(place(false, 16), [false, 80], "64 back");
    equal(place(false, 81, 1), [false, 80], "of another life");
    equal(copies.copies.get(1029)?.placed.generated, 80);
    copies.handleEnded(1029);
    equal(place(false, 82), [false, undefined], "one after its end");
    equal(copies.ignored, 6);
    equal([...copies.takeChanges()], [[1029, null]]);
    equal(copies.takeChanges().size, 0);
  });

  test("no more copies are made than allowed", () => {
    const room = TestRoom.fixed();
    for (let entity = 0; entity < COPIES_MAX + 5; entity++) room.introduce(entity, 0);
    equal(room.peer.copies.copies.size, COPIES_MAX);
    equal(room.peer.log.length, COPIES_MAX, "the number of acknowledged arrivals");
  });

  test("an arrival is acknowledged at once, with its nonce, time and number", () => {
    const room = TestRoom.fixed();
    room.now += 5 * MS;
    room.introduce(1029, 4, 4);
    room.drain();
    const [feedback] = room.frames("feedback");
    equal([feedback.oldest, feedback.first, feedback.left], [0n, 0n, room.now]);
    const [{ entity, seq, at, nonce }] = feedback.arrivals;
    equal([entity, seq], [1029, 4]);
    near(Number(at - room.stamp), 0, 100, "its arrival time");
    assert(nonce > 1000, "it does not carry the nonce of the relay's message");
  });

  test("a copy is placed by the session time", () => {
    const room = TestRoom.fixed();
    room.introduce(1029, 7, 7);
    const placed = room.peer.copies.copies.get(1029)?.placed;
    near(placed?.generated ?? NaN, room.peer.clock.session(room.now) ?? NaN, 1100, "its generation time");
    equal(placed?.position, [7, 0, 0]);
  });
}

function channelTests() {
  test("until the session time is known, datagrams hold only clock frames and no stamp", () => {
    const room = new TestRoom();
    room.hasClock = false;
    room.observe(0, { position: [1, 2, 3], velocity: [0, 0, 0], acceleration: [0, 0, 0], turnRate: 0 });
    room.run(100 * MS);
    assert(room.sent.length >= 5, `${room.sent.length} messages`);
    for (const { stamp, frames } of room.sent) equal([stamp, frames.map(({ frame }) => frame)], [null, ["probe"]]);
  });

  test("until then reliable messages wait and are applied in order, and datagrams are dropped", () => {
    const room = new TestRoom();
    room.introduce(1029, 0);
    room.vector(1029, 1);
    room.introduce(2053, 0);
    room.send({ frame: "ended", entity: 1029, last: 0, at: room.stamp });
    equal(room.peer.copies.copies.size, 0);
    room.run(400 * MS);
    equal([...room.peer.copies.copies.keys()], [2053]);
    equal(numbers(room.frames("feedback")).slice(0, 2), [0, 1], "the acknowledged introductions");
  });

  test("a relay that sends too much before that is given up", () => {
    const room = new TestRoom();
    room.hasClock = false;
    for (let bytes = 0; bytes < EARLY_BYTES_MAX; bytes += 80) room.introduce(1029, 0);
    equal(room.peer.isStalled, true);
  });

  test("a message with an unexpected frame is rejected as a whole", () => {
    const room = TestRoom.fixed();
    const vector = { frame: /** @type {const} */ ("vector"), ...room.fields(1029, 1) };
    const introduce = { ...room.fields(1029, 0), frame: /** @type {const} */ ("introduce"), distance: 1, heartbeat: null };
    equal(room.deliver("reliable", introduce, vector)?.reason, "unexpected");
    equal(room.deliver("datagram", introduce)?.reason, "unexpected");
    equal(room.deliver("datagram", { frame: "feedback", oldest: 0n, first: 0n, arrivals: [] })?.reason, "unexpected");
    equal(room.peer.copies.copies.size, 0);
    equal(room.peer.rejected, { unexpected: 3 });
    equal(room.peer.handleMessage(room.now, "datagram", new Uint8Array([2]))?.reason, "version");
  });

  test("bytes from the relay never throw, whatever they are", () => {
    const draw = seededRandom(5);
    const room = TestRoom.fixed();
    for (let round = 0; round < 20_000; round++) {
      const bytes = Uint8Array.from({ length: Math.floor(draw() * 60) }, () => Math.floor(draw() * 256));
      if (bytes.length > 0 && draw() < 0.9) bytes[0] = 1;
      // Mostly without a stamp or with a valid one, so that frames are parsed.
      if (bytes.length >= 13 && draw() < 0.9) bytes.set([0, 0, 0, 0, 0, 0, 0, draw() < 0.3 ? 0x80 : 0], 5);
      if (bytes.length >= 14 && draw() < 0.8) bytes[13] = [0x14, 0x20, 0x21, 0x22, 0x30, 0x31, 0x40, 0x87][Math.floor(draw() * 8)];
      room.peer.handleMessage(room.now, draw() < 0.5 ? "datagram" : "reliable", bytes);
      if (round % 100 === 0) room.run(room.now + MS);
    }
    assert(Object.values(room.peer.rejected).reduce((sum, count) => sum + count, 0) < 20_000, "every message was rejected");
    room.run(room.now + 1000 * MS);
    assert(room.peer.clock.session(room.now) !== null, "the session time is lost");
  });
}

export function receivingTests() {
  logTests();
  copyTests();
  channelTests();
}

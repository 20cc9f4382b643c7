/** Copies, the log of arrivals, and what is said of it. */

import { ArrivalLog, LOG_MAX } from "../client/arrivals.js";
import { COPIES_MAX } from "../client/copies.js";
import { EARLY_BYTES_MAX } from "../client/peer.js";
import { assert, draws, equal, near, test } from "./check.js";
import { MS, Room, TICK } from "./relay.js";

/** @param {number} seq */
const arrival = (seq) => ({ entity: 5, seq, at: BigInt(seq), nonce: seq });
/** Room for any number of arrivals. */
const WIDE = 100_000;

/**
 * The numbers of arrivals that frames tell of.
 * @param {import("../client/wire.js").FeedbackFrame[]} frames
 */
const numbers = (frames) => frames.flatMap(({ first, arrivals }) => arrivals.map((_, place) => Number(first) + place));

/**
 * @param {number} from
 * @param {number} to
 */
const range = (from, to) => Array.from({ length: to - from }, (_, place) => from + place);

function logTests() {
  test("an acknowledgment says what is new, what the three before it said, and the last eight at least", () => {
    const log = new ArrivalLog();
    for (const seq of range(0, 10)) log.note(arrival(seq), 0);
    equal(numbers(log.acknowledge(WIDE)), range(0, 10));
    for (const [from, to] of [[10, 30], [30, 50], [50, 70]]) {
      for (const seq of range(from, to)) log.note(arrival(seq), 0);
      equal(numbers(log.acknowledge(WIDE)), range(0, to));
    }
    log.note(arrival(70), 0);
    equal(numbers(log.acknowledge(WIDE)), range(10, 71), "without what the fourth before it said");
    for (const seq of range(71, 74)) {
      log.note(arrival(seq), 0);
      log.acknowledge(WIDE);
    }
    log.note(arrival(74), 0);
    equal(numbers(log.acknowledge(WIDE)), range(67, 75), "the last eight");
  });

  test("what is confirmed leaves the log, and the rest is repeated in time, more and more seldom", () => {
    const log = new ArrivalLog();
    for (const seq of range(0, 20)) log.note(arrival(seq), 0);
    equal(log.repeatAt, 1000 * MS, "before a round trip is known");
    equal(log.confirm({ next: 5, stamp: 0, held: 10 * MS, hole: false }, 110 * MS), false);
    equal(log.length, 15);
    equal(log.roundTrip.mean, 100 * MS, "now - stamp - held");
    equal(log.repeatAt, 610 * MS, "mean + 4 deviations + 400 ms");
    equal(numbers(log.repeat(610 * MS, WIDE)), range(5, 20));
    equal(log.repeatAt, 1610 * MS, "twice as long");
    log.repeat(1610 * MS, WIDE);
    equal(log.repeatAt, 3610 * MS, "and at most two seconds");
    log.confirm({ next: 20, stamp: 0, held: 0, hole: false }, 3700 * MS);
    equal([log.length, log.repeatAt], [0, Infinity]);
  });

  test("a hole is filled at once, 1024 arrivals at a time, and not twice within a round trip", () => {
    const log = new ArrivalLog();
    for (const seq of range(0, 3000)) log.note(arrival(seq), 0);
    const hole = { next: 10, stamp: 0, held: 0, hole: true };
    equal(log.confirm(hole, 100 * MS), true);
    equal(numbers(log.repair(WIDE)), range(10, 1034));
    equal(log.confirm(hole, 101 * MS), true, "there is more to fill");
    equal(numbers(log.repair(WIDE)), range(1034, 2058));
    log.confirm(hole, 102 * MS);
    equal(numbers(log.repair(WIDE)), range(2058, 3000));
    equal(log.confirm(hole, 103 * MS), false, "all of it is under way");
    equal(log.confirm({ ...hole, next: 3 }, 104 * MS), false, "it is outdated");
    equal(log.confirm(hole, 2000 * MS), true, "after a round trip");
    equal(numbers(log.repair(WIDE)), range(10, 1034));
  });

  test("the log drops the oldest beyond its limit and says so", () => {
    const log = new ArrivalLog();
    for (const seq of range(0, LOG_MAX + 100)) log.note(arrival(seq), 0);
    equal([log.length, log.dropped], [LOG_MAX, 100]);
    const [frame] = log.acknowledge(WIDE);
    equal([frame.oldest, frame.first, frame.arrivals[0].seq], [100n, 100n, 100]);
    log.confirm({ next: 2 ** 60, stamp: 0, held: 0, hole: false }, 1);
    equal(log.length, 0, "whatever is confirmed");
  });

  test("frames fit the datagram even if no two arrivals came together", () => {
    const room = Room.fixed();
    room.hasClock = false;
    for (const entity of range(0, 200)) room.introduce(2 ** 31 + entity, 9e8, 9e8);
    room.run(room.now + 2 * TICK);
    equal(numbers(room.frames("feedback")).slice(0, 200), range(0, 200));
    for (const { bytes } of room.sent) assert(bytes <= 1000, `${bytes} bytes in a datagram`);
  });
}

function copyTests() {
  test("only an introduction makes a copy; what is older, doubled or of another life changes nothing", () => {
    const { copies } = Room.fixed().peer;
    const room = new Room();
    const place = (/** @type {boolean} */ isIntroduction, /** @type {number} */ seq, first = 0) => {
      const fields = room.fields(1029, seq, first);
      const isNoted = copies.handleVector(fields, { ...fields, generated: seq }, isIntroduction);
      return [isNoted, copies.copies.get(1029)?.newest];
    };
    equal(place(false, 3), [false, undefined], "a vector of nobody");
    equal(place(true, 3), [true, 3]);
    equal(place(true, 3), [false, 3], "the same again");
    equal(place(false, 7), [true, 7]);
    equal(place(false, 5), [true, 7], "a late one is acknowledged, not placed");
    equal(place(false, 5), [false, 7], "and once only");
    equal(place(false, 80), [true, 80]);
    equal(place(false, 17), [true, 80], "63 back");
    equal(place(false, 16), [false, 80], "64 back");
    equal(place(false, 81, 1), [false, 80], "of another life");
    equal(copies.copies.get(1029)?.placed.generated, 80);
    copies.handleEnded(1029);
    equal(place(false, 82), [false, undefined], "after its end");
    equal(copies.ignored, 6);
    equal([...copies.takeChanges()], [[1029, null]]);
    equal(copies.takeChanges().size, 0);
  });

  test("no more copies are made than may be", () => {
    const room = Room.fixed();
    for (let entity = 0; entity < COPIES_MAX + 5; entity++) room.introduce(entity, 0);
    equal(room.peer.copies.copies.size, COPIES_MAX);
    equal(room.peer.log.length, COPIES_MAX, "what is not taken is not acknowledged");
  });

  test("an arrival is acknowledged at once, with its nonce, its time and its number", () => {
    const room = Room.fixed();
    room.now += 5 * MS;
    room.introduce(1029, 4, 4);
    room.drain();
    const [feedback] = room.frames("feedback");
    equal([feedback.oldest, feedback.first, feedback.left], [0n, 0n, room.now]);
    const [{ entity, seq, at, nonce }] = feedback.arrivals;
    equal([entity, seq], [1029, 4]);
    near(Number(at - room.stamp), 0, 100, "when it arrived");
    assert(nonce > 1000, "the nonce of the relay's message");
  });

  test("a copy is placed by the session's time", () => {
    const room = Room.fixed();
    room.introduce(1029, 7, 7);
    const placed = room.peer.copies.copies.get(1029)?.placed;
    near(placed?.generated ?? NaN, room.peer.clock.session(room.now) ?? NaN, 1100, "when it was made");
    equal(placed?.position, [7, 0, 0]);
  });
}

function channelTests() {
  test("before the session's time is known, datagrams have clock frames only and no stamp", () => {
    const room = new Room();
    room.hasClock = false;
    room.observe(0, { position: [1, 2, 3], velocity: [0, 0, 0], acceleration: [0, 0, 0], turnRate: 0 });
    room.run(100 * MS);
    assert(room.sent.length >= 5, `${room.sent.length} messages`);
    for (const { stamp, frames } of room.sent) equal([stamp, frames.map(({ frame }) => frame)], [null, ["probe"]]);
  });

  test("what comes reliably before that waits and is applied in order; datagrams are dropped", () => {
    const room = new Room();
    room.introduce(1029, 0);
    room.vector(1029, 1);
    room.introduce(2053, 0);
    room.say({ frame: "ended", entity: 1029, last: 0, at: room.stamp });
    equal(room.peer.copies.copies.size, 0);
    room.run(400 * MS);
    equal([...room.peer.copies.copies.keys()], [2053]);
    equal(numbers(room.frames("feedback")).slice(0, 2), [0, 1], "both introductions are acknowledged");
  });

  test("a relay that says too much before that is let go", () => {
    const room = new Room();
    room.hasClock = false;
    for (let bytes = 0; bytes < EARLY_BYTES_MAX; bytes += 80) room.introduce(1029, 0);
    equal(room.peer.isStalled, true);
  });

  test("a message with a frame that is not expected is refused as a whole", () => {
    const room = Room.fixed();
    const vector = { frame: /** @type {const} */ ("vector"), ...room.fields(1029, 1) };
    const introduce = { ...room.fields(1029, 0), frame: /** @type {const} */ ("introduce"), distance: 1, heartbeat: null };
    equal(room.hear("reliable", introduce, vector)?.reason, "unexpected");
    equal(room.hear("datagram", introduce)?.reason, "unexpected");
    equal(room.hear("datagram", { frame: "feedback", oldest: 0n, first: 0n, arrivals: [] })?.reason, "unexpected");
    equal(room.peer.copies.copies.size, 0);
    equal(room.peer.rejected, { unexpected: 3 });
    equal(room.peer.handleMessage(room.now, "datagram", new Uint8Array([2]))?.reason, "version");
  });

  test("bytes from the relay never throw, whatever they are", () => {
    const draw = draws(5);
    const room = Room.fixed();
    for (let round = 0; round < 20_000; round++) {
      const bytes = Uint8Array.from({ length: Math.floor(draw() * 60) }, () => Math.floor(draw() * 256));
      if (bytes.length > 0 && draw() < 0.9) bytes[0] = 1;
      // Mostly with a stamp that is none or sane, so that frames are looked at.
      if (bytes.length >= 13 && draw() < 0.9) bytes.set([0, 0, 0, 0, 0, 0, 0, draw() < 0.3 ? 0x80 : 0], 5);
      if (bytes.length >= 14 && draw() < 0.8) bytes[13] = [0x14, 0x20, 0x21, 0x22, 0x30, 0x31, 0x40, 0x87][Math.floor(draw() * 8)];
      room.peer.handleMessage(room.now, draw() < 0.5 ? "datagram" : "reliable", bytes);
      if (round % 100 === 0) room.run(room.now + MS);
    }
    assert(Object.values(room.peer.rejected).reduce((sum, count) => sum + count, 0) < 20_000, "some are taken");
    room.run(room.now + 1000 * MS);
    assert(room.peer.clock.session(room.now) !== null, "the session goes on");
  });
}

export function receivingTests() {
  logTests();
  copyTests();
  channelTests();
}

/** Tests of own entities, the uplink to the relay, and the outbox. */

import { DATAGRAMS_MAX, Outbox, RELIABLE_MAX } from "../client/outbox.js";
import { ENTITIES_MAX, THRESHOLD_DEFAULT } from "../client/owner.js";
import { UNRECORDED_MAX } from "../client/uplink.js";
import { assert, equal, near, test } from "./harness.js";
import { DATAGRAM_MAX, moving, MS, PLAYER, REST, TestRoom, TICK } from "./relay.js";

/** @param {TestRoom} room */
const sendTimes = (room, since = 0) => room.frames("vector").map(({ seq, left }) => [seq, (left - since) / MS]);

/** Longest wait for the end of a tick, in milliseconds. */
const SLACK = TICK / MS + 5;

function ownTests() {
  test("the first vector of a life is introduced reliably, the next ones leave as datagrams when the path strays", () => {
    const room = TestRoom.fixed();
    room.isRecording = true;
    room.observe(2, moving(0, 1), { distance: 0.5, heartbeat: 2e9 });
    const [introduced] = room.frames("introduce");
    equal([introduced.entity, introduced.first, introduced.seq], [2 * 1024 + PLAYER, 0, 0]);
    equal([introduced.distance, introduced.heartbeat, introduced.channel], [0.5, 2_000_000_000n, "reliable"]);
    near(introduced.generated - Number(room.stamp / 1000n), 0, 1.01, "when it was made, in microseconds");
    const since = room.now;
    // It stands still, so it leaves the exported path at one unit per second.
    room.run(since + 1200 * MS, () => room.observe(2, REST));
    equal(sendTimes(room).map(([seq]) => seq), [1]);
    near(sendTimes(room, since)[0][1], 501, SLACK);
  });

  test("a heartbeat makes a vector even if the path is as exported", () => {
    const room = TestRoom.fixed();
    room.isRecording = true;
    const since = room.now;
    room.run(since + 2500 * MS, () => room.observe(0, moving((room.now - since) / 1e9, 1)));
    equal(sendTimes(room, since).map(([seq]) => seq), [1, 2]);
    near(sendTimes(room, since)[0][1], 1001, SLACK);
  });

  test("the entity of a page that falls silent keeps moving as last reported", () => {
    const room = TestRoom.fixed();
    room.isRecording = true;
    room.observe(0, moving(0, 1));
    const since = room.now;
    room.now += 10 * MS;
    room.observe(0, { ...moving(0.02, 1), velocity: [2, 0, 0] });
    equal(sendTimes(room), [], "vectors before it has strayed");
    room.run(since + 1000 * MS);
    // The new speed leaves the exported path by 0.09 after 80 ms more, which is noticed when the silence is.
    const [first] = room.frames("vector");
    near((first.left - since) / MS, 260, SLACK);
    near(first.position[0], 0.02 + 2 * 0.25, 0.01);
    equal(first.velocity, [2, 0, 0]);
    room.run(since + 3500 * MS);
    equal(sendTimes(room).map(([seq]) => seq), [1, 2, 3, 4], "vectors with further heartbeats");
  });

  test("a state of an earlier time is sent with that time", () => {
    const room = TestRoom.fixed();
    const at = room.now;
    room.now += 8 * MS;
    room.peer.observe(room.now, 0, moving(5, 1), { distance: 1, heartbeat: Infinity, kind: "linear" }, at);
    room.drain();
    const [introduced] = room.frames("introduce");
    near(introduced.generated, Number(room.stamp / 1000n) - 8000, 1.01);
    equal(introduced.heartbeat, null);
  });

  test("a life begins above every number used before, and its end is sent reliably", () => {
    const room = TestRoom.fixed();
    room.isRecording = true;
    room.observe(0, REST);
    room.observe(1, REST);
    room.run(room.now + 2100 * MS, () => room.observe(0, REST));
    room.peer.end(room.now, 0);
    room.drain();
    const [ended] = room.frames("ended");
    equal([ended.entity, ended.last, ended.channel], [PLAYER, 2, "reliable"]);
    room.observe(0, REST);
    const before = [...room.frames("vector"), ...room.frames("introduce").slice(0, 2)].map(({ seq }) => seq);
    const anew = room.frames("introduce").at(-1);
    equal([anew?.entity, anew?.first, anew?.seq], [PLAYER, Math.max(...before) + 1, Math.max(...before) + 1]);
    room.peer.end(room.now, 7);
    room.drain();
    equal(room.frames("ended").length, 1, "ends after ending an unknown entity");
  });

  test("states out of range are ignored, and so are entities beyond the limit", () => {
    const room = TestRoom.fixed();
    room.observe(0, moving(NaN, 0));
    room.observe(0, moving(1e10, 0));
    room.observe(0, { ...REST, turnRate: Infinity });
    equal(room.frames("introduce").length, 0);
    for (let local = 0; local < ENTITIES_MAX + 3; local++) room.observe(local, REST);
    equal(room.frames("introduce").length, ENTITIES_MAX);
  });
}

function uplinkTests() {
  test("a vector is repeated until it is recorded: after 500 ms, then by the round trip, less and less often", () => {
    const room = TestRoom.fixed();
    room.observe(0, REST, { heartbeat: 1e12 });
    room.now += 100 * MS;
    room.observe(0, moving(1, 0));
    const since = room.now;
    room.run(since + 8000 * MS);
    const times = sendTimes(room, since).map(([, left]) => left);
    for (const [place, expected] of [0, 500, 1500, 3500, 5500, 7500].entries()) near(times[place], expected, SLACK);
    const recorded = { frame: /** @type {const} */ ("recorded"), entity: PLAYER, contiguous: 1, newest: 1 };
    room.send(recorded);
    equal([room.peer.uplink.unrecordedCount, room.peer.uplink.roundTrip.samples], [0, 0], "repeated vectors give no sample, and");
    room.observe(0, moving(2, 0));
    room.run(room.now + 30 * MS);
    room.send({ ...recorded, contiguous: 2, newest: 2 });
    near(room.peer.uplink.roundTrip.mean, 30 * MS, MS);
    const later = room.now;
    room.sent = [];
    room.observe(0, moving(3, 0));
    room.run(later + 1000 * MS);
    near(sendTimes(room, later)[1][1], 80, SLACK, "mean + 4 deviations + 50 ms");
  });

  test("a record settles what is up to `contiguous`, and `newest`", () => {
    const room = TestRoom.fixed();
    room.observe(0, REST);
    for (let seq = 1; seq <= 6; seq++) {
      room.now += MS;
      room.observe(0, moving(seq, 0));
    }
    room.send({ frame: "recorded", entity: PLAYER, contiguous: 2, newest: 5 });
    equal(room.peer.uplink.unrecordedCount, 3);
    room.send({ frame: "recorded", entity: 1024 + PLAYER, contiguous: 9, newest: 9 });
    equal(room.peer.uplink.unrecordedCount, 3, "unrecorded after a record of another entity");
  });

  test("with too many unrecorded vectors every entity is introduced again, with its newest vector and the same first number", () => {
    const room = TestRoom.fixed();
    room.observe(0, REST);
    for (let seq = 1; seq <= UNRECORDED_MAX; seq++) {
      room.now += 0.1 * MS;
      room.observe(0, moving(seq, 0));
    }
    equal(room.frames("introduce").length, 1);
    room.now += MS;
    room.observe(0, moving(-1, 0));
    const anew = room.frames("introduce").at(-1);
    equal([anew?.first, anew?.seq, anew?.position], [0, UNRECORDED_MAX + 1, [-1, 0, 0]]);
    equal(room.peer.uplink.unrecordedCount, 0);
  });

  test("a vector repeated 64 times is given up, and the entity introduced again", () => {
    const room = TestRoom.fixed();
    room.observe(0, REST, { heartbeat: 1e13 });
    room.now += MS;
    room.observe(0, moving(1, 0));
    room.run(room.now + 140_000 * MS, () => {});
    equal(room.frames("introduce").length, 2);
    equal(room.peer.uplink.unrecordedCount, 0);
  });

  test("after a reconnection every entity is introduced again, except those that ended meanwhile", () => {
    const room = TestRoom.fixed();
    room.isRecording = true;
    room.observe(0, REST);
    room.observe(1, REST);
    room.run(room.now + 1100 * MS, () => room.observe(0, REST));
    room.introduce(1029, 0);
    room.peer.leave(room.now);
    equal(room.peer.copies.copies.size, 0, "copies while disconnected");
    room.peer.end(room.now, 1);
    room.sent = [];
    room.peer.join(room.now, DATAGRAM_MAX);
    room.run(room.now + 400 * MS);
    equal(room.frames("introduce").map(({ entity, first, seq }) => [entity, first, seq]), [[PLAYER, 0, 1]]);
  });
}

function outboxTests() {
  test("the first datagram leaves at once, frames within a tick of it together at the tick's end", () => {
    const room = TestRoom.fixed();
    room.isRecording = true;
    for (let local = 0; local < 3; local++) room.observe(local, REST);
    room.run(room.now + 3 * TICK);
    room.hasClock = false;
    room.sent = [];
    const since = room.now;
    for (let local = 0; local < 3; local++) {
      room.now += MS;
      room.observe(local, moving(1, 0));
    }
    room.run(since + 40 * MS);
    const datagrams = room.sent.filter(({ frames }) => frames.some(({ frame }) => frame === "vector"));
    equal(datagrams.map(({ frames }) => frames.filter(({ frame }) => frame === "vector").length), [1, 2]);
    near(datagrams[1].at - datagrams[0].at, TICK, MS);
  });

  test("no two datagrams leave within a tick as long as everything fits", () => {
    const room = TestRoom.fixed();
    room.isRecording = true;
    room.introduce(1029, 0);
    let seq = 0;
    room.run(room.now + 2000 * MS, () => {
      if (room.now % (5 * MS) !== 0) return;
      seq += 1;
      room.observe(0, moving(seq, 0));
      room.vector(1029, seq);
    });
    const times = room.sent.filter(({ channel }) => channel === "datagram").map(({ at }) => at);
    const gaps = times.slice(1).map((at, place) => at - times[place]);
    assert(Math.min(...gaps) >= TICK, `${Math.min(...gaps)} ns between two datagrams`);
    assert(times.length > 80, `${times.length} datagrams in two seconds`);
  });

  test("frames that do not fit into one datagram leave in several, none of which is too long", () => {
    const room = TestRoom.fixed();
    for (let local = 0; local < 60; local++) room.observe(local, REST);
    room.run(room.now + 3 * TICK);
    room.sent = [];
    for (let local = 0; local < 60; local++) room.peer.observe(room.now, local, moving(1, 0), THRESHOLD_DEFAULT);
    room.run(room.now + TICK);
    equal(room.frames("vector").length, 60);
    for (const { bytes } of room.sent) assert(bytes <= DATAGRAM_MAX, `${bytes} bytes`);
  });

  test("every message has a nonce of its own", () => {
    const room = TestRoom.fixed();
    room.run(room.now + 3000 * MS, () => room.observe(0, moving(room.now / 1e7, 0)));
    const nonces = new Set(room.sent.map(({ nonce }) => nonce));
    equal(nonces.size, room.sent.length);
  });

  test("of waiting datagrams the oldest is dropped; a relay that does not read is given up", () => {
    const outbox = new Outbox(TICK, () => 1);
    outbox.join(200);
    outbox.setNow(0, 1000n);
    const frame = { frame: /** @type {const} */ ("recorded"), entity: 1, contiguous: 2, newest: 3 };
    const framesPerDatagram = Math.floor(outbox.framesMax / 4);
    for (let count = 0; count < framesPerDatagram * (DATAGRAMS_MAX + 11); count++) outbox.datagram(frame);
    equal(outbox.dropped, 10);
    for (let count = 0; count < RELIABLE_MAX; count++) outbox.reliable(frame);
    equal(outbox.isStalled, false);
    outbox.reliable(frame);
    equal(outbox.isStalled, true);
    outbox.join(200);
    equal([outbox.isStalled, outbox.takeReliable()], [false, undefined], "after it reconnected");
  });
}

export function sendingTests() {
  ownTests();
  uplinkTests();
  outboxTests();
}

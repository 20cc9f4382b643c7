/** Tests of connections, over a fake transport made of streams. */

import { parseGreeting } from "../client/connection.js";
import { Closed } from "../client/closed.js";
import { RelaySession } from "../client/session.js";
import { emit, parse } from "../client/wire.js";
import { assert, equal, test, unhex } from "./harness.js";

const PREAMBLE = [0x45, 0x56, 0x4b, 1];
/** Player 3, tick of 20 ms. */
const GREETING = [...PREAMBLE, 6, 0, ...unhex("010380dac409")];

/** What a relay does with a new connection. @typedef {(transport: FakeTransport) => void} Script */

/** A WebTransport session without a network. The test plays the other end. */
class FakeTransport {
  /** Scripts of the next connections, in order; the last one serves all others. @type {Script[]} */
  static scripts = [];
  /** @type {FakeTransport[]} */
  static all = [];

  ready = Promise.resolve();
  /** How this side closed it. @type {{ closeCode: number, reason: string } | null} */
  closedByUs = null;
  /** @type {Uint8Array[]} */
  datagramsSent = [];
  /** @type {number[]} */
  streamSent = [];
  /** @type {ReadableStreamDefaultController<Uint8Array>} */
  stream = /** @type {any} */ (null);
  /** @type {ReadableStreamDefaultController<Uint8Array>} */
  coming = /** @type {any} */ (null);
  onDatagram = (/** @type {Uint8Array} */ bytes) => void this.datagramsSent.push(bytes);

  /** @param {string} url */
  constructor(url) {
    this.url = new URL(url);
    this.closed = new Promise((resolve, reject) => {
      this.end = resolve;
      this.breakOff = reject;
    });
    this.datagrams = {
      maxDatagramSize: 1000,
      readable: new ReadableStream({ start: (controller) => void (this.coming = controller) }),
      writable: new WritableStream({ write: (bytes) => this.onDatagram(bytes) }),
    };
    FakeTransport.all.push(this);
    const script = FakeTransport.scripts.length > 1 ? FakeTransport.scripts.shift() : FakeTransport.scripts[0];
    this.script = /** @type {Script} */ (script);
  }

  async createBidirectionalStream() {
    const readable = new ReadableStream({ start: (controller) => void (this.stream = controller) });
    const writable = new WritableStream({ write: (bytes) => void this.streamSent.push(...bytes) });
    queueMicrotask(() => this.script(this));
    return { readable, writable };
  }

  /** @param {{ closeCode: number, reason: string }} info */
  close(info) {
    this.closedByUs ??= info;
    this.end?.(info);
  }

  /** @param {readonly number[]} bytes */
  say(bytes) {
    this.stream.enqueue(Uint8Array.from(bytes));
  }
}

/** Lets the player in and answers its probes. @type {Script} */
function letIn(transport) {
  transport.say(GREETING);
  transport.onDatagram = (bytes) => {
    transport.datagramsSent.push(bytes);
    const arrived = BigInt(Math.round(performance.now() * 1e6));
    for (const frame of parse(bytes).frames) {
      if (frame.frame !== "probe") continue;
      const echo = { frame: /** @type {const} */ ("echo"), probe: frame.sent, arrived, held: 0n };
      transport.coming.enqueue(emit({ nonce: 1, stamp: arrived, frames: [echo] }));
    }
  };
}

/**
 * Plays a session against scripts until `isDone` returns true, for at most half a minute.
 * @param {Script[]} scripts
 * @param {(session: RelaySession, statuses: string[]) => boolean} isDone
 * @param {(bytes: Uint8Array) => void} [onMessage]
 */
async function play(scripts, isDone, onMessage) {
  const real = globalThis.WebTransport;
  FakeTransport.scripts = scripts;
  FakeTransport.all = [];
  globalThis.WebTransport = /** @type {any} */ (FakeTransport);
  /** @type {string[]} */
  const statuses = [];
  const target = { url: "https://relay.example:4433/arena", token: "a+b", seat: 2, hashes: [] };
  const clock = { now: () => Math.round(performance.now() * 1e6), grain: 1e6 };
  const session = new RelaySession(target, clock, () => {
    if (session.state.status !== statuses.at(-1)) statuses.push(session.state.status);
  }, onMessage);
  const over = session.run();
  for (let look = 0; look < 3000 && !isDone(session, statuses); look++) await new Promise((resolve) => setTimeout(resolve, 10));
  const state = session.state;
  session.leave();
  await over;
  globalThis.WebTransport = real;
  return { session, state, statuses, transports: FakeTransport.all };
}

const isOver = (/** @type {RelaySession} */ session) => session.state.status === "over";

export function transportTests() {
  test("a greeting says who the player is, and nothing else passes for one", () => {
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

  test("close codes have words, and tell whether to retry", () => {
    const final = Array.from({ length: 20 }, (_, code) => code).filter((code) => Closed.byRelay(code, "").isFinal);
    equal(final, [1, 3, 4, 6, 10, 11]);
    equal(Closed.byRelay(3, "it expired").message, "the relay closed the connection: it expired");
  });

  test("a player presents its token and seat, is greeted, and finds the session time", async () => {
    const { statuses, state, transports } = await play([letIn], ({ state }) => state.status === "playing");
    equal([statuses, state.player], [["syncing", "playing", "over"], 3]);
    const [{ url, streamSent, closedByUs }] = transports;
    equal([url.searchParams.get("token"), url.searchParams.get("seat")], ["a+b", "2"]);
    equal(streamSent, PREAMBLE, "the first bytes sent");
    equal(closedByUs?.closeCode, 0, "the close code");
  });

  test("a greeting and messages may arrive byte by byte", async () => {
    const introduce = { entity: 1029, first: 0, seq: 0, kind: /** @type {const} */ ("linear"), generated: 0, turnRate: 0, distance: 1 };
    const still = /** @type {[number, number, number]} */ ([0, 0, 0]);
    const frame = { frame: /** @type {const} */ ("introduce"), ...introduce, heartbeat: null, position: still, velocity: still, acceleration: still };
    const message = emit({ nonce: 7, stamp: 1000n, frames: [frame] });
    /** @type {Script} */
    const dribble = (transport) => {
      const { say } = transport;
      transport.say = (bytes) => bytes.forEach((byte) => say.call(transport, [byte]));
      letIn(transport);
      transport.say([message.length, 0, 0, 0, ...message]);
    };
    const { session } = await play([dribble], (session) => (session.peer?.copies.copies.size ?? 0) > 0);
    equal(session.peer?.log.length, 1, "the number of arrivals to acknowledge");
    equal(session.peer?.rejected, {});
  });

  test("game messages are delivered whole and in order, even before the session time is known", async () => {
    const says = [[0x47], [0x47, 1, 2, 3], [0x47, 0xff]];
    const bytes = says.flatMap((message) => [message.length, 0, 0, 0, ...message]);
    /** @type {Script} */
    const silent = (transport) => transport.say([...GREETING, ...bytes]);
    /** @type {Uint8Array[]} */
    const heard = [];
    const { state, session } = await play([silent], () => heard.length === 3, (message) => heard.push(message));
    equal(heard.map((message) => [...message]), says);
    equal(heard.map(({ buffer }) => buffer.byteLength), [1, 4, 2], "the sizes of their buffers");
    equal([state.status, session.peer?.rejected], ["syncing", {}]);
  });

  test("a game message leaves unchanged; without a connection it is lost", async () => {
    const said = Uint8Array.of(0x47, 5, 6);
    const { transports } = await play([letIn], (session) => {
      session.send(said);
      return session.state.status === "playing";
    });
    const [{ streamSent }] = transports;
    const once = [3, 0, 0, 0, ...said];
    assert(streamSent.length > PREAMBLE.length, "nothing was sent");
    equal(streamSent.slice(PREAMBLE.length).every((byte, place) => byte === once[place % once.length]), true, "whether nothing else was sent");
  });

  test("a player who is rejected is told why, once", async () => {
    const refuse = (/** @type {FakeTransport} */ transport) => transport.end?.({ closeCode: 3, reason: "the token expired" });
    const { state, transports } = await play([refuse], isOver);
    equal([state.status, state.words, state.code], ["over", "the relay closed the connection: the token expired", 3]);
    equal(transports.length, 1);
  });

  test("a connection that breaks is retried as the same player", async () => {
    const drop = (/** @type {FakeTransport} */ transport) => {
      letIn(transport);
      setTimeout(() => transport.breakOff?.(new Error("gone")), 50);
    };
    const { statuses, transports, session } = await play([drop, drop, letIn], ({ state }) => state.status === "playing");
    equal(statuses, ["syncing", "lost", "syncing", "lost", "syncing", "playing", "over"]);
    equal(transports.map(({ url }) => url.search), Array(3).fill(transports[0].url.search));
    equal(session.peer?.player, 3);
  });

  test("a player who was replaced does not come back", async () => {
    const replace = (/** @type {FakeTransport} */ transport) => {
      letIn(transport);
      setTimeout(() => transport.end?.({ closeCode: 1, reason: "" }), 50);
    };
    const { state, transports } = await play([replace], isOver);
    equal([state.status, state.code, transports.length], ["over", 1, 1]);
  });

  test("a version mismatch ends the session, on the stream and in a message", async () => {
    const other = await play([(transport) => transport.say([0x45, 0x56, 0x4b, 2])], isOver);
    equal([other.state.code, other.transports[0].closedByUs?.closeCode], [4, 4]);
    const later = await play([(transport) => transport.say([...GREETING, 1, 0, 0, 0, 2])], isOver);
    equal([later.state.code, later.transports[0].closedByUs?.closeCode], [4, 4]);
    assert(later.state.words.includes("version 2"), later.state.words);
  });

  test("a game message in a datagram is delivered, too", async () => {
    const datagram = (/** @type {FakeTransport} */ transport) => {
      transport.say(GREETING);
      setTimeout(() => transport.coming.enqueue(Uint8Array.of(0x47, 1)), 20);
    };
    /** @type {Uint8Array[]} */
    const heard = [];
    const { state } = await play([datagram], () => heard.length === 1, (message) => heard.push(message));
    equal([heard.map((message) => [...message]), state.status], [[[0x47, 1]], "syncing"]);
  });

  test("a message that is too long closes the connection, which is then retried", async () => {
    const long = (/** @type {FakeTransport} */ transport) => transport.say([...GREETING, 1, 0, 1, 0]);
    const { statuses, transports } = await play([long, letIn], ({ state }) => state.status === "playing");
    equal(transports[0].closedByUs?.closeCode, 7);
    equal(statuses.slice(0, 3), ["syncing", "lost", "syncing"]);
  });

  test("an invalid address and a browser without WebTransport are explained in words", async () => {
    const clock = { now: () => 0, grain: 1 };
    const target = { url: "relay.example", token: "", seat: null, hashes: [] };
    const real = globalThis.WebTransport;
    globalThis.WebTransport = /** @type {any} */ (FakeTransport);
    const wrong = new RelaySession(target, clock, () => {});
    await wrong.run();
    assert(wrong.state.words.includes("not an address"), wrong.state.words);
    globalThis.WebTransport = /** @type {any} */ (undefined);
    const none = new RelaySession({ ...target, url: "https://relay.example/" }, clock, () => {});
    await none.run();
    assert(none.state.words.includes("no WebTransport"), none.state.words);
    globalThis.WebTransport = real;
  });
}

/**
 * One WebTransport connection to a relay: its datagrams, its reliable stream, and how it ends (docs/WIRE.md,
 * "Transport").
 *
 * It queues next to nothing: whatever the browser does not accept yet stays in the machine's bounded queues.
 */

import { Reader, Rejected } from "./bytes.js";
import { Closed, DONE, MESSAGE_TOO_LONG, VERSION_MISMATCH, PROTOCOL_VIOLATION } from "./closed.js";
import { MESSAGE_MAX } from "./wire.js";

/** `EVK` and the version of the reliable stream. */
const PREAMBLE = new Uint8Array([0x45, 0x56, 0x4b, 1]);
/** Longest greeting, in bytes. */
const GREETING_MAX = 4096;
/** How long opening may take, and how long the close reason may take after a stream's end, in milliseconds. */
const OPENING_MAX = 5000;
const CLOSE_REASON_WAIT_MAX = 2000;
/** Datagrams that the browser may queue for us, on their way out and until we read them. */
const DATAGRAMS_OUTGOING_MAX = 16;
const DATAGRAMS_INCOMING_MAX = 256;
/** The relay does not probe for larger packets, so no datagram is longer, whatever the browser claims. */
const DATAGRAM_MAX = 1200;
/** Version of the greeting. */
const VERSION = 1;
const PLAYERS_MAX = 1024;
const TICK_MAX = 1_000_000_000n;

/**
 * Where to connect, and as whom.
 * @typedef {object} Target
 * @property {string} url
 * @property {string} token
 * @property {number | null} seat
 * @property {BufferSource[]} hashes SHA-256 of certificates to trust besides those the browser trusts
 */

/**
 * First message of the relay: this player's number, and the room's tick in nanoseconds.
 * @typedef {{ player: number, tick: number }} Greeting
 */

/**
 * @typedef {object} Handlers
 * @property {(bytes: Uint8Array) => void} onDatagram
 * @property {(bytes: Uint8Array) => void} onMessage a message arrived on the reliable stream
 * @property {() => void} onReady sending is possible again
 */

/** Reassembles the length-prefixed messages of a stream. */
class StreamBuffer {
  #bytes = new Uint8Array(0);

  /** @param {Uint8Array} chunk */
  push(chunk) {
    const joined = new Uint8Array(this.#bytes.length + chunk.length);
    joined.set(this.#bytes);
    joined.set(chunk, this.#bytes.length);
    this.#bytes = joined;
  }

  /**
   * Returns the first bytes without consuming them; null if fewer have arrived.
   * @param {number} count
   */
  peek(count) {
    return this.#bytes.length < count ? null : this.#bytes.subarray(0, count);
  }

  /** @param {number} count */
  skip(count) {
    this.#bytes = this.#bytes.subarray(count);
  }

  /**
   * Takes the next length-prefixed message; null if it is not complete.
   * @param {number} width size of the length prefix: 2 or 4 bytes
   * @param {number} max
   */
  takePrefixed(width, max) {
    const head = this.peek(width);
    if (head === null) return null;
    const length = width === 2 ? new Reader(head).u16() : new Reader(head).u32();
    if (length > max) {
      throw Closed.byUs(MESSAGE_TOO_LONG, `received a message of ${length} bytes, at most ${max} are allowed`);
    }
    const whole = this.peek(width + length);
    if (whole === null) return null;
    this.skip(width + length);
    return whole.subarray(width);
  }
}

export class Connection {
  /** Resolves with the reason once the connection has ended. @type {Promise<Closed>} */
  closed;
  /** @type {Greeting} */
  greeting;
  /** Longest datagram that reaches the relay. */
  datagramMax;

  #transport;
  #buffer;
  #reader;
  #stream;
  #datagrams;
  #queuedDatagrams = 0;
  #onReady = () => {};
  /** @type {(closed: Closed) => void} */
  #end = () => {};

  /**
   * @param {WebTransport} transport
   * @param {Handshake} opened
   */
  constructor(transport, { greeting, buffer, reader, writer }) {
    this.greeting = greeting;
    this.datagramMax = Math.min(transport.datagrams.maxDatagramSize, DATAGRAM_MAX);
    transport.datagrams.incomingHighWaterMark = DATAGRAMS_INCOMING_MAX;
    transport.datagrams.outgoingHighWaterMark = DATAGRAMS_OUTGOING_MAX;
    this.#transport = transport;
    this.#buffer = buffer;
    this.#reader = reader;
    this.#stream = writer;
    this.#datagrams = datagramWriter(transport);
    const ended = new Promise((/** @type {(closed: Closed) => void} */ resolve) => (this.#end = resolve));
    this.closed = Promise.race([ended, closeReason(transport)]);
  }

  /**
   * Opens a connection. Throws `Closed`, which says why there is none.
   * @param {Target} target
   */
  static async open(target) {
    if (typeof WebTransport === "undefined") {
      const words = "this browser has no WebTransport: use a current Chrome, Edge, Opera or Firefox, over https";
      throw Closed.broken(words, true);
    }
    const transport = openTransport(target);
    // Every waiter sees the end through its own promise; this one must not raise an unhandled rejection.
    transport.closed.catch(() => {});
    try {
      const refusal = transport.ready.then(async () => Promise.reject(await closeReason(transport)));
      return new Connection(transport, await withTimeout(OPENING_MAX, Promise.race([handshake(transport), refusal])));
    } catch (error) {
      const closed = error instanceof Closed ? error : await diagnose(transport, error);
      closeTransport(transport, closed);
      throw closed;
    }
  }

  /**
   * Starts reading. What arrives goes to the handlers until the connection ends.
   * @param {Handlers} handlers
   */
  run(handlers) {
    this.#onReady = handlers.onReady;
    void this.#readDatagrams(handlers);
    void this.#readMessages(handlers);
  }

  /** True if a datagram sent now leaves soon. */
  get canSendDatagram() {
    return this.#queuedDatagrams < DATAGRAMS_OUTGOING_MAX;
  }

  /** True if a reliable message sent now leaves soon. */
  get canSendMessage() {
    return (this.#stream.desiredSize ?? 0) > 0;
  }

  /** @param {Uint8Array} bytes */
  sendDatagram(bytes) {
    this.#queuedDatagrams += 1;
    const done = () => {
      this.#queuedDatagrams -= 1;
      // `onReady` matters only after `canSendDatagram` was false.
      if (this.#queuedDatagrams === DATAGRAMS_OUTGOING_MAX - 1) this.#onReady();
    };
    this.#datagrams.write(bytes).then(done, done);
  }

  /** @param {Uint8Array} message */
  sendMessage(message) {
    const bytes = new Uint8Array(4 + message.length);
    new DataView(bytes.buffer).setUint32(0, message.length, true);
    bytes.set(message, 4);
    // A failed write ends the connection, which `closed` reports.
    this.#stream.write(bytes).then(this.#onReady, () => {});
  }

  /**
   * Ends the connection.
   * @param {Closed} closed
   */
  close(closed) {
    this.#end(closed);
    closeTransport(this.#transport, closed);
  }

  /** @param {Handlers} handlers */
  async #readDatagrams(handlers) {
    try {
      const reader = this.#transport.datagrams.readable.getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        handlers.onDatagram(value);
      }
    } catch (error) {
      await this.#handleReadError(error);
    }
  }

  /** @param {Handlers} handlers */
  async #readMessages(handlers) {
    try {
      for (;;) {
        for (;;) {
          const message = this.#buffer.takePrefixed(4, MESSAGE_MAX);
          if (message === null) break;
          handlers.onMessage(message);
        }
        const { value, done } = await this.#reader.read();
        if (done) throw Closed.byUs(PROTOCOL_VIOLATION, "the relay ended the reliable stream");
        this.#buffer.push(value);
      }
    } catch (error) {
      await this.#handleReadError(error);
    }
  }

  /**
   * Reading failed. After an orderly close this comes first, and the reason follows.
   * @param {unknown} error
   */
  async #handleReadError(error) {
    if (!(error instanceof Closed)) return this.close(await diagnose(this.#transport, error));
    const isTooLong = error.code === MESSAGE_TOO_LONG;
    this.close(isTooLong ? error : await withTimeout(CLOSE_REASON_WAIT_MAX, closeReason(this.#transport)).catch(() => error));
  }
}

/**
 * @typedef {object} Handshake
 * @property {Greeting} greeting
 * @property {StreamBuffer} buffer
 * @property {ReadableStreamDefaultReader<Uint8Array>} reader
 * @property {WritableStreamDefaultWriter<Uint8Array>} writer
 */

/** @param {Target} target */
function openTransport({ url, token, seat, hashes }) {
  let address;
  try {
    address = new URL(url);
  } catch {
    throw Closed.broken(`${url} is not an address: write it like https://relay.example:4433/room`, true);
  }
  if (address.protocol !== "https:") {
    throw Closed.broken(`${url} does not begin with https://: write it like https://relay.example:4433/room`, true);
  }
  address.hash = "";
  address.searchParams.append("token", token);
  if (seat !== null) address.searchParams.append("seat", String(seat));
  const serverCertificateHashes = hashes.map((value) => ({ algorithm: "sha-256", value }));
  const pinned = hashes.length > 0 ? { serverCertificateHashes } : {};
  return new WebTransport(address.href, { requireUnreliable: true, congestionControl: "low-latency", ...pinned });
}

/**
 * Opens the reliable stream and waits for the relay's greeting, which arrives only if the relay lets this player in.
 * @param {WebTransport} transport
 * @returns {Promise<Handshake>}
 */
async function handshake(transport) {
  await transport.ready;
  const stream = await transport.createBidirectionalStream();
  const [reader, writer] = [stream.readable.getReader(), stream.writable.getWriter()];
  await writer.write(PREAMBLE);
  const buffer = new StreamBuffer();
  let isKnown = false;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw await closeReason(transport);
    buffer.push(value);
    const preamble = isKnown ? null : buffer.peek(PREAMBLE.length);
    if (preamble !== null) {
      if (!preamble.every((byte, place) => byte === PREAMBLE[place])) throw Closed.byUs(VERSION_MISMATCH);
      buffer.skip(PREAMBLE.length);
      isKnown = true;
    }
    const greeting = isKnown ? buffer.takePrefixed(2, GREETING_MAX) : null;
    if (greeting !== null) return { greeting: parseGreeting(greeting), buffer, reader, writer };
  }
}

/**
 * @param {Uint8Array} bytes
 * @returns {Greeting}
 */
export function parseGreeting(bytes) {
  try {
    const reader = new Reader(bytes);
    if (reader.u8() !== VERSION) throw new Rejected("version");
    const [player, tick] = [reader.varint32(), reader.varint()];
    if (player === 0 || player >= PLAYERS_MAX || tick > TICK_MAX) throw new Rejected("field");
    return { player, tick: Number(tick) };
  } catch (error) {
    if (error instanceof Rejected && error.reason === "version") throw Closed.byUs(VERSION_MISMATCH);
    throw Closed.byUs(PROTOCOL_VIOLATION, "the relay's greeting is invalid");
  }
}

/**
 * Resolves with how the session ended, as reported by the browser.
 * @param {WebTransport} transport
 * @returns {Promise<Closed>}
 */
function closeReason(transport) {
  return transport.closed.then(
    ({ closeCode, reason }) => Closed.byRelay(closeCode ?? DONE, reason ?? ""),
    (error) => Closed.broken(`the connection broke: ${error?.message || error}`),
  );
}

/**
 * Finds out why something failed: the relay's reason, if it arrives in time.
 * @param {WebTransport} transport
 * @param {unknown} error
 * @returns {Promise<Closed>}
 */
async function diagnose(transport, error) {
  const words = error instanceof Error ? error.message : String(error);
  const isReady = await withTimeout(0, transport.ready).then(
    () => true,
    () => false,
  );
  if (!isReady) {
    const what = "is it running, does UDP get through, and is its certificate hash right?";
    return Closed.broken(`the relay cannot be reached (${words}): ${what}`);
  }
  return withTimeout(CLOSE_REASON_WAIT_MAX, closeReason(transport)).catch(() => Closed.broken(`the connection broke: ${words}`));
}

/**
 * @param {WebTransport} transport
 * @param {Closed} closed
 */
function closeTransport(transport, closed) {
  try {
    transport.close({ closeCode: closed.code ?? DONE, reason: closed.message.slice(0, 256) });
  } catch {
    // It has ended already.
  }
}

/**
 * @param {WebTransport} transport
 * @returns {WritableStreamDefaultWriter<Uint8Array>}
 */
function datagramWriter(transport) {
  // The specification is moving from an attribute to a method.
  const datagrams = /** @type {any} */ (transport.datagrams);
  return (datagrams.createWritable?.() ?? datagrams.writable).getWriter();
}

/**
 * Rejects if a promise takes longer than a number of milliseconds.
 * @template T
 * @param {number} limit
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
function withTimeout(limit, promise) {
  return new Promise((resolve, reject) => {
    const words = limit === OPENING_MAX ? "no answer in time" : "it took too long";
    const timer = setTimeout(() => reject(new Error(words)), limit);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

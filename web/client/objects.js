/**
 * State machine of one player's objects and typed messages. It mirrors `ObjectPeer` of the Rust crate `evenkeel-objects`.
 *
 * It does no I/O and reads no clock: the caller passes in the time, in nanoseconds, and whatever arrived, and polls for what to
 * send. After every call that changes it, drain `pollReliable` and `pollDatagram`, then sleep until `pollTimeout`.
 */

import { Reader, Rejected, Writer } from "./bytes.js";
import {
  DELIVERIES, OBJECTS_VERSION, putBytes, readCall, readPacket, readParty, readSlot, readText, splitValues, STATES, TAGS, toBytes,
  varint53, writeCall, writeText,
} from "./objects-wire.js";

/** @typedef {import("./objects-wire.js").Schema} Schema */
/** @typedef {import("./objects-wire.js").Party} Party */
/** @typedef {import("./objects-wire.js").Call} Call */
/** @typedef {import("./objects-wire.js").Packet} Packet */
/** @typedef {import("./quantize.js").MotionState} MotionState */
/** @typedef {{ id: number, kind: number, owner: number | null, values: any[], bytes: Uint8Array[], up: number | null, down: number | null, written: number }} Entry */
/** @typedef {{ id: number, created: number, dirty: number, life: number }} Replica */
/** @typedef {{ slot: number, life: number, set: number } | { unordered: number } | { key: string, version: number }} Item */
/**
 * What happened. `owner` and `from` are player numbers, null for the server.
 * @typedef {{ event: "ready", player: number, resumed: boolean, lost: number } | { event: "refused", words: string }
 *   | { event: "created", id: number, kind: string, owner: number | null, values: Record<string, any> }
 *   | { event: "changed", id: number, values: Record<string, any> } | { event: "owned", id: number, owner: number | null }
 *   | { event: "gone", id: number, why: "destroyed" | "out of scope" } | { event: "denied", id: number, why: string }
 *   | { event: "unheard", count: number, kind: string, party: Party }
 *   | { event: "call", from: number | null, delivery: string, kind: string, values: Record<string, any> }} ObjectEvent
 */

const MS = 1e6;
const TICK_MIN = 5 * MS;
const PACKET_MAX = 1200;
/** Datagrams below this carry no packets: those travel on the reliable stream. */
const DATAGRAM_MIN = 1000;
const WINDOW = 512;
const CALLS_MAX = 4096;
const EVENTS_MAX = 65536;
const REORDERED_MAX = 3;
const [WAIT_FIRST, WAIT_MIN, WAIT_MAX] = [300 * MS, 60 * MS, 1500 * MS];
const DENIALS = ["the name is taken", "there are too many objects, or too many are new or passed on", "the object is not this player's"];
const ASTRAY = "the object does not move so: planar ones stay at z = 0, spatial ones have no turn rate, still ones no motion";
const PLAYERS_MAX = 1024;
/** The most bytes of a value of an object, so that it fits a packet. */
const VALUE_MAX = 514;

export class Objects {
  /** Rejected messages, by reason. @type {Record<string, number>} */
  rejected = {};
  /** Messages that were not taken. */
  unsent = 0;
  #schema;
  #tick;
  #instance;
  /** @type {number | null} */
  #player = null;
  /** @type {Map<number, Entry>} */
  #objects = new Map();
  /** @type {ObjectEvent[]} */
  #events = [];
  /** Its objects that the relay knew when the connection broke. @type {Set<number>} */
  #held = new Set();
  /** Objects that were last moved as their type does not move. @type {Set<number>} */
  #astray = new Set();
  #isConnected = false;
  #isGreeted = false;
  #datagramMax = 0;
  #now = -Infinity;
  // The connection.
  /** @type {Uint8Array[]} */
  #reliable = [];
  #sent = 0;
  #received = 0;
  #nextAt = -Infinity;
  #probeAt = Infinity;
  #owes = false;
  #newest = 0;
  #missing = 0n;
  #number = 0;
  /** @type {{ number: number, at: number, items: Item[] }[]} */
  #underWay = [];
  /** @type {number | null} */
  #roundTrip = null;
  #doublings = 0;
  /** @type {(Replica | null)[]} */
  #replicas = [];
  #lives = 0;
  /** By slot. @type {Map<number, { id: number, created: number, newest: number[] }>} */
  #copies = new Map();
  /** @type {[number, number][]} */
  #orderedMarks = [];
  // Messages, which outlast it.
  #orderedFirst = 0;
  #orderedSent = 0;
  #orderedLeft = 0;
  /** @type {Call[]} */
  #ordered = [];
  #nextUnordered = 0;
  /** @type {Map<number, { call: Call, sentAt: number | null, hasLeft: boolean }>} */
  #unordered = new Map();
  /** @type {Map<string, { call: Call, version: number, isDue: boolean }>} */
  #recent = new Map();
  #versions = 0;
  /** @type {Call[]} */
  #loose = [];
  #heardOrdered = 0;
  #floor = 0;
  /** @type {Set<number>} */
  #heard = new Set();
  /** @type {Map<string, number>} */
  #heardRecent = new Map();

  /**
   * @param {object} config
   * @param {Schema} config.schema
   * @param {number} config.tick
   * @param {bigint} config.instance a random number below 2^63
   */
  constructor({ schema, tick, instance }) {
    this.#schema = schema;
    this.#tick = Math.max(tick, TICK_MIN);
    this.#instance = instance;
  }

  get isReady() {
    return this.#isGreeted;
  }

  /** Every object that this player knows. */
  objects() {
    return [...this.#objects.values()].map(({ id, kind, owner, values }) => ({
      id, kind: this.#schema.objects[kind].name, owner, values: this.#named(kind, values.map((value, field) => [field, value])),
    }));
  }

  /** @param {number} now @param {number} datagramMax */
  join(now, datagramMax) {
    this.leave(now);
    this.#isConnected = true;
    this.#datagramMax = datagramMax;
    const writer = this.#begin(TAGS.hello);
    writer.i64(this.#instance);
    writer.varint53(this.#heardOrdered);
    writeText(writer, this.#schema.text);
    this.#push(writer);
  }

  /** @param {number} now */
  leave(now) {
    this.#advance(now);
    this.#isConnected = false;
    this.#isGreeted = false;
    this.#reliable = [];
    this.#sent = this.#received = this.#number = this.#newest = this.#doublings = 0;
    this.#missing = 0n;
    this.#owes = false;
    this.#probeAt = Infinity;
    this.#nextAt = -Infinity;
    this.#underWay = [];
    this.#roundTrip = null;
    this.#replicas = [];
    this.#copies.clear();
    this.#orderedMarks = [];
    for (const [id, entry] of [...this.#objects]) {
      const isKnown = entry.up !== null;
      entry.up = entry.down = null;
      if (this.#isMine(entry)) {
        if (isKnown) this.#held.add(id);
        continue;
      }
      this.#objects.delete(id);
      this.#event({ event: "gone", id, why: "out of scope" });
    }
  }

  /** @param {number} now @param {number} id @param {string} kindName @param {Record<string, any>} values */
  create(now, id, kindName, values) {
    this.#advance(now);
    const kind = this.#kindOf(kindName);
    if (this.#objects.has(id)) return;
    const all = this.#schema.objects[kind].fields.map(({ name, writer, codec }) =>
      writer === "owner" && name in values ? values[name] : codec.initial);
    const bytes = all.map((value, field) => toBytes(this.#schema.objects[kind].fields[field].codec, value));
    if (bytes.some((value) => value.length > VALUE_MAX)) return;
    const entry = { id, kind, owner: id % PLAYERS_MAX, values: all, bytes, up: null, down: null, written: 0 };
    this.#objects.set(id, entry);
    this.#event({ event: "created", id, kind: kindName, owner: entry.owner, values: this.#named(kind, all.map((value, field) => [field, value])) });
    this.#announce(entry);
  }

  /** @param {number} now @param {number} id @param {Record<string, any>} values */
  set(now, id, values) {
    this.#advance(now);
    const entry = this.#objects.get(id);
    if (entry === undefined || !this.#isMine(entry)) return;
    /** @type {[number, any][]} */
    const changed = [];
    this.#schema.objects[entry.kind].fields.forEach(({ name, writer, codec }, field) => {
      if (writer !== "owner" || !(name in values)) return;
      const bytes = toBytes(codec, values[name]);
      if (isEqual(bytes, entry.bytes[field]) || bytes.length > VALUE_MAX) return;
      entry.bytes[field] = bytes;
      entry.values[field] = values[name];
      entry.written |= 1 << field;
      const replica = entry.up === null ? null : this.#replicas[entry.up];
      if (replica) replica.dirty |= 1 << field;
      changed.push([field, values[name]]);
    });
    if (changed.length > 0) this.#event({ event: "changed", id, values: this.#named(entry.kind, changed) });
  }

  /** @param {number} now @param {number} id */
  destroy(now, id) {
    this.#advance(now);
    const entry = this.#objects.get(id);
    if (entry === undefined || !this.#isMine(entry)) return;
    this.#forget(entry, 0);
    this.#event({ event: "gone", id, why: "destroyed" });
  }

  /**
   * Whether objects of this type move so. If not, the page is told, once.
   * @param {number} id @param {MotionState} state
   */
  movesSo(id, { position, velocity, acceleration, turnRate }) {
    const entry = this.#objects.get(id);
    const motion = entry === undefined ? null : this.#schema.objects[entry.kind].motion;
    const isFlat = [position, velocity, acceleration].every(([, , z]) => z === 0);
    const movesSo = motion === null || (motion === "planar" && isFlat) || (motion === "spatial" && turnRate === 0);
    if (movesSo) this.#astray.delete(id);
    else if (!this.#astray.has(id)) {
      this.#astray.add(id);
      this.#event({ event: "denied", id, why: ASTRAY });
    }
    return movesSo;
  }

  /** @param {number} now @param {number} id @param {number | null} to a player; null: the server */
  give(now, id, to) {
    this.#advance(now);
    const entry = this.#objects.get(id);
    if (entry === undefined || !this.#isMine(entry) || !this.#isGreeted) return;
    const writer = this.#begin(TAGS.give);
    writer.u32(id);
    writer.varint53(to === null ? 0 : to + 1);
    this.#push(writer);
  }

  /** @param {number} now @param {Party} party @param {string} delivery @param {string} kindName @param {Record<string, any>} values */
  tell(now, party, delivery, kindName, values) {
    this.#advance(now);
    const kind = this.#schema.messages.findIndex(({ name }) => name === kindName);
    const tag = DELIVERIES.indexOf(delivery);
    if (kind < 0 || tag < 0) throw new RangeError(`the schema has no message ${kindName}, or there is no guarantee ${delivery}`);
    const writer = new Writer(32);
    for (const { name, codec } of this.#schema.messages[kind].parts) codec.write(writer, values[name] ?? codec.initial);
    /** @type {Call} */
    const call = { delivery: tag, number: 0, party, kind, bytes: writer.finish() };
    const waiting = this.#ordered.length + this.#unordered.size;
    if (call.bytes.length > (tag < 2 ? 16384 : 900) || (tag !== 2 && tag !== 3 && waiting >= CALLS_MAX)) {
      this.unsent += 1;
    } else if (tag === 0) {
      this.#ordered.push(call);
    } else if (tag === 2) {
      if (this.#loose.push(call) > 128) this.#loose.shift();
    } else if (tag === 3) {
      this.#versions += 1;
      this.#recent.set(keyOf(call), { call, version: this.#versions, isDue: true });
    } else {
      this.#unordered.set(this.#nextUnordered, { call, sentAt: null, hasLeft: false });
      this.#nextUnordered += 1;
    }
  }

  /**
   * Handles a message from the relay. Never throws: an invalid one is counted and has no effect.
   * @param {number} at @param {"datagram" | "reliable"} channel @param {Uint8Array} bytes
   * @returns {Rejected | null}
   */
  handleMessage(at, channel, bytes) {
    if (!this.#isConnected) return null;
    let apply;
    try {
      const reader = new Reader(bytes);
      const version = reader.u8();
      if (version !== OBJECTS_VERSION) throw new Rejected("version", `objects of version ${version} are not known here`);
      apply = channel === "datagram" ? this.#readPacket(reader) : this.#readFrame(reader);
      if (!reader.isEmpty) throw new Rejected("field");
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      this.rejected[error.reason] = (this.rejected[error.reason] ?? 0) + 1;
      return error;
    }
    this.#advance(at);
    apply();
    return null;
  }

  /** @param {number} now */
  handleTimeout(now) {
    this.#advance(now);
    const wait = this.#wait();
    let isLost = false;
    while (this.#underWay.length > 0 && (this.#underWay[0].at + wait <= this.#now || this.#underWay.length > 256)) {
      this.#settle(0, false);
      isLost = true;
    }
    if (isLost) this.#doublings = Math.min(this.#doublings + 1, 5);
  }

  pollTimeout() {
    if (!this.#isGreeted) return Infinity;
    const lost = this.#underWay.length > 0 ? this.#underWay[0].at + this.#wait() : Infinity;
    return Math.min(lost, Math.max(this.#dueAt(), this.#nextAt));
  }

  pollReliable() {
    if (this.#isGreeted) {
      while (this.#orderedSent < this.#ordered.length) {
        const number = this.#orderedFirst + this.#orderedSent;
        const writer = this.#begin(TAGS.call);
        writeCall(writer, { ...this.#ordered[this.#orderedSent], number });
        this.#orderedSent += 1;
        this.#orderedLeft = Math.max(this.#orderedLeft, this.#orderedSent);
        this.#push(writer);
        this.#orderedMarks.push([this.#sent, number + 1]);
      }
    }
    const message = this.#reliable.shift();
    if (message !== undefined || this.#datagramMax >= DATAGRAM_MIN) return message;
    return this.#packet(this.#now, true);
  }

  /** @param {number} now */
  pollDatagram(now) {
    this.#advance(now);
    return this.#datagramMax >= DATAGRAM_MIN ? this.#packet(this.#now, false) : undefined;
  }

  pollEvent() {
    return this.#events.shift();
  }

  /** @param {number} now */
  #advance(now) {
    this.#now = Math.max(this.#now, now);
  }

  /** @param {ObjectEvent} event */
  #event(event) {
    if (event.event === "gone") this.#astray.delete(event.id);
    if (this.#events.length === EVENTS_MAX) this.#events.shift();
    this.#events.push(event);
  }

  /** @param {string} name */
  #kindOf(name) {
    const kind = this.#schema.objects.findIndex((object) => object.name === name);
    if (kind < 0) throw new RangeError(`the schema has no object ${name}`);
    return kind;
  }

  /** @param {number} kind @param {[number, any][]} values */
  #named(kind, values) {
    return Object.fromEntries(values.map(([field, value]) => [this.#schema.objects[kind].fields[field].name, value]));
  }

  /** @param {Entry} entry */
  #isMine({ owner, id }) {
    return owner !== null && owner === (this.#player ?? id % PLAYERS_MAX);
  }

  /** @param {number} tag */
  #begin(tag) {
    const writer = new Writer();
    writer.u8(OBJECTS_VERSION);
    writer.u8(tag);
    return writer;
  }

  /** @param {Writer} writer */
  #push(writer) {
    this.#sent += 1;
    this.#reliable.push(writer.finish());
    if (this.#probeAt === Infinity) this.#probeAt = this.#now + this.#wait();
  }

  /** @param {Entry} entry @param {boolean} [isAdopted] */
  #announce(entry, isAdopted = false) {
    if (!this.#isGreeted) return;
    let slot = this.#replicas.indexOf(null);
    if (slot < 0) slot = this.#replicas.length;
    this.#lives += 1;
    this.#replicas[slot] = { id: entry.id, created: this.#sent + 1, dirty: 0, life: this.#lives };
    entry.up = slot;
    entry.written = 0;
    const writer = this.#begin(isAdopted ? TAGS.adopt : TAGS.create);
    writer.varint53(slot);
    writer.u32(entry.id);
    if (!isAdopted) {
      writer.varint53(entry.kind);
      writer.varint53(entry.owner === null ? 0 : entry.owner + 1);
      for (const bytes of entry.bytes) putBytes(writer, bytes);
    }
    this.#push(writer);
  }

  /** @param {Entry} entry @param {number | null} why what the server is told; null: nothing */
  #forget(entry, why) {
    this.#objects.delete(entry.id);
    if (entry.down !== null) this.#copies.delete(entry.down);
    if (entry.up !== null) this.#drop(entry, why);
  }

  /** @param {Entry} entry @param {number | null} why */
  #drop(entry, why) {
    const slot = /** @type {number} */ (entry.up);
    this.#replicas[slot] = null;
    entry.up = null;
    if (why !== null) this.#sayDropped(slot, entry.id, why);
  }

  /** @param {number} slot @param {number} id @param {number} why */
  #sayDropped(slot, id, why) {
    const writer = this.#begin(TAGS.drop);
    writer.varint53(slot);
    writer.u32(id);
    writer.u8(why);
    this.#push(writer);
  }

  /** @param {Reader} reader @returns {() => void} */
  #readFrame(reader) {
    const tag = reader.u8();
    if (tag === TAGS.packet) return this.#readPacket(reader);
    if (!this.#isGreeted && tag !== TAGS.welcome && tag !== TAGS.refused) throw new Rejected("unexpected");
    const apply = this.#readBody(tag, reader);
    return () => {
      this.#received += 1;
      this.#owes = true;
      apply();
    };
  }

  /** @param {number} tag @param {Reader} reader @returns {() => void} */
  #readBody(tag, reader) {
    switch (tag) {
      case TAGS.welcome: {
        const [player, resumed, received] = [reader.u32(), reader.u8() === 1, varint53(reader)];
        return () => this.#welcome(player, resumed, received);
      }
      case TAGS.refused: {
        const words = readText(reader, 16384);
        return () => this.#event({ event: "refused", words });
      }
      case TAGS.create: {
        const [slot, id, kind, owner] = [readSlot(reader), reader.u32(), varint53(reader), varint53(reader)];
        const known = this.#schema.objects[kind];
        if (known === undefined) throw new Rejected("field");
        const values = known.fields.map((field) => field.codec.read(reader));
        return () => this.#onCreate(slot, id, kind, owner === 0 ? null : owner - 1, values);
      }
      case TAGS.gone: {
        const [slot, why] = [readSlot(reader), reader.u8()];
        return () => this.#onGone(slot, why === 0 ? "destroyed" : "out of scope");
      }
      case TAGS.owned: {
        const [slot, owner] = [readSlot(reader), varint53(reader)];
        return () => this.#onOwned(slot, owner === 0 ? null : owner - 1);
      }
      case TAGS.unheard: {
        const [count, kind, party] = [varint53(reader), varint53(reader), readParty(reader)];
        const message = this.#schema.messages[kind];
        if (message === undefined) throw new Rejected("field");
        return () => this.#event({ event: "unheard", count, kind: message.name, party });
      }
      case TAGS.denied: {
        const [id, why] = [reader.u32(), reader.u8()];
        return () => this.#onDenied(id, why);
      }
      case TAGS.call: {
        const call = readCall(reader);
        return () => this.#onCall(call);
      }
      default:
        throw new Rejected("unexpected");
    }
  }

  /** @param {number} player @param {boolean} resumed @param {number} received */
  #welcome(player, resumed, received) {
    this.#player = player;
    this.#isGreeted = true;
    let lost = 0;
    if (resumed) {
      this.#orderedArrived(received);
    } else {
      // What has ever left may have arrived.
      lost = Math.min(this.#orderedLeft, this.#ordered.length);
      this.#orderedLeft = 0;
      this.#ordered.splice(0, lost);
      this.#orderedFirst = 0;
      const open = [...this.#unordered.values()];
      lost += open.filter(({ hasLeft }) => hasLeft).length;
      this.#unordered = new Map(open.filter(({ hasLeft }) => !hasLeft).map((each, number) => [number, each]));
      this.#nextUnordered = this.#unordered.size;
      this.#heardOrdered = this.#floor = 0;
      this.#heard.clear();
      this.#heardRecent.clear();
      this.#instance = BigInt.asIntN(64, this.#instance + 1n);
    }
    this.#orderedSent = 0;
    for (const each of this.#unordered.values()) each.sentAt = null;
    for (const each of this.#recent.values()) each.isDue = true;
    this.#event({ event: "ready", player, resumed, lost });
    // What this player has destroyed meanwhile is not to come back.
    for (const id of resumed ? this.#held : []) {
      const entry = this.#objects.get(id);
      if (entry === undefined || !this.#isMine(entry)) this.#sayDropped(0, id, 0);
    }
    this.#held.clear();
    for (const entry of this.#objects.values()) if (entry.owner === player) this.#announce(entry);
  }

  /** @param {number} slot @param {number} id @param {number} kind @param {number | null} owner @param {any[]} values */
  #onCreate(slot, id, kind, owner, values) {
    const { fields } = this.#schema.objects[kind];
    const known = this.#objects.get(id);
    let entry;
    if (known !== undefined && this.#isMine(known) && known.owner === owner) {
      entry = known;
      /** @type {[number, any][]} */
      const changed = [];
      fields.forEach(({ writer, codec }, field) => {
        if (writer === "server" && store(entry, field, values[field], codec)) changed.push([field, values[field]]);
      });
      if (changed.length > 0) this.#event({ event: "changed", id, values: this.#named(kind, changed) });
    } else {
      if (known !== undefined) this.#forget(known, null);
      const bytes = values.map((value, field) => toBytes(fields[field].codec, value));
      entry = { id, kind, owner, values, bytes, up: null, down: null, written: 0 };
      this.#objects.set(id, entry);
      this.#event({ event: "created", id, kind: this.#schema.objects[kind].name, owner, values: this.#named(kind, values.map((value, field) => [field, value])) });
    }
    entry.down = slot;
    this.#copies.set(slot, { id, created: this.#received, newest: fields.map(() => 0) });
    if (entry.up === null && this.#isMine(entry)) {
      this.#announce(entry, true);
    }
  }

  /** @param {number} slot @param {"destroyed" | "out of scope"} why */
  #onGone(slot, why) {
    const copy = this.#copies.get(slot);
    this.#copies.delete(slot);
    const entry = copy === undefined ? undefined : this.#objects.get(copy.id);
    if (entry === undefined || entry.down !== slot) return;
    this.#forget(entry, null);
    this.#event({ event: "gone", id: entry.id, why });
  }

  /** @param {number} slot @param {number | null} owner */
  #onOwned(slot, owner) {
    const copy = this.#copies.get(slot);
    const entry = copy === undefined ? undefined : this.#objects.get(copy.id);
    if (entry === undefined) return;
    entry.owner = owner;
    if (this.#isMine(entry) && entry.up === null) {
      this.#announce(entry, true);
    } else if (!this.#isMine(entry) && entry.up !== null) {
      this.#drop(entry, 1);
    }
    this.#event({ event: "owned", id: entry.id, owner });
  }

  /** @param {number} id @param {number} why */
  #onDenied(id, why) {
    const entry = this.#objects.get(id);
    if (why !== 2 && entry !== undefined && entry.down === null) {
      this.#forget(entry, null);
      this.#event({ event: "gone", id, why: "destroyed" });
    }
    this.#event({ event: "denied", id, why: DENIALS[why] ?? "refused" });
  }

  /** @param {Call} call */
  #onCall(call) {
    const kind = this.#schema.messages[call.kind];
    if (kind === undefined || !this.#isNews(call)) return;
    const reader = new Reader(call.bytes);
    let values;
    try {
      values = Object.fromEntries(kind.parts.map(({ name, codec }) => [name, codec.read(reader)]));
    } catch (error) {
      if (error instanceof Rejected) return;
      throw error;
    }
    const from = call.party.to === "player" ? call.party.player : null;
    this.#event({ event: "call", from, delivery: DELIVERIES[call.delivery], kind: kind.name, values });
  }

  /** Returns whether a message is to be handed to the game, once and in order. @param {Call} call */
  #isNews(call) {
    const { delivery, number } = call;
    if (delivery === 2) return true;
    if (delivery === 0) {
      if (number !== this.#heardOrdered) return false;
      this.#heardOrdered += 1;
      return true;
    }
    if (delivery === 3) {
      const newest = this.#heardRecent.get(keyOf(call)) ?? 0;
      if (number <= newest) return false;
      this.#heardRecent.set(keyOf(call), number);
      return true;
    }
    if (number < this.#floor || number >= this.#floor + WINDOW || this.#heard.has(number)) return false;
    this.#heard.add(number);
    while (this.#heard.delete(this.#floor)) this.#floor += 1;
    return true;
  }

  /** @param {Reader} reader @returns {() => void} */
  #readPacket(reader) {
    const packet = readPacket(reader);
    const states = packet.states.map(({ slot, set, values }) => {
      const copy = this.#copies.get(slot);
      const entry = copy !== undefined && copy.created <= packet.sent ? this.#objects.get(copy.id) : undefined;
      return entry === undefined ? null : { slot, values: splitValues(this.#schema.objects[entry.kind], set, new Reader(values)) };
    });
    return () => {
      if (!this.#isGreeted) return;
      this.#acknowledged(packet);
      if (!this.#arrived(packet.number)) return;
      for (const call of packet.calls) this.#onCall(call);
      for (const state of states) if (state !== null) this.#onState(packet.number, state.slot, state.values);
    };
  }

  /** @param {number} number @param {number} slot @param {[number, any][]} values */
  #onState(number, slot, values) {
    const copy = this.#copies.get(slot);
    const entry = copy === undefined ? undefined : this.#objects.get(copy.id);
    if (copy === undefined || entry === undefined) return;
    const { fields } = this.#schema.objects[entry.kind];
    const changed = values.filter(([field, value]) => {
      if (number <= copy.newest[field]) return false;
      copy.newest[field] = number;
      const isOurs = this.#isMine(entry) && fields[field].writer === "owner" && ((entry.written >>> field) & 1) === 1;
      return !isOurs && store(entry, field, value, fields[field].codec);
    });
    if (changed.length > 0) this.#event({ event: "changed", id: entry.id, values: this.#named(entry.kind, changed) });
  }

  /** @param {number} number */
  #arrived(number) {
    if (number === 0) return true;
    this.#owes = true;
    if (number > this.#newest) {
      const skipped = BigInt(Math.min(number - this.#newest, 64));
      this.#missing = ((this.#missing << skipped) | ((1n << (skipped - 1n)) - 1n)) & ((1n << 63n) - 1n);
      if (number <= 64) this.#missing &= (1n << BigInt(number - 1)) - 1n;
      this.#newest = number;
      return true;
    }
    const behind = this.#newest - number;
    if (behind === 0 || behind > 63 || ((this.#missing >> BigInt(behind - 1)) & 1n) === 0n) return false;
    this.#missing &= ~(1n << BigInt(behind - 1));
    return true;
  }

  /** @param {Packet} packet */
  #acknowledged({ newest, missing, received }) {
    if (received >= this.#sent) this.#probeAt = Infinity;
    while (this.#orderedMarks.length > 0 && this.#orderedMarks[0][0] <= received) {
      this.#orderedArrived(/** @type {[number, number]} */ (this.#orderedMarks.shift())[1]);
    }
    for (const replica of this.#replicas) if (replica !== null && replica.created <= received) replica.created = 0;
    if (newest > this.#number) return;
    for (let index = 0; index < this.#underWay.length && this.#underWay[index].number <= newest; ) {
      const { number, at } = this.#underWay[index];
      const behind = newest - number;
      const hasArrived = behind === 0 || (behind <= 63 && ((missing >> BigInt(behind - 1)) & 1n) === 0n);
      if (!hasArrived && behind < REORDERED_MAX) {
        index += 1;
        continue;
      }
      if (behind === 0) {
        const took = this.#now - at;
        this.#roundTrip = this.#roundTrip === null ? took : this.#roundTrip + (took - this.#roundTrip) / 8;
      }
      if (hasArrived) this.#doublings = 0;
      this.#settle(index, hasArrived);
    }
  }

  /** @param {number} next */
  #orderedArrived(next) {
    while (this.#orderedFirst < next && this.#ordered.length > 0) {
      this.#ordered.shift();
      this.#orderedFirst += 1;
      this.#orderedSent = Math.max(0, this.#orderedSent - 1);
      this.#orderedLeft = Math.max(0, this.#orderedLeft - 1);
    }
  }

  /** @param {number} index @param {boolean} hasArrived */
  #settle(index, hasArrived) {
    const [packet] = this.#underWay.splice(index, 1);
    for (const item of packet.items) {
      if ("slot" in item) {
        const replica = this.#replicas[item.slot];
        if (hasArrived || !replica || replica.life !== item.life) continue;
        let set = item.set;
        for (const later of this.#underWay.slice(index)) {
          for (const other of later.items) if ("slot" in other && other.slot === item.slot && other.life === item.life) set &= ~other.set;
        }
        replica.dirty |= set;
      } else if ("unordered" in item) {
        if (hasArrived) this.#unordered.delete(item.unordered);
        else {
          const open = this.#unordered.get(item.unordered);
          if (open !== undefined) open.sentAt = null;
        }
      } else {
        const recent = this.#recent.get(item.key);
        if (recent === undefined || recent.version !== item.version) continue;
        if (hasArrived) this.#recent.delete(item.key);
        else recent.isDue = true;
      }
    }
  }

  #wait() {
    const usual = Math.min(Math.max(this.#roundTrip === null ? WAIT_FIRST : 2 * this.#roundTrip, WAIT_MIN), WAIT_MAX);
    return Math.min(usual * 2 ** this.#doublings, Math.max(2e9, usual));
  }

  /** When the next packet has something to say. */
  #dueAt() {
    const isDirty = this.#replicas.some((replica) => replica !== null && replica.created === 0 && replica.dirty !== 0);
    const hasRecent = [...this.#recent.values()].some(({ isDue }) => isDue);
    if (this.#owes || isDirty || hasRecent || this.#loose.length > 0) return this.#now;
    let due = this.#probeAt;
    for (const [, each] of this.#window()) {
      const repeats = each.call.delivery === 4 && this.#datagramMax >= DATAGRAM_MIN;
      const at = each.sentAt === null ? this.#now : repeats ? each.sentAt + this.#tick : Infinity;
      due = Math.min(due, at);
    }
    return due;
  }

  /** The unordered messages that may be under way. */
  #window() {
    const first = this.#unordered.keys().next().value ?? 0;
    return [...this.#unordered].filter(([number]) => number < first + WINDOW);
  }

  /** @param {number} now @param {boolean} isReliable */
  #packet(now, isReliable) {
    if (!this.#isGreeted || now < this.#nextAt || this.#dueAt() > now) return undefined;
    const isProbe = this.#probeAt <= now;
    const limit = isReliable ? PACKET_MAX : Math.min(this.#datagramMax, PACKET_MAX);
    const body = new Writer(limit);
    /** @type {Item[]} */
    const items = [];
    // The head takes at most 52 bytes.
    this.#fillCalls(now, body, limit - 52, items);
    this.#fillStates(body, limit - 52, items);
    const isNumbered = items.length > 0 || isProbe;
    if (isNumbered) {
      this.#number += 1;
      this.#underWay.push({ number: this.#number, at: now, items });
    }
    if (isProbe) this.#probeAt = now + this.#wait();
    const writer = new Writer(limit);
    writer.u8(OBJECTS_VERSION);
    if (isReliable) writer.u8(TAGS.packet);
    writer.varint53(isNumbered ? this.#number : 0);
    writer.varint53(this.#newest);
    writer.varint(this.#missing);
    writer.varint53(this.#received);
    writer.varint53(this.#sent);
    putBytes(writer, body.finish());
    this.#owes = false;
    this.#nextAt = this.#dueAt() <= now ? now : now + this.#tick;
    return writer.finish();
  }

  /** @param {number} now @param {Writer} body @param {number} limit @param {Item[]} items */
  #fillCalls(now, body, limit, items) {
    /** @param {Call} call @param {number} number */
    const fits = (call, number) => {
      const before = body.length;
      writeCall(body, { ...call, number });
      if (body.length > limit) body.truncate(before);
      return body.length > before;
    };
    for (const [number, each] of this.#window()) {
      const repeats = each.call.delivery === 4 && this.#datagramMax >= DATAGRAM_MIN;
      const isDue = each.sentAt === null || (repeats && each.sentAt < now);
      if (!isDue) continue;
      if (each.call.bytes.length > 900) {
        // Too long for a packet: on the reliable stream, whose acknowledgment nobody awaits.
        const writer = this.#begin(TAGS.call);
        writeCall(writer, { ...each.call, number });
        this.#push(writer);
        this.#unordered.delete(number);
      } else if (fits(each.call, number)) {
        each.sentAt = now;
        each.hasLeft = true;
        items.push({ unordered: number });
      }
    }
    for (const [key, recent] of this.#recent) {
      if (!recent.isDue || !fits(recent.call, recent.version)) continue;
      recent.isDue = false;
      items.push({ key, version: recent.version });
    }
    while (this.#loose.length > 0 && fits(this.#loose[0], 0)) this.#loose.shift();
  }

  /** @param {Writer} body @param {number} limit @param {Item[]} items */
  #fillStates(body, limit, items) {
    let hasBegun = false;
    this.#replicas.forEach((replica, slot) => {
      if (replica === null || replica.created !== 0 || replica.dirty === 0) return;
      const entry = /** @type {Entry} */ (this.#objects.get(replica.id));
      const values = new Writer(64);
      let set = 0;
      for (let field = 0; field < entry.bytes.length; field++) {
        if (((replica.dirty >>> field) & 1) === 0) continue;
        if (body.length + values.length + entry.bytes[field].length + 16 > limit) continue;
        putBytes(values, entry.bytes[field]);
        set |= 1 << field;
      }
      if (set === 0) return;
      if (!hasBegun) body.u8(STATES);
      hasBegun = true;
      const inner = new Writer(64);
      inner.varint53(set >>> 0);
      putBytes(inner, values.finish());
      body.varint53(slot);
      body.varint53(inner.length);
      putBytes(body, inner.finish());
      replica.dirty &= ~set;
      items.push({ slot, life: replica.life, set });
    });
  }
}

/** @param {Call} call */
const keyOf = ({ kind, party }) => `${kind} ${JSON.stringify(party)}`;

/** @param {Uint8Array} one @param {Uint8Array} other */
const isEqual = (one, other) => one.length === other.length && one.every((byte, at) => byte === other[at]);

/**
 * Replaces a value. Returns whether it differs.
 * @param {Entry} entry @param {number} field @param {any} value @param {import("./objects-wire.js").Codec} codec
 */
function store(entry, field, value, codec) {
  const bytes = toBytes(codec, value);
  if (isEqual(bytes, entry.bytes[field])) return false;
  entry.bytes[field] = bytes;
  entry.values[field] = value;
  return true;
}

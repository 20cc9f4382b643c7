/**
 * Game messages from the relay: spawns, hits and scores.
 *
 * The format is defined in `games/src/arena/message.rs`. Malformed messages yield null and have no effect.
 */

import { Reader, Rejected } from "../client/bytes.js";

const TAG = 0x47;
const PLAYERS_MAX = 1024;
const POSITION_MAX = 1e6;

function finite(value, most = Infinity) {
  if (!Number.isFinite(value) || Math.abs(value) > most) throw new Rejected("field");
  return value;
}

const position = (reader) => [finite(reader.f64(), POSITION_MAX), finite(reader.f64(), POSITION_MAX)];

function read(reader) {
  if (reader.u8() !== TAG) throw new Rejected("unknown tag");
  switch (reader.u8()) {
    case 0:
      return { kind: "spawn", position: position(reader), heading: finite(reader.f64()) };
    case 1: {
      const [victim, shooter, shot] = [reader.varint32(), reader.varint32(), reader.varint32()];
      return { kind: "hit", victim, shooter, shot, at: position(reader) };
    }
    case 2: {
      const count = reader.varint32();
      if (count > PLAYERS_MAX) throw new Rejected("field");
      const one = () => ({ player: reader.varint32(), hits: reader.varint32(), losses: reader.varint32() });
      return { kind: "scores", scores: Array.from({ length: count }, one) };
    }
    default:
      throw new Rejected("unknown tag");
  }
}

/** Parses a game message; null if it is malformed. */
export function parseGameMessage(bytes) {
  const reader = new Reader(bytes);
  try {
    const message = read(reader);
    return reader.isEmpty ? message : null;
  } catch (error) {
    if (error instanceof Rejected) return null;
    throw error;
  }
}

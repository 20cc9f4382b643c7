/**
 * What the relay tells of the game, besides dead reckoning: who starts where, who was hit, and the score.
 *
 * The format is that of `games/src/arena/message.rs`. What can't be read is null: nothing of it takes effect.
 */

import { Reader, Rejected } from "../client/bytes.js";

const TAG = 0x47;
const PLAYERS_MAX = 1024;
const FAR = 1e6;

function finite(value, most = Infinity) {
  if (!Number.isFinite(value) || Math.abs(value) > most) throw new Rejected("field");
  return value;
}

const place = (reader) => [finite(reader.f64(), FAR), finite(reader.f64(), FAR)];

function read(reader) {
  if (reader.u8() !== TAG) throw new Rejected("unknown tag");
  switch (reader.u8()) {
    case 0:
      return { kind: "spawn", position: place(reader), heading: finite(reader.f64()) };
    case 1: {
      const [victim, shooter, shot] = [reader.varint32(), reader.varint32(), reader.varint32()];
      return { kind: "hit", victim, shooter, shot, at: place(reader) };
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

/** The news that these bytes hold, or null. */
export function parseNews(bytes) {
  const reader = new Reader(bytes);
  try {
    const news = read(reader);
    return reader.isEmpty ? news : null;
  } catch (error) {
    if (error instanceof Rejected) return null;
    throw error;
  }
}

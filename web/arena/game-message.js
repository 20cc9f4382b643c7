/**
 * Game messages: the referee's updates (spawns, hits, scores, the beacon), and the player's action.
 *
 * The format is defined in `games/src/arena/message.rs`. Malformed messages yield null and have no effect.
 */

import { Reader, Rejected } from "../client/bytes.js";

const PLAYERS_MAX = 1024;
const LIGHTS = ["off", "ready", "fire"];
const POSITION_MAX = 1e6;

function finite(value, most = Infinity) {
  if (!Number.isFinite(value) || Math.abs(value) > most) throw new Rejected("field");
  return value;
}

const position = (reader) => [finite(reader.f64(), POSITION_MAX), finite(reader.f64(), POSITION_MAX)];

function read(reader) {
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
    case 3: {
      const [duel, light] = [reader.varint32(), LIGHTS[reader.u8()]];
      if (light === undefined) throw new Rejected("field");
      return { kind: "beacon", duel, light };
    }
    case 4:
      return { kind: "won", duel: reader.varint32(), winner: reader.varint32() };
    default:
      throw new Rejected("unknown tag");
  }
}

/** The action of pulling the trigger: `shot` is the number of the shot that left the gun, 0 if it was not loaded. */
export const triggerBytes = ({ shot, isPulled }) => Uint8Array.of(Number(isPulled), shot);

/** Parses an update; null if it is malformed. */
export function parseUpdate(bytes) {
  const reader = new Reader(bytes);
  try {
    const message = read(reader);
    return reader.isEmpty ? message : null;
  } catch (error) {
    if (error instanceof Rejected) return null;
    throw error;
  }
}

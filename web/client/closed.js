/** Why a connection ended: a code for programs and words for people (docs/WIRE.md, "Transport"). */

/** Words of each close code, and whether reconnecting may help. @type {Record<number, [string, boolean]>} */
const CODES = {
  0: ["the connection was closed", true],
  1: ["replaced by a newer connection of the same player", false],
  2: ["this connection is too slow: reliable messages piled up", true],
  3: ["the token was rejected", false],
  4: ["client and relay speak different versions: update the older one", false],
  5: ["the relay is shutting down", true],
  6: ["too many messages came over this connection", false],
  7: ["a message was longer than allowed", true],
  8: ["the other side broke the protocol", true],
  9: ["the relay is full: try again later", true],
  10: ["there is no such room", false],
  11: ["removed by the operator", false],
  12: ["the room was closed", true],
  13: ["something went wrong at the relay", true],
};

export const DONE = 0;
export const TOO_SLOW = 2;
export const VERSION_MISMATCH = 4;
export const MESSAGE_TOO_LONG = 7;
export const PROTOCOL_VIOLATION = 8;

/** Error: how a connection ended, or why it could not be opened. */
export class Closed extends Error {
  /**
   * @param {string} words for people
   * @param {number | null} code close code; null if the other side gave none
   * @param {boolean} isFinal true if reconnecting cannot help
   */
  constructor(words, code, isFinal) {
    super(words);
    this.name = "Closed";
    this.code = code;
    this.isFinal = isFinal;
  }

  /**
   * The relay closed the connection. Its own words, if any, take precedence over those of the code.
   * @param {number} code
   * @param {string} words
   */
  static byRelay(code, words) {
    const [usual, isWorthTrying] = CODES[code] ?? ["closed for a reason that this version does not know", true];
    return new Closed(`the relay closed the connection: ${words || usual}`, code, !isWorthTrying);
  }

  /**
   * This side closed the connection.
   * @param {number} code
   * @param {string} [words]
   */
  static byUs(code, words) {
    return new Closed(words || CODES[code][0], code, code === DONE || code === VERSION_MISMATCH);
  }

  /**
   * The connection broke, or could not be opened, without a close code.
   * @param {string} words
   * @param {boolean} [isFinal]
   */
  static broken(words, isFinal = false) {
    return new Closed(words, null, isFinal);
  }
}

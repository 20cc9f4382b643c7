/** Why a connection ended, with a code for programs and words for people (docs/WIRE.md, "Transport"). */

/** Codes, each with its words and whether it is worth trying again. @type {Record<number, [string, boolean]>} */
const CODES = {
  0: ["the connection was closed", true],
  1: ["replaced by a newer connection of the same player", false],
  2: ["this connection is too slow: what was sent reliably piled up", true],
  3: ["the token was refused", false],
  4: ["the two sides speak different versions: update the older one", false],
  5: ["the relay is shutting down", true],
  6: ["too many messages came over this connection", false],
  7: ["a message was longer than allowed", true],
  8: ["the other side broke the protocol", true],
  9: ["no place is left: try again later", true],
  10: ["there is no such room", false],
  11: ["removed by the operator", false],
  12: ["the room was closed", true],
  13: ["something went wrong at the relay", true],
};

export const DONE = 0;
export const TOO_SLOW = 2;
export const OTHER_VERSION = 4;
export const MESSAGE_TOO_LONG = 7;
export const PROTOCOL = 8;

/** How a connection ended, or why there is none. */
export class Closed extends Error {
  /**
   * @param {string} words for people
   * @param {number | null} code for programs; null if nobody gave one
   * @param {boolean} isFinal whether it is of no use to try again
   */
  constructor(words, code, isFinal) {
    super(words);
    this.name = "Closed";
    this.code = code;
    this.isFinal = isFinal;
  }

  /**
   * The relay closed it. Its own words say more, if it gave any.
   * @param {number} code
   * @param {string} words
   */
  static byRelay(code, words) {
    const [usual, isWorthTrying] = CODES[code] ?? ["closed for a reason that this version does not know", true];
    return new Closed(`the relay closed the connection: ${words || usual}`, code, !isWorthTrying);
  }

  /**
   * This side closed it.
   * @param {number} code
   * @param {string} [words]
   */
  static byUs(code, words) {
    return new Closed(words || CODES[code][0], code, code === DONE || code === OTHER_VERSION);
  }

  /**
   * Nobody said why.
   * @param {string} words
   * @param {boolean} [isFinal]
   */
  static broken(words, isFinal = false) {
    return new Closed(words, null, isFinal);
  }
}

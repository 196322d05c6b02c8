/** Turns Unicode text into RFC 2047 encoded words, for the header writers beside this file. */

export type EncodedWordRoom = {
  /** Longest first word in characters: less than `rest` where the field's name stands before it. */
  first: number;
  /** Longest further word; RFC 2047 §2 allows no more than 75. */
  rest: number;
  /** Inside a display name fewer characters may stand for themselves (RFC 2047 §5 (3)). */
  phrase: boolean;
};

/** Splits the text into encoded words at code points, in whichever of B and Q comes out shorter. */
export function encodeWords(text: string, room: EncodedWordRoom): string[] {
  const literal = room.phrase ? PHRASE_LITERAL : TEXT_LITERAL;
  const bytes = Buffer.byteLength(text);
  let quotedLength = 0;
  for (const char of text) quotedLength += quotedCost(char, literal);
  return quotedLength <= Math.ceil(bytes / 3) * 4 ? quotedWords(text, room, literal) : base64Words(text, room);
}

/** True where a reader would take a part of the text for an encoded word and decode it. */
export function looksEncoded(text: string): boolean {
  return text.includes("=?");
}

const PHRASE_LITERAL = /^[A-Za-z0-9!*+\-/]$/;
// RFC 2047 §4.2: any printable character but "=", "?" and "_" (space is written as "_").
const TEXT_LITERAL = /^[!-<>@-^`-~]$/;

const Q_OPEN = "=?UTF-8?Q?";
const B_OPEN = "=?UTF-8?B?";
const CLOSE = "?=";
const FRAME = Q_OPEN.length + CLOSE.length;

function quotedCost(char: string, literal: RegExp): number {
  return char === " " || literal.test(char) ? 1 : Buffer.byteLength(char) * 3;
}

function quotedWords(text: string, room: EncodedWordRoom, literal: RegExp): string[] {
  const words: string[] = [];
  let word = "";
  let limit = room.first - FRAME;
  for (const char of text) {
    if (word !== "" && word.length + quotedCost(char, literal) > limit) {
      words.push(Q_OPEN + word + CLOSE);
      word = "";
      limit = room.rest - FRAME;
    }
    word += quoteChar(char, literal);
  }
  words.push(Q_OPEN + word + CLOSE);
  return words;
}

function quoteChar(char: string, literal: RegExp): string {
  if (char === " ") return "_";
  if (literal.test(char)) return char;
  let out = "";
  for (const byte of Buffer.from(char)) out += "=" + byte.toString(16).toUpperCase().padStart(2, "0");
  return out;
}

// RFC 2047 §5: a multi-octet character never spans two words, so each word decodes on its own.
function base64Words(text: string, room: EncodedWordRoom): string[] {
  const words: string[] = [];
  let word = "";
  let bytes = 0;
  let limit = Math.floor((room.first - FRAME) / 4) * 3;
  for (const char of text) {
    const size = Buffer.byteLength(char);
    if (word !== "" && bytes + size > limit) {
      words.push(B_OPEN + Buffer.from(word).toString("base64") + CLOSE);
      word = "";
      bytes = 0;
      limit = Math.floor((room.rest - FRAME) / 4) * 3;
    }
    word += char;
    bytes += size;
  }
  words.push(B_OPEN + Buffer.from(word).toString("base64") + CLOSE);
  return words;
}

/** Encodes Unicode text as RFC 2047 encoded words. Called by header.ts, parameter.ts and address-header.ts. */

export type EncodedWordLimits = {
  /** The maximum length of the first word, in characters. Less than `rest` if the field's name precedes it. */
  first: number;
  /** The maximum length of further words. RFC 2047 §2 allows at most 75. */
  rest: number;
  /** True inside a display name, where fewer characters may stay unencoded (RFC 2047 §5 (3)). */
  phrase: boolean;
};

/** Splits the text into encoded words at code points, with the shorter of the encodings B and Q. */
export function encodeWords(text: string, limits: EncodedWordLimits): string[] {
  const literal = limits.phrase ? PHRASE_LITERAL : TEXT_LITERAL;
  const bytes = Buffer.byteLength(text);
  let quotedLength = 0;
  for (const char of text) quotedLength += quotedCost(char, literal);
  return quotedLength <= Math.ceil(bytes / 3) * 4 ? quotedWords(text, limits, literal) : base64Words(text, limits);
}

/** True if a mail reader might decode a part of the text as an encoded word. */
export function looksEncoded(text: string): boolean {
  return text.includes("=?");
}

const PHRASE_LITERAL = /^[A-Za-z0-9!*+\-/]$/;
// RFC 2047 §4.2: any printable character except "=", "?" and "_". A space is written as "_".
const TEXT_LITERAL = /^[!-<>@-^`-~]$/;

const Q_OPEN = "=?UTF-8?Q?";
const B_OPEN = "=?UTF-8?B?";
const CLOSE = "?=";
const FRAME = Q_OPEN.length + CLOSE.length;

function quotedCost(char: string, literal: RegExp): number {
  return char === " " || literal.test(char) ? 1 : Buffer.byteLength(char) * 3;
}

function quotedWords(text: string, limits: EncodedWordLimits, literal: RegExp): string[] {
  const words: string[] = [];
  let word = "";
  let limit = limits.first - FRAME;
  for (const char of text) {
    if (word !== "" && word.length + quotedCost(char, literal) > limit) {
      words.push(Q_OPEN + word + CLOSE);
      word = "";
      limit = limits.rest - FRAME;
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

// RFC 2047 §5: a multi-octet character never spans two words, so that each word decodes separately.
function base64Words(text: string, limits: EncodedWordLimits): string[] {
  const words: string[] = [];
  let word = "";
  let bytes = 0;
  let limit = Math.floor((limits.first - FRAME) / 4) * 3;
  for (const char of text) {
    const size = Buffer.byteLength(char);
    if (word !== "" && bytes + size > limit) {
      words.push(B_OPEN + Buffer.from(word).toString("base64") + CLOSE);
      word = "";
      bytes = 0;
      limit = Math.floor((limits.rest - FRAME) / 4) * 3;
    }
    word += char;
    bytes += size;
  }
  words.push(B_OPEN + Buffer.from(word).toString("base64") + CLOSE);
  return words;
}

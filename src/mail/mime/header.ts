/** Writes header fields as lines that end in CRLF; nothing that could start a line of its own gets through here. */

import { encodeWords, looksEncoded } from "./encoded-word.ts";

/** A field of free text (Subject, custom headers): plain where it may be, encoded words where it must. */
export function textField(name: string, value: string): string {
  refuseLineBreaks(name, value);
  if (isPlain(value)) {
    if (name.length + 2 + value.length <= LINE_WISH) return `${name}: ${value}\r\n`;
    const words = value.match(/ *[^ ]+/g) ?? [];
    if (words.every((word) => word.length <= LONGEST_WORD)) return foldField(name, words, "");
  }
  // RFC 2047 §2: a line with an encoded word holds at most 76 characters.
  const room = 76 - name.length - 2;
  const first = room >= SHORTEST_FIRST_WORD ? room : 75;
  return foldField(name, encodeWords(value, { first, rest: 75, phrase: false }), " ");
}

/** A structured field of ready tokens, separated by one space or a folded line. */
export function tokensField(name: string, tokens: readonly string[]): string {
  for (const token of tokens) refuseLineBreaks(name, token);
  return foldField(name, tokens, " ");
}

/** The last guard against header injection: callers have refused such a value long before. */
export function refuseLineBreaks(name: string, value: string): void {
  if (/[\r\n\0]/.test(value) || !value.isWellFormed()) {
    throw new Error(`the ${name} header would hold a line break, NUL or half a character`);
  }
}

// RFC 5322 §2.1.1: lines should hold 78 characters and must not pass 998.
const LINE_WISH = 78;
const LONGEST_WORD = 900;
const SHORTEST_FIRST_WORD = 32;

function isPlain(value: string): boolean {
  return /^[\x20-\x7e]*$/.test(value) && !value.startsWith(" ") && !value.endsWith(" ") && !looksEncoded(value);
}

function foldField(name: string, tokens: readonly string[], separator: string): string {
  let out = `${name}:`;
  let column = out.length;
  for (const [index, token] of tokens.entries()) {
    const glue = index === 0 ? " " : separator;
    if (column + glue.length + token.length > LINE_WISH && (index > 0 || column + token.length > LAST_RESORT)) {
      out += `\r\n${glue}${token}`;
      column = glue.length + token.length;
    } else {
      out += glue + token;
      column += glue.length + token.length;
    }
  }
  return `${out}\r\n`;
}

// A first token moves below the field's name only where the line would pass 998: some readers dislike an empty first
// line.
const LAST_RESORT = 990;

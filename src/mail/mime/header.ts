/** Formats header fields as folded lines that end in CRLF. Refuses values that would start a new line. */

import { encodeWords, looksEncoded } from "./encoded-word.ts";

// RFC 5322 §2.1.1: lines should have at most 78 characters and must not exceed 998.
const PREFERRED_LINE = 78;
/** A first token moves below the field's name only if the line would exceed 998: some readers do not expect an empty first line. */
const MAX_FIRST_LINE = 990;
const LONGEST_WORD = 900;
const SHORTEST_FIRST_WORD = 32;

/** A field of free text (Subject, custom headers): plain if possible, otherwise as encoded words. */
export function textField(name: string, value: string): string {
  refuseLineBreaks(name, value);
  if (isPlain(value)) {
    if (name.length + 2 + value.length <= PREFERRED_LINE) return `${name}: ${value}\r\n`;
    const words = value.match(/ *[^ ]+/g) ?? [];
    if (words.every((word) => word.length <= LONGEST_WORD)) return foldField(name, words, "");
  }
  // RFC 2047 §2: a line with an encoded word has at most 76 characters.
  const available = 76 - name.length - 2;
  const first = available >= SHORTEST_FIRST_WORD ? available : 75;
  return foldField(name, encodeWords(value, { first, rest: 75, phrase: false }), " ");
}

/** A structured field of formatted tokens, separated by one space or a folded line. */
export function tokensField(name: string, tokens: readonly string[]): string {
  for (const token of tokens) refuseLineBreaks(name, token);
  return foldField(name, tokens, " ");
}

/** The last protection against header injection. The check of the request has already refused such a value. */
export function refuseLineBreaks(name: string, value: string): void {
  if (/[\r\n\0]/.test(value) || !value.isWellFormed()) {
    throw new Error(`the ${name} header contains a line break, NUL or an unpaired surrogate`);
  }
}

function isPlain(value: string): boolean {
  return /^[\x20-\x7e]*$/.test(value) && !value.startsWith(" ") && !value.endsWith(" ") && !looksEncoded(value);
}

function foldField(name: string, tokens: readonly string[], separator: string): string {
  let out = `${name}:`;
  let column = out.length;
  for (const [index, token] of tokens.entries()) {
    const space = index === 0 ? " " : separator;
    const exceeds = column + space.length + token.length > PREFERRED_LINE;
    if (exceeds && (index > 0 || column + token.length > MAX_FIRST_LINE)) {
      out += `\r\n${space}${token}`;
      column = space.length + token.length;
    } else {
      out += space + token;
      column += space.length + token.length;
    }
  }
  return `${out}\r\n`;
}

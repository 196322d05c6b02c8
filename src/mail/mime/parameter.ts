/** Writes the parameters of Content-Type and Content-Disposition, file names in any script among them (RFC 2231). */

import { encodeWords } from "./encoded-word.ts";

/**
 * One parameter as header tokens without separators: `name="value"`, or RFC 2231 sections for what a quoted string
 * cannot carry.
 */
export function parameterTokens(name: string, value: string): string[] {
  if (fitsQuotedString(value)) return [`${name}="${value}"`];
  const single = `${name}*=UTF-8''${percentEncode(value)}`;
  if (single.length <= SECTION_LIMIT) return [single];
  return sections(name, value);
}

/**
 * The file name as Content-Type's `name` for readers older than RFC 2231: an encoded word between quotes, which RFC
 * 2047 §5 forbids and every such reader expects. Content-Disposition carries the true one, and only once: some
 * readers take the first of two `filename`s.
 */
export function legacyNameTokens(value: string): string[] {
  if (fitsQuotedString(value)) return [`name="${value}"`];
  if (/^[\x20-\x7e]*$/.test(value)) return [];
  const words = encodeWords(value, { first: 68, rest: 75, phrase: true });
  words[0] = `name="${words[0]}`;
  words[words.length - 1] += '"';
  return words;
}

const SECTION_LIMIT = 76;
const LONGEST_QUOTED = 200;

// Quotes and backslashes could be escaped, but readers disagree about it: RFC 2231 leaves no doubt.
function fitsQuotedString(value: string): boolean {
  return value.length <= LONGEST_QUOTED && /^[\x20-\x7e]*$/.test(value) && !/["\\]|=\?/.test(value);
}

// RFC 2231 §3 and §4.1: name*0*=UTF-8''..., name*1*=..., the charset named once.
function sections(name: string, value: string): string[] {
  const tokens: string[] = [];
  let token = `${name}*0*=UTF-8''`;
  for (const char of value) {
    const encoded = percentEncode(char);
    if (token.length + encoded.length > SECTION_LIMIT) {
      tokens.push(token);
      token = `${name}*${tokens.length}*=`;
    }
    token += encoded;
  }
  tokens.push(token);
  return tokens;
}

// RFC 2231 §7: attribute-char, that is a token without "*", "'" and "%".
function percentEncode(value: string): string {
  let out = "";
  for (const byte of Buffer.from(value)) {
    const char = String.fromCharCode(byte);
    out += /[A-Za-z0-9!#$&+.^_`{|}~-]/.test(char) ? char : "%" + byte.toString(16).toUpperCase().padStart(2, "0");
  }
  return out;
}

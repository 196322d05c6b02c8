/** Formats the parameters of Content-Type and Content-Disposition, including file names in any script (RFC 2231). */

import { encodeWords } from "./encoded-word.ts";

/** One parameter as header tokens without separators: `name="value"`, or RFC 2231 sections if a quoted string cannot represent it. */
export function parameterTokens(name: string, value: string): string[] {
  if (fitsQuotedString(value)) return [`${name}="${value}"`];
  const single = `${name}*=UTF-8''${percentEncode(value)}`;
  if (single.length <= SECTION_LIMIT) return [single];
  return sections(name, value);
}

/**
 * The file name as the `name` parameter of Content-Type, for mail readers older than RFC 2231: an encoded word in quotes, which RFC
 * 2047 §5 forbids but these readers expect. Content-Disposition has the correct name, and only once: some readers use the first of
 * two `filename` parameters.
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

// Mail readers disagree on escaped quotes and backslashes, so such values use RFC 2231, which is unambiguous.
function fitsQuotedString(value: string): boolean {
  return value.length <= LONGEST_QUOTED && /^[\x20-\x7e]*$/.test(value) && !/["\\]|=\?/.test(value);
}

// RFC 2231 §3 and §4.1: name*0*=UTF-8''..., name*1*=..., with the charset only in the first section.
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

// RFC 2231 §7: attribute-char is a token character except "*", "'" and "%".
function percentEncode(value: string): string {
  let out = "";
  for (const byte of Buffer.from(value)) {
    const char = String.fromCharCode(byte);
    out += /[A-Za-z0-9!#$&+.^_`{|}~-]/.test(char) ? char : "%" + byte.toString(16).toUpperCase().padStart(2, "0");
  }
  return out;
}

/** Formats parsed addresses as header fields (From, To, Cc, Reply-To). Called by compose.ts. */

import type { Address } from "./address.ts";
import { encodeWords, looksEncoded } from "./mime/encoded-word.ts";
import { refuseLineBreaks, tokensField } from "./mime/header.ts";

/**
 * Returns the folded field with a CRLF at its end. With `utf8`, for a session with SMTPUTF8, a non-ASCII local part is written
 * unchanged. 7-bit headers have no notation for it, so the address becomes the name of an empty group (RFC 6857).
 */
export function formatAddressHeader(field: string, addresses: readonly Address[], { utf8 = false } = {}): string {
  const tokens = addresses.flatMap((address, index) => {
    const parts = address.smtputf8 && !utf8 ? asEmptyGroup(address) : mailboxTokens(address);
    if (index < addresses.length - 1) parts[parts.length - 1] += ",";
    return parts;
  });
  return tokensField(field, tokens);
}

function mailboxTokens({ name, address }: Address): string[] {
  return name === "" ? [address] : [...phraseTokens(name), `<${address}>`];
}

function asEmptyGroup({ name, address }: Address): string[] {
  return [...phraseTokens(name === "" ? address : `${name} <${address}>`), ":;"];
}

// RFC 5322 §3.2.5: a phrase of atoms stays as it is, other printable ASCII becomes a quoted string, the rest encoded words.
function phraseTokens(name: string): string[] {
  refuseLineBreaks("address", name);
  if (looksEncoded(name) || !/^[\x20-\x7e]*$/.test(name))
    return encodeWords(name, { first: 64, rest: 64, phrase: true });
  if (/^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+( [A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*$/.test(name)) return name.split(" ");
  return [`"${name.replace(/[\\"]/g, "\\$&")}"`];
}

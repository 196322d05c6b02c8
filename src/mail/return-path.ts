/** The return path of an email (VERP): an address that names the email, with a token that proves that we created it.
 * delivery/ writes it, inbound/ reads it. */

import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { uuidOf } from "./message-id.ts";

export type ReturnPathKey = KeyObject | Uint8Array;

/** The MAIL FROM of an email, under `domain`. It has 55 lower-case characters before the "@"; RFC 5321 §4.5.3.1.1 allows 64. */
export function makeReturnPath({
  emailId,
  domain,
  key,
}: {
  emailId: string;
  domain: string;
  key: ReturnPathKey;
}): string {
  const uuid = Buffer.from(uuidOf(emailId).replaceAll("-", ""), "hex");
  return `${PREFIX}${toBase32(Buffer.concat([uuid, tokenOf(uuid, key)]))}@${domain}`;
}

/** The email of one of our return paths; undefined for any other address. Ignores case, because servers may change it. */
export function readReturnPath(address: string, key: ReturnPathKey): string | undefined {
  const [local = ""] = address.toLowerCase().split("@", 1);
  if (!local.startsWith(PREFIX) || local.length !== PREFIX.length + ENCODED_LENGTH) return undefined;
  const bytes = fromBase32(local.slice(PREFIX.length));
  if (bytes === undefined) return undefined;
  const uuid = bytes.subarray(0, UUID_OCTETS);
  if (!timingSafeEqual(tokenOf(uuid, key), bytes.subarray(UUID_OCTETS))) return undefined;
  const hex = uuid.toString("hex");
  return `em_${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const PREFIX = "rp-";
const UUID_OCTETS = 16;
const TOKEN_OCTETS = 16;
const ENCODED_LENGTH = Math.ceil(((UUID_OCTETS + TOKEN_OCTETS) * 8) / 5);

// The token does not cover the domain: bounces to bounce.D must stay readable after D moves to the service's own name.
function tokenOf(uuid: Uint8Array, key: ReturnPathKey): Buffer {
  return createHmac("sha256", key).update("posthorn return path 1\0").update(uuid).digest().subarray(0, TOKEN_OCTETS);
}

// RFC 4648 §6 in lower case, without padding. Hex would exceed 64 characters, and base64 would not survive a change of case.
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

function toBase32(bytes: Uint8Array): string {
  let out = "";
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      out += ALPHABET[(buffer >> bits) & 31];
    }
    buffer &= (1 << bits) - 1;
  }
  return bits === 0 ? out : out + ALPHABET[(buffer << (5 - bits)) & 31];
}

function fromBase32(text: string): Buffer | undefined {
  const out = Buffer.alloc(Math.floor((text.length * 5) / 8));
  let buffer = 0;
  let bits = 0;
  let at = 0;
  for (const char of text) {
    const value = ALPHABET.indexOf(char);
    if (value < 0) return undefined;
    buffer = (buffer << 5) | value;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      out[at++] = buffer >> bits;
      buffer &= (1 << bits) - 1;
    }
  }
  // Refuse unused bits that are not zero: they would give one email several addresses.
  return buffer === 0 ? out : undefined;
}

/** The return path of one recipient of an email (VERP): an address that names the recipient, with a token that proves that we created it.
 * delivery/ writes it, inbound/ reads it. Each copy also carries its local part in a header field, because complaints often omit the
 * return path. Decision 32 has the reasons. */

import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { uuidOf } from "./message-id.ts";

export type ReturnPathKey = KeyObject | Uint8Array;

/** The copy of an email that one recipient got. */
export type Copy = {
  /** `em_` and a UUID. */
  emailId: string;
  /** The recipient's position in the email. Undefined for a path of an earlier release, which all recipients of an email shared. */
  position: number | undefined;
};

/** The unsigned header field with the token of the copy. Callers cannot set it (header-fields.ts). */
export const copyField = "X-Posthorn-Copy";

/** The token in the field of one recipient's copy. Forwarders and lists pass the field on, so it is not the return path: a person who sees the
 * field can complain about this copy, but not bounce it. */
export function makeCopyToken({
  emailId,
  position,
  key,
}: {
  emailId: string;
  position: number;
  key: ReturnPathKey;
}): string {
  return makeToken(COPY, { emailId, position, key });
}

/** The copy of a token in `copyField` that was made with one of the keys; undefined for any other text. */
export function readCopyToken(text: string, keys: readonly ReturnPathKey[]): Copy | undefined {
  return readWithAny(COPY, text.toLowerCase(), keys);
}

/** The MAIL FROM of one recipient, under `domain`: 58 lower-case characters before the "@"; RFC 5321 §4.5.3.1.1 allows 64. */
export function makeReturnPath(input: {
  emailId: string;
  position: number;
  domain: string;
  key: ReturnPathKey;
}): string {
  return `${makeToken(PATH, input)}@${input.domain}`;
}

/** The copy of one of our return paths, or of its local part, that was made with one of the keys; undefined for any other text. Ignores case,
 * because servers may change it. */
export function readReturnPath(address: string, keys: readonly ReturnPathKey[]): Copy | undefined {
  const [local = ""] = address.toLowerCase().split("@", 1);
  return readWithAny(PATH, local, keys);
}

/** The form of earlier releases, one path for all recipients of an email. Only read today; tests write it. */
export function makeSharedReturnPath(input: { emailId: string; domain: string; key: ReturnPathKey }): string {
  const uuid = uuidBytes(input.emailId);
  return `${PATH.prefix}${toBase32(Buffer.concat([uuid, tokenOf(PATH, uuid, undefined, input.key)]))}@${input.domain}`;
}

/** The tokens in a text that have the form of ours, of copies and of return paths, whatever follows them. Receivers may change the case, and
 * some put `=` or `+` in front. */
export function findTokens(text: string): string[] {
  return [...text.matchAll(/[rc]p-(?:[a-z2-7]{55}|[a-z2-7]{52})(?![a-z2-7])/gi)].map(([local]) => local);
}

/** One kind of token, with a label of its own, so that one cannot be used as the other. */
type Form = { prefix: string; label: string; sharedLabel?: string };
const PATH: Form = { prefix: "rp-", label: "posthorn return path 2", sharedLabel: "posthorn return path 1" };
const COPY: Form = { prefix: "cp-", label: "posthorn copy 1" };

function makeToken(
  form: Form,
  { emailId, position, key }: { emailId: string; position: number; key: ReturnPathKey },
): string {
  if (!Number.isInteger(position) || position < 0 || position > MAX_POSITION)
    throw new RangeError(`position ${position}`);
  const uuid = uuidBytes(emailId);
  const token = tokenOf(form, uuid, position, key);
  return `${form.prefix}${toBase32(Buffer.concat([uuid, token, masked(form, position, token, key)]))}`;
}

function readWithAny(form: Form, text: string, keys: readonly ReturnPathKey[]): Copy | undefined {
  const { prefix } = form;
  if (!text.startsWith(prefix) || !ENCODED_LENGTHS.has(text.length - prefix.length)) return undefined;
  const bytes = fromBase32(text.slice(prefix.length));
  if (bytes === undefined) return undefined;
  for (const key of keys) {
    const copy = readToken(form, bytes, key);
    if (copy) return copy;
  }
  return undefined;
}

function readToken(form: Form, bytes: Buffer, key: ReturnPathKey): Copy | undefined {
  const uuid = bytes.subarray(0, UUID_OCTETS);
  const token = bytes.subarray(UUID_OCTETS, UUID_OCTETS + TOKEN_OCTETS);
  const hidden = bytes.subarray(UUID_OCTETS + TOKEN_OCTETS);
  if (hidden.length === 0 && form.sharedLabel === undefined) return undefined;
  const position = hidden.length === 0 ? undefined : masked(form, hidden.readUInt16BE(), token, key).readUInt16BE();
  if (!timingSafeEqual(tokenOf(form, uuid, position, key), token)) return undefined;
  return { emailId: emailIdOf(uuid), position };
}

const UUID_OCTETS = 16;
const TOKEN_OCTETS = 16;
const POSITION_OCTETS = 2;
const MAX_POSITION = 0xffff;
const ENCODED_LENGTHS = new Set(
  [UUID_OCTETS + TOKEN_OCTETS, UUID_OCTETS + TOKEN_OCTETS + POSITION_OCTETS].map((octets) =>
    Math.ceil((octets * 8) / 5),
  ),
);

// The token does not cover the domain: bounces to bounce.D must stay readable after D moves to the service's own name.
function tokenOf(form: Form, uuid: Uint8Array, position: number | undefined, key: ReturnPathKey): Buffer {
  const hmac = createHmac("sha256", key);
  if (position === undefined) hmac.update(`${form.sharedLabel}\0`).update(uuid);
  else hmac.update(`${form.label}\0`).update(uuid).update(octetsOf(position));
  return hmac.digest().subarray(0, TOKEN_OCTETS);
}

/**
 * Hides or reveals a position: a plain 7 would tell a recipient who sees two addresses in the header that there are blind copies. As in SIV
 * mode, the mask depends on the token, and the token on the position, so that each recipient keeps one address for all attempts.
 */
function masked(form: Form, position: number, token: Uint8Array, key: ReturnPathKey): Buffer {
  const mask = createHmac("sha256", key).update(`${form.label} mask\0`).update(token).digest();
  return octetsOf(position ^ mask.readUInt16BE());
}

function octetsOf(position: number): Buffer {
  const octets = Buffer.alloc(POSITION_OCTETS);
  octets.writeUInt16BE(position);
  return octets;
}

function uuidBytes(emailId: string): Buffer {
  return Buffer.from(uuidOf(emailId).replaceAll("-", ""), "hex");
}

function emailIdOf(uuid: Buffer): string {
  const hex = uuid.toString("hex");
  return `em_${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
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
  // Refuse unused bits that are not zero: they would give one recipient several addresses.
  return buffer === 0 ? out : undefined;
}

/** Signs a composed message with DKIM (RFC 6376): rsa-sha256, relaxed/relaxed, the whole body, oversigned identity headers.
 * Called by delivery/compose. */

import { type KeyObject, sign } from "node:crypto";
import { promisify } from "node:util";
import { relaxedBodyHash } from "./body-hash.ts";
import { type HeaderField, relaxedField, splitHeader } from "./dkim-canonical.ts";

export type DkimIdentity = {
  /** The signing domain (d=), in A-labels, aligned with From. */
  domain: string;
  /** The selector (s=) under which the public key is published. */
  selector: string;
  /** The signing time (t=). The caller passes the email's date, so that every attempt has the same bytes. */
  signedAt: Date;
};

/**
 * Returns the DKIM-Signature field, with a CRLF at its end, to put in front of the message. libuv's thread pool computes the
 * signature; the event loop computes only the hashes.
 */
export async function signDkim(message: Buffer, identity: DkimIdentity, key: KeyObject): Promise<string> {
  return await signDigest(digestMessage(message), identity, key);
}

/** What the signature covers: the header as latin1 text, without the empty line after it, and the hash of the body (body-hash.ts). */
export type MessageDigest = { head: string; bodyHash: string };

/** Signs a message that is not in memory as a whole. */
export async function signDigest(digest: MessageDigest, identity: DkimIdentity, key: KeyObject): Promise<string> {
  const { field, input } = dkimSigningInput(digest, identity);
  const signature = await signAsync("sha256", input, key);
  return appendSignature(field, signature);
}

export function digestMessage(message: Buffer): MessageDigest {
  const split = message.indexOf("\r\n\r\n");
  if (split < 0) throw new Error("a message without an empty line after its header cannot be signed");
  return { head: message.toString("latin1", 0, split), bodyHash: relaxedBodyHash(message.subarray(split + 4)) };
}

/** Returns the field up to an empty `b=`, and the octets to sign. Pure. */
export function dkimSigningInput(
  { head, bodyHash }: MessageDigest,
  { domain, selector, signedAt }: DkimIdentity,
): { field: string; input: Buffer } {
  if (!/^[a-z0-9.-]+$/.test(domain) || !/^[a-z0-9._-]+$/i.test(selector))
    throw new Error("DKIM needs an ASCII domain and selector");
  const fields = splitHeader(head);
  const { names, signed } = chooseFields(fields);
  const value =
    ` v=1; a=rsa-sha256; c=relaxed/relaxed; d=${domain};\r\n` +
    ` s=${selector}; t=${Math.floor(signedAt.getTime() / 1000)};\r\n` +
    `${foldNames(names)};\r\n` +
    ` bh=${bodyHash};\r\n b=`;
  // RFC 6376 §3.7: the DKIM-Signature field comes last, with an empty b= and without a CRLF.
  const input =
    signed.map(({ name, value }) => relaxedField(name, value) + "\r\n").join("") + relaxedField(FIELD_NAME, value);
  return { field: `${FIELD_NAME}:${value}`, input: Buffer.from(input, "latin1") };
}

const FIELD_NAME = "DKIM-Signature";
const signAsync = promisify(sign) as (algorithm: string, data: Uint8Array, key: KeyObject) => Promise<Buffer>;

/**
 * Oversigned, that is, signed once more often than they occur (RFC 6376 §5.4.2). Adding a second From, or a Reply-To to a message
 * without one, breaks the signature.
 */
const IDENTITY_FIELDS = [
  "From",
  "To",
  "Cc",
  "Subject",
  "Date",
  "Message-ID",
  "Reply-To",
  "In-Reply-To",
  "References",
  "MIME-Version",
  "Content-Type",
  "Content-Transfer-Encoding",
];

/**
 * Oversigned only if they occur: mailing lists that forward mail unchanged add these fields, which would break a signature over
 * their absence. RFC 8058 §4 requires the two fields of one-click unsubscribe to be signed.
 */
const FIELDS_WHEN_PRESENT = ["List-Unsubscribe", "List-Unsubscribe-Post", "List-Id", "Feedback-ID", "Auto-Submitted"];

function chooseFields(fields: readonly HeaderField[]): { names: string[]; signed: HeaderField[] } {
  const byName = Map.groupBy(fields, ({ name }) => name.toLowerCase());
  if (byName.get("from")?.length !== 1) throw new Error("a message needs exactly one From to be signed");
  const names: string[] = [];
  const signed: HeaderField[] = [];
  for (const [name, lower] of SIGNED_FIELDS) {
    const present = byName.get(lower) ?? [];
    if (present.length === 0 && FIELDS_WHEN_PRESENT.includes(name)) continue;
    // RFC 6376 §5.4.2: repeated fields are signed from the bottom up.
    signed.push(...present.toReversed());
    names.push(...present.map(() => name), name);
  }
  return { names, signed };
}

const SIGNED_FIELDS = [...IDENTITY_FIELDS, ...FIELDS_WHEN_PRESENT].map((name) => [name, name.toLowerCase()] as const);

// RFC 6376 §3.5: h= may be folded around its colons.
function foldNames(names: readonly string[]): string {
  const lines: string[] = [];
  let line = " h=";
  for (const [index, name] of names.entries()) {
    const entry = index === names.length - 1 ? name : `${name}:`;
    if (line.length + entry.length > 76) {
      lines.push(line);
      line = " ";
    }
    line += entry;
  }
  return [...lines, line].join("\r\n");
}

function appendSignature(field: string, signature: Buffer): string {
  const lines = signature.toString("base64").match(/.{1,72}/g) ?? [];
  return `${field}${lines.join("\r\n ")}\r\n`;
}

/** Composes and signs one email: the work itself, done by the compose pool inline and by its worker threads. */

import type { KeyObject } from "node:crypto";
import { compose, type OutgoingEmail } from "../mail/compose.ts";
import { signDkim } from "../mail/dkim.ts";

/** Plain data and a key handle, so that it can be posted to a worker as it is. */
export type ComposeJob = {
  email: OutgoingEmail;
  /** Unset: the message goes unsigned (a look at its content, a test). */
  signer?: { domain: string; selector: string; key: KeyObject };
  smtputf8: boolean;
};

/**
 * The signed message in one buffer: the signature is written into room that was left before it, so nothing large is
 * copied.
 */
export async function composeSigned({ email, signer, smtputf8 }: ComposeJob): Promise<Buffer> {
  if (signer === undefined) return compose(email, { smtputf8 });
  const buffer = compose(email, { smtputf8, headroom: SIGNATURE_ROOM });
  const message = buffer.subarray(SIGNATURE_ROOM);
  const { domain, selector, key } = signer;
  const field = await signDkim(message, { domain, selector, signedAt: email.date }, key);
  const start = SIGNATURE_ROOM - field.length;
  if (start < 0)
    throw new Error(`the DKIM-Signature takes ${field.length} octets, at most ${SIGNATURE_ROOM} are foreseen`);
  buffer.write(field, start, "latin1");
  return buffer.subarray(start);
}

// The longest domain, selector and field list with an RSA-4096 signature come to 1.6 kB.
const SIGNATURE_ROOM = 2048;

/**
 * What may be handed over without a copy: the octets of a view that has its memory to itself. Small buffers share a
 * pool.
 */
export function transferable(bytes: Uint8Array): ArrayBuffer[] {
  const memory = bytes.buffer;
  const ownsMost =
    memory instanceof ArrayBuffer &&
    bytes.byteLength > Buffer.poolSize &&
    memory.byteLength - bytes.byteLength <= SIGNATURE_ROOM;
  return ownsMost ? [memory] : [];
}

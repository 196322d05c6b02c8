/** Composes one email, signs a message that is in memory, and caches parsed private keys. The compose pool calls it inline and in its worker threads. */
import { createPrivateKey, type KeyObject } from "node:crypto";
import { compose, composeOutline, type OutgoingEmail } from "../../mail/compose.ts";
import { signDkim } from "../../mail/dkim.ts";
import type { LargeContent, Outline } from "../../mail/mime/pieces.ts";

/** Plain data and a key handle, which can be posted to a worker thread as they are. */
export type ComposeJob = {
  kind: "message";
  email: OutgoingEmail;
  /** Unset: the message is not signed (a preview of the content, a test). */
  signer?: { domain: string; selector: string; key: KeyObject };
  smtputf8: boolean;
};

/** A message without its large parts, which is signed when they have been read (streamed.ts). */
export type OutlineJob = { kind: "outline"; email: OutgoingEmail<LargeContent>; smtputf8: boolean };

export type PrivateKeySource = { domain: string; selector: string; privateKeyPem: string };

/** Bytes reserved in front of the message for the DKIM-Signature field. The longest one, with RSA-4096, takes 1.6 kB. */
const signatureHeadroom = 2048;

export function outlineJob({ email, smtputf8 }: OutlineJob): Outline {
  return composeOutline(email, { smtputf8 });
}

/** The signed message in one buffer. The signature is written into headroom in front of the message, so that the message is not copied. */
export async function composeSigned({ email, signer, smtputf8 }: ComposeJob): Promise<Buffer> {
  if (signer === undefined) return compose(email, { smtputf8 });
  const buffer = compose(email, { smtputf8, headroom: signatureHeadroom });
  const message = buffer.subarray(signatureHeadroom);
  const { domain, selector, key } = signer;
  const field = await signDkim(message, { domain, selector, signedAt: email.date }, key);
  const start = signatureHeadroom - field.length;
  if (start < 0)
    throw new Error(
      `the DKIM-Signature field takes ${field.length} bytes, more than the ${signatureHeadroom} reserved`,
    );
  buffer.write(field, start, "latin1");
  return buffer.subarray(start);
}

/** The memory to transfer to another thread instead of copying it; empty when the bytes share their memory, as small buffers do. */
export function transferable(bytes: Uint8Array): ArrayBuffer[] {
  const memory = bytes.buffer;
  const ownsMost =
    memory instanceof ArrayBuffer &&
    bytes.byteLength > Buffer.poolSize &&
    memory.byteLength - bytes.byteLength <= signatureHeadroom;
  return ownsMost ? [memory] : [];
}

/** An LRU cache of parsed private keys. Parsing the key for every signature costs a fifth of the throughput (225 instead of 291
 * signatures/s), so keys are evicted only when the cache is full. */
export function createKeyCache(limit: number): (source: PrivateKeySource) => KeyObject {
  const cache = new Map<string, { pem: string; key: KeyObject }>();
  return ({ domain, selector, privateKeyPem }) => {
    const name = `${selector}._domainkey.${domain}`;
    const known = cache.get(name);
    // A different PEM under the same name means that the key was replaced.
    const entry = known?.pem === privateKeyPem ? known : { pem: privateKeyPem, key: readKey(name, privateKeyPem) };
    cache.delete(name);
    cache.set(name, entry);
    for (const oldest of cache.keys()) {
      if (cache.size <= limit) break;
      cache.delete(oldest);
    }
    return entry.key;
  };
}

function readKey(name: string, pem: string): KeyObject {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== "rsa") throw new Error(`the private key of ${name} is not an RSA key`);
  return key;
}

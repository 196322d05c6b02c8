/** Makes DKIM keys off the event loop. RSA-2048 costs a core a tenth of a second or more: one domain at a time, and no endless queue. */
import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";
import { createGate } from "../dns/gate.ts";
import { Problem } from "../rules/problem.ts";

export type KeyPair = {
  /** Base64 SPKI, as DNS holds it. */
  publicKey: string;
  /** PKCS #8 */
  privateKeyPem: string;
};

export type KeyMaker = () => Promise<[KeyPair, KeyPair]>;

const makeRsa = promisify(generateKeyPair);

/** Two keys take two of libuv's four threads: signing goes on meanwhile. */
export function createKeyMaker(options: { maxWaiting?: number } = {}): KeyMaker {
  const { maxWaiting = 50 } = options;
  const gate = createGate(1);
  let waiting = 0;
  return async () => {
    if (waiting >= maxWaiting)
      throw new Problem(
        "resource_exhausted",
        "Many domains are being added at this moment. Try again in a few seconds.",
        {
          retryAfterMs: 5000,
        },
      );
    waiting += 1;
    try {
      return await gate.run(() => Promise.all([makePair(), makePair()]));
    } finally {
      waiting -= 1;
    }
  };
}

async function makePair(): Promise<KeyPair> {
  const { publicKey, privateKey } = await makeRsa("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return { publicKey: publicKey.toString("base64"), privateKeyPem: privateKey };
}

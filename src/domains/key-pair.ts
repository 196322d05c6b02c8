/** Makes DKIM keys off the event loop. RSA-2048 costs a core a tenth of a second or more: one domain at a time, and no endless queue. */
import { createPublicKey } from "node:crypto";
import { createGate } from "../dns/gate.ts";
import { makeRsaKey } from "../mail/rsa-key.ts";
import { Problem } from "../rules/problem.ts";

export type KeyPair = {
  /** Base64 SPKI, as DNS holds it. */
  publicKey: string;
  /** PKCS #8 */
  privateKeyPem: string;
};

export type KeyMaker = () => Promise<[KeyPair, KeyPair]>;

/** Both keys of a domain at once. */
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
  const key = await makeRsaKey();
  return {
    publicKey: createPublicKey(key).export({ type: "spki", format: "der" }).toString("base64"),
    privateKeyPem: key.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

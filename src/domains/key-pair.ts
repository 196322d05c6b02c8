/**
 * Makes the two DKIM keys of a domain off the event loop, for register.ts and rotate.ts. An RSA-2048 key takes 0.1 s of
 * CPU time or more, so the maker serves one domain at a time and limits the number of waiting requests.
 */
import { createPublicKey } from "node:crypto";
import { makeRsaKey } from "../mail/rsa-key.ts";
import { createConcurrencyLimit } from "../ops/concurrency-limit.ts";
import { Problem } from "../ops/problem.ts";

export type KeyPair = {
  /** Base64 SPKI, as published in DNS. */
  publicKey: string;
  /** PKCS #8. */
  privateKeyPem: string;
};

export type KeyMaker = () => Promise<[KeyPair, KeyPair]>;

export function createKeyMaker(options: { maxWaiting?: number } = {}): KeyMaker {
  const { maxWaiting = 50 } = options;
  const gate = createConcurrencyLimit(1);
  let waiting = 0;
  return async () => {
    if (waiting >= maxWaiting)
      throw new Problem(
        "resource_exhausted",
        "Too many domains are being added right now. Try again in a few seconds.",
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

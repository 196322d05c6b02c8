/**
 * Makes the two DKIM keys of a domain off the event loop, for register.ts and rotate.ts. An RSA-2048 key takes 0.1 s of
 * CPU time or more, so the maker serves one domain at a time, the workspaces in turn, and limits how many requests of a workspace wait.
 */
import { createPublicKey } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { makeRsaKey } from "../mail/rsa-key.ts";
import { Problem } from "../ops/problem.ts";
import { createBudget, runOrRefuse } from "../shares/budget.ts";

export type KeyPair = {
  /** Base64 SPKI, as published in DNS. */
  publicKey: string;
  /** PKCS #8. */
  privateKeyPem: string;
};

/** `check` runs before the keys are made and may throw. A refused request costs not even that. */
export type KeyMaker = (workspaceId: string, check?: () => Promise<void>) => Promise<[KeyPair, KeyPair]>;

export function createKeyMaker(options: { maxWaiting?: number } = {}): KeyMaker {
  const { maxWaiting = 10 } = options;
  const gate = createBudget({ total: 1 });
  return (owner, check = async () => {}) =>
    runOrRefuse({ budget: gate, owner, maxWaiting, refusal: tooMany }, async () => {
      await check();
      if (gate.waiting() === 0) return await Promise.all([makePair(), makePair()]);
      const startedAtMs = performance.now();
      const pairs: [KeyPair, KeyPair] = [await makePair(), await makePair()];
      // A row of requests takes at most half of one core, so that the mail of other tenants does not wait for the CPU.
      await delay(performance.now() - startedAtMs);
      return pairs;
    });
}

function tooMany(): Problem {
  return new Problem(
    "resource_exhausted",
    "This workspace adds or rotates too many domains at once. Try again in a few seconds.",
    { retryAfterMs: 5000 },
  );
}

async function makePair(): Promise<KeyPair> {
  const key = await makeRsaKey();
  return {
    publicKey: createPublicKey(key).export({ type: "spki", format: "der" }).toString("base64"),
    privateKeyPem: key.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

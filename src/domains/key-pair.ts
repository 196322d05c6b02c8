/**
 * Makes the two DKIM keys of a domain off the event loop, for register.ts and rotate.ts. An RSA-2048 key takes 0.1 s of
 * CPU time or more, so one request at a time works on keys, the workspaces in turn, and few requests of a workspace wait.
 */
import { createPublicKey } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { makeRsaKey, type PrimeCount } from "../mail/rsa-key.ts";
import { Problem } from "../ops/problem.ts";
import { createBudget, runOrRefuse } from "../shares/budget.ts";

export type KeyPair = {
  primes: PrimeCount;
  /** Base64 SPKI, as published in DNS. */
  publicKey: string;
  /** PKCS #8. */
  privateKeyPem: string;
};

/** `check` runs before the keys are made and may throw. A refused request costs not even that. */
export type KeyMaker = (workspaceId: string, check?: () => Promise<void>) => Promise<[KeyPair, KeyPair]>;

/** One piece of work on keys at a time; `contended` tells whether another waits. own-keys.ts checks imported keys in it, too. */
export type KeyGate = <T>(workspaceId: string, work: (contended: () => boolean) => Promise<T>) => Promise<T>;

export function createKeyGate(options: { maxWaiting?: number } = {}): KeyGate {
  const { maxWaiting = 10 } = options;
  const gate = createBudget({ total: 1 });
  return (owner, work) =>
    runOrRefuse({ budget: gate, owner, maxWaiting, refusal: tooMany }, async () => {
      const contended = () => gate.waiting() > 0;
      const startedAtMs = performance.now();
      const result = await work(contended);
      // A row of requests takes at most half of one core, so that the mail of other tenants does not wait for the CPU.
      if (contended()) await delay(performance.now() - startedAtMs);
      return result;
    });
}

export function createKeyMaker({ gate, primes }: { gate: KeyGate; primes: PrimeCount }): KeyMaker {
  return (owner, check = async () => {}) =>
    gate(owner, async (contended) => {
      await check();
      if (contended()) return [await makePair(primes), await makePair(primes)];
      return await Promise.all([makePair(primes), makePair(primes)]);
    });
}

function tooMany(): Problem {
  return new Problem(
    "resource_exhausted",
    "This workspace adds domains, rotates keys or imports keys too often at once. Try again in a few seconds.",
    { retryAfterMs: 5000 },
  );
}

async function makePair(primes: PrimeCount): Promise<KeyPair> {
  const key = await makeRsaKey(primes);
  return {
    primes,
    publicKey: createPublicKey(key).export({ type: "spki", format: "der" }).toString("base64"),
    privateKeyPem: key.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

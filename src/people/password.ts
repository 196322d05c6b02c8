/** The length of passwords, and their hashing with scrypt. Only a few hashes run at once, so that a flood of sign-ins does not use up the
 * machine. Called by people.ts, sign-up.ts and auth.ts. */
import { Problem, type Violation } from "../ops/problem.ts";

export const passwordLength = { min: 10, max: 128 } as const;

/** One hash takes 32 MiB, and a thread of the pool that DKIM signing uses too. */
const maxRunning = 2;
const maxWaiting = 50;

/** Loaded on first use, as in auth.ts. */
const library = () => import("better-auth/crypto");

export type Hasher = {
  hash(password: string): Promise<string>;
  verify(hash: string, password: string): Promise<boolean>;
};

export function createHasher(): Hasher {
  let running = 0;
  const waiting: (() => void)[] = [];

  async function withSlot<T>(work: () => Promise<T>): Promise<T> {
    if (running >= maxRunning) {
      if (waiting.length >= maxWaiting)
        throw new Problem("resource_exhausted", "Too many sign-ins are in progress. Try again shortly.", {
          retryAfterMs: 5000,
        });
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      // Pass the slot to the next waiter, or free it.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  }

  return {
    hash: (password) => withSlot(async () => (await library()).hashPassword(password)),
    verify: (hash, password) => withSlot(async () => (await library()).verifyPassword({ hash, password })),
  };
}

export function judgePassword(password: string, field: string): Violation[] {
  const { min, max } = passwordLength;
  const length = [...password].length;
  if (length < min || password.length > max)
    return [{ field, description: `must have ${min} to ${max} characters, has ${length}` }];
  if (!password.isWellFormed()) return [{ field, description: "contains an unpaired surrogate: send valid Unicode" }];
  return [];
}

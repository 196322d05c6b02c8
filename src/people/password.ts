/** Passwords: how long they may be, and their hashing by scrypt, a few at a time, so that a flood of sign-ins leaves the machine to others. */
import { Problem, type Violation } from "../rules/problem.ts";

export const passwordLength = { min: 10, max: 128 } as const;

/** One hash takes 32 MiB and a thread of the pool that DKIM signing shares. */
const atOnce = 2;
const maxWaiting = 50;

/** Loaded when it is needed: see auth.ts. */
const library = () => import("better-auth/crypto");

export type Hasher = {
  hash(password: string): Promise<string>;
  verify(hash: string, password: string): Promise<boolean>;
};

export function createHasher(): Hasher {
  let running = 0;
  const waiting: (() => void)[] = [];

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (running >= atOnce) {
      if (waiting.length >= maxWaiting)
        throw new Problem("resource_exhausted", "Too many people sign in at this moment. Try again shortly.", {
          retryAfterMs: 5000,
        });
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      // The place is handed over to the next in line, or given back.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  }

  return {
    hash: (password) => inTurn(async () => (await library()).hashPassword(password)),
    verify: (hash, password) => inTurn(async () => (await library()).verifyPassword({ hash, password })),
  };
}

export function judgePassword(password: string, field: string): Violation[] {
  const { min, max } = passwordLength;
  const length = [...password].length;
  if (length < min || password.length > max)
    return [{ field, description: `must have ${min} to ${max} characters, has ${length}` }];
  if (!password.isWellFormed()) return [{ field, description: "contains half of a character: send valid Unicode" }];
  return [];
}

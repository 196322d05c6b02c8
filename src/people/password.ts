/** The rules for new passwords, and their hashing with scrypt. Only a few hashes run at once, and clients take turns, so that a flood of
 * sign-ins neither uses up the machine nor keeps other people out. Called by people.ts, sign-up.ts and auth.ts. */
import { Problem, type Violation } from "../ops/problem.ts";
import { networksOf } from "../shares/address.ts";
import { createBudget } from "../shares/budget.ts";
import { isCommonPassword } from "./common-password.ts";

export const passwordLength = { min: 10, max: 128 } as const;

/** One hash takes 32 MiB, and a thread of the pool that DKIM signing uses too. */
const maxRunning = 2;
/** Hashes that one client may have waiting: an IPv4 address or an IPv6 /56. */
const maxWaitingPerClient = 16;
/** From this many waiting hashes on, a client may have one. */
const crowded = 100;
const maxWaiting = 1000;
const retryAfterMs = 5000;

/** Loaded on first use, as in auth.ts. */
const library = () => import("better-auth/crypto");

export type HashTurns = {
  /** Runs work that hashes one password, when it is the turn of the client with this IP address. */
  run<T>(address: string, work: () => Promise<T>): Promise<T>;
};

export function createHashTurns(): HashTurns {
  const turns = createBudget({ total: maxRunning });

  /** How many hashes a client may have waiting now. */
  function share(): number {
    if (turns.waiting() >= maxWaiting) return 0;
    return turns.waiting() >= crowded ? 1 : maxWaitingPerClient;
  }

  return {
    async run(address, work) {
      const { site } = networksOf(address);
      if (turns.used() >= maxRunning && turns.waiting(site) >= share())
        throw new Problem("resource_exhausted", "Too many sign-ins are in progress. Try again shortly.", {
          retryAfterMs,
        });
      return await turns.run(site, work);
    },
  };
}

/** Called within a turn. */
export async function hashPassword(password: string): Promise<string> {
  return (await library()).hashPassword(password);
}

/** Called within a turn. */
export async function verifyPassword(hash: string, password: string): Promise<boolean> {
  return (await library()).verifyPassword({ hash, password });
}

/** Judges a new password; a sign-in accepts any password that was valid when it was set. `email` is undefined while it is invalid itself. */
export async function judgePassword(
  password: string,
  { field, email }: { field: string; email: string | undefined },
): Promise<Violation[]> {
  const problem = lengthProblem(password) ?? (await guessProblem(password, email));
  return problem === undefined ? [] : [{ field, description: problem }];
}

function lengthProblem(password: string): string | undefined {
  const { min, max } = passwordLength;
  const length = [...password].length;
  if (length < min || password.length > max) return `must have ${min} to ${max} characters, has ${length}`;
  if (!password.isWellFormed()) return "contains an unpaired surrogate: send valid Unicode";
  return undefined;
}

/** What makes a password of sufficient length easy to guess. */
async function guessProblem(password: string, email: string | undefined): Promise<string | undefined> {
  if (new Set(password).size === 1) return "repeats one character: choose a password with different characters";
  const lower = password.toLowerCase();
  if (
    email !== undefined &&
    [email, email.slice(0, email.lastIndexOf("@"))].some((part) => part.toLowerCase() === lower)
  )
    return "must differ from your address: choose another password";
  if (await isCommonPassword(password))
    return "is too common, so it is guessed first: choose another one, such as a few unrelated words";
  return undefined;
}

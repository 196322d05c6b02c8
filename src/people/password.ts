/** The rules for new passwords, and their hashing with scrypt. Only a few hashes run at once, and clients take turns, so that a flood of
 * sign-ins neither uses up the machine nor keeps other people out. Called by people.ts and sign-up.ts. */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
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

/** scrypt with 16 MiB of memory, in the form that earlier releases stored. */
const cost = { N: 16_384, r: 16, p: 1, maxmem: 128 * 16_384 * 16 * 2 };
const keyBytes = 64;
/** Compared when an account has no password, so that the answer takes as long. */
const noHash = `${"0".repeat(32)}:${"0".repeat(2 * keyBytes)}`;
const scryptAsync = promisify<string, string, number, ScryptOptions, Buffer>(scrypt);

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
  const salt = randomBytes(16).toString("hex");
  return `${salt}:${(await stretch(password, salt)).toString("hex")}`;
}

/** Called within a turn. Without a hash it takes as long and returns false. */
export async function verifyPassword(hash: string | undefined, password: string): Promise<boolean> {
  const [salt = "", key = ""] = (hash ?? noHash).split(":");
  const expected = Buffer.from(key, "hex");
  const found = await stretch(password, salt);
  return hash !== undefined && found.length === expected.length && timingSafeEqual(found, expected);
}

/** Normalized, because keyboards type the same character in different ways. */
async function stretch(password: string, salt: string): Promise<Buffer> {
  return await scryptAsync(password.normalize("NFKC"), salt, keyBytes, cost);
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

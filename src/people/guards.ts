/** How many wrong passwords and codes of a person are checked. Used by people.ts, sign-in.ts, confirm.ts and factors.ts. */
import { createGuard, type Guard } from "../shares/guessing.ts";

/** The account is the email address. */
export function createSignInGuard(): Guard {
  return createGuard({ burst: 60, periodMs: 20_000 }, "sign-in");
}

/** Limits wrong codes and passkeys of people whose first step was right; the account is the person's id. Six digits with three valid codes at a
 * time: 318 guesses a day find one with a chance of 1 in 1000. */
export function createFactorGuard(name: string): Guard {
  return createGuard({ burst: 30, periodMs: 300_000 }, `second factor, ${name}`);
}

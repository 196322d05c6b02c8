/** Slows down guessing: a few tries at once, then one at a time, counted by account and by address. Time comes in as an argument. */
import { Problem } from "../rules/problem.ts";

/** So many at once, then one in each period. */
export type Allowance = { burst: number; perMs: number };

/** More names than this are never remembered: the oldest go first. */
const kept = 20_000;

export type Counter = {
  /** Throws with the time to wait when nothing is left for this name. Takes nothing. */
  check(name: string, nowMs: number): void;
  take(name: string, nowMs: number): void;
  /** Gives one back. */
  give(name: string, nowMs: number): void;
};

export function createCounter({ burst, perMs }: Allowance): Counter {
  const names = new Map<string, { left: number; atMs: number }>();

  const leftOf = (name: string, nowMs: number): number => {
    const known = names.get(name);
    return known ? Math.min(burst, known.left + Math.max(0, nowMs - known.atMs) / perMs) : burst;
  };

  return {
    check(name, nowMs) {
      const left = leftOf(name, nowMs);
      if (left >= 1) return;
      const retryAfterMs = Math.ceil((1 - left) * perMs);
      throw new Problem(
        "resource_exhausted",
        `Too many tries. Try again in ${Math.ceil(retryAfterMs / 1000)} seconds.`,
        { retryAfterMs },
      );
    },
    take: (name, nowMs) => set(name, Math.max(0, leftOf(name, nowMs) - 1), nowMs),
    give: (name, nowMs) => set(name, Math.min(burst, leftOf(name, nowMs) + 1), nowMs),
  };

  function set(name: string, left: number, atMs: number): void {
    names.delete(name);
    if (left < burst) names.set(name, { left, atMs });
    if (names.size > kept) names.delete(names.keys().next().value!);
  }
}

export type Guessed = { email: string; address: string };

/**
 * Wrong passwords. The same for an address that has no account. The account alone has the widest allowance: a stranger who fills it
 * from many addresses slows its owner down for a while, and no more.
 */
export function createSignInGuard() {
  const byBoth = createCounter({ burst: 8, perMs: 60_000 });
  const byAddress = createCounter({ burst: 40, perMs: 10_000 });
  const byAccount = createCounter({ burst: 60, perMs: 20_000 });
  const each = (who: Guessed, act: (counter: Counter, name: string) => void) => {
    act(byBoth, `${who.email} ${who.address}`);
    act(byAddress, who.address);
    act(byAccount, who.email);
  };
  return {
    check: (who: Guessed, nowMs: number) => each(who, (counter, name) => counter.check(name, nowMs)),
    failed: (who: Guessed, nowMs: number) => each(who, (counter, name) => counter.take(name, nowMs)),
    /** It was the right one. */
    forgive: (who: Guessed, nowMs: number) => each(who, (counter, name) => counter.give(name, nowMs)),
  };
}

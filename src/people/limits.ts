/** Rate limits against guessing: a burst of attempts, then one per period, counted by account and by the client's networks. Time is an
 * argument, from a monotonic clock: a jump of the wall clock must neither open nor close a limit. Called by people.ts, sign-up.ts,
 * resets.ts, invitations.ts and pages.ts. */
import { Problem } from "../ops/problem.ts";
import { networksOf } from "../shares/address.ts";
import { createTokenBuckets } from "../shares/token-bucket.ts";

/** `burst` attempts at once, then one per period. */
export type AttemptRate = { burst: number; periodMs: number };

export type AttemptLimit = {
  /** Throws with the time to wait when the limit is reached for this key. Does not count an attempt. */
  check(key: string, nowMs: number): void;
  take(key: string, nowMs: number): void;
  giveBack(key: string, nowMs: number): void;
};

export function createAttemptLimit(rate: AttemptRate): AttemptLimit {
  const buckets = createTokenBuckets({ ...rate, maxKeys: 20_000 });
  return {
    check(key, nowMs) {
      const retryAfterMs = buckets.waitMs(key, nowMs);
      if (retryAfterMs === 0) return;
      throw tooMany("Too many attempts.", retryAfterMs);
    },
    take: (key, nowMs) => void buckets.take(key, nowMs),
    giveBack: buckets.giveBack,
  };
}

export function tooMany(what: string, retryAfterMs: number): Problem {
  const seconds = Math.ceil(retryAfterMs / 1000);
  const wait = seconds < 600 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  return new Problem("resource_exhausted", `${what} Try again in ${wait}.`, { retryAfterMs });
}

/** An IPv6 /56 may make this many times the attempts of one /64: one site has several hosts. */
const hostsPerSite = 4;

/** Limits the clients of an address. The key is an IP address; an IPv6 address counts with its /64 and with its /56. */
export function createClientLimit(rate: AttemptRate): AttemptLimit {
  const byAddress = createAttemptLimit(rate);
  const bySite = createAttemptLimit({ burst: rate.burst * hostsPerSite, periodMs: rate.periodMs / hostsPerSite });
  const each = (key: string, act: (limit: AttemptLimit, network: string) => void) => {
    const { address, site } = networksOf(key);
    act(byAddress, address);
    if (site !== address) act(bySite, site);
  };
  return {
    check: (key, nowMs) => each(key, (limit, network) => limit.check(network, nowMs)),
    take: (key, nowMs) => each(key, (limit, network) => limit.take(network, nowMs)),
    giveBack: (key, nowMs) => each(key, (limit, network) => limit.giveBack(network, nowMs)),
  };
}

/** `email` is the account, `address` the IP address of the client. */
export type SignInAttempt = { email: string; address: string };

/**
 * Limits wrong passwords, also for an account that does not exist. The limit per account alone is the widest: an attacker who reaches it
 * from many addresses only slows the owner down for a while.
 */
export function createSignInGuard() {
  return createGuard({ burst: 60, periodMs: 20_000 });
}

/** Limits wrong codes and passkeys of people whose first step was right; `email` is then the person's id. Six digits with three valid
 * codes at a time: 318 guesses a day find one with a chance of 1 in 1000. */
export function createFactorGuard() {
  return createGuard({ burst: 30, periodMs: 300_000 });
}

function createGuard(account: AttemptRate) {
  const byBoth = createAttemptLimit({ burst: 8, periodMs: 60_000 });
  const byClient = createClientLimit({ burst: 40, periodMs: 10_000 });
  const byAccount = createAttemptLimit(account);
  const each = (attempt: SignInAttempt, act: (limit: AttemptLimit, key: string) => void) => {
    act(byBoth, `${attempt.email} ${networksOf(attempt.address).site}`);
    act(byClient, attempt.address);
    act(byAccount, attempt.email);
  };
  return {
    check: (attempt: SignInAttempt, nowMs: number) => each(attempt, (limit, key) => limit.check(key, nowMs)),
    take: (attempt: SignInAttempt, nowMs: number) => each(attempt, (limit, key) => limit.take(key, nowMs)),
    /** Called after a correct password. */
    giveBack: (attempt: SignInAttempt, nowMs: number) => each(attempt, (limit, key) => limit.giveBack(key, nowMs)),
  };
}

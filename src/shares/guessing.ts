/** Rate limits against guessing: a burst of attempts, then one per period, counted by account and by the client's networks. Time is an
 * argument, from a monotonic clock: a jump of the wall clock must neither open nor close a limit. Used by people/ and
 * submission/. */
import { Problem } from "../ops/problem.ts";
import { networksOf } from "./address.ts";
import { amongPeers } from "./guesses-among-peers.ts";
import { createTokenBuckets } from "./token-bucket.ts";

/** `burst` attempts at once, then one per period. */
export type AttemptRate = { burst: number; periodMs: number };

export type AttemptLimit = {
  /** Throws with the time to wait when the limit is reached for this key. Does not count an attempt. */
  check(key: string, nowMs: number): void;
  take(key: string, nowMs: number): void;
  giveBack(key: string, nowMs: number): void;
};

/** With a name, the limit holds for all processes of the program together. */
export function createAttemptLimit(rate: AttemptRate, name?: string): AttemptLimit {
  const buckets = createTokenBuckets({ ...rate, maxKeys: 20_000 });
  const limit: AttemptLimit = {
    check(key, nowMs) {
      const retryAfterMs = buckets.waitMs(key, nowMs);
      if (retryAfterMs === 0) return;
      throw tooMany("Too many attempts.", retryAfterMs);
    },
    take: (key, nowMs) => void buckets.take(key, nowMs),
    giveBack: buckets.giveBack,
  };
  return amongPeers({ limit, buckets, name });
}

export function tooMany(what: string, retryAfterMs: number): Problem {
  const seconds = Math.ceil(retryAfterMs / 1000);
  const wait = seconds < 600 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  return new Problem("resource_exhausted", `${what} Try again in ${wait}.`, { retryAfterMs });
}

/** An IPv6 /56 may make this many times the attempts of one /64: one site has several hosts. */
const hostsPerSite = 4;

/** Limits the clients of an address. The key is an IP address; an IPv6 address counts with its /64 and with its /56. */
export function createClientLimit(rate: AttemptRate, name?: string): AttemptLimit {
  const byAddress = createAttemptLimit(rate, name && `${name}, by address`);
  const bySite = createAttemptLimit(
    { burst: rate.burst * hostsPerSite, periodMs: rate.periodMs / hostsPerSite },
    name && `${name}, by site`,
  );
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

/** `account` is what the attempt is at, such as an email address; `address` is the IP address of the client. */
export type Attempt = { account: string; address: string };

export type Guard = {
  check(attempt: Attempt, nowMs: number): void;
  take(attempt: Attempt, nowMs: number): void;
  /** Called after a correct password. */
  giveBack(attempt: Attempt, nowMs: number): void;
};

/**
 * Limits attempts with wrong passwords, also at an account that does not exist. `rate`, the limit per account alone, is the widest: an attacker
 * who reaches it from many addresses only slows the owner down for a while.
 */
export function createGuard(rate: AttemptRate, name?: string): Guard {
  const byBoth = createAttemptLimit({ burst: 8, periodMs: 60_000 }, name && `${name}, by account and client`);
  const byClient = createClientLimit({ burst: 40, periodMs: 10_000 }, name && `${name}, by client`);
  const byAccount = createAttemptLimit(rate, name && `${name}, by account`);
  const each = ({ account, address }: Attempt, act: (limit: AttemptLimit, key: string) => void) => {
    act(byBoth, `${account} ${networksOf(address).site}`);
    act(byClient, address);
    act(byAccount, account);
  };
  return {
    check: (attempt, nowMs) => each(attempt, (limit, key) => limit.check(key, nowMs)),
    take: (attempt, nowMs) => each(attempt, (limit, key) => limit.take(key, nowMs)),
    giveBack: (attempt, nowMs) => each(attempt, (limit, key) => limit.giveBack(key, nowMs)),
  };
}

/** A rate limit that holds for several processes together: the bucket is in one process, and the others lease tokens from it, a few at a time for
 * a slow caller and many for a fast one. The tokens of all leases come from the bucket, so the limit is never exceeded; unused ones go back. */
import { createTokenBuckets, type TokenBucketOptions } from "./token-bucket.ts";

export type TokenGrant = {
  granted: number;
  /** The time until the next token, when fewer were granted than asked for. */
  waitMs: number;
};

/** The process that has the bucket. */
export type TokenSource = {
  lease(owner: string, wanted: number): Promise<TokenGrant>;
  giveBack(owner: string, tokens: number): void;
};

export type LeasedTokens = {
  /** 0 when a token was taken, otherwise the time until the next one. A promise if the source has to be asked. */
  take(owner: string, nowMs: number): number | Promise<number>;
  /** Gives back the tokens of owners that were idle. Call it regularly. */
  giveBackIdle(nowMs: number): void;
};

type Lease = {
  tokens: number;
  /** How many to ask for next time. */
  size: number;
  askedMs: number;
  usedMs: number;
  refusedUntilMs: number;
  isAsking: boolean;
  waiting: ((waitMs: number) => void)[];
};

/** A lease that was used up within this time doubles. */
const fastMs = 100;
const idleMs = 500;
/** A lease is at most this part of the burst, so that the other processes are never without tokens for long. */
const largestPart = 16;

export function createLeasedTokens({
  burst,
  source,
  nowMs,
}: {
  burst: number;
  source: TokenSource;
  nowMs: () => number;
}): LeasedTokens {
  const leases = new Map<string, Lease>();
  const largest = Math.max(1, Math.floor(burst / largestPart));

  function leaseOf(owner: string): Lease {
    let lease = leases.get(owner);
    if (!lease) {
      lease = { tokens: 0, size: 1, askedMs: -fastMs, usedMs: 0, refusedUntilMs: 0, isAsking: false, waiting: [] };
      leases.set(owner, lease);
    }
    return lease;
  }

  async function ask(owner: string, lease: Lease): Promise<void> {
    lease.isAsking = true;
    while (lease.waiting.length > 0) {
      const isFast = nowMs() - lease.askedMs < fastMs;
      lease.size = isFast ? Math.min(largest, lease.size * 2) : Math.max(1, Math.floor(lease.size / 2));
      lease.askedMs = nowMs();
      const wanted = Math.max(lease.size, Math.min(largest, lease.waiting.length));
      const { granted, waitMs } = await source.lease(owner, wanted);
      lease.tokens += granted;
      for (const grant of lease.waiting.splice(0, lease.tokens)) {
        lease.tokens -= 1;
        grant(0);
      }
      if (granted === wanted) continue;
      lease.refusedUntilMs = nowMs() + waitMs;
      for (const refuse of lease.waiting.splice(0)) refuse(waitMs);
    }
    lease.isAsking = false;
  }

  return {
    take(owner, now) {
      const lease = leaseOf(owner);
      lease.usedMs = now;
      if (lease.tokens >= 1 && lease.waiting.length === 0) {
        lease.tokens -= 1;
        return 0;
      }
      // Without asking: a caller that goes on after a refusal must not keep the source busy.
      if (now < lease.refusedUntilMs) return Math.ceil(lease.refusedUntilMs - now);
      return new Promise((resolve) => {
        lease.waiting.push(resolve);
        if (!lease.isAsking) void ask(owner, lease);
      });
    },
    giveBackIdle(now) {
      for (const [owner, lease] of leases) {
        if (lease.isAsking || now - lease.usedMs < idleMs || now < lease.refusedUntilMs) continue;
        leases.delete(owner);
        if (lease.tokens > 0) source.giveBack(owner, lease.tokens);
      }
    },
  };
}

/** The bucket itself, for the process that has it. */
export function createTokenSource(options: TokenBucketOptions & { nowMs: () => number }): {
  lease(owner: string, wanted: number): TokenGrant;
  giveBack(owner: string, tokens: number): void;
} {
  const buckets = createTokenBuckets(options);
  return {
    lease(owner, wanted) {
      const now = options.nowMs();
      for (let granted = 0; granted < wanted; granted++) {
        const { waitMs } = buckets.take(owner, now);
        if (waitMs > 0) return { granted, waitMs };
      }
      return { granted: wanted, waitMs: 0 };
    },
    giveBack(owner, tokens) {
      for (let given = 0; given < tokens; given++) buckets.giveBack(owner, options.nowMs());
    },
  };
}

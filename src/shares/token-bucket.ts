/** Token buckets, one per key: a burst at once, then one token per period. They limit API calls, DNS answers, sign-in attempts and moves of
 * content. */

export type TokenBucketOptions = {
  burst: number;
  /** Milliseconds until one more token. */
  periodMs: number;
  /** Buckets kept in memory. The least recently used one is dropped first. */
  maxKeys: number;
};

export type TakeResult = {
  /** 0 when a token was taken, otherwise the time until the next token. */
  waitMs: number;
  /** How often this key was refused since its bucket was created. */
  refusals: number;
};

export type TokenBuckets = {
  /** `tokens` more than one may leave a debt, which later tokens pay. */
  take(key: string, nowMs: number, tokens?: number): TakeResult;
  /** The time until `take` would succeed. Takes no token. */
  waitMs(key: string, nowMs: number): number;
  /** Puts one token back. */
  giveBack(key: string, nowMs: number): void;
  size(): number;
  /** The tokens of each bucket that is not full. */
  counts(nowMs: number): TokenCounts;
  /** Replaces the buckets of these keys. */
  restore(counts: TokenCounts, nowMs: number): void;
};

export type TokenCounts = [key: string, tokens: number][];

type Bucket = { tokens: number; atMs: number; refusals: number };

export function createTokenBuckets({ burst, periodMs, maxKeys }: TokenBucketOptions): TokenBuckets {
  /** Least recently used first. */
  const buckets = new Map<string, Bucket>();

  function current(key: string, nowMs: number): Bucket {
    const known = buckets.get(key);
    if (!known) return { tokens: burst, atMs: nowMs, refusals: 0 };
    const tokens = Math.min(burst, known.tokens + Math.max(0, nowMs - known.atMs) / periodMs);
    return { tokens, atMs: nowMs, refusals: known.refusals };
  }

  function store(key: string, bucket: Bucket): void {
    buckets.delete(key);
    // A full bucket equals a new one, so it is not stored.
    if (bucket.tokens < burst) buckets.set(key, bucket);
    if (buckets.size > maxKeys) buckets.delete(buckets.keys().next().value!);
  }

  const msUntilToken = ({ tokens }: Bucket) => (tokens >= 1 ? 0 : Math.ceil((1 - tokens) * periodMs));

  return {
    take(key, nowMs, tokens = 1) {
      const bucket = current(key, nowMs);
      const waitMs = msUntilToken(bucket);
      if (waitMs === 0) bucket.tokens -= tokens;
      else bucket.refusals += 1;
      store(key, bucket);
      return { waitMs, refusals: bucket.refusals };
    },
    waitMs: (key, nowMs) => msUntilToken(current(key, nowMs)),
    giveBack(key, nowMs) {
      const bucket = current(key, nowMs);
      store(key, { ...bucket, tokens: Math.min(burst, bucket.tokens + 1) });
    },
    size: () => buckets.size,
    counts: (nowMs) => [...buckets.keys()].map((key) => [key, current(key, nowMs).tokens]),
    restore(counts, nowMs) {
      for (const [key, tokens] of counts) store(key, { tokens, atMs: nowMs, refusals: 0 });
    },
  };
}

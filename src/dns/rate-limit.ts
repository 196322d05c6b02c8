/** Limits the answers over UDP to each client network, so that forged queries cannot turn this server against others. */
import ipaddr from "ipaddr.js";

export type RateLimit = {
  /** `slip`: answer truncated, so that a real client comes back over TCP. `drop`: do not answer. */
  judge(clientAddress: string): "answer" | "slip" | "drop";
};

export type RateLimitOptions = {
  answersPerSecond: number;
  burst: number;
  /** Networks remembered at once; the one idle for longest goes first. */
  networks: number;
  now: () => number;
};

export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { answersPerSecond, burst, networks, now } = options;
  const buckets = new Map<string, { tokens: number; at: number; over: number }>();
  return {
    judge(clientAddress) {
      const network = networkOf(clientAddress);
      const at = now();
      const known = buckets.get(network);
      const bucket = known ?? { tokens: burst, at, over: 0 };
      bucket.tokens = Math.min(burst, bucket.tokens + (Math.max(0, at - bucket.at) / 1000) * answersPerSecond);
      bucket.at = at;
      buckets.delete(network);
      buckets.set(network, bucket);
      if (known === undefined && buckets.size > networks) {
        const [oldest] = buckets.keys();
        if (oldest !== undefined) buckets.delete(oldest);
      }
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1;
        return "answer";
      }
      bucket.over += 1;
      return bucket.over % 2 === 0 ? "slip" : "drop";
    },
  };
}

/** Forged floods spread over neighbours: the networks that addresses are given out in share one bucket. */
export function networkOf(address: string): string {
  const parsed = ipaddr.process(address.replace(/%.*$/, ""));
  const bytes = parsed.toByteArray();
  return Buffer.from(bytes.slice(0, parsed.kind() === "ipv4" ? 3 : 7)).toString("hex");
}

export function isLoopback(address: string): boolean {
  return ipaddr.process(address.replace(/%.*$/, "")).range() === "loopback";
}

/** Limits UDP answers per client network, so that an attacker cannot use forged queries to flood a third party. */
import ipaddr from "ipaddr.js";
import { createTokenBuckets } from "../shares/token-bucket.ts";

export type AnswerLimit = {
  /** `slip`: answer truncated, so that a real client retries over TCP. `drop`: do not answer. */
  judge(clientAddress: string): "answer" | "slip" | "drop";
};

export type AnswerLimitOptions = {
  answersPerSecond: number;
  burst: number;
  /** Networks kept in memory. The one idle for longest is dropped first. */
  networks: number;
  now: () => number;
};

export function createAnswerLimit({ answersPerSecond, burst, networks, now }: AnswerLimitOptions): AnswerLimit {
  const buckets = createTokenBuckets({ burst, periodMs: 1000 / answersPerSecond, maxKeys: networks });
  return {
    judge(clientAddress) {
      const { waitMs, refusals } = buckets.take(networkOf(clientAddress), now());
      if (waitMs === 0) return "answer";
      return refusals % 2 === 0 ? "slip" : "drop";
    },
  };
}

/** The key of a client's bucket: its /24 (IPv4) or /56 (IPv6), because a forged flood uses many addresses of one network. */
export function networkOf(address: string): string {
  const parsed = ipaddr.process(address.replace(/%.*$/, ""));
  const bytes = parsed.toByteArray();
  return Buffer.from(bytes.slice(0, parsed.kind() === "ipv4" ? 3 : 7)).toString("hex");
}

export function isLoopback(address: string): boolean {
  return ipaddr.process(address.replace(/%.*$/, "")).range() === "loopback";
}

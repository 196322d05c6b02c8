/** The least speed of a large request body: a body that arrives byte by byte would hold its memory until the limit of a whole request.
 * Used by unary-json.ts and request-body.ts for bodies whose memory is counted. */
import { Problem } from "../ops/problem.ts";

const limits = {
  /** The speed is judged after this time, and then regularly. */
  graceMs: 10_000,
  checkEveryMs: 2_000,
  minBytesPerSecond: 4 * 1024,
};

export type SpeedLimits = typeof limits;

export type BodyWatch = {
  received(bytes: number): void;
  stop(): void;
};

/** Calls `onSlow` once when the body arrives too slowly. */
export function watchSpeed(onSlow: (problem: Problem) => void, options: Partial<SpeedLimits> = {}): BodyWatch {
  const { graceMs, checkEveryMs, minBytesPerSecond } = { ...limits, ...options };
  const startedMs = performance.now();
  let bytes = 0;
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - startedMs;
    if (elapsedMs < graceMs || bytes >= (elapsedMs / 1000) * minBytesPerSecond) return;
    clearInterval(timer);
    onSlow(tooSlow(minBytesPerSecond));
  }, checkEveryMs);
  return {
    received(count) {
      bytes += count;
    },
    stop: () => clearInterval(timer),
  };
}

function tooSlow(minBytesPerSecond: number): Problem {
  return new Problem(
    "resource_exhausted",
    `The request body arrived at less than ${minBytesPerSecond / 1024} KiB per second, so its memory was given to other requests. Nothing was stored. Retry over a faster connection.`,
    { retryAfterMs: 1_000 },
  );
}

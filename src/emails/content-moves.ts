/** Limits how much content a workspace moves to other days with UpdateEmail: a short call writes up to 40 MiB again, and the space of the old
 * rows is free only after a vacuum. No quota counts these writes. Called by service.ts. */
import { Problem } from "../ops/problem.ts";
import { createTokenBuckets } from "../shares/token-bucket.ts";

export type ContentMoves = {
  /** Counts a move of content away from `day`. Throws `resource_exhausted` when the workspace has moved too much. */
  take(workspaceId: string, move: { bytes: number; day: string }): void;
};

const mebibyte = 1024 * 1024;
/** On each node. In a test without a limit and without a vacuum, one tenant made the database grow by 70 MB/s. */
const defaultLimits = { burstBytes: 1024 * mebibyte, bytesPerSecond: 4 * mebibyte };

export function createContentMoves({ burstBytes, bytesPerSecond } = defaultLimits): ContentMoves {
  const buckets = createTokenBuckets({ burst: burstBytes, periodMs: 1000 / bytesPerSecond, maxKeys: 10_000 });
  return {
    take(workspaceId, { bytes, day }) {
      const { waitMs: retryAfterMs } = buckets.take(workspaceId, performance.now(), bytes);
      if (retryAfterMs === 0) return;
      const wait = `Try again in ${Math.ceil(retryAfterMs / 1000)} s, or choose a time on ${day} UTC`;
      throw new Problem(
        "resource_exhausted",
        `This workspace has moved too much content to other days. Nothing was changed. ${wait}, where the content of this email is.`,
        { retryAfterMs },
      );
    },
  };
}

/** Leases expired mail in lanes that are not served because they are paused or their site is backing off. The delivery loop calls it after
 * each lane search and settles the rows. */
import type { Lane } from "../emails/lane.ts";
import type { Sql } from "../postgres/pool.ts";
import { findPaused, type Leased, leaseExpired } from "./store/lease.ts";

/** Each round scans 500 rows in up to 20 lanes. Every 5 s, that covers a lane of 100,000 rows within 17 minutes. */
const everyMs = 5000;
const lanesPerRound = 20;
const rowsPerLane = 500;
const maxPausedLanes = 1000;

export function createExpiry(deps: {
  sql: Sql;
  lease<T>(take: (id: string) => Promise<T>): Promise<T>;
  /** Dead workers whose leases must not be taken yet. */
  pending(): readonly number[];
}) {
  /** In scan order. `after` is the due time at which the lane's next scan continues. */
  let cursors = new Map<string, { lane: Lane; after: string | undefined }>();
  let lastRoundMs = 0;

  return {
    /** Scans the paused lanes and the given ones. Returns no rows when the last round was less than `everyMs` ago. */
    async leaseExpired(blocked: readonly Lane[]): Promise<Leased[]> {
      if (performance.now() - lastRoundMs < everyMs) return [];
      lastRoundMs = performance.now();
      const unserved = new Map(
        [...blocked, ...(await findPaused(deps.sql, maxPausedLanes))].map((lane) => [keyOf(lane), lane]),
      );
      cursors = new Map([
        ...[...cursors].filter(([key]) => unserved.has(key)),
        ...[...unserved]
          .filter(([key]) => !cursors.has(key))
          .map(([key, lane]) => [key, { lane, after: undefined }] as const),
      ]);
      const found: Leased[] = [];
      for (const [key, { lane, after }] of [...cursors].slice(0, lanesPerRound)) {
        const { rows, next } = await deps.lease((id) =>
          leaseExpired(deps.sql, id, { ...lane, after, limit: rowsPerLane, pending: deps.pending() }),
        );
        found.push(...rows);
        cursors.delete(key);
        cursors.set(key, { lane, after: next });
      }
      return found;
    },
  };
}

function keyOf(lane: Lane): string {
  return `${lane.destination} ${lane.workspaceId}`;
}

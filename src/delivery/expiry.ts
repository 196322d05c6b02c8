/** Finds expired mail in lanes that are not served, paused or left alone: it ends in its time all the same. The loop settles it. */
import type { Sql } from "../store/db.ts";
import { findPaused, type Lane, type Leased, leaseExpired } from "../store/lease.ts";

/** Each round looks at a piece of some lanes; a lane of 100,000 rows is gone through within a quarter of an hour. */
const everyMs = 5000;
const lanesPerRound = 20;
const rowsPerLane = 500;
const pausedKnown = 1000;

export function createExpiry(deps: { sql: Sql; lease<T>(take: (id: string) => Promise<T>): Promise<T> }) {
  /** In the order of turns, each with the place where its next look begins. */
  let places = new Map<string, { lane: Lane; after: string | undefined }>();
  let lookedAtMs = 0;

  return {
    async look(waiting: readonly Lane[]): Promise<Leased[]> {
      if (performance.now() - lookedAtMs < everyMs) return [];
      lookedAtMs = performance.now();
      const now = new Map(
        [...waiting, ...(await findPaused(deps.sql, pausedKnown))].map((lane) => [keyOf(lane), lane]),
      );
      places = new Map([
        ...[...places].filter(([key]) => now.has(key)),
        ...[...now]
          .filter(([key]) => !places.has(key))
          .map(([key, lane]) => [key, { lane, after: undefined }] as const),
      ]);
      const found: Leased[] = [];
      for (const [key, { lane, after }] of [...places].slice(0, lanesPerRound)) {
        const { rows, next } = await deps.lease((id) =>
          leaseExpired(deps.sql, id, { ...lane, after, limit: rowsPerLane }),
        );
        found.push(...rows);
        places.delete(key);
        places.set(key, { lane, after: next });
      }
      return found;
    },
  };
}

function keyOf(lane: Lane): string {
  return `${lane.destination} ${lane.workspaceId}`;
}

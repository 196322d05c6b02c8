/** Leases due mail week by week, so that a lease statement names the partitions of a week instead of searching those of all weeks
 * (postgres/weeks.ts). Created by loop.ts. */
import type { Lane } from "../emails/lane.ts";
import type { Sql } from "../postgres/pool.ts";
import { inWeek, isMissingTable, type Week } from "../postgres/weeks.ts";
import { findLanes, type Leased, leaseDue } from "./store/lease.ts";
import { findOpenWeeks } from "./store/open-weeks.ts";

type QuotaLane = Lane & { quota: number };

/** With open mail in more weeks, one statement for all weeks costs less. */
const mostWeeks = 4;

export function createOpenWeeks(sql: Sql) {
  /** At the last search. New mail belongs to the current week, which is always among them. Undefined weeks: all of them. */
  let open: readonly Week[] = [undefined];
  let turns = 0;

  return {
    /** The lanes of all open weeks, which later leases read. */
    async findLanes(limit: number, after: Lane | undefined) {
      try {
        const found = await findOpenWeeks(sql);
        open = found.length > mostWeeks ? [undefined] : found;
        return await findLanes(sql, limit, after, open);
      } catch (error) {
        if (!isMissingTable(error)) throw error;
        // Retention has just dropped one of the weeks.
        open = [undefined];
        return await findLanes(sql, limit, after, open);
      }
    },

    /** Each turn begins with another week, so that a backlog of one week does not take every slot of a lane. */
    async lease(lease: string, lanes: readonly QuotaLane[], pending: readonly number[]): Promise<Leased[]> {
      const first = turns++ % open.length;
      const rows: Leased[] = [];
      for (const week of [...open.slice(first), ...open.slice(0, first)]) {
        const left = rows.length === 0 ? lanes : leftOf(lanes, rows);
        if (left.length === 0) break;
        rows.push(...(await inWeek(sql, week, (_, tables) => leaseDue(sql, lease, left, pending, tables))));
      }
      return rows;
    },
  };
}

/** The lanes whose quota these rows have not used up. */
function leftOf(lanes: readonly QuotaLane[], rows: readonly Leased[]): QuotaLane[] {
  const used = new Map<string, number>();
  const keyOf = ({ destination, workspaceId }: Lane) => `${workspaceId} ${destination}`;
  for (const row of rows) used.set(keyOf(row), (used.get(keyOf(row)) ?? 0) + 1);
  return lanes
    .map((lane) => ({ ...lane, quota: lane.quota - (used.get(keyOf(lane)) ?? 0) }))
    .filter(({ quota }) => quota > 0);
}

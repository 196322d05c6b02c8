/** Finds the weeks whose emails have open recipients, nearly always this one and the last one. Called by ../open-weeks.ts. */
import type { Sql } from "../../postgres/pool.ts";
import { stampTime } from "../../postgres/service-clock.ts";
import { constant } from "../../postgres/sql.ts";
import { listWeeks, tablesOf, type Week, weekMs } from "../../postgres/weeks.ts";

/** Around a change of the week, both weeks are those of new mail: clocks differ, and the next search may take a while. */
const slackMs = 60_000;

/** In order, and always with the week of new mail. All weeks, which is undefined, if the weeks of some partitions are unknown. Reads at most
 * one row of the index recipients_due of each week. */
export async function findOpenWeeks(sql: Sql): Promise<Week[]> {
  const weeks = await listWeeks(sql);
  if (weeks === undefined) return [undefined];
  // The order leaves the planner no choice but the index. With statistics of a backlog, `exists` read the whole table of a settled week.
  const isOpen = weeks.map(
    (week) => sql`when ${sql.unsafe(String(week))} then (
      select true from ${tablesOf(sql, week)("recipients")} where status in ('queued', 'delayed')
      order by destination, workspace_id, due_at limit 1)`,
  );
  if (isOpen.length === 0) return [undefined];
  // Without parameters, so that each connection plans it once, and not six times.
  const rows = await sql<{ week: number }[]>`
    select w.week::float8 as week from unnest(array[${sql.unsafe(weeks.join(", "))}]::bigint[]) as w(week),
      (select (extract(epoch from ${stampTime(sql)}) * 1000)::float8 as ms) new_mail
    where w.week between new_mail.ms - ${constant(sql, weekMs + slackMs)} and new_mail.ms + ${constant(sql, slackMs)}
      or case w.week ${isOpen.reduce((all, one) => sql`${all} ${one}`)} end order by 1`;
  return rows.length === 0 ? [undefined] : rows.map(({ week }) => week);
}

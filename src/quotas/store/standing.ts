/** Suspends and resumes workspaces, sets their quotas, and subtracts stored bytes that retention deleted. Called by the commands, by
 * store/brakes.ts and by housekeeping. */
import { listPartitions, partitionOf } from "../../postgres/partitions.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { Limit, QuotaKind } from "../rules/limits.ts";
import { type Notice, noticed } from "./notices.ts";

export type NewSuspension = { notice: Notice; reason: string; automatic: boolean };

/** False: the workspace is suspended already, or does not exist. */
export async function suspend(sql: Sql, { notice, reason, automatic }: NewSuspension): Promise<boolean> {
  const { workspaceId } = notice;
  const rows = await sql<object[]>`
    with suspended as (
      update workspaces set suspended_at = wall_time(), suspended_reason = ${reason}, updated_at = now()
      where id = ${workspaceId} and suspended_at is null returning suspended_at
    ), recorded as (
      insert into workspace_suspensions (workspace_id, id, reason, automatic, began_at, service_from)
      select ${workspaceId}::uuid, ${notice.eventId}::uuid, ${reason}, ${automatic}, suspended_at, service_time() from suspended
    ), ${noticed(sql, notice, sql`exists (select 1 from suspended)`)}
    select 1 from event`;
  return rows.length > 0;
}

/** Also resets the figures of the abuse brake, so that it does not suspend the workspace again at once. False: it is not suspended. */
export async function resume(sql: Sql, notice: Notice): Promise<boolean> {
  const { workspaceId } = notice;
  const rows = await sql<object[]>`
    with resumed as (
      update workspaces set suspended_at = null, suspended_reason = null, updated_at = now()
      where id = ${workspaceId} and suspended_at is not null and deleting_at is null returning id
    ), recorded as (
      update workspace_suspensions s set service_to = service_time() from resumed where s.workspace_id = resumed.id and s.service_to is null
    ), anew as (
      update sending_records b set steps = '[]', warning = null, events_to = c.last from resumed, event_counters c
      where b.workspace_id = resumed.id and c.workspace_id = resumed.id
    ), ${noticed(sql, notice, sql`exists (select 1 from resumed)`)}
    select 1 from event`;
  return rows.length > 0;
}

/** Changes the given limits of a workspace; undefined removes one, so that the setting decides. */
export async function setQuota(
  sql: Sql,
  workspaceId: string,
  changes: Partial<Record<QuotaKind, Limit | undefined>>,
): Promise<void> {
  const set = Object.fromEntries(Object.entries(changes).filter(([, limit]) => limit !== undefined));
  const removed = Object.keys(changes).filter((kind) => changes[kind as QuotaKind] === undefined);
  await sql`
    update workspaces set quota = (quota || ${JSON.stringify(set)}::text::jsonb) - ${removed}::text[], updated_at = now() where id = ${workspaceId}`;
}

/** Subtracts the bytes of partitions that no longer exist. A crash between the drop and this leaves nothing behind: the next run finds it. */
export async function forgetDroppedContent(sql: Sql): Promise<void> {
  // Before the partitions are listed: a day that is written meanwhile has a partition that the list may lack.
  const days = await sql<{ content: "emails" | "inbound"; day: string }[]>`
    select distinct content, day::text from content_sizes`;
  const existing = new Set((await listPartitions(sql)).map(({ name }) => name));
  const dropped = days.filter(({ content, day }) => {
    const table = content === "emails" ? "email_contents" : "inbound_contents";
    return !existing.has(partitionOf(table, Date.parse(`${day}T00:00:00Z`)).name);
  });
  for (const one of dropped) await subtractDay(sql, one);
}

/** One workspace at a time: a statement that changes the rows of several ones locks them in any order, and statements that accept mail
 * hold some of them while they wait for others. */
async function subtractDay(sql: Sql, { content, day }: { content: string; day: string }): Promise<void> {
  const workspaces = await sql<{ id: string }[]>`
    select distinct workspace_id as id from content_sizes where content = ${content} and day = ${day}::date order by id`;
  for (const { id } of workspaces)
    await sql`
      with gone as (
        delete from content_sizes where workspace_id = ${id} and content = ${content} and day = ${day}::date returning slot, bytes
      )
      update workspace_usage u set stored_bytes = greatest(u.stored_bytes - g.bytes, 0)
      from (select slot, sum(bytes) as bytes from gone group by slot) g where u.workspace_id = ${id} and u.slot = g.slot`;
}

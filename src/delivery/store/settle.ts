/** Settles attempts: writes the outcome, the email's status and the event in one statement, if the lease is still valid. The delivery loop
 * calls it through a group commit. */

import { countColumns, countMoves } from "../../emails/store/outcomes.ts";
import { createGroupCommit, type GroupCommit } from "../../postgres/group-commit.ts";
import { retrying, type Sql } from "../../postgres/pool.ts";
import { serviceTime, stampTime } from "../../postgres/service-clock.ts";
import { inWeek, type Tables, tablesOf, weekOf } from "../../postgres/weeks.ts";

/** The result of an attempt for one recipient. `delayed`: the recipient is due again in `dueInMs`. All other statuses are final. */
export type Settlement = {
  workspaceId: string;
  emailId: string;
  position: number;
  lease: string;
  status: "delayed" | "delivered" | "sent" | "bounced" | "failed" | "suppressed";
  dueInMs: number | undefined;
  attempts: number;
  inDoubt: boolean;
  /** Attempts that ended in doubt. */
  doubts: number;
  reply: string;
  remoteMx: string | undefined;
  event: { id: string; type: string; payload: Record<string, unknown> };
  /** The address to add to the workspace's suppression list. */
  suppress: string | undefined;
  /** What a simulated recipient does one second later. */
  followUp?: "complaint" | "reply";
};

/** False: another worker has taken over the lease, so nothing was written. */
export type Settled = boolean;

/** bench/send: without this pause, batches at 230 emails/s had 4 rows, and their fixed cost was half of the cost of settling. With 20 ms, batches
 * at 500 emails/s had 11 rows, with 40 ms they have 20. */
export const settleIntervalMs = 40;

export function createSettler(
  sql: Sql,
  options: { onSettled(): void; concurrency?: number; minIntervalMs?: number },
): GroupCommit<Settlement, Settled> {
  return createGroupCommit<Settlement, Settled>({
    async run(items) {
      const week = weekOf(items[0]!.emailId);
      const settled = await retrying(() => inWeek(sql, week, (_, tables) => settle(sql, items, tables)));
      options.onSettled();
      return settled;
    },
    maxItems: 100,
    maxBytes: 1024 * 1024,
    partOf: ({ emailId }) => weekOf(emailId),
    concurrency: options.concurrency ?? 2,
    minIntervalMs: options.minIntervalMs ?? settleIntervalMs,
    ownerOf: ({ workspaceId }) => workspaceId,
    splitOn: (error) => /^2[23]/.test(String((error as { code?: string }).code)),
  });
}

/**
 * All statements lock in the same order: recipients and emails by id, then counters by workspace. The locking CTEs are read to the end
 * (`count(*)`, not `exists`) before the first update. The status comes from counters on the email's row, changed by increment: with an
 * aggregate over the recipients, two nodes that settle two recipients of an email would each see the other recipient as open.
 */
export async function settle(
  sql: Sql,
  items: readonly Settlement[],
  tables: Tables = tablesOf(sql, undefined),
): Promise<Settled[]> {
  const input = JSON.stringify(
    items.map((item, ord) => ({
      ord,
      workspace_id: item.workspaceId,
      email_id: item.emailId,
      position: item.position,
      lease: item.lease,
      status: item.status,
      due_in: item.dueInMs === undefined ? undefined : `${item.dueInMs} milliseconds`,
      attempts: item.attempts,
      in_doubt: item.inDoubt,
      doubts: item.doubts,
      reply: item.reply,
      remote_mx: item.remoteMx,
      event_id: item.event.id,
      event_type: item.event.type,
      payload: item.event.payload,
      suppress: item.suppress,
      follow_up: item.followUp,
    })),
  );
  const rows = await sql<{ ord: number }[]>`
    with input as (
      select * from json_to_recordset((${input}::text)::json) as x(ord integer, workspace_id uuid, email_id uuid, position smallint,
        lease bigint, status text, due_in interval, attempts smallint, in_doubt boolean, doubts smallint, reply text, remote_mx text, event_id uuid,
        event_type text, payload jsonb, suppress text, follow_up text)
    ), leased as materialized (
      -- Row by row through the primary key, in order: with the statistics of an empty table a join read the whole queue. The condition on
      -- ord is always true. It makes the planner expect few rows, so that later joins use primary keys too.
      select i.*, r.was from (select * from input where ord + 0 = ord order by email_id, position offset 0) i cross join lateral (
        select r.status as was from ${tables("recipients")} r where r.workspace_id = i.workspace_id and r.email_id = i.email_id and r.position = i.position
          and r.lease = i.lease and r.status || '' in ('queued', 'delayed') limit 1 for update) r
    ), mail as materialized (
      -- Row by row and in order, for the same reason.
      select e.* from (select distinct workspace_id, email_id from leased order by email_id offset 0) l cross join lateral (
        select ${countColumns(sql)}, message_id, metadata from ${tables("emails")} where workspace_id = l.workspace_id and id = l.email_id limit 1 for update) e
    ), counter as materialized (
      select workspace_id from event_counters where workspace_id in (select workspace_id from leased) and (select count(*) from mail) > 0
      order by workspace_id for update
    ), bump as (
      update event_counters c set last = c.last + n.events
      from (select workspace_id, count(*) as events from leased group by workspace_id) n
      where c.workspace_id = n.workspace_id and (select count(*) from counter) > 0
      returning c.workspace_id, c.last - n.events as base
    ), recipient as (
      update ${tables("recipients")} r set status = l.status, lease = null, attempts = l.attempts, in_doubt = l.in_doubt, doubts = l.doubts, reply = l.reply,
        -- After the last attempt, due_at is its service time, from which inbound/store/emails.ts counts how long bounces are accepted.
        remote_mx = l.remote_mx, due_at = ${serviceTime(sql)} + coalesce(l.due_in, interval '0'), last_attempt_at = now(),
        settled_at = case when l.status = 'delayed' then null else now() end
      from leased l where r.workspace_id = l.workspace_id and r.email_id = l.email_id and r.position = l.position
    ), moves as (
      select workspace_id, email_id, was, status, reply from leased
    ), ${countMoves(sql, tables)}, suppressed_address as (
      insert into suppressions (workspace_id, address, reason, source_event)
      select distinct on (workspace_id, lower(suppress)) workspace_id, lower(suppress), 'bounce', event_id from leased
      where suppress is not null order by workspace_id, lower(suppress)
      on conflict do nothing
    ), later as (
      insert into follow_ups (workspace_id, email_id, position, kind, due_at)
      select workspace_id, email_id, position, follow_up, ${serviceTime(sql)} + interval '1 second' from leased where follow_up is not null
    ), event as (
      insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
      select l.workspace_id, b.base + row_number() over (partition by l.workspace_id order by l.ord), l.event_id, l.event_type,
        l.email_id, m.message_id, m.metadata, l.payload, ${stampTime(sql)}
      from leased l join bump b using (workspace_id) join mail m on m.workspace_id = l.workspace_id and m.id = l.email_id
    )
    select ord from leased`;
  const settled = new Set(rows.map((row) => row.ord));
  return items.map((_, ord) => settled.has(ord));
}

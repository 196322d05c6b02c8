/** Fills the store with weeks of finished mail by SQL: emails with one recipient each, and their events. */
import { partitionAt } from "../../src/postgres/partitions.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import { senderDomain } from "../../test/harness/testbed.ts";
import { storedEnvelope } from "./backlog.ts";
import type { Progress } from "./report.ts";

const weekMs = 7 * 86_400_000;
const batchRows = 100_000;
export const weeks = 12;

export type History = { workspaceId: string; domainId: string; emails: number; events: number };

/** Spreads emails and events evenly over the twelve weeks before this one. The events of one email have adjacent numbers. */
export async function fillHistory(sql: Sql, history: History, progress: Progress): Promise<void> {
  const endMs = Math.floor(Date.now() / weekMs) * weekMs;
  for (let week = 1; week <= weeks; week++)
    for (const table of ["emails", "recipients", "events"] as const) {
      const { name, from, to, endMs: closedMs } = partitionAt(table, endMs - week * weekMs);
      await sql.unsafe(
        `create table if not exists ${name} partition of ${table} for values from ('${from}') to ('${to}')`,
      );
      await sql`insert into closed_partitions (name, closed_at) values (${name}, ${new Date(closedMs)}) on conflict do nothing`;
    }
  const spread = { beginMs: endMs - weeks * weekMs, spanMs: weeks * weekMs };
  for (let done = 0; done < history.emails; done += batchRows) {
    await fillEmails(sql, history, { ...spread, first: done, last: Math.min(done + batchRows, history.emails) - 1 });
    progress(`${(done + batchRows).toLocaleString("en")} emails …`);
  }
  for (let done = 0; done < history.events; done += batchRows) {
    await fillEvents(sql, history, { ...spread, first: done, last: Math.min(done + batchRows, history.events) - 1 });
    if ((done / batchRows) % 10 === 9) progress(`${(done + batchRows).toLocaleString("en")} events …`);
  }
  await fillCounts(sql, history, endMs);
  progress("analyze …");
  await sql`analyze emails, recipients, events, stats`;
}

type Slice = { beginMs: number; spanMs: number; first: number; last: number };

/** A UUIDv7 derived from the email's number, so that its events can refer to it. These statements contain only our own numbers and ids. */
function idOf({ beginMs, spanMs }: Slice, emails: number, n: string): string {
  const ms = `(${beginMs} + ${spanMs}::float8 * ${n} / ${emails})::bigint`;
  return `(lpad(to_hex(${ms}), 12, '0') || '7' || substr(md5(${n}::text), 1, 3) || '8' || substr(md5(${n}::text), 4, 15))::uuid`;
}

async function fillEmails(sql: Sql, { workspaceId, domainId, emails }: History, slice: Slice): Promise<void> {
  const { beginMs, spanMs, first, last } = slice;
  const envelope = storedEnvelope("d0.test", "u@d0.test");
  await runUnsynced(
    sql,
    `with row as (
      select n, ${idOf(slice, emails, "n")} as id, 'u' || n % 500000 || '@d' || n % 1000 || '.test' as address,
        to_timestamp((${beginMs} + ${spanMs}::float8 * n / ${emails}) / 1000) as at from generate_series(${first}, ${last}) n
    ), email as (
      insert into emails (workspace_id, id, domain_id, domain, from_address, subject, message_id, envelope, metadata, status, status_message,
        open, accepted, total, size_bytes, content_day, expires_at, created_at, updated_at)
      select '${workspaceId}', id, '${domainId}', '${senderDomain}', 'shop@${senderDomain}', 'Your order ' || n, '<' || id || '@${senderDomain}>',
        '${envelope}', case when n % 10 = 0 then jsonb_build_object('order', (n % 100000)::text) else '{}' end,
        case when n % 50 = 0 then 'failed' else 'sent' end, '250 2.0.0 OK', 0, 1, 1, 1200, at::date, at + interval '2 days', at, at from row
    )
    insert into recipients (workspace_id, email_id, position, kind, address, destination, status, due_at, attempts, reply, remote_mx,
      last_attempt_at, settled_at)
    select '${workspaceId}', id, 0, 'to', address, split_part(address, '@', 2), case when n % 50 = 0 then 'bounced' else 'delivered' end, at, 1,
      '250 2.0.0 OK', 'mx' || n % 20 || '.test', at, at from row`,
  );
}

async function fillEvents(sql: Sql, { workspaceId, emails, events }: History, slice: Slice): Promise<void> {
  const { beginMs, spanMs, first, last } = slice;
  await runUnsynced(
    sql,
    `insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
    select '${workspaceId}', n + 1, gen_random_uuid(), (array['email.delayed', 'email.delivered', 'email.complained', 'email.bounced'])[1 + n % 4], id,
      '<' || id || '@${senderDomain}>', '{}', jsonb_build_object('recipients', jsonb_build_array('u' || n % 500000 || '@d' || n % 1000 || '.test'),
        'remoteMx', 'mx' || n % 20 || '.test', 'reply', '250 2.0.0 OK', 'attempts', 1),
      to_timestamp((${beginMs} + ${spanMs}::float8 * n / ${events}) / 1000)
    from (select n, ${idOf(slice, emails, `(n::bigint * ${emails} / ${events})`)} as id from generate_series(${first}, ${last}) n) row`,
  );
}

/** Commits asynchronously: this data need not survive a crash. */
async function runUnsynced(sql: Sql, statement: string): Promise<void> {
  await sql.begin(async (tx) => {
    await tx.unsafe("set local synchronous_commit = off");
    await tx.unsafe(statement);
  });
}

/** The statistics as the count loop leaves them: per hour, for the workspace and its twenty largest sites, with nothing left to count. */
async function fillCounts(sql: Sql, { workspaceId, emails, events }: History, endMs: number): Promise<void> {
  const perHour = Math.round(emails / weeks / 168);
  await sql`
    insert into stats (workspace_id, hour, site, emails, accepted, delivered, sent, bounced, delayed, complained, suppressed, failed, canceled, times)
    select ${workspaceId}, hour, case when s = 0 then '' else 'mx' || s || '.test' end, ${perHour}, ${perHour}, ${perHour}, 0, 1, 2, 0, 0, 0, 0, array[0, 5, 9, 3]
    from generate_series(to_timestamp(${endMs - weeks * weekMs}::float8 / 1000), to_timestamp(${endMs - 3_600_000}::float8 / 1000), interval '1 hour') hour,
      generate_series(0, 20) s`;
  await sql`update event_counters set last = ${events} where workspace_id = ${workspaceId}`;
  await sql`insert into stats_marks (workspace_id, events_to, events_at, emails_to, recounted_to)
    select ${workspaceId}, ${events}, now(), max(id::text)::uuid, date_trunc('hour', now()) from emails where workspace_id = ${workspaceId}
    on conflict (workspace_id) do update set events_to = excluded.events_to, events_at = excluded.events_at, emails_to = excluded.emails_to,
      recounted_to = excluded.recounted_to`;
}

/**
 * Fills the store by SQL with weeks of finished mail as the program leaves it: emails with one recipient each, their events, outcomes, search
 * terms and statistics, some webhook deliveries, and an open queue. Each week is filled before it becomes a partition, so that its indexes are
 * built at once. Used by growth.ts and partitions.ts.
 */
import { backfills } from "../../src/app/backfills.ts";
import { type PartitionedTable, partitionAt } from "../../src/postgres/partitions.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import { senderDomain } from "../../test/harness/testbed.ts";
import { storedEnvelope } from "./backlog.ts";
import type { Progress } from "./report.ts";

const weekMs = 7 * 86_400_000;
const hourMs = 3_600_000;
/** The events of each email: delays, and its outcome as the last one. */
export const eventsPerEmail = 3;
/** Emails of each address, and of each value of the metadata key `order`. */
const emailsPerAddress = 20;
/** So many weeks are filled at once. */
const sessions = 2;

export type History = {
  workspaceId: string;
  domainId: string;
  keyId: string;
  /** Finished emails, spread evenly over the weeks before this one. */
  emails: number;
  weeks: number;
  /** Statistics cover at least so many weeks. They have a row for each hour, however few emails it had. */
  statsWeeks?: number;
  /** Emails of the last days that wait for their next attempt, a third of them delayed. */
  open?: number;
};

/** The tables that are filled, in the order in which they become partitions. */
const filled = [
  "emails",
  "recipients",
  "events",
  "email_terms",
  "email_message_ids",
  "webhook_deliveries",
  "webhook_attempts",
] as const satisfies readonly PartitionedTable[];

type Week = { sql: Sql; history: History; startMs: number; first: number; last: number; webhookId: string };

export async function fillHistory(sql: Sql, history: History, progress: Progress): Promise<void> {
  const thisWeekMs = Math.floor(Date.now() / weekMs) * weekMs;
  const { emails, weeks, workspaceId } = history;
  const webhookId = await addWebhook(sql, workspaceId);
  const left = Array.from({ length: weeks }, (_, i) => i);
  await sql`select 1 from event_counters where workspace_id = ${workspaceId} for update`;
  await Promise.all(
    Array.from({ length: Math.min(sessions, weeks) }, async () => {
      for (let i = left.shift(); i !== undefined; i = left.shift()) {
        const first = Math.floor((emails * i) / weeks);
        const last = Math.floor((emails * (i + 1)) / weeks) - 1;
        const startMs = thisWeekMs - (weeks - i) * weekMs;
        await sql.session((session) => fillWeek({ sql: session, history, startMs, first, last, webhookId }));
        progress(`week ${i + 1} of ${weeks}: ${(last + 1).toLocaleString("en")} emails`);
      }
    }),
  );
  await fillOutcomes(sql, history);
  // No program has stored mail without outcomes and terms, but the first start may have ended before it found that.
  for (const { name, since } of backfills)
    await sql`
      insert into backfills (name, since, finished_at) values (${name}, ${since}, now())
      on conflict (name) do update set finished_at = now()`;
  await fillCounts(sql, history, thisWeekMs);
  if (history.open) await fillOpen(sql, history, history.open);
  // As autovacuum leaves a table: it neither vacuums nor analyzes the parent of partitions.
  await sql.session(async (session) => {
    for (const table of ["email_outcomes", "stats", "stats_groups", "event_counters", ...lastWeek()])
      await session.unsafe(`vacuum (freeze, analyze) ${table}`);
    await session.unsafe("checkpoint");
  });
}

function lastWeek(): string[] {
  const startMs = Math.floor(Date.now() / weekMs - 1) * weekMs;
  return ["emails" as const, "recipients" as const].map((table) => partitionAt(table, startMs).name);
}

/** Each value of these statements is a number of this file or an id of the store. */
async function fillWeek(week: Week): Promise<void> {
  const { sql, startMs } = week;
  await sql.unsafe("set synchronous_commit = off; set maintenance_work_mem = '512MB'; set work_mem = '128MB'");
  for (const table of filled) {
    const { name, from, to, endMs, fill } = partitionAt(table, startMs);
    await sql.unsafe(`drop table if exists ${name}`);
    await sql.unsafe(
      `create table ${name} (like ${table} including defaults including constraints) with (fillfactor = ${fill})`,
    );
    await sql.unsafe(insertInto[table](week, name));
    await sql.unsafe(`alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`);
    await sql.unsafe(`vacuum (freeze, analyze) ${name}`);
    await sql`insert into closed_partitions (name, closed_at) values (${name}, ${new Date(endMs)}) on conflict do nothing`;
  }
}

/** A UUIDv7 with the time of the email, derived from its number so that its other rows can refer to it. */
function idOf(n: string, at: string): string {
  return `(lpad(to_hex((${at})::bigint), 12, '0') || '7' || substr(md5(${n}::text), 1, 3) || '8' || substr(md5(${n}::text), 4, 15))::uuid`;
}

/** The emails of the week, as the program would store them. `at`: when. */
function emailsOf({ history, startMs, first, last }: Week): string {
  const { emails } = history;
  const at = `${startMs} + ${weekMs}::float8 * (n - ${first}) / ${last - first + 1}`;
  return `(
    select n, ${idOf("n", at)} as id, to_timestamp((${at}) / 1000) as at, 'u' || n % ${addresses(emails)} || '@d' || n % ${addresses(emails)} % 1000 || '.test' as address,
      'Your order ' || n || ' from ' || (array['Oslo', 'Lima', 'Pune', 'Bern', 'Kyiv', 'Riga', 'Cork', 'Doha', 'Graz', 'Nice'])[1 + n / 7 % 10] as subject,
      'mx' || n / 11 % 20 || '.test' as mx,
      case when n % 10 = 0 then jsonb_build_object('order', (n / 10 % ${addresses(emails)})::text) else '{}' end as metadata,
      case when n % 1000 < 25 then 'bounced' when n % 1000 < 28 then 'complained' when n % 1000 < 31 then 'failed' when n % 1000 < 36 then 'suppressed'
        when n % 1000 < 38 then 'canceled' when n % 1000 < 41 then 'sent' else 'delivered' end as outcome
    from generate_series(${first}, ${last}) n) mail`;
}

export function addresses(emails: number): number {
  return Math.max(Math.floor(emails / emailsPerAddress), 1);
}

const insertInto: Record<(typeof filled)[number], (week: Week, into: string) => string> = {
  emails: (week, into) => {
    const { workspaceId, domainId, keyId } = week.history;
    const count = (outcome: string) => `(outcome = '${outcome}')::int`;
    return `
      insert into ${into} (workspace_id, id, key_id, domain_id, domain, from_address, subject, message_id, envelope, metadata, status, status_message,
        open, accepted, total, size_bytes, content_day, expires_at, default_expires_at, created_at, updated_at, counted_at, delivered, sent, bounced,
        failed, suppressed, canceled, complained)
      select '${workspaceId}', id, case when n % 10 = 0 then '${keyId}'::uuid end, '${domainId}', '${senderDomain}', 'shop@${senderDomain}', subject,
        '<' || id || '@${senderDomain}>', '${storedEnvelope("d0.test", "u@d0.test")}'::jsonb
          || jsonb_build_object('to', jsonb_build_array(jsonb_build_object('name', '', 'local', split_part(address, '@', 1),
            'domain', split_part(address, '@', 2), 'address', address, 'smtputf8', false))), metadata,
        case when outcome in ('delivered', 'sent', 'complained') then 'sent' else 'failed' end, '250 2.0.0 OK', 0,
        (outcome in ('delivered', 'sent', 'complained'))::int, 1, 1200, at::date, at + interval '2 days', at + interval '2 days', at,
        at + interval '2 seconds', at + interval '2 seconds', (outcome in ('delivered', 'complained'))::int, ${count("sent")}, ${count("bounced")},
        ${count("failed")}, ${count("suppressed")}, ${count("canceled")}, ${count("complained")}
      from ${emailsOf(week)}`;
  },
  recipients: (week, into) => `
    insert into ${into} (workspace_id, email_id, position, kind, address, destination, status, due_at, attempts, reply, remote_mx, last_attempt_at, settled_at)
    select '${week.history.workspaceId}', id, 0, 'to', address, split_part(address, '@', 2),
      case outcome when 'complained' then 'delivered' else outcome end, at, 1, '250 2.0.0 OK', mx, at, at + interval '2 seconds' from ${emailsOf(week)}`,
  events: (week, into) => `
    insert into ${into} (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
    select '${week.history.workspaceId}', n::bigint * ${eventsPerEmail} + place, gen_random_uuid(),
      'email.' || case when place < ${eventsPerEmail} then 'delayed' else outcome end, id, '<' || id || '@${senderDomain}>', metadata,
      jsonb_build_object('recipients', jsonb_build_array(address), 'remoteMx', mx, 'smtpReply', '250 2.0.0 OK', 'attempts', place),
      at + place * interval '100 milliseconds'
    from ${emailsOf(week)}, generate_series(1, ${eventsPerEmail}) place`,
  email_terms: (week, into) => `
    insert into ${into} (workspace_id, term, email_id)
    select distinct '${week.history.workspaceId}'::uuid,
      ('x' || encode(substring(sha256(convert_to(kind, 'UTF8') || '\\x00'::bytea || value) from 1 for 8), 'hex'))::bit(64)::bigint as term, id
    from ${emailsOf(week)} cross join lateral (
      select 'word' as kind, convert_to(lower(word), 'UTF8') as value from unnest(string_to_array(subject, ' ')) word
      union all
      select 'start', convert_to(left(part, length), 'UTF8') from unnest(array[address, split_part(address, '@', 2)]) part,
        unnest(array[12, 6, 3]) length where length(part) >= length
      union all
      select 'metadata', 'order'::bytea || '\\x00'::bytea || convert_to(metadata ->> 'order', 'UTF8') where metadata <> '{}'
      union all
      select 'site', convert_to(mx, 'UTF8')) term
    order by term, id`,
  email_message_ids: (week, into) => `
    insert into ${into} (workspace_id, message_id, email_id)
    select '${week.history.workspaceId}', lower('<' || id || '@${senderDomain}>'), id from ${emailsOf(week)} where n % 100 = 0`,
  webhook_deliveries: (week, into) => `
    insert into ${into} (workspace_id, webhook_id, id, event_number, event_id, event_type, event_at, email_id, status, due_at, attempts, response_status,
      duration_ms, last_attempt_at, settled_at, created_at)
    select '${week.history.workspaceId}', '${week.webhookId}', id, n::bigint * ${eventsPerEmail} + ${eventsPerEmail}, gen_random_uuid(), 'email.' || outcome, at, id,
      'delivered', at, 1, 200, 12, at, at, at from ${emailsOf(week)} where n % 10 = 0`,
  webhook_attempts: (week, into) => `
    insert into ${into} (workspace_id, webhook_id, delivery_id, number, url, request_headers, response_status, response_headers, response_body,
      duration_ms, error, attempted_at)
    select '${week.history.workspaceId}', '${week.webhookId}', id, 1, 'https://hooks.test/', 'webhook-id: evt_1', 200, 'HTTP/1.1 200 OK', '', 12, '', at
    from ${emailsOf(week)} where n % 10 = 0`,
};

async function addWebhook(sql: Sql, workspaceId: string): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into webhooks (workspace_id, id, url, secret_sealed, followed) values (${workspaceId}, gen_random_uuid(), 'https://hooks.test/', '', 9000000000000)
    returning id`;
  return row!.id;
}

/** The list of outcomes has no partitions: it has the emails that are open or have a problem. */
async function fillOutcomes(sql: Sql, { workspaceId, emails }: History): Promise<void> {
  await sql.session(async (session) => {
    await session`
      insert into email_outcomes (workspace_id, outcome, email_id)
      select workspace_id, case when complained > 0 then 'complained' when bounced > 0 then 'bounced' when failed > 0 then 'failed'
        when suppressed > 0 then 'suppressed' else 'canceled' end, id
      from emails where workspace_id = ${workspaceId} and delivered + sent + open = complained`;
    await session`update event_counters set last = ${emails * eventsPerEmail} where workspace_id = ${workspaceId}`;
  });
}

/** The statistics as the count loop leaves them: per hour, for the workspace, its twenty largest sites and its groups. Nothing is left to count. */
async function fillCounts(
  sql: Sql,
  { workspaceId, keyId, emails, weeks, statsWeeks }: History,
  endMs: number,
): Promise<void> {
  const perHour = Math.max(Math.round(emails / weeks / 168), 1);
  const hours = sql`generate_series(to_timestamp(${endMs - Math.max(weeks, statsWeeks ?? 0) * weekMs}::float8 / 1000),
    to_timestamp(${endMs - hourMs}::float8 / 1000), interval '1 hour') hour`;
  await sql`
    insert into stats (workspace_id, hour, site, emails, accepted, delivered, sent, bounced, delayed, complained, suppressed, failed, canceled, times)
    select ${workspaceId}, hour, case when s = 0 then '' else 'mx' || s - 1 || '.test' end, ${perHour}, ${perHour}, ${perHour}, 0, 1, 2, 0, 0, 0, 0, array[0, 5, 9, 3]
    from ${hours}, generate_series(0, 20) s`;
  await sql`
    insert into stats_groups (workspace_id, dimension, hour, value, emails, accepted, delivered, sent, bounced, delayed, complained, suppressed, failed, canceled)
    select ${workspaceId}, g.dimension, hour, '=' || g.value, ${perHour}, ${perHour}, ${perHour}, 0, 1, 2, 0, 0, 0, 0
    from ${hours}, (values ('live', ''), ('domain', ${senderDomain}::text), ('key', ''), ('key', ${keyId}::text)) as g(dimension, value)`;
  await sql`insert into stats_marks (workspace_id, events_to, events_at, emails_to, recounted_to)
    select ${workspaceId}, ${emails * eventsPerEmail}, now(), ${idAt(endMs)}::uuid, date_trunc('hour', now())
    on conflict (workspace_id) do update set events_to = excluded.events_to, events_at = excluded.events_at, emails_to = excluded.emails_to,
      recounted_to = excluded.recounted_to`;
}

/** The first id of a time. */
function idAt(ms: number): string {
  return `${ms.toString(16).padStart(12, "0")}${"0".repeat(20)}`;
}

/** Emails of the last two days before this week that are due in two hours: a third is delayed, the others wait for their first attempt. */
async function fillOpen(sql: Sql, { workspaceId, domainId }: History, count: number): Promise<void> {
  const spanMs = 48 * hourMs;
  const at = `${Math.floor(Date.now() / weekMs) * weekMs - spanMs} + ${spanMs}::bigint * (n - 1) / ${count}`;
  await sql.unsafe(`
    with mail as materialized (
      select n, ${idOf("n", at)} as id, to_timestamp((${at}) / 1000.0) as at, 'w' || n || '@q' || n % 100 || '.test' as address, n % 3 = 0 as is_delayed
      from generate_series(1, ${count}) n
    ), email as (
      insert into emails (workspace_id, id, domain_id, domain, from_address, subject, message_id, envelope, status, open, total, size_bytes,
        content_day, expires_at, default_expires_at, created_at, updated_at, counted_at, delayed)
      select '${workspaceId}', id, '${domainId}', '${senderDomain}', 'shop@${senderDomain}', 'Your order', '<' || id || '@${senderDomain}>',
        '${storedEnvelope("q0.test", "w@q0.test")}', 'queued', 1, 1, 1200, at::date, at + interval '2 days', at + interval '2 days', at, at, at, is_delayed::int from mail
    ), outcome as (
      insert into email_outcomes (workspace_id, outcome, email_id) select '${workspaceId}', case when is_delayed then 'delayed' else 'queued' end, id from mail
    )
    insert into recipients (workspace_id, email_id, position, kind, address, destination, status, due_at, attempts)
    select '${workspaceId}', id, 0, 'to', address, split_part(address, '@', 2), case when is_delayed then 'delayed' else 'queued' end,
      now() + interval '2 hours', is_delayed::int from mail`);
}

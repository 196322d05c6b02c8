/** Leases due or expired recipients to a worker for one attempt, and finds the lanes to lease from. The upper bits of a lease are the
 * worker's id: all leases of a worker without a heartbeat are free without another write. Called by the delivery loop. */
import type { Lane } from "../../emails/lane.ts";
import type { RecipientKind } from "../../emails/rules/request.ts";
import type { Envelope } from "../../emails/store/emails.ts";
import type { Sql } from "../../postgres/pool.ts";
import { serviceTime } from "../../postgres/service-clock.ts";
import { type Tables, tablesOf, type Week } from "../../postgres/weeks.ts";
import { liveWorkers } from "../../postgres/workers.ts";
import type { SuppressionReason } from "../../suppressions/store.ts";
import { allTopics } from "../../suppressions/unsubscribe/rules/topic.ts";

export type Leased = {
  workspaceId: string;
  emailId: string;
  position: number;
  kind: RecipientKind;
  address: string;
  destination: string;
  lease: string;
  attempts: number;
  /** The reply to the last attempt; null before the first. */
  reply: string | null;
  /** An earlier attempt may have succeeded: its worker died, or the connection broke after the final dot. */
  inDoubt: boolean;
  /** Attempts that ended in doubt. */
  doubts: number;
  /** Why the workspace does not send to the address, at the time of the lease. */
  suppression: Suppressed | undefined;
  /** Never attempted, and scheduled for later: the database's clock went back after it was due. */
  early: boolean;
  /** Leased because it expired in a lane that is paused or blocked: it expires even if it was never attempted. */
  held: boolean;
  email: LeasedEmail;
};

export type Suppressed = {
  /** `unsubscribed`: the recipient has unsubscribed from the topic of the email. Otherwise the address is on the suppression list. */
  reason: SuppressionReason | "unsubscribed";
  sourceEvent: string | null;
};

export type LeasedEmail = {
  id: string;
  workspaceId: string;
  domainId: string;
  domain: string;
  subject: string;
  messageId: string;
  envelope: Envelope;
  test: boolean;
  contentDay: string;
  sizeBytes: number;
  /** For the Date header: the scheduled time, or else the time of acceptance. */
  date: Date;
  /** As the caller named it, or as shown. */
  expiresAt: Date;
  /** Service time, for mail without a time of its caller. */
  defaultExpiresAt: Date | null;
};

/** Lanes with open recipients, and when the first row of each is due. Skips through the index recipients_due, so that the cost is per lane,
 * not per row. If there are more than `limit` lanes, the next search continues `after` the last one. */
export async function findLanes(
  sql: Sql,
  limit: number,
  after: Lane = { destination: "", workspaceId: "00000000-0000-0000-0000-000000000000" },
  weeks: readonly Week[] = [undefined],
): Promise<(Lane & { dueInMs: number; isSuspended: boolean })[]> {
  const recipients = sql`(${weeks
    .map((week) => sql`select destination, workspace_id, due_at, status from ${tablesOf(sql, week)("recipients")}`)
    .reduce((all, one) => sql`${all} union all ${one}`)})`;
  return await sql<(Lane & { dueInMs: number; isSuspended: boolean })[]>`
    with recursive lane as (
      (select destination, workspace_id, due_at from ${recipients} r where status in ('queued', 'delayed')
          and (destination, workspace_id) > (${after.destination}::text, ${after.workspaceId}::uuid)
        order by destination, workspace_id, due_at limit 1)
      union all
      select next.* from lane, lateral (
        select r.destination, r.workspace_id, r.due_at from ${recipients} r
        where r.status in ('queued', 'delayed') and (r.destination, r.workspace_id) > (lane.destination, lane.workspace_id)
        order by r.destination, r.workspace_id, r.due_at limit 1) next
    )
    select destination, workspace_id as "workspaceId", (extract(epoch from due_at - ${serviceTime(sql)}) * 1000)::float8 as "dueInMs",
      not ${maySend(sql, sql`lane.workspace_id`)} as "isSuspended"
    from lane limit ${limit}`;
}

/** Leases up to `quota` due rows of each lane and commits: no transaction is open during an attempt. Index recipients_due. */
export async function leaseDue(
  sql: Sql,
  lease: string,
  lanes: readonly (Lane & { quota: number })[],
  /** Dead workers whose leases must not be taken yet (doubts.ts). */
  pending: readonly number[] = [],
  tables: Tables = tablesOf(sql, undefined),
): Promise<Leased[]> {
  // A connection keeps the plan of this statement while the queue grows from nothing to a million rows. So the statement leaves the planner
  // no choice that suits one size only: lease-plan.test.ts counts the rows that it reads. docs/decisions/0017 has the reasons.
  const rows = await sql<LeasedRow[]>`
    with live as materialized (${holders(sql, lease, pending)}), lane as (
      select * from unnest(${lanes.map((l) => l.destination)}::text[], ${lanes.map((l) => l.workspaceId)}::uuid[], ${lanes.map((l) => l.quota)}::int[])
        as l(destination, workspace_id, quota)
      -- Always true, like the condition on position below: both make the planner expect few rows, so that later joins use primary keys.
      where l.quota + 0 = l.quota and not exists (select 1 from paused_destinations p where p.workspace_id = l.workspace_id and p.destination = l.destination)
        and ${maySend(sql, sql`l.workspace_id`)}
    ), picked as materialized (
      select r.* from lane, live, lateral (
        select tableoid as part, ctid as row_location, workspace_id, email_id, position, destination, ${lost(sql)} as lost from ${tables("recipients")}
        where destination = lane.destination and workspace_id = lane.workspace_id and status in ('queued', 'delayed')
          and due_at <= ${serviceTime(sql)} and (lease is null or lease >> 32 <> all (live.ids))
        order by due_at limit lane.quota for update skip locked) r
      where r.position + 0 = r.position
    ), leased as (
      -- By ctid, the physical location of the locked row. A row that another transaction changed since this statement began has a new ctid,
      -- and is left for the next lease.
      update ${tables("recipients")} r set lease = ${lease}, in_doubt = r.in_doubt or p.lost from picked p where r.ctid = p.row_location and r.tableoid = p.part
      returning ${recipientColumns(sql)}
    )
    ${leasedColumns(sql, tables)}`;
  return rowsOf(rows, lease);
}

/**
 * Leases rows of a lane whose email has expired, even if the lane is paused or blocked. Scans `limit` rows in order of due time, starting
 * `after` a due time, and returns where the next scan continues; undefined: from the start. Index recipients_due.
 */
export async function leaseExpired(
  sql: Sql,
  lease: string,
  scan: Lane & { after: string | undefined; limit: number; pending?: readonly number[] },
): Promise<{ rows: Leased[]; next: string | undefined }> {
  const { destination, workspaceId, after = "-infinity", limit, pending = [] } = scan;
  const [scanned] = await sql<{ next: string | null; expired: boolean }[]>`
    select case when count(*) = ${limit} then max(r.due_at)::text end as next, coalesce(bool_or(${hasExpired(sql)}), false) as expired
    from (select workspace_id, email_id, due_at from recipients where destination = ${destination} and workspace_id = ${workspaceId}
      and status in ('queued', 'delayed') and due_at > ${after}::timestamptz order by due_at limit ${limit}) r
    ${itsEmail(sql)} where ${maySend(sql, sql`${workspaceId}::uuid`)}`;
  const next = scanned?.next ?? undefined;
  if (!scanned?.expired) return { rows: [], next };
  const rows = await sql<LeasedRow[]>`
    with live as materialized (${holders(sql, lease, pending)}), expired as materialized (
      select r.tableoid as part, r.ctid as row_location, r.position, ${lost(sql)} as lost from recipients r cross join live
      ${itsEmail(sql)} where r.destination = ${destination} and r.workspace_id = ${workspaceId} and r.status in ('queued', 'delayed')
        and r.due_at > ${after}::timestamptz and r.due_at <= coalesce(${scanned.next}::timestamptz, 'infinity') and ${hasExpired(sql)}
        and (r.lease is null or r.lease >> 32 <> all (live.ids)) limit ${limit} for update of r skip locked
    ), leased as (
      -- By ctid and with a condition on position, as above. UpdateEmail may have given the email another expiry since this statement began.
      update recipients r set lease = ${lease}, in_doubt = r.in_doubt or x.lost from (select * from expired where position + 0 = position) x
      where r.ctid = x.row_location and r.tableoid = x.part
      returning ${recipientColumns(sql)}
    )
    ${leasedColumns(sql, tablesOf(sql, undefined))}`;
  return { rows: rowsOf(rows, lease).map((row) => Object.assign(row, { held: true })), next };
}

/** Lanes that an operator has paused; index: the primary key. */
export async function findPaused(sql: Sql, limit: number): Promise<Lane[]> {
  return await sql<Lane[]>`
    select destination, workspace_id as "workspaceId" from paused_destinations order by workspace_id, destination limit ${limit}`;
}

/** Releases leases, for rows that were not tried. Mail that is scheduled for later waits for its time, but for at most 15 seconds: by then a
 * heartbeat has noticed that the clock went back, and ../scheduled.ts has computed the due time again. */
export async function releaseLease(sql: Sql, rows: readonly Leased[]): Promise<void> {
  await sql`
    update recipients r set lease = null, due_at = case when x.early then (select ${serviceTime(sql)}
        + greatest(least(e.scheduled_at - wall_time(), interval '15 seconds'), interval '0')
      from emails e where e.workspace_id = r.workspace_id and e.id = r.email_id) else r.due_at end
    from unnest(${rows.map((r) => r.workspaceId)}::uuid[], ${rows.map((r) => r.emailId)}::uuid[], ${rows.map((r) => r.position)}::smallint[],
      ${rows.map((r) => r.lease)}::bigint[], ${rows.map((r) => r.early)}::boolean[]) as x(workspace_id, email_id, position, lease, early)
    where r.workspace_id = x.workspace_id and r.email_id = x.email_id and r.position = x.position and r.lease = x.lease`;
}

/** An email whose content cannot be read keeps at least this much time for its attempts, unless its caller named its expiry. */
const leastTime = "4 hours";

/** Releases a lease for a while, because the content cannot be read. The attempts and the expiry of the email do not suffer from it. */
export async function postpone(sql: Sql, row: Leased, ms: number): Promise<void> {
  await sql`
    with waiting as (
      update recipients set lease = null, due_at = ${serviceTime(sql)} + ${ms} * interval '1 millisecond'
      where workspace_id = ${row.workspaceId} and email_id = ${row.emailId} and position = ${row.position} and lease = ${row.lease}
      returning workspace_id, email_id
    )
    update emails e set default_expires_at = ${serviceTime(sql)} + ${leastTime}::interval from waiting w
    where e.workspace_id = w.workspace_id and e.id = w.email_id and e.default_expires_at < ${serviceTime(sql)} + ${leastTime}::interval`;
}

/** `ids`: workers whose leases are valid. `journaled`: dead workers whose leases are not in doubt. `cut_due`, `cut_email`: what was due, and
 * the first id of later emails, when the database last lost its newest writes (postgres/log-origin.ts). */
function holders(sql: Sql, lease: string, pending: readonly number[]) {
  return sql`select w.ids || ${pending}::bigint[] as ids, j.ids as journaled, coalesce(split_part(c.value, ';', 1), '-infinity')::timestamptz as cut_due,
      coalesce(split_part(c.value, ';', 2), repeat('0', 32))::uuid as cut_email
    from (${liveWorkers(sql, lease)}) w cross join (select coalesce(array_agg(worker_id), '{}') as ids from read_journals) j
    left join settings c on c.name = 'last_cut'`;
}

/** A join of recipients r with emails e, row by row through the primary key: with the statistics of an empty table, a plain join would read
 * all emails. */
function itsEmail(sql: Sql) {
  return sql`cross join lateral (select * from emails where workspace_id = r.workspace_id and id = r.email_id limit 1) e`;
}

/** By service time, or by the database's clock if the caller named the time. */
function hasExpired(sql: Sql) {
  return sql`coalesce(${defaultExpiry(sql)} <= ${serviceTime(sql)}, e.expires_at <= wall_time())`;
}

/** Mail of a suspended workspace waits, and its default expiry waits as well: it is extended by the time in which the email was due and the
 * workspace was suspended. All in service time. Primary key of workspace_suspensions. */
function defaultExpiry(sql: Sql) {
  const dueAt = sql`(e.default_expires_at - (e.expires_at - greatest(e.created_at, e.scheduled_at)))`;
  return sql`e.default_expires_at + (select coalesce(sum(x.service_to - greatest(x.service_from, ${dueAt})), interval '0')
    from workspace_suspensions x where x.workspace_id = e.workspace_id and x.service_to > ${dueAt})`;
}

/** Also false for a workspace that was deleted: rows of transactions that ended after the deletion wait for its sweep (operators/deletion.ts). */
function maySend(sql: Sql, workspaceId: ReturnType<Sql>) {
  return sql`exists (select 1 from workspaces w where w.id = ${workspaceId} and w.suspended_at is null)`;
}

/** The worker of the row's lease died, and may have sent the final dot; or the database has lost an attempt. For mail that was never attempted,
 * the due time says nothing: the database may also have lost an UpdateEmail that made it due earlier. */
function lost(sql: Sql) {
  return sql`(lease is not null and lease >> 32 <> all (live.journaled)
    or (due_at <= live.cut_due or attempts = 0) and email_id < live.cut_email)`;
}

function recipientColumns(sql: Sql) {
  return sql`r.workspace_id, r.email_id, r.position, r.kind, r.address, r.destination, r.attempts, r.in_doubt, r.doubts, r.reply`;
}

function leasedColumns(sql: Sql, tables: Tables) {
  return sql`
    select l.workspace_id as "workspaceId", l.email_id as "emailId", l.position, l.kind, l.address, l.destination, l.attempts, l.reply,
      l.in_doubt as "inDoubt", l.doubts, e.domain_id as "domainId", e.domain, e.subject, e.message_id as "messageId", e.envelope, e.test,
      e.content_day::text as "contentDay", e.size_bytes::float8 as "sizeBytes", coalesce(e.scheduled_at, e.created_at) as date, e.expires_at as "expiresAt",
      ${defaultExpiry(sql)} as "defaultExpiresAt", l.attempts = 0 and coalesce(e.scheduled_at > wall_time(), false) as early,
      coalesce(s.reason, u.reason) as "suppressionReason", coalesce(s.source_event, u.source_event) as "sourceEvent"
    from leased l join ${tables("emails")} e on e.workspace_id = l.workspace_id and e.id = l.email_id
    left join suppressions s on s.workspace_id = l.workspace_id and s.address = lower(l.address)
    -- Primary key of unsubscribes. An email without a topic has null there, and no row is read for it.
    left join lateral (select 'unsubscribed' as reason, source_event from unsubscribes where workspace_id = l.workspace_id
      and address = case when e.envelope -> 'unsubscribe' is not null then lower(l.address) end
      and topic in (e.envelope -> 'unsubscribe' ->> 'topic', ${allTopics}) order by topic limit 1) u on s.reason is null`;
}

function rowsOf(rows: readonly LeasedRow[], lease: string): Leased[] {
  const emails = new Map<string, LeasedEmail>();
  return rows.map((row) => {
    const email = emails.get(row.emailId) ?? emailOf(row);
    emails.set(row.emailId, email);
    const { suppressionReason: reason, sourceEvent } = row;
    return {
      workspaceId: row.workspaceId,
      emailId: row.emailId,
      position: row.position,
      kind: row.kind,
      address: row.address,
      destination: row.destination,
      attempts: row.attempts,
      reply: row.reply,
      inDoubt: row.inDoubt,
      doubts: row.doubts,
      suppression: reason === null ? undefined : { reason, sourceEvent },
      early: row.early,
      held: false,
      lease,
      email,
    };
  });
}

type LeasedRow = Omit<Leased, "email" | "lease" | "suppression" | "held"> &
  Omit<LeasedEmail, "id" | "workspaceId"> & {
    suppressionReason: Suppressed["reason"] | null;
    sourceEvent: string | null;
  };

function emailOf(row: LeasedRow): LeasedEmail {
  return {
    id: row.emailId,
    workspaceId: row.workspaceId,
    domainId: row.domainId,
    domain: row.domain,
    subject: row.subject,
    messageId: row.messageId,
    envelope: row.envelope,
    test: row.test,
    contentDay: row.contentDay,
    sizeBytes: row.sizeBytes,
    date: row.date,
    expiresAt: row.expiresAt,
    defaultExpiresAt: row.defaultExpiresAt,
  };
}

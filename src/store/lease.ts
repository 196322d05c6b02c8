/** Leases: due recipients handed to a worker for one attempt. The lease is a number that starts with its worker's id, so that a
 * worker that has gone silent gives all its leases back without another write. Called by the delivery loop. */
import type { Sql } from "./db.ts";
import type { Envelope, RecipientKind } from "./emails.ts";
import { deadAfterSeconds } from "./workers.ts";

export type SuppressionReason = "bounce" | "complaint" | "manual" | "import";

/** One destination for one workspace: lanes are served in turn, so that nobody waits behind somebody else's backlog. */
export type Lane = { destination: string; workspaceId: string };

/** How a lane is named in a wake-up. */
export function laneHint(lane: Lane): string {
  return `${lane.destination} ${lane.workspaceId}`;
}

export function laneFromHint(hint: string): Lane[] {
  const [destination, workspaceId] = hint.split(" ");
  return destination && workspaceId ? [{ destination, workspaceId }] : [];
}

export type Leased = {
  workspaceId: string;
  emailId: string;
  position: number;
  kind: RecipientKind;
  address: string;
  destination: string;
  lease: string;
  attempts: number;
  /** What the last attempt was told; null before the first. */
  reply: string | null;
  /** An attempt before this one may have gone through: its worker died, or the connection broke after the final dot. */
  inDoubt: boolean;
  /** Why the address is on the workspace's suppression list, judged at this moment. */
  suppression: { reason: SuppressionReason; sourceEvent: string | null } | undefined;
  email: LeasedEmail;
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
  /** The time in the Date header: when it was accepted, or for when it was scheduled. */
  date: Date;
  expiresAt: Date;
};

/** A lease is unique for ever: the worker's id, which is never given twice, and a number of its own. */
export function makeLease(workerId: number, count: number): string {
  return ((BigInt(workerId) << 32n) | BigInt(count >>> 0)).toString();
}

/** Lanes with open recipients and when their oldest row is due, found by skipping through recipients_due: the cost is per lane, not per
 * row. Where there are more than `limit`, the next look goes on `after` the last one, so that every lane is seen in its turn. */
export async function findLanes(
  sql: Sql,
  limit: number,
  after: Lane = { destination: "", workspaceId: "00000000-0000-0000-0000-000000000000" },
): Promise<(Lane & { dueInMs: number })[]> {
  return await sql<(Lane & { dueInMs: number })[]>`
    with recursive lane as (
      (select destination, workspace_id, due_at from recipients where status in ('queued', 'delayed')
          and (destination, workspace_id) > (${after.destination}::text, ${after.workspaceId}::uuid)
        order by destination, workspace_id, due_at limit 1)
      union all
      select next.* from lane, lateral (
        select r.destination, r.workspace_id, r.due_at from recipients r
        where r.status in ('queued', 'delayed') and (r.destination, r.workspace_id) > (lane.destination, lane.workspace_id)
        order by r.destination, r.workspace_id, r.due_at limit 1) next
    )
    select destination, workspace_id as "workspaceId", (extract(epoch from due_at - now()) * 1000)::float8 as "dueInMs"
    from lane limit ${limit}`;
}

/** Takes up to `quota` due rows of each lane and commits at once: no transaction is open while SMTP talks. Index recipients_due. */
export async function leaseDue(
  sql: Sql,
  lease: string,
  lanes: readonly (Lane & { quota: number })[],
): Promise<Leased[]> {
  // A connection keeps the plan of this statement while the queue grows from nothing to a million rows. So nothing in it leaves the planner a
  // choice that is right for one size only: lease-plan.test.ts counts the rows that are read. docs/decisions/0017 says how.
  const rows = await sql<LeasedRow[]>`
    with live as materialized (${liveWorkers(sql, lease)}), lane as (
      select * from unnest(${lanes.map((l) => l.destination)}::text[], ${lanes.map((l) => l.workspaceId)}::uuid[], ${lanes.map((l) => l.quota)}::int[])
        as l(destination, workspace_id, quota)
      -- Always true, as the one below: they make the planner expect few rows, so that what follows goes through primary keys.
      where l.quota + 0 = l.quota and not exists (select 1 from paused_destinations p where p.workspace_id = l.workspace_id and p.destination = l.destination)
    ), picked as materialized (
      select r.* from lane, live, lateral (
        select tableoid as part, ctid as place, workspace_id, email_id, position, destination, lease is not null as lost from recipients
        where destination = lane.destination and workspace_id = lane.workspace_id and status in ('queued', 'delayed')
          and due_at <= now() and (lease is null or lease >> 32 <> all (live.ids))
        order by due_at limit lane.quota for update skip locked) r
      where r.position + 0 = r.position
    ), sibling as materialized (
      -- An email is not cut in two where a quota ends: its other recipients at the destination travel along. Found by the primary key
      -- and by nothing else: with the statistics of an empty table a join read the whole queue.
      select r.* from (select distinct workspace_id, email_id, destination from picked) p cross join live cross join lateral (
        select tableoid as part, ctid as place, email_id, position, lease is not null as lost from recipients
        where workspace_id = p.workspace_id and email_id = p.email_id and destination || '' = p.destination
          and status || '' in ('queued', 'delayed') and due_at + interval '0' <= now() and (lease is null or lease >> 32 <> all (live.ids))
        limit 1000 for update skip locked) r
      where not exists (select 1 from picked q where q.email_id = r.email_id and q.position = r.position)
    ), chosen as materialized (
      select part, place, lost from picked union all select part, place, lost from sibling
    ), leased as (
      -- By the place where the locked row lies. One that somebody changed since this statement began lies elsewhere now, and is left for the next.
      update recipients r set lease = ${lease}, in_doubt = r.in_doubt or c.lost from chosen c where r.ctid = c.place and r.tableoid = c.part
      returning ${recipientColumns(sql)}
    )
    ${leasedColumns(sql)}`;
  return rowsOf(rows, lease);
}

/**
 * Takes rows of a lane whose email has expired, whatever keeps the lane from being served: looks at `limit` rows from `after` on, in the
 * order in which they are due, and says where the next look goes on; undefined: from the start. Index recipients_due.
 */
export async function leaseExpired(
  sql: Sql,
  lease: string,
  look: Lane & { after: string | undefined; limit: number },
): Promise<{ rows: Leased[]; next: string | undefined }> {
  const { destination, workspaceId, after = "-infinity", limit } = look;
  const [seen] = await sql<{ next: string | null; expired: boolean }[]>`
    select case when count(*) = ${limit} then max(r.due_at)::text end as next, coalesce(bool_or(e.expires_at <= now()), false) as expired
    from (select workspace_id, email_id, due_at from recipients where destination = ${destination} and workspace_id = ${workspaceId}
      and status in ('queued', 'delayed') and due_at > ${after}::timestamptz order by due_at limit ${limit}) r
    join emails e on e.workspace_id = r.workspace_id and e.id = r.email_id`;
  const next = seen?.next ?? undefined;
  if (!seen?.expired) return { rows: [], next };
  const rows = await sql<LeasedRow[]>`
    with live as materialized (${liveWorkers(sql, lease)}), seen as materialized (
      select r.workspace_id, r.email_id, r.position, r.lease is not null as lost from recipients r cross join live
      join emails e on e.workspace_id = r.workspace_id and e.id = r.email_id
      where r.destination = ${destination} and r.workspace_id = ${workspaceId} and r.status in ('queued', 'delayed')
        and r.due_at > ${after}::timestamptz and r.due_at <= coalesce(${seen.next}::timestamptz, 'infinity') and e.expires_at <= now()
        and (r.lease is null or r.lease >> 32 <> all (live.ids)) limit ${limit} for update of r skip locked
    ), leased as (
      update recipients r set lease = ${lease}, in_doubt = r.in_doubt or s.lost
      from seen s where r.workspace_id = s.workspace_id and r.email_id = s.email_id and r.position = s.position
      returning ${recipientColumns(sql)}
    )
    ${leasedColumns(sql)}`;
  return { rows: rowsOf(rows, lease), next };
}

/** Lanes that are held back; index: the primary key. */
export async function findPaused(sql: Sql, limit: number): Promise<Lane[]> {
  return await sql<Lane[]>`
    select destination, workspace_id as "workspaceId" from paused_destinations order by workspace_id, destination limit ${limit}`;
}

/** Gives rows back untouched, for a worker that stops before it has begun with them. */
export async function releaseLease(sql: Sql, rows: readonly Leased[]): Promise<void> {
  await sql`
    update recipients r set lease = null
    from unnest(${rows.map((r) => r.workspaceId)}::uuid[], ${rows.map((r) => r.emailId)}::uuid[], ${rows.map((r) => r.position)}::smallint[],
      ${rows.map((r) => r.lease)}::bigint[]) as x(workspace_id, email_id, position, lease)
    where r.workspace_id = x.workspace_id and r.email_id = x.email_id and r.position = x.position and r.lease = x.lease`;
}

/** Who asks is alive, also when the database was away for longer than its heartbeat may be. */
function liveWorkers(sql: Sql, lease: string) {
  return sql`select array_append(array_agg(id::bigint), ${lease}::bigint >> 32) as ids
    from workers where seen_at > now() - make_interval(secs => ${deadAfterSeconds})`;
}

function recipientColumns(sql: Sql) {
  return sql`r.workspace_id, r.email_id, r.position, r.kind, r.address, r.destination, r.attempts, r.in_doubt, r.reply`;
}

function leasedColumns(sql: Sql) {
  return sql`
    select l.workspace_id as "workspaceId", l.email_id as "emailId", l.position, l.kind, l.address, l.destination, l.attempts, l.reply,
      l.in_doubt as "inDoubt", e.domain_id as "domainId", e.domain, e.subject, e.message_id as "messageId", e.envelope, e.test,
      e.content_day::text as "contentDay", e.size_bytes::float8 as "sizeBytes", coalesce(e.scheduled_at, e.created_at) as date, e.expires_at as "expiresAt",
      s.reason as "suppressionReason", s.source_event as "sourceEvent"
    from leased l join emails e on e.workspace_id = l.workspace_id and e.id = l.email_id
    left join suppressions s on s.workspace_id = l.workspace_id and s.address = lower(l.address)`;
}

function rowsOf(rows: readonly LeasedRow[], lease: string): Leased[] {
  const emails = new Map<string, LeasedEmail>();
  return rows.map((row) => {
    const email = emails.get(row.emailId) ?? emailOf(row);
    emails.set(row.emailId, email);
    const {
      workspaceId,
      emailId,
      position,
      kind,
      address,
      destination,
      attempts,
      reply,
      inDoubt,
      suppressionReason: reason,
      sourceEvent,
    } = row;
    const suppression = reason === null ? undefined : { reason, sourceEvent };
    return {
      workspaceId,
      emailId,
      position,
      kind,
      address,
      destination,
      attempts,
      reply,
      inDoubt,
      suppression,
      lease,
      email,
    };
  });
}

type LeasedRow = Omit<Leased, "email" | "lease" | "suppression"> &
  Omit<LeasedEmail, "id" | "workspaceId"> & { suppressionReason: SuppressionReason | null; sourceEvent: string | null };

function emailOf(row: LeasedRow): LeasedEmail {
  const {
    emailId: id,
    workspaceId,
    domainId,
    domain,
    subject,
    messageId,
    envelope,
    test,
    contentDay,
    sizeBytes,
    date,
    expiresAt,
  } = row;
  return {
    id,
    workspaceId,
    domainId,
    domain,
    subject,
    messageId,
    envelope,
    test,
    contentDay,
    sizeBytes,
    date,
    expiresAt,
  };
}

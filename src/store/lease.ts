/** Leases: due recipients handed to a worker for one attempt. The lease is a number that starts with its worker's id, so that a
 * worker that has gone silent gives all its leases back without another write. Called by the delivery loop. */
import type { Sql } from "./db.ts";
import type { Envelope, RecipientKind } from "./emails.ts";
import { deadAfterSeconds } from "./workers.ts";

export type SuppressionReason = "bounce" | "complaint" | "manual" | "import";

/** One destination for one workspace: lanes are served in turn, so that nobody waits behind somebody else's backlog. */
export type Lane = { destination: string; workspaceId: string };

export type Leased = {
  workspaceId: string;
  emailId: string;
  position: number;
  kind: RecipientKind;
  address: string;
  destination: string;
  lease: string;
  attempts: number;
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
  const rows = await sql<LeasedRow[]>`
    with live as materialized (
      -- Who asks is alive, also when the database was away for longer than its heartbeat may be.
      select array_append(array_agg(id::bigint), ${lease}::bigint >> 32) as ids
      from workers where seen_at > now() - make_interval(secs => ${deadAfterSeconds})
    ), lane as (
      select * from unnest(${lanes.map((l) => l.destination)}::text[], ${lanes.map((l) => l.workspaceId)}::uuid[], ${lanes.map((l) => l.quota)}::int[])
        as l(destination, workspace_id, quota)
    ), picked as materialized (
      select r.* from lane, live, lateral (
        select workspace_id, email_id, position, lease is not null as lost, destination from recipients
        where destination = lane.destination and workspace_id = lane.workspace_id and status in ('queued', 'delayed')
          and due_at <= now() and (lease is null or lease >> 32 <> all (live.ids))
        order by due_at limit lane.quota for update skip locked) r
    ), sibling as materialized (
      -- An email is not cut in two where a quota ends: its other recipients at the destination travel along.
      select r.workspace_id, r.email_id, r.position, r.lease is not null as lost
      from (select distinct workspace_id, email_id, destination from picked) p
      join recipients r on r.workspace_id = p.workspace_id and r.email_id = p.email_id and r.destination = p.destination
      cross join live
      where r.status in ('queued', 'delayed') and r.due_at <= now() and (r.lease is null or r.lease >> 32 <> all (live.ids))
        and (r.workspace_id, r.email_id, r.position) not in (select workspace_id, email_id, position from picked)
      for update of r skip locked
    ), leased as (
      update recipients r set lease = ${lease}, in_doubt = r.in_doubt or p.lost
      from (select workspace_id, email_id, position, lost from picked union all select * from sibling) p where r.workspace_id = p.workspace_id and r.email_id = p.email_id and r.position = p.position
      returning r.workspace_id, r.email_id, r.position, r.kind, r.address, r.destination, r.attempts, r.in_doubt
    )
    select l.workspace_id as "workspaceId", l.email_id as "emailId", l.position, l.kind, l.address, l.destination, l.attempts,
      l.in_doubt as "inDoubt", e.domain_id as "domainId", e.domain, e.subject, e.message_id as "messageId", e.envelope, e.test,
      e.content_day::text as "contentDay", e.size_bytes::float8 as "sizeBytes", coalesce(e.scheduled_at, e.created_at) as date, e.expires_at as "expiresAt",
      s.reason as "suppressionReason", s.source_event as "sourceEvent"
    from leased l join emails e on e.workspace_id = l.workspace_id and e.id = l.email_id
    left join suppressions s on s.workspace_id = l.workspace_id and s.address = lower(l.address)`;
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
      inDoubt,
      suppressionReason: reason,
      sourceEvent,
    } = row;
    const suppression = reason === null ? undefined : { reason, sourceEvent };
    return { workspaceId, emailId, position, kind, address, destination, attempts, inDoubt, suppression, lease, email };
  });
}

/** Gives rows back untouched, for a worker that stops before it has begun with them. */
export async function releaseLease(sql: Sql, rows: readonly Leased[]): Promise<void> {
  await sql`
    update recipients r set lease = null
    from unnest(${rows.map((r) => r.workspaceId)}::uuid[], ${rows.map((r) => r.emailId)}::uuid[], ${rows.map((r) => r.position)}::smallint[],
      ${rows.map((r) => r.lease)}::bigint[]) as x(workspace_id, email_id, position, lease)
    where r.workspace_id = x.workspace_id and r.email_id = x.email_id and r.position = x.position and r.lease = x.lease`;
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

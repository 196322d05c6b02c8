/** Counts the outcomes of each workspace's last recipients, and finds workspaces over a limit of the abuse brake. Reads the event log by
 * number, like the statistics: every event counts once, on whatever node. Called by ../brake-loop.ts. */
import { createHash } from "node:crypto";
import { organizationalDomain } from "../../dns/name.ts";
import type { Sql } from "../../postgres/pool.ts";
import { constant, planOnce } from "../../postgres/sql.ts";
import { inWeek, oneRow, type Tables, weekAt } from "../../postgres/weeks.ts";
import {
  addSteps,
  type BrakeMode,
  type BrakeStep,
  type DomainCounts,
  judgeSteps,
  type Warning,
} from "../rules/brake.ts";
import { type Notice, noticed } from "./notices.ts";

type LockedRecord = {
  workspaceId: string;
  eventsTo: string;
  steps: StoredStep[];
  warning: Warning | null;
  handled: boolean;
  warnedLately: boolean;
  /** The database's clock. */
  nowMs: number;
};
type StoredStep = [recipients: number, bounces: number, complaints: number, domains?: DomainCounts];
/** `from`: the recipient domain of each bounce and complaint. */
type NewSteps = BrakeStep & {
  workspaceId: string;
  upTo: string;
  rows: number;
  from: [isComplaint: boolean, domain: string][];
};

/** `restMs`: a workspace is folded again after this time, or when `events` wait. Otherwise, with many active workspaces, each fold would
 * find new events, and the loop would never pause. `systemKeyId`: the key of mail that Posthorn itself sends, which does not count. */
export type FoldLimits = { workspaces: number; events: number; restMs: number; systemKeyId: string };

/** True: more events are left to count; call again at once. Records and figures change in one statement under a lock on the record, so a
 * killed process counts nothing twice. */
export async function foldOutcomes(sql: Sql, limits: FoldLimits): Promise<boolean> {
  // A workspace of an earlier version starts with its last events.
  await sql`
    insert into sending_records (workspace_id, events_to) select workspace_id, greatest(last - 20000, 0) from event_counters c
    where not exists (select 1 from sending_records b where b.workspace_id = c.workspace_id) on conflict do nothing`;
  return await sql.begin(async (tx) => {
    await planOnce(tx);
    const locked = await lockRecords(tx, limits);
    if (locked.length === 0) return false;
    const read = (own: Sql, tables: Tables) => readSteps(own, locked, { ...limits, tables });
    const added = await inWeek(tx, weekAt(locked[0]!.nowMs), read, { inTransaction: true });
    const changed = locked.map((record) =>
      fold(
        record,
        added.filter((one) => one.workspaceId === record.workspaceId),
      ),
    );
    await tx`
      update sending_records b set events_to = n.events_to, steps = n.steps, warning = n.warning, handled = n.handled, folded_at = service_time()
      from json_populate_recordset(null::sending_records, ${JSON.stringify(changed)}::text::json) n where b.workspace_id = n.workspace_id`;
    const rowsOf = (id: string) =>
      added.filter((one) => one.workspaceId === id).reduce((sum, { rows }) => sum + rows, 0);
    return (
      locked.length === limits.workspaces || locked.some(({ workspaceId }) => rowsOf(workspaceId) >= limits.events)
    );
  });
}

/** Records with new events, skipping those that another node folds. A log that lost its end continues at its new end. */
async function lockRecords(tx: Sql, limits: FoldLimits): Promise<LockedRecord[]> {
  return await tx<LockedRecord[]>`
    select b.workspace_id as "workspaceId", greatest(least(b.events_to, c.last), c.oldest - 1) as "eventsTo", b.steps, b.warning, b.handled,
      not ${notWarnedLately(tx)} as "warnedLately", (extract(epoch from wall_time()) * 1000)::float8 as "nowMs"
    from sending_records b join event_counters c using (workspace_id)
    where greatest(b.events_to, c.oldest - 1) <> c.last
      and (b.folded_at <= (select service_time()) - ${limits.restMs} * interval '1 millisecond' or c.last - b.events_to >= ${limits.events})
    order by b.folded_at limit ${limits.workspaces} for update of b skip locked`;
}

/** Outcomes of 100 events at a time, in order. Mail of test keys does not count: it never leaves the machine. Neither does mail of Posthorn
 * itself: the tenants that cause it are not the workspace that sends it. Primary keys. */
async function readSteps(
  tx: Sql,
  records: readonly LockedRecord[],
  limits: FoldLimits & { tables: Tables },
): Promise<NewSteps[]> {
  const email = oneRow(tx, {
    tables: limits.tables,
    table: "emails",
    columns: tx`not test and key_id is distinct from ${limits.systemKeyId}::uuid as counts`,
    condition: tx`workspace_id = k.workspace_id and id = e.email_id
      and e.type in ('email.delivered', 'email.sent', 'email.bounced', 'email.complained')`,
  });
  const isBounce = tx`(e.type = 'email.bounced' and m.counts)`;
  const isComplaint = tx`(e.type = 'email.complained' and m.counts and ${complains(tx)})`;
  const domain = tx`lower(substring(e.payload #>> '{recipients,0}' from '@([^@]*)$'))`;
  return await tx<NewSteps[]>`
    select k.workspace_id as "workspaceId", max(e.number) as "upTo", count(*)::int as rows,
      count(*) filter (where e.type <> 'email.complained' and m.counts)::int as recipients,
      count(*) filter (where ${isBounce})::int as bounces, count(*) filter (where ${isComplaint})::int as complaints,
      coalesce(jsonb_agg(jsonb_build_array(e.type = 'email.complained', ${domain}))
        filter (where (${isBounce} or ${isComplaint}) and ${domain} <> ''), '[]') as "from"
    -- Sub-selects, because a plan for known arrays looks cheaper than a kept one, and planning takes longer than the statement.
    from unnest((select ${records.map((r) => r.workspaceId)}::uuid[]), (select ${records.map((r) => r.eventsTo)}::bigint[])) as k(workspace_id, after)
    cross join lateral (select number, type, email_id, payload from events where workspace_id = k.workspace_id and number > k.after
      order by number limit ${constant(tx, limits.events)}) e
    left join lateral (${email}) m on true
    group by k.workspace_id, (e.number - k.after - 1) / 100 order by k.workspace_id, min(e.number)`;
}

/** Feedback types (RFC 5965) by which a recipient complains. Others report, for example, that mail is not spam, or that a DKIM signature is
 * broken. Events of earlier versions may have no type. */
function complains(tx: Sql) {
  return tx`coalesce(e.payload ->> 'feedbackType', '') in ('', 'abuse', 'fraud', 'virus', 'other')`;
}

/** The record after these steps. A warning that is new, or that new outcomes confirm a day after the last one, is to be handled. */
function fold(record: LockedRecord, added: readonly NewSteps[]) {
  const steps = addSteps(
    record.steps.map(fromStored),
    added.map(({ recipients, bounces, complaints, from }) => ({
      recipients,
      bounces,
      complaints,
      domains: byDomain(from),
    })),
  );
  const warning = judgeSteps(steps) ?? null;
  const isConfirmed = !record.warnedLately && added.some(({ recipients, complaints }) => recipients + complaints > 0);
  const isNew = warning !== null && (record.warning === null || isConfirmed);
  return {
    workspace_id: record.workspaceId,
    events_to: added.at(-1)?.upTo ?? record.eventsTo,
    steps: steps.map(toStored),
    warning,
    handled: isNew ? false : warning === null || record.handled,
  };
}

function fromStored([recipients, bounces, complaints, domains]: StoredStep): BrakeStep {
  return { recipients, bounces, complaints, domains };
}

function toStored({ recipients, bounces, complaints, domains }: BrakeStep): StoredStep {
  const hasDomains = Object.keys(domains ?? {}).length > 0;
  return hasDomains ? [recipients, bounces, complaints, domains] : [recipients, bounces, complaints];
}

/** By organizational domain, because its owner can use any subdomain. Short hashes keep the stored steps small. */
function byDomain(from: NewSteps["from"]): DomainCounts {
  const counts: DomainCounts = {};
  for (const [isComplaint, domain] of from) {
    const key = createHash("sha256").update(organizationalDomain(domain)).digest("base64url").slice(0, 6);
    const [bounces, complaints] = counts[key] ?? [0, 0];
    counts[key] = isComplaint ? [bounces, complaints + 1] : [bounces + 1, complaints];
  }
  return counts;
}

export type Offender = {
  workspaceId: string;
  name: string;
  fromSignUp: boolean;
  isSuspended: boolean;
  warning: Warning;
};

/** Workspaces over a limit that are to be suspended, or to be warned: a warning waits until a day after the last one. A workspace that was
 * only warned is suspended when the mode changes. */
export async function findOffenders(sql: Sql, mode: BrakeMode): Promise<Offender[]> {
  const suspends = { all: sql`true`, new: sql`w.from_sign_up`, none: sql`false` }[mode];
  return await sql<Offender[]>`
    select b.workspace_id as "workspaceId", w.name, w.from_sign_up as "fromSignUp", w.suspended_at is not null as "isSuspended", b.warning
    from sending_records b join workspaces w on w.id = b.workspace_id
    where b.warning is not null and case when ${suspends} then w.suspended_at is null or not b.handled
      else not b.handled and ${notWarnedLately(sql)} end limit 100`;
}

/** Warns once, whichever node finds the workspace. */
export async function warn(sql: Sql, notice: Notice): Promise<boolean> {
  const rows = await sql<object[]>`
    with noted as (
      update sending_records set handled = true, warned_at = service_time()
      where workspace_id = ${notice.workspaceId} and not handled and warning is not null and ${notWarnedLately(sql)} returning 1
    ), ${noticed(sql, notice, sql`exists (select 1 from noted)`)}
    select 1 from event`;
  return rows.length > 0;
}

function notWarnedLately(sql: Sql) {
  return sql`coalesce(warned_at <= (select service_time()) - interval '1 day', true)`;
}

export async function markHandled(sql: Sql, workspaceId: string): Promise<void> {
  await sql`update sending_records set handled = true where workspace_id = ${workspaceId}`;
}

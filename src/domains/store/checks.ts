/**
 * SQL of domain checks: leases, so that one node checks a domain at a time, and results. Leases, intervals and
 * due times are in service time, times that are shown in wall time. Called by the checker.
 */

import type { ZoneCut } from "../../dns/record.ts";
import { appendEvent } from "../../events/store.ts";
import { toWireId } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { DomainCheckResult } from "../rules/result.ts";
import { type DomainRow, domainColumns } from "./domains.ts";
import { recordKeyChecks } from "./imported-keys.ts";

/** Longer than any check takes. After this time another node may lease the domain. */
const leaseSeconds = 15;

type DomainKey = { workspaceId: string; id: string };

/** Leases a domain whose last check is stale; with `staleAfterMs` 0 any domain, also while service time does not advance. Undefined: the check is
 * recent, or another node has the lease. Primary key. */
export async function claimStale(
  sql: Sql,
  claim: DomainKey & { lease: string; staleAfterMs: number },
): Promise<DomainRow | undefined> {
  const [row] = await sql.write<DomainRow[]>`
    update domains set ${leaseColumns(sql, claim.lease)}
    where workspace_id = ${claim.workspaceId} and id = ${claim.id} and ${isUnleased(sql)}
      and (${claim.staleAfterMs}::float8 = 0 or coalesce(checked_at, last_checked_at, registered_at, created_at)
        < (select service_time()) - ${claim.staleAfterMs}::float8 * interval '1 millisecond')
    returning ${domainColumns(sql)}`;
  return row;
}

/**
 * Leases a domain for the one check per interval that a caller may request. It takes the lease from a running check,
 * which may have queried DNS before the caller changed a record; the result of that check is discarded. Primary key.
 */
export async function claimVerify(
  sql: Sql,
  claim: DomainKey & { lease: string; intervalMs: number },
): Promise<DomainRow | undefined> {
  const [row] = await sql.write<DomainRow[]>`
    update domains set ${leaseColumns(sql, claim.lease)}, last_verify_at = (select service_time())
    where workspace_id = ${claim.workspaceId} and id = ${claim.id} and deleted_at is null
      and (last_verify_at is null or last_verify_at <= (select service_time()) - ${claim.intervalMs} * interval '1 millisecond')
    returning ${domainColumns(sql)}`;
  return row;
}

/** How many of the longest overdue domains a claim looks at. */
const claimWindow = 200;

/** Leases domains that are due for a background check, the longest overdue first: at most `perWorkspace` of each workspace, and none of the
 * workspaces in `except`. Index domains_due. */
export async function claimDue(
  sql: Sql,
  claim: { lease: string; limit: number; perWorkspace?: number; except?: readonly string[] },
): Promise<DomainRow[]> {
  const { limit, perWorkspace = limit, except = [] } = claim;
  // Materialized: if inlined, the planner may run the locking query again and lease more than `limit`.
  return await sql<DomainRow[]>`
    with overdue as materialized (
      select workspace_id, id, next_check_at from domains where next_check_at <= (select service_time()) and ${isUnleased(sql)}
        and workspace_id <> all(${[...except]}::uuid[])
      order by next_check_at limit ${claimWindow}
    ), ranked as (
      select *, row_number() over (partition by workspace_id order by next_check_at) as place from overdue
    ), due as materialized (
      select d.workspace_id, d.id from ranked r join domains d using (workspace_id, id)
      where r.place <= ${perWorkspace} and d.next_check_at <= (select service_time()) and ${isUnleased(sql)}
      order by r.next_check_at limit ${limit} for update of d skip locked
    )
    update domains set ${leaseColumns(sql, claim.lease)}
    where (workspace_id, id) in (select workspace_id, id from due) returning ${domainColumns(sql)}`;
}

/** Stores the state and the event of a check in one transaction. Undefined: the check no longer has the lease. */
export async function recordCheck(
  sql: Sql,
  check: DomainKey & { lease: string; eventId: string; result: DomainCheckResult },
): Promise<DomainRow | undefined> {
  const { result } = check;
  const { facts, summary } = result;
  const { row } = await sql.begin(async (transaction) => {
    const tx = transaction as unknown as Sql;
    const [row] = await tx<DomainRow[]>`
      update domains set status = ${facts.status}, records = ${JSON.stringify(result.records)}::text::jsonb, note = ${summary.message},
        next_action = ${summary.nextAction}, can_send = ${summary.canSend}, can_receive = ${summary.canReceive},
        dns_zone = coalesce(${result.zone?.zone ?? null}, dns_zone), name_servers = coalesce(nullif(${result.zone?.hosts ?? null}::text[], '{}'), name_servers),
        signing_slots = ${result.signingSlots}::smallint[], mail_from_ready = ${result.mailFromReady},
        ready_at = ${facts.readyAt}, dkim_seen_at = ${facts.dkimSeenAt}, incomplete_since = ${facts.incompleteSince},
        control_proved_at = case when ${facts.hadDkim} and cardinality(signing_slots) = 0 then (select service_time()) else control_proved_at end,
        updated_at = case when ${result.changed} then now() else updated_at end, last_checked_at = now(), checked_at = (select service_time()),
        next_check_at = ${result.nextCheckAt}, checks = ${result.checks}, check_lease = null, check_lease_until = null
      where workspace_id = ${check.workspaceId} and id = ${check.id} and check_lease = ${check.lease} and deleted_at is null
      returning ${domainColumns(tx)}`;
    if (row) await recordKeyChecks(tx, row, result.importedKeys);
    if (row && result.previousStatus !== undefined)
      await appendEvent(tx, {
        id: check.eventId,
        workspaceId: row.workspaceId,
        type: "domain.updated",
        payload: {
          domainId: toWireId("domain", row.id),
          domain: row.domain,
          status: statusOnWire(facts.status),
          previousStatus: statusOnWire(result.previousStatus),
          canSend: summary.canSend,
          canReceive: summary.canReceive,
          message: `${result.importedKeys.message} ${summary.message}`.trim(),
        },
      });
    return { row };
  });
  return row;
}

/** Stores the zone of a domain outside a check. Primary key. */
export async function recordZone(sql: Sql, found: DomainKey & { zone: ZoneCut }): Promise<void> {
  await sql`
    update domains set dns_zone = ${found.zone.zone}, name_servers = ${found.zone.hosts}::text[]
    where workspace_id = ${found.workspaceId} and id = ${found.id} and deleted_at is null`;
}

/** Releases the lease of a check without a result. The domain is due again in `againInMs` at the earliest. */
export async function releaseCheck(sql: Sql, check: DomainKey & { lease: string; againInMs: number }): Promise<void> {
  await sql`
    update domains set check_lease = null, check_lease_until = null,
      next_check_at = greatest(next_check_at, (select service_time()) + ${check.againInMs} * interval '1 millisecond')
    where workspace_id = ${check.workspaceId} and id = ${check.id} and check_lease = ${check.lease}`;
}

/**
 * Makes other registrations of the name due at once if they had a DKIM record at their last check: when one registration
 * gains its record, another has most likely lost its own. Locked rows are skipped. Index domains_proved.
 */
export async function recheckRivals(sql: Sql, of: DomainKey & { domain: string; seenAfter: Date }): Promise<number> {
  const rows = await sql`
    with rivals as materialized (
      select workspace_id, id from domains
      where domain = ${of.domain} and deleted_at is null and control_proved_at is not null and id <> ${of.id}
        and cardinality(signing_slots) > 0 and coalesce(checked_at, last_checked_at) < ${of.seenAfter}
      for update skip locked
    )
    update domains set next_check_at = (select service_time()) where (workspace_id, id) in (select workspace_id, id from rivals) returning 1`;
  return rows.length;
}

function leaseColumns(sql: Sql, lease: string) {
  return sql`check_lease = ${lease}, check_lease_until = (select service_time()) + ${leaseSeconds} * interval '1 second'`;
}

function isUnleased(sql: Sql) {
  return sql`deleted_at is null and (check_lease_until is null or check_lease_until < (select service_time()))`;
}

/** The enum name in the contract's JSON. */
function statusOnWire(status: string): string {
  return `DOMAIN_STATUS_${status.toUpperCase()}`;
}

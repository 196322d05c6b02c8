/** Who checks a domain, and what the check changed: one node at a time by lease, on the database's clock. Called by the checker. */
import type { CheckResult } from "../rules/domain-result.ts";
import type { Sql } from "./db.ts";
import { type DomainRow, domainColumns } from "./domains.ts";
import { appendEvent } from "./events.ts";
import { toWireId } from "./ids.ts";

/** Longer than any check takes; after it the check counts as lost with its node. */
const leaseSeconds = 15;

type Which = { workspaceId: string; id: string };

/** Claims the look-up of a domain that nobody looked at for a while; undefined: somebody just did, or does. Primary key. */
export async function claimStale(
  sql: Sql,
  claim: Which & { lease: string; staleAfterMs: number },
): Promise<DomainRow | undefined> {
  const [row] = await sql<DomainRow[]>`
    update domains set ${take(sql, claim.lease)}
    where workspace_id = ${claim.workspaceId} and id = ${claim.id} and ${isFree(sql)}
      and coalesce(last_checked_at, created_at) < now() - ${claim.staleAfterMs} * interval '1 millisecond'
    returning ${domainColumns(sql)}`;
  return row;
}

/**
 * Claims the one look-up per interval that a person may ask for. It takes over from a check under way, which may have
 * asked before the person changed something; that one's result is then nobody's. Primary key.
 */
export async function claimVerify(
  sql: Sql,
  claim: Which & { lease: string; intervalMs: number },
): Promise<DomainRow | undefined> {
  const [row] = await sql<DomainRow[]>`
    update domains set ${take(sql, claim.lease)}, last_verify_at = now()
    where workspace_id = ${claim.workspaceId} and id = ${claim.id} and deleted_at is null
      and (last_verify_at is null or last_verify_at <= now() - ${claim.intervalMs} * interval '1 millisecond')
    returning ${domainColumns(sql)}`;
  return row;
}

/** Domains whose turn in the background has come, the longest waiting first. Index domains_due. */
export async function claimDue(sql: Sql, claim: { lease: string; limit: number }): Promise<DomainRow[]> {
  // Materialized: joined in place, the planner may run the locking query again and take more than was asked for.
  return await sql<DomainRow[]>`
    with due as materialized (
      select workspace_id, id from domains where next_check_at <= now() and ${isFree(sql)}
      order by next_check_at limit ${claim.limit} for update skip locked
    )
    update domains set ${take(sql, claim.lease)}
    where (workspace_id, id) in (select workspace_id, id from due) returning ${domainColumns(sql)}`;
}

/** State and event of a check, in one transaction and only while the lease holds; undefined when it does not. */
export async function recordCheck(
  sql: Sql,
  check: Which & { lease: string; eventId: string; result: CheckResult },
): Promise<DomainRow | undefined> {
  const { result } = check;
  const { facts, summary } = result;
  const { row } = await sql.begin(async (transaction) => {
    const tx = transaction as unknown as Sql;
    const [row] = await tx<DomainRow[]>`
      update domains set status = ${facts.status}, records = ${JSON.stringify(result.records)}::text::jsonb, note = ${summary.message},
        next_action = ${summary.nextAction}, can_send = ${summary.canSend}, can_receive = ${summary.canReceive},
        signing_slots = ${result.signingSlots}::smallint[], mail_from_ready = ${result.mailFromReady},
        ready_at = ${facts.readyAt}, dkim_seen_at = ${facts.dkimSeenAt}, incomplete_since = ${facts.incompleteSince},
        control_proved_at = case when ${facts.hadDkim} and cardinality(signing_slots) = 0 then now() else control_proved_at end,
        updated_at = case when ${result.changed} then now() else updated_at end, last_checked_at = now(),
        next_check_at = ${result.nextCheckAt}, checks = ${result.checks}, check_lease = null, check_lease_until = null
      where workspace_id = ${check.workspaceId} and id = ${check.id} and check_lease = ${check.lease} and deleted_at is null
      returning ${domainColumns(tx)}`;
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
          message: summary.message,
        },
      });
    return { row };
  });
  return row;
}

/** A check that came to no result. `againInMs`: when it is due again, if not at once. */
export async function releaseCheck(sql: Sql, check: Which & { lease: string; againInMs: number }): Promise<void> {
  await sql`
    update domains set check_lease = null, check_lease_until = null,
      next_check_at = greatest(next_check_at, now() + ${check.againInMs} * interval '1 millisecond')
    where workspace_id = ${check.workspaceId} and id = ${check.id} and check_lease = ${check.lease}`;
}

/**
 * Other registrations of the name that held a DKIM record when they were last seen are due at once: when one begins to be
 * found, another has most likely ended. Those being changed at this moment are passed over. Index domains_proved.
 */
export async function recheckRivals(sql: Sql, of: Which & { domain: string; seenAfter: Date }): Promise<number> {
  const rows = await sql`
    with rivals as materialized (
      select workspace_id, id from domains
      where domain = ${of.domain} and deleted_at is null and control_proved_at is not null and id <> ${of.id}
        and cardinality(signing_slots) > 0 and last_checked_at < ${of.seenAfter}
      for update skip locked
    )
    update domains set next_check_at = now() where (workspace_id, id) in (select workspace_id, id from rivals) returning 1`;
  return rows.length;
}

function take(sql: Sql, lease: string) {
  return sql`check_lease = ${lease}, check_lease_until = now() + ${leaseSeconds} * interval '1 second'`;
}

function isFree(sql: Sql) {
  return sql`deleted_at is null and (check_lease_until is null or check_lease_until < now())`;
}

/** As the wire's JSON writes it. */
function statusOnWire(status: string): string {
  return `DOMAIN_STATUS_${status.toUpperCase()}`;
}

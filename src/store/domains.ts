/** Sending domains: registered with two DKIM keys, shown page by page, deleted softly. What checks change is in domain-checks.ts. */
import type { StoredRecord } from "../rules/domain-result.ts";
import type { DomainStatus } from "../rules/domain-status.ts";
import type { NextAction } from "../rules/domain-summary.ts";
import type { Sql } from "./db.ts";
import type { NewDkimKey } from "./dkim-keys.ts";

export type DomainRow = {
  workspaceId: string;
  id: string;
  domain: string;
  token: string;
  mailFromLabel: string;
  region: string;
  status: DomainStatus;
  records: StoredRecord[];
  note: string;
  nextAction: NextAction;
  canSend: boolean;
  canReceive: boolean;
  signingSlots: number[];
  readyAt: Date | null;
  dkimSeenAt: Date | null;
  incompleteSince: Date | null;
  createdAt: Date;
  updatedAt: Date;
  lastCheckedAt: Date | null;
  lastVerifyAt: Date | null;
  checks: number;
  /** Some node looks its records up at this moment. */
  checking: boolean;
  /** The database's time of reading: what is stale or allowed is judged against it. */
  readAt: Date;
};

export type NewDomain = {
  id: string;
  workspaceId: string;
  domain: string;
  token: string;
  mailFromLabel: string;
  region: string;
  note: string;
  /** Until the background looks for the first time. */
  firstCheckMs: number;
  keys: readonly NewDkimKey[];
};

/** The domain with its keys in one statement; undefined when the workspace has the name already (index domains_by_name). */
export async function addDomain(sql: Sql, domain: NewDomain): Promise<DomainRow | undefined> {
  const { workspaceId, keys } = domain;
  const [row] = await sql<DomainRow[]>`
    with added as (
      insert into domains (workspace_id, id, domain, token, mail_from_label, region, note, next_check_at)
      values (${workspaceId}, ${domain.id}, ${domain.domain}, ${domain.token}, ${domain.mailFromLabel}, ${domain.region},
        ${domain.note}, now() + ${domain.firstCheckMs} * interval '1 millisecond')
      on conflict (workspace_id, domain) where deleted_at is null do nothing returning ${domainColumns(sql)}
    ), keyed as (
      insert into dkim_keys (workspace_id, id, domain_id, slot, label, public_key, private_key_sealed)
      select added."workspaceId", k.id, added.id, k.slot, k.label, k.public_key, k.sealed
      from added, unnest(${keys.map((k) => k.id)}::uuid[], ${keys.map((k) => k.slot)}::smallint[], ${keys.map((k) => k.label)}::text[],
        ${keys.map((k) => k.publicKey)}::text[], ${keys.map((k) => k.privateKeySealed)}::text[]) as k(id, slot, label, public_key, sealed)
    )
    select * from added`;
  return row;
}

/** Primary key. */
export async function getDomain(sql: Sql, workspaceId: string, id: string): Promise<DomainRow | undefined> {
  const [row] = await sql<DomainRow[]>`
    select ${domainColumns(sql)} from domains where workspace_id = ${workspaceId} and id = ${id} and deleted_at is null`;
  return row;
}

/** Index domains_by_name. */
export async function findDomain(sql: Sql, workspaceId: string, name: string): Promise<DomainRow | undefined> {
  const [row] = await sql<DomainRow[]>`
    select ${domainColumns(sql)} from domains where workspace_id = ${workspaceId} and domain = ${name} and deleted_at is null`;
  return row;
}

/** Newest first. Primary key for the page, domains_by_name for the count. */
export async function listDomains(
  sql: Sql,
  page: { workspaceId: string; limit: number; offset: number },
): Promise<{ rows: DomainRow[]; total: number }> {
  const rows = await sql<DomainRow[]>`
    select ${domainColumns(sql)} from domains where workspace_id = ${page.workspaceId} and deleted_at is null
    order by id desc limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<{ total: number }[]>`
    select count(*)::int as total from domains where workspace_id = ${page.workspaceId} and deleted_at is null`;
  return { rows, total: count!.total };
}

/**
 * Frees the name and stops new sends at once. Row and keys stay, so that accepted mail is still signed;
 * what local mode serves for this registration goes with it.
 */
export async function deleteDomain(sql: Sql, workspaceId: string, id: string): Promise<DomainRow | undefined> {
  const [row] = await sql<DomainRow[]>`
    with gone as (delete from published_zones where workspace_id = ${workspaceId} and domain_id = ${id})
    update domains set deleted_at = now(), updated_at = now(), can_send = false, can_receive = false, check_lease = null, check_lease_until = null
    where workspace_id = ${workspaceId} and id = ${id} and deleted_at is null returning ${domainColumns(sql)}`;
  return row;
}

export type ReceivingDomain = { workspaceId: string; id: string; domain: string };

/**
 * Whose mail it is: of all registrations of a name that may receive, the one that proved control last. Undefined: nobody's here.
 * Index domains_proved.
 */
export async function receivingDomain(sql: Sql, name: string): Promise<ReceivingDomain | undefined> {
  const [row] = await sql<ReceivingDomain[]>`
    select workspace_id as "workspaceId", id, domain from domains
    where domain = ${name} and deleted_at is null and control_proved_at is not null and can_receive
    order by control_proved_at desc, id desc limit 1`;
  return row;
}

export function domainColumns(sql: Sql) {
  return sql`workspace_id as "workspaceId", id, domain, token, mail_from_label as "mailFromLabel", region, status, records, note,
    next_action as "nextAction", can_send as "canSend", can_receive as "canReceive", signing_slots as "signingSlots",
    ready_at as "readyAt", dkim_seen_at as "dkimSeenAt", incomplete_since as "incompleteSince", created_at as "createdAt",
    updated_at as "updatedAt", last_checked_at as "lastCheckedAt", last_verify_at as "lastVerifyAt", checks,
    coalesce(check_lease_until > now(), false) as checking, clock_timestamp() as "readAt"`;
}

/** Rows of sending domains: adding, reading, soft deletion, and the marker of the example domain. checks.ts has the SQL of checks. */
import type { Sql } from "../../postgres/pool.ts";
import type { StoredRecord } from "../rules/result.ts";
import type { DomainStatus } from "../rules/status.ts";
import type { NextAction } from "../rules/summary.ts";
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
  /** The zone at the DNS provider, and its name servers. Null: no check could tell. */
  dnsZone: string | null;
  nameServers: string[];
  checks: number;
  /** Service time of the registration and of the last check, for the rules that measure how long ago they were. */
  registeredAt: Date;
  checkedAt: Date | null;
  /** A node is checking the records right now. */
  checking: boolean;
  /** Service time of this read. Staleness, rate limits and the rules of a check are judged against it. */
  readAt: Date;
  /** Wall time of this read, for times that are shown. */
  wallAt: Date;
};

export type NewDomain = {
  id: string;
  workspaceId: string;
  domain: string;
  token: string;
  mailFromLabel: string;
  region: string;
  note: string;
  /** The delay until the first background check. */
  firstCheckMs: number;
  keys: readonly NewDkimKey[];
};

/**
 * Adds the domain and its keys in one statement. Undefined: the workspace already has the name (index domains_by_name).
 * The keys sign at once, also when service time, which may be seconds ahead between heartbeats, goes back.
 */
export async function addDomain(sql: Sql, domain: NewDomain): Promise<DomainRow | undefined> {
  const { workspaceId, keys } = domain;
  const [row] = await sql.write<DomainRow[]>`
    with added as (
      insert into domains (workspace_id, id, domain, token, mail_from_label, region, note, registered_at, next_check_at)
      values (${workspaceId}, ${domain.id}, ${domain.domain}, ${domain.token}, ${domain.mailFromLabel}, ${domain.region},
        ${domain.note}, (select service_time()), (select service_time()) + ${domain.firstCheckMs} * interval '1 millisecond')
      on conflict (workspace_id, domain) where deleted_at is null do nothing returning ${domainColumns(sql)}
    ), keyed as (
      insert into dkim_keys (workspace_id, id, domain_id, slot, label, public_key, private_key_sealed, primes, active_from)
      select added."workspaceId", k.id, added.id, k.slot, k.label, k.public_key, k.sealed, k.primes, (select service_time()) - interval '1 minute'
      from added, unnest(${keys.map((k) => k.id)}::uuid[], ${keys.map((k) => k.slot)}::smallint[], ${keys.map((k) => k.label)}::text[],
        ${keys.map((k) => k.publicKey)}::text[], ${keys.map((k) => k.privateKeySealed)}::text[], ${keys.map((k) => k.primes)}::smallint[]) as k(id, slot, label, public_key, sealed, primes)
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
 * Frees the name and stops new sends at once. The row and its keys stay, so that accepted mail is still signed. Records
 * that the local DNS serves for this registration are removed, and so are its links.
 */
export async function deleteDomain(sql: Sql, workspaceId: string, id: string): Promise<DomainRow | undefined> {
  const [row] = await sql.write<DomainRow[]>`
    with unpublished as (delete from published_zones where workspace_id = ${workspaceId} and domain_id = ${id}),
      unshared as (delete from domain_links where workspace_id = ${workspaceId} and domain_id = ${id})
    update domains set deleted_at = (select service_time()), updated_at = now(), can_send = false, can_receive = false, check_lease = null, check_lease_until = null
    where workspace_id = ${workspaceId} and id = ${id} and deleted_at is null returning ${domainColumns(sql)}`;
  return row;
}

export type ReceivingDomain = { workspaceId: string; id: string; domain: string };

/**
 * The registration that receives mail for a name: of those that may receive, the one that proved control last.
 * Undefined: no workspace receives mail for the name. Index domains_proved.
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
    updated_at as "updatedAt", last_checked_at as "lastCheckedAt", last_verify_at as "lastVerifyAt", dns_zone as "dnsZone", name_servers as "nameServers", checks,
    coalesce(registered_at, created_at) as "registeredAt", coalesce(checked_at, last_checked_at) as "checkedAt",
    coalesce(check_lease_until > (select service_time()), false) as checking, (select service_time()) as "readAt", wall_time() as "wallAt"`;
}

/** Whether this instance has already decided about its example domain, which happens once, at the first start. */
export async function wasExampleOffered(sql: Sql): Promise<boolean> {
  return (await sql`select 1 from settings where name = 'example_domain'`).length > 0;
}

/** Records that decision; call it in the transaction that adds the domain. False: it was already recorded. */
export async function noteExampleOffered(sql: Sql, what: string): Promise<boolean> {
  return (
    (
      await sql`insert into settings (name, value) values ('example_domain', ${what}) on conflict (name) do nothing returning 1`
    ).length > 0
  );
}

/** SQL of DKIM keys that a workspace imported. own-keys.ts adds, lists and removes them, checks record what they found, and sending.ts
 * reads the ones that sign. */
import type { Sql } from "../../postgres/pool.ts";
import { shownTime } from "../../postgres/service-clock.ts";
import type { ImportedKey, ImportedKeyChecks } from "../rules/imported-keys.ts";

/** One that signs, its successor, and one to spare. Every check of the domain looks for each of them. */
export const maxImportedKeys = 3;

export type NewImportedKey = Pick<ImportedKey, "id" | "selector" | "publicKey" | "bits" | "primes"> & {
  privateKeySealed: string;
};

type DomainKey = { workspaceId: string; domainId: string };

/**
 * Needs a transaction: locks the domain, so that two imports at once cannot pass the limit. The domain is checked at once, and a check
 * that runs now is discarded, because it does not know the key. Undefined: there is no such domain.
 */
export async function addImportedKey(
  sql: Sql,
  { workspaceId, domainId }: DomainKey,
  key: NewImportedKey,
): Promise<ImportedKey | "full" | "taken" | undefined> {
  const locked = await sql`
    select 1 from domains where workspace_id = ${workspaceId} and id = ${domainId} and deleted_at is null for no key update`;
  if (locked.length === 0) return undefined;
  const [count] = await sql<{ keys: number; taken: boolean }[]>`
    select count(*)::int as keys, coalesce(bool_or(selector = ${key.selector}), false) as taken from imported_dkim_keys
    where workspace_id = ${workspaceId} and domain_id = ${domainId}`;
  if (count!.taken) return "taken";
  if (count!.keys >= maxImportedKeys) return "full";
  const [row] = await sql<ImportedKey[]>`
    insert into imported_dkim_keys (workspace_id, id, domain_id, selector, public_key, private_key_sealed, bits, primes)
    values (${workspaceId}, ${key.id}, ${domainId}, ${key.selector}, ${key.publicKey}, ${key.privateKeySealed}, ${key.bits}, ${key.primes})
    returning ${columns(sql)}`;
  await sql`
    update domains set next_check_at = (select service_time()), checks = 0, check_lease = null, check_lease_until = null
    where workspace_id = ${workspaceId} and id = ${domainId}`;
  return row;
}

/** Newest first. Index imported_dkim_keys_by_selector. */
export async function listImportedKeys(sql: Sql, workspaceId: string, domainId: string): Promise<ImportedKey[]> {
  return await sql<ImportedKey[]>`
    select ${columns(sql)} from imported_dkim_keys where workspace_id = ${workspaceId} and domain_id = ${domainId} order by id desc`;
}

/** Stores what a check found. Call it in the transaction of the check. Primary key. */
export async function recordKeyChecks(
  sql: Sql,
  { workspaceId }: { workspaceId: string },
  { keys }: ImportedKeyChecks,
): Promise<void> {
  if (keys.length === 0) return;
  await sql`
    update imported_dkim_keys k set finding = c.finding::jsonb,
      found_since = case when c.found then coalesce(k.found_since, (select service_time())) end
    from unnest(${keys.map(({ id }) => id)}::uuid[], ${keys.map(({ finding }) => JSON.stringify(finding))}::text[],
      ${keys.map(({ finding }) => finding.status === "found")}::boolean[]) as c(id, finding, found)
    where k.workspace_id = ${workspaceId} and k.id = c.id`;
}

export type StoredPrivateKey = DomainKey & { imported: boolean; privateKeySealed: string };

/** The private key of any key that is in use, of the service or imported. Primary keys. */
export async function findPrivateKey(
  sql: Sql,
  { workspaceId, id }: { workspaceId: string; id: string },
): Promise<StoredPrivateKey | undefined> {
  const [row] = await sql<StoredPrivateKey[]>`
    select k.workspace_id as "workspaceId", k.domain_id as "domainId", k.imported, k.sealed as "privateKeySealed" from (
      select workspace_id, id, domain_id, false as imported, private_key_sealed as sealed from dkim_keys
        where workspace_id = ${workspaceId} and id = ${id} and retired_at is null
      union all
      select workspace_id, id, domain_id, true, private_key_sealed from imported_dkim_keys
        where workspace_id = ${workspaceId} and id = ${id}
    ) k join domains d on d.workspace_id = k.workspace_id and d.id = k.domain_id and d.deleted_at is null`;
  return row;
}

/** Deletes the key and its private key. Undefined: the workspace has no such key, or its domain is deleted. Primary key. */
export async function removeImportedKey(
  sql: Sql,
  { workspaceId, id }: { workspaceId: string; id: string },
): Promise<{ selector: string; domainId: string; domain: string } | undefined> {
  const [row] = await sql<{ selector: string; domainId: string; domain: string }[]>`
    delete from imported_dkim_keys k using domains d
    where k.workspace_id = ${workspaceId} and k.id = ${id} and d.workspace_id = k.workspace_id and d.id = k.domain_id and d.deleted_at is null
    returning k.selector, d.id as "domainId", d.domain`;
  return row;
}

function columns(sql: Sql) {
  return sql`id, selector, public_key as "publicKey", bits::int, primes::int, finding, ${shownTime(sql, sql`last_signed_at`)} as "lastSignedAt",
    created_at as "createdAt"`;
}

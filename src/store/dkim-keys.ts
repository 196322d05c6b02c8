/** DKIM keys of domains: which our DNS serves, which a check compares with, and when a deleted domain's are destroyed. */
import type { Sql } from "./db.ts";

export type NewDkimKey = { id: string; slot: 1 | 2; label: string; publicKey: string; privateKeySealed: string };

/** Base64 SPKI of the keys behind ph1 and ph2. Index dkim_keys_by_domain. */
export async function readPublicKeys(
  sql: Sql,
  workspaceId: string,
  domainId: string,
): Promise<[string | undefined, string | undefined]> {
  const rows = await sql<{ slot: number; publicKey: string }[]>`
    select distinct on (slot) slot, public_key as "publicKey" from dkim_keys
    where workspace_id = ${workspaceId} and domain_id = ${domainId} and retired_at is null order by slot, created_at desc`;
  const of = (slot: number) => rows.find((row) => row.slot === slot)?.publicKey;
  return [of(1), of(2)];
}

/** A replaced key and those of a deleted domain stay in DNS this long after their last signature: mail in transit is still verified. */
const servedForDays = 7;

/** Many labels in one statement, index dkim_keys_served; undefined where the label has no key to serve. */
export async function findServedKeys(sql: Sql, labels: readonly string[]): Promise<(string | undefined)[]> {
  const rows = await sql<{ label: string; publicKey: string }[]>`
    select distinct on (k.label) k.label, k.public_key as "publicKey" from dkim_keys k ${isServed(sql)}
    and k.label = any(${labels as string[]}::text[]) order by k.label, k.retired_at desc nulls first, k.created_at desc`;
  const byLabel = new Map(rows.map((row) => [row.label, row.publicKey]));
  return labels.map((label) => byLabel.get(label));
}

/** Every key in our zone, for its export as a file. */
export async function listServedKeys(sql: Sql): Promise<{ label: string; publicKey: string }[]> {
  return await sql<{ label: string; publicKey: string }[]>`
    select distinct on (k.label) k.label, k.public_key as "publicKey" from dkim_keys k ${isServed(sql)}
    order by k.label, k.retired_at desc nulls first, k.created_at desc`;
}

function isServed(sql: Sql) {
  return sql`join domains d on d.workspace_id = k.workspace_id and d.id = k.domain_id
    where (k.retired_at is null and d.deleted_at is null
      or greatest(k.retired_at, d.deleted_at, k.last_signed_at) > now() - ${servedForDays} * interval '1 day')`;
}

/** Mail may be scheduled 30 days ahead and retried for days more: a deleted domain signs until no accepted email can be left. */
const signsForDays = 60;

/** Destroys the keys of domains deleted long ago, and the domains with them. */
export async function forgetDeletedDomains(sql: Sql): Promise<number> {
  const rows = await sql`
    with old as (
      select d.workspace_id, d.id from domains d
      where d.deleted_at < now() - ${signsForDays} * interval '1 day' and not exists (
        select 1 from dkim_keys k where k.workspace_id = d.workspace_id and k.domain_id = d.id
        and k.last_signed_at > now() - ${servedForDays} * interval '1 day')
      limit 100
    ), keys as (
      delete from dkim_keys k using old where k.workspace_id = old.workspace_id and k.domain_id = old.id
    )
    delete from domains d using old where d.workspace_id = old.workspace_id and d.id = old.id returning 1`;
  return rows.length;
}

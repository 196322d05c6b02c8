/** SQL of DKIM keys: the keys that our DNS serves, the keys that a check expects, rotation, and removal with deleted domains.
 * All times are service time: a jump of the clock must not withdraw a key that mail in transit needs. */
import type { PrimeCount } from "../../mail/rsa-key.ts";
import type { Sql } from "../../postgres/pool.ts";
import { shownTime } from "../../postgres/service-clock.ts";

export type NewDkimKey = {
  id: string;
  slot: 1 | 2;
  label: string;
  publicKey: string;
  privateKeySealed: string;
  primes: PrimeCount;
};

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

export type OwnKey = {
  id: string;
  slot: number;
  selector: string;
  primes: number;
  createdAt: Date;
  /** Wall time at which a new key starts to sign; null: it may sign. */
  signsFrom: Date | null;
  lastSignedAt: Date | null;
};

/** The keys of the service that are in use, the newest first, as readSigning orders them. Index dkim_keys_by_domain. */
export async function listOwnKeys(sql: Sql, workspaceId: string, domainId: string): Promise<OwnKey[]> {
  return await sql<OwnKey[]>`
    select id, slot::int, 'ph' || slot as selector, primes::int, created_at as "createdAt", ${shownTime(sql, sql`last_signed_at`)} as "lastSignedAt",
      case when active_from > (select service_time()) then ${shownTime(sql, sql`active_from`)} end as "signsFrom"
    from dkim_keys where workspace_id = ${workspaceId} and domain_id = ${domainId} and retired_at is null order by active_from desc, slot`;
}

export type PrimesInUse = { primes: number; domains: number };

/** How many domains have keys with how many primes, for posthorn doctor. Reads both tables. */
export async function countPrimes(sql: Sql): Promise<PrimesInUse[]> {
  return await sql<PrimesInUse[]>`
    select k.primes::int, count(distinct (k.workspace_id, k.domain_id))::int as domains from (
      select workspace_id, domain_id, primes from dkim_keys where retired_at is null
      union all select workspace_id, domain_id, primes from imported_dkim_keys
    ) k join domains d on d.workspace_id = k.workspace_id and d.id = k.domain_id and d.deleted_at is null
    group by k.primes order by k.primes`;
}

/** Replaced keys and keys of deleted domains stay in DNS this long after their last signature, to verify mail in transit. */
const servedForDays = 7;

/** `last_signed_at` is updated at most once an hour, so the last signature may be this much later. */
const signedAtLagHours = 1;

export type RotationState = {
  /** A new key exists that does not sign yet. */
  waiting: boolean;
  /** The keys of the selectors; the one that signs is first. */
  keys: { id: string; slot: 1 | 2; label: string; signedRecently: boolean }[];
};

/** Locks the domain: two rotations at the same time would replace both keys. */
export async function readRotation(sql: Sql, workspaceId: string, domainId: string): Promise<RotationState> {
  await sql`select 1 from domains where workspace_id = ${workspaceId} and id = ${domainId} for update`;
  const keys = await sql<(RotationState["keys"][number] & { waiting: boolean })[]>`
    select id, slot, label, active_from > (select service_time()) as waiting,
      coalesce(last_signed_at > (select service_time()) - ${servedForDays} * interval '1 day' - ${signedAtLagHours} * interval '1 hour', false) as "signedRecently"
    from dkim_keys where workspace_id = ${workspaceId} and domain_id = ${domainId} and retired_at is null
    order by active_from desc, slot`;
  return { waiting: keys.some((key) => key.waiting), keys };
}

/** Retires the old key and adds a new one in its slot, which signs after `signsInSeconds`. Returns that moment in wall time. */
export async function replaceKey(
  sql: Sql,
  old: { workspaceId: string; domainId: string; id: string },
  key: NewDkimKey,
  signsInSeconds: number,
): Promise<Date> {
  await sql`update dkim_keys set retired_at = (select service_time()) where workspace_id = ${old.workspaceId} and id = ${old.id}`;
  const [row] = await sql<{ activeFrom: Date }[]>`
    insert into dkim_keys (workspace_id, id, domain_id, slot, label, public_key, private_key_sealed, primes, active_from)
    values (${old.workspaceId}, ${key.id}, ${old.domainId}, ${key.slot}, ${key.label}, ${key.publicKey}, ${key.privateKeySealed}, ${key.primes},
      (select service_time()) + ${signsInSeconds} * interval '1 second')
    returning ${shownTime(sql, sql`active_from`)} as "activeFrom"`;
  return row!.activeFrom;
}

/** The keys for many labels in one statement; undefined for a label without a key to serve. Index dkim_keys_served, and the primary key of
 * kept_dkim_keys. */
export async function findServedKeys(sql: Sql, labels: readonly string[]): Promise<(string | undefined)[]> {
  const rows = await sql<ServedKey[]>`
    select label, public_key as "publicKey" from kept_dkim_keys
      where label = any(${labels as string[]}::text[]) and kept_until > (select service_time())
    union all ${servedKeys(sql, sql`and k.label = any(${labels as string[]}::text[])`)}`;
  const byLabel = new Map(rows.map((row) => [row.label, row.publicKey]));
  return labels.map((label) => byLabel.get(label));
}

/** Every key in our zone, for the zone file. */
export async function listServedKeys(sql: Sql): Promise<ServedKey[]> {
  return await sql<ServedKey[]>`
    select label, public_key as "publicKey" from kept_dkim_keys where kept_until > (select service_time())
      and label not in (select label from dkim_keys)
    union all ${servedKeys(sql, sql``)}
    order by label`;
}

type ServedKey = { label: string; publicKey: string };

/** One key for each label. */
function servedKeys(sql: Sql, condition: ReturnType<Sql>) {
  return sql`(select distinct on (k.label) k.label, k.public_key as "publicKey" from dkim_keys k ${isServed(sql)} ${condition}
    order by k.label, k.retired_at desc nulls first, k.created_at desc)`;
}

/** Copies the public keys that our DNS serves for a workspace, before the workspace is deleted. The copies name neither the workspace nor
 * its domains. Call it in the transaction that deletes the domains. */
export async function keepServedKeys(sql: Sql, workspaceId: string): Promise<void> {
  await sql`
    insert into kept_dkim_keys (label, public_key, kept_until)
    select label, "publicKey", (select service_time()) + ${servedForDays} * interval '1 day'
    from ${servedKeys(sql, sql`and k.workspace_id = ${workspaceId}`)} k
    on conflict (label) do update set public_key = excluded.public_key, kept_until = excluded.kept_until`;
}

/** Called by housekeeping. */
export async function forgetKeptKeys(sql: Sql): Promise<void> {
  await sql`delete from kept_dkim_keys where kept_until <= (select service_time())`;
}

function isServed(sql: Sql) {
  return sql`join domains d on d.workspace_id = k.workspace_id and d.id = k.domain_id
    where (k.retired_at is null and d.deleted_at is null
      or greatest(k.retired_at, d.deleted_at, k.last_signed_at) > (select service_time()) - ${servedForDays} * interval '1 day')`;
}

/** UpdateEmail can move mail up to 60 days after its acceptance, and mail is then retried for up to 30 days. After this time no accepted mail
 * of a deleted domain is left. */
const signsForDays = 90;

/** Removes domains deleted long ago, with their keys. */
export async function forgetDeletedDomains(sql: Sql): Promise<number> {
  const rows = await sql`
    with old as (
      select d.workspace_id, d.id from domains d
      where d.deleted_at < (select service_time()) - ${signsForDays} * interval '1 day' and not exists (
        select 1 from dkim_keys k where k.workspace_id = d.workspace_id and k.domain_id = d.id
        and k.last_signed_at > (select service_time()) - ${servedForDays} * interval '1 day')
      limit 100
    ), keys as (
      delete from dkim_keys k using old where k.workspace_id = old.workspace_id and k.domain_id = old.id
    )
    delete from domains d using old where d.workspace_id = old.workspace_id and d.id = old.id returning 1`;
  return rows.length;
}

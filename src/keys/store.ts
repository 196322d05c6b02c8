/** The SQL, format and hash of API keys. Only a hash of the secret is stored: a key is found by its public prefix and compared in constant
 * time. Called by service.ts, authenticate.ts, the first start and the commands. Parts: store/changes.ts (update, rotation),
 * store/reminders.ts (before the expiry). */
import { hash as digest, randomBytes, timingSafeEqual } from "node:crypto";
import type { KeyLimits, Permission, Scope } from "../http/caller.ts";
import type { Sql } from "../postgres/pool.ts";

export type Key = {
  id: string;
  workspaceId: string;
  name: string;
  prefix: string;
  permission: Permission;
  test: boolean;
  createdAt: Date;
  lastUsedAt: Date | null;
  lastUsedAddress: string | null;
  revokedAt: Date | null;
  expiresAt: Date | null;
  scopes: Scope[] | null;
  domains: string[] | null;
  recipients: string[] | null;
  addresses: string[] | null;
  makerPersonId: string | null;
  makerKeyId: string | null;
  /** The name of the person or key that created it. Null for a person who has left. */
  makerName: string | null;
  rotatedFrom: string | null;
};

export type NewKey = {
  id: string;
  workspaceId: string;
  name: string;
  secret: string;
  permission: Permission;
  test: boolean;
  limits?: KeyLimits;
  maker?: { personId: string } | { keyId: string };
  rotatedFrom?: string;
};

/** The key id of mail that Posthorn itself sends to people. It contains links to their accounts, so the API does not return it. */
export const systemKeyId = "00000000-0000-7000-8000-000000000000";

/** The name of the key of the setting with the same name. */
export const configuredKeyName = "POSTHORN_API_KEY";

/** `ph_` or `ph_test_`, eight public characters that find the key, then 32 secret characters (190 bits). */
export function makeKeySecret(test: boolean): { secret: string; prefix: string } {
  const prefix = `ph_${test ? "test_" : ""}${randomWord(8)}`;
  return { prefix, secret: `${prefix}_${randomWord(32)}` };
}

/** The public part of a presented key. A key that an operator chose has none; part of its hash is used instead. */
export function keyPrefix(presented: string): string {
  const match = /^(ph_(?:test_)?[0-9A-Za-z]{8})_[0-9A-Za-z]{32}$/.exec(presented);
  return match?.[1] ?? `own_${hash(presented).slice(0, 16)}`;
}

export async function insertKey(sql: Sql, key: NewKey): Promise<Key> {
  const { limits = {}, maker } = key;
  const { domain, domains } = storedDomains(key.permission, limits.domains);
  const limited = needsLimitedHash(limits, domains) || limits.expiresAt !== undefined;
  const stored = hash(key.secret);
  const [row] = await sql.write<Key[]>`
    insert into keys (id, workspace_id, name, prefix, secret_hash, permission, domain, test, limited, scopes, domains, allowed_recipients,
      allowed_addresses, maker_person_id, maker_key_id, rotated_from, expires_at, service_expires_at, reminded_days)
    values (${key.id}, ${key.workspaceId}, ${key.name}, ${keyPrefix(key.secret)}, ${limited ? limitedHash(stored) : stored},
      ${key.permission}, ${domain}, ${key.test}, ${limited}, ${limits.scopes ?? null}::text[], ${domains}::text[],
      ${limits.recipients ?? null}::text[], ${limits.addresses ?? null}::text[],
      ${maker && "personId" in maker ? maker.personId : null}, ${maker && "keyId" in maker ? maker.keyId : null},
      ${key.rotatedFrom ?? null}, ${endColumns(sql, sql`${limits.expiresAt ?? null}::timestamptz`)})
    returning ${columns(sql)}`;
  return row!;
}

/** A send key with one domain keeps it in the column that earlier versions know. */
export function storedDomains(
  permission: Permission,
  all: readonly string[] | undefined,
): { domain: string | null; domains: readonly string[] | null } {
  if (permission === "send" && all?.length === 1) return { domain: all[0]!, domains: null };
  return { domain: null, domains: all ?? null };
}

/** Programs of earlier versions would let a key in that has limits which they do not know. So its hash is one that they cannot match. */
export function needsLimitedHash(limits: KeyLimits, domains: readonly string[] | null): boolean {
  return Boolean(limits.scopes || limits.recipients || limits.addresses || domains);
}

/** Values of expires_at, service_expires_at and reminded_days for an expiry in wall time. Reminders whose moment has passed are not sent. */
export function endColumns(sql: Sql, expiresAt: ReturnType<Sql>) {
  return sql`${expiresAt}, ${expiresAt} - wall_time() + (select service_time()),
    case when ${expiresAt} - wall_time() <= interval '1 day' then 1 when ${expiresAt} - wall_time() <= interval '7 days' then 7 end`;
}

/** Inserts the operator's key (POSTHORN_API_KEY) once. When the setting changes, it inserts the new key and revokes the old one. */
export async function ensureConfiguredKey(
  sql: Sql,
  key: { id: string; workspaceId: string; secret: string },
): Promise<void> {
  const prefix = keyPrefix(key.secret);
  await sql`update keys set revoked_at = now() where workspace_id = ${key.workspaceId} and name = ${configuredKeyName}
    and prefix <> ${prefix} and revoked_at is null`;
  await sql`insert into keys (id, workspace_id, name, prefix, secret_hash, permission)
    values (${key.id}, ${key.workspaceId}, ${configuredKeyName}, ${prefix}, ${hash(key.secret)}, 'full')
    on conflict (prefix) do update set revoked_at = null, expires_at = null, service_expires_at = null, reminded_days = null
    where keys.workspace_id = excluded.workspace_id`;
}

/** Index keys_by_workspace. */
export async function hasKeys(sql: Sql, workspaceId: string): Promise<boolean> {
  return (await sql`select 1 from keys where workspace_id = ${workspaceId} limit 1`).length > 0;
}

/** The part of a key that authentication needs. */
export type FoundKey = {
  id: string;
  workspaceId: string;
  permission: Permission;
  test: boolean;
  limits?: KeyLimits;
  limitsVersion: number;
  expired: boolean;
};

type FoundRow = Pick<FoundKey, "id" | "workspaceId" | "permission" | "test"> & {
  prefix: string;
  secretHash: string;
  /** Null for a key that never had a limit. */
  limits:
    | (Pick<Key, "scopes" | "domains" | "recipients" | "addresses"> & {
        expiresAt: string | null;
        limited: boolean;
        version: number;
        expired: boolean;
      })
    | null;
};

/** Looks up many presented keys in one statement (index keys_prefix_key). The result is undefined for an unknown, wrong or revoked key. */
export async function findKeys(sql: Sql, presented: readonly string[]): Promise<(FoundKey | undefined)[]> {
  const prefixes = new Map(presented.map((secret) => [secret, keyPrefix(secret)]));
  // The inner select hides the number of prefixes, so that PostgreSQL keeps one plan: planning takes three times as long as the query.
  // All limits are one column, which is null for most keys: a column for each took 40 µs longer per call, one takes 3 µs.
  const rows = await sql<FoundRow[]>`
    select id, workspace_id as "workspaceId", permission, test, prefix, secret_hash as "secretHash",
      case when limited or domain is not null or expires_at is not null then json_build_object('scopes', scopes,
        'domains', ${domainsColumn(sql)}, 'recipients', allowed_recipients, 'addresses', allowed_addresses, 'expiresAt', expires_at,
        'limited', limited, 'version', limits_version, 'expired', ${isExpired(sql)}) end as limits
    from keys where prefix = any((select ${[...new Set(prefixes.values())]}::text[])::text[]) and revoked_at is null`;
  const byPrefix = new Map(rows.map((row) => [row.prefix, row]));
  const found = new Map<string, FoundKey>();
  for (const [secret, prefix] of prefixes) {
    const row = byPrefix.get(prefix);
    const presentedHash = row?.limits?.limited ? limitedHash(hash(secret)) : hash(secret);
    // Compares also when no row was found, so that the response time reveals nothing.
    const matches = timingSafeEqual(Buffer.from(presentedHash), Buffer.from(row?.secretHash ?? noHash));
    if (!row || !matches) continue;
    const { id, workspaceId, permission, test, limits } = row;
    const key = {
      id,
      workspaceId,
      permission,
      test,
      limitsVersion: limits?.version ?? 0,
      expired: limits?.expired ?? false,
    };
    const expiresAt = limits?.expiresAt ? new Date(limits.expiresAt) : null;
    found.set(secret, limits ? { ...key, limits: keyLimitsOf({ ...limits, expiresAt }) } : key);
  }
  return presented.map((secret) => found.get(secret));
}

/** Undefined for a key without limits. */
export function keyLimitsOf(
  row: Pick<Key, "scopes" | "domains" | "recipients" | "addresses" | "expiresAt">,
): KeyLimits | undefined {
  const { scopes, domains, recipients, addresses, expiresAt } = row;
  if (!scopes && !domains && !recipients && !addresses && !expiresAt) return undefined;
  return {
    scopes: scopes ?? undefined,
    domains: domains ?? undefined,
    recipients: recipients ?? undefined,
    addresses: addresses ?? undefined,
    expiresAt: expiresAt ?? undefined,
  };
}

/** Whether either clock has reached the expiry of a key. Without an expiry, no clock is read: a sub-select for service time would be
 * prepared for every key. */
export function isExpired(sql: Sql) {
  return sql`case when expires_at is null then false
    else expires_at <= wall_time() or coalesce(service_expires_at <= service_time(), false) end`;
}

/** Keyset paging, newest first (index keys_by_workspace). */
export async function listKeys(
  sql: Sql,
  page: { workspaceId: string; before: string | undefined; limit: number },
): Promise<Key[]> {
  return await sql<Key[]>`
    select ${columns(sql)} from keys where workspace_id = ${page.workspaceId}
    ${page.before ? sql`and id < ${page.before}` : sql``} order by id desc limit ${page.limit}`;
}

export async function getKey(sql: Sql, at: { workspaceId: string; id: string }): Promise<Key | undefined> {
  const [row] = await sql<Key[]>`
    select ${columns(sql)} from keys where workspace_id = ${at.workspaceId} and id = ${at.id}`;
  return row;
}

/** Revoking a key twice is not an error. Undefined when the workspace has no such key. With `testOnly` a live key stays as it is. */
export async function revokeKey(
  sql: Sql,
  { workspaceId, id, testOnly }: { workspaceId: string; id: string; testOnly: boolean },
): Promise<Key | "live key" | undefined> {
  const [row] = await sql.write<Key[]>`
    update keys set revoked_at = case when test or not ${testOnly} then coalesce(revoked_at, now()) else revoked_at end
    where workspace_id = ${workspaceId} and id = ${id} returning ${columns(sql)}`;
  return row && testOnly && !row.test ? "live key" : row;
}

/** The valid keys of a workspace that a person created, also with a key of theirs, newest first (index keys_by_workspace). */
export async function keysMadeBy(
  sql: Sql,
  made: { workspaceId: string; personId: string; before?: string; limit: number },
): Promise<Key[]> {
  return await sql<Key[]>`
    select ${columns(sql)} from keys where id in (${idsMadeBy(sql, made)}) and revoked_at is null
    ${made.before ? sql`and id < ${made.before}` : sql``} order by id desc limit ${made.limit}`;
}

/** Revokes the keys that a person created, in one workspace or in all. Returns those that were valid. */
export async function revokeKeysMadeBy(
  sql: Sql,
  made: { workspaceId: string | undefined; personId: string },
): Promise<Pick<Key, "id" | "workspaceId">[]> {
  return await sql<Pick<Key, "id" | "workspaceId">[]>`
    with locked as materialized (${lockMadeBy(sql, made)})
    update keys set revoked_at = now() where id in (select id from locked) and revoked_at is null
    returning id, workspace_id as "workspaceId"`;
}

/** Locks all keys that a person created, also with a key of theirs. Every statement that changes several keys locks them in the order of
 * their ids, and those before rows of people. */
export async function lockKeysMadeBy(sql: Sql, personId: string): Promise<void> {
  await lockMadeBy(sql, { workspaceId: undefined, personId });
}

function lockMadeBy(sql: Sql, made: { workspaceId: string | undefined; personId: string }) {
  return sql`select k.id from keys k where k.id in (${idsMadeBy(sql, made)}) order by k.id for no key update`;
}

/** The number of valid keys of a workspace that a person created. */
export async function countKeysMadeBy(sql: Sql, workspaceId: string, personId: string): Promise<number> {
  const [row] = await sql<{ keys: number }[]>`
    select count(*)::int as keys from keys where id in (${idsMadeBy(sql, { workspaceId, personId })}) and revoked_at is null`;
  return row!.keys;
}

/** A person who creates a key with a key has created both. */
export function idsMadeBy(
  sql: Sql,
  { workspaceId, personId }: { workspaceId: string | undefined; personId: string | ReturnType<Sql> },
) {
  const here = workspaceId ? sql`and k.workspace_id = ${workspaceId}` : sql``;
  return sql`with recursive made (id) as (
      select k.id from keys k where k.maker_person_id = ${personId} ${here}
      union select k.id from keys k join made m on k.maker_key_id = m.id where true ${here})
    select id from made`;
}

/** Updates a key at most once a minute, so that not every API call causes a write. Keeps no address of a deleted person's programs: the
 * lock on the person makes a deletion wait, or shows that it has happened. */
export async function touchKeys(sql: Sql, uses: readonly { id: string; address: string }[]): Promise<void> {
  await sql`
    with recursive locked as materialized (
      select k.id, k.maker_person_id, k.maker_key_id from keys k where k.id = any(${uses.map((use) => use.id)}::uuid[])
        and (last_used_at is null or last_used_at not between now() - interval '1 minute' and now()) order by k.id for no key update
    ), maker (id, person_id, key_id) as (
      select * from locked union select m.id, k.maker_person_id, k.maker_key_id from maker m join keys k on k.id = m.key_id
    ), present as materialized (
      select p.id from people p where p.id in (select person_id from maker) order by p.id for key share
    )
    update keys k set last_used_at = now(), last_used_address = case when k.id not in (
        select m.id from maker m where m.person_id is not null and m.person_id not in (select id from present))
      then coalesce(nullif(u.address, ''), k.last_used_address) end
    from unnest(${uses.map((use) => use.id)}::uuid[], ${uses.map((use) => use.address)}::text[]) as u(id, address)
    where k.id = u.id and k.id in (select id from locked)`;
}

export function columns(sql: Sql) {
  return sql`keys.id, keys.workspace_id as "workspaceId", keys.name, keys.prefix, permission, test, keys.created_at as "createdAt",
    last_used_at as "lastUsedAt", last_used_address as "lastUsedAddress", revoked_at as "revokedAt", ${limitColumns(sql)},
    maker_person_id as "makerPersonId", maker_key_id as "makerKeyId", rotated_from as "rotatedFrom",
    coalesce((select p.name from people p join members m on m.person_id = p.id and m.workspace_id = keys.workspace_id
        where p.id = keys.maker_person_id),
      (select m.name from keys m where m.id = keys.maker_key_id)) as "makerName"`;
}

function limitColumns(sql: Sql) {
  return sql`scopes, ${domainsColumn(sql)} as domains, allowed_recipients as recipients, allowed_addresses as addresses, expires_at as "expiresAt"`;
}

function domainsColumn(sql: Sql) {
  return sql`coalesce(domains, case when domain is not null then array[domain] end)`;
}

function hash(secret: string): string {
  return digest("sha256", secret, "hex");
}

/** Computed from the plain hash, because UpdateKey limits keys whose secret it does not know. The same in store/changes.ts. */
function limitedHash(plain: string): string {
  return hash(`limited ${plain}`);
}

const noHash = "0".repeat(64);
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Skips bytes from 248 on, so that every character is equally likely. */
function randomWord(length: number): string {
  let word = "";
  while (word.length < length) {
    for (const byte of randomBytes(length)) if (byte < 248 && word.length < length) word += alphabet[byte % 62];
  }
  return word;
}

/** The domains that the workspace does not have (index domains_by_name). */
export async function foreignDomains(sql: Sql, workspaceId: string, names: readonly string[]): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select n.name from unnest(${names as string[]}::text[]) as n(name)
    where not exists (select 1 from domains where workspace_id = ${workspaceId} and domain = n.name and deleted_at is null)`;
  return rows.map((row) => row.name);
}

/** The key or session that opened a stream, its workspace, and the version of the key's limits. */
export type StreamHolder = { id: string; workspaceId: string; limitsVersion?: number };

/** The holders that may not read any longer: their key was revoked, has expired or has other limits (`changed`), their session has ended or
 * lacks a second factor that the workspace requires, or their person left the workspace. events/follower.ts calls this while streams are
 * open, since the gate checks a caller only at the start. */
export async function revokedAmong(
  sql: Sql,
  holders: readonly StreamHolder[],
): Promise<(StreamHolder & { changed: boolean })[]> {
  return await sql`
    select distinct h.id, h.workspace_id as "workspaceId", h.limits_version as "limitsVersion", exists (select 1 from keys where id = h.id and ${isValid(sql)}) as changed
    from unnest(${holders.map((h) => h.id)}::uuid[], ${holders.map((h) => h.workspaceId)}::uuid[],
      ${holders.map((h) => h.limitsVersion ?? 0)}::int[]) as h(id, workspace_id, limits_version)
    where not exists (select 1 from keys where id = h.id and ${isValid(sql)} and keys.limits_version = h.limits_version)
      and not exists (select 1 from people_sessions s join members m on m.person_id = s.person_id and m.workspace_id = h.workspace_id
        join workspaces w on w.id = h.workspace_id
        where s.id = h.id and (s.has_second_factor or not w.require_second_factor) and s.expires_at > wall_time() and coalesce(s.service_expires_at > (select service_time()), true))`;
}

function isValid(sql: Sql) {
  return sql`revoked_at is null and not (${isExpired(sql)})`;
}

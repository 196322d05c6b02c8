/** The SQL, format and hash of API keys. Only a SHA-256 of the secret is stored: a key is found by its public prefix and compared in
 * constant time. Called by service.ts, authenticate.ts, the first start and the commands. */
import { hash as digest, randomBytes, timingSafeEqual } from "node:crypto";
import type { Permission } from "../http/caller.ts";
import type { Sql } from "../postgres/pool.ts";

export type Key = {
  id: string;
  workspaceId: string;
  name: string;
  prefix: string;
  permission: Permission;
  domain: string | null;
  test: boolean;
  createdAt: Date;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
  /** The person who created it in the dashboard. */
  makerId: string | null;
};

/** The key id of mail that Posthorn itself sends to people. It contains links to their accounts, so the API does not return it. */
export const systemKeyId = "00000000-0000-7000-8000-000000000000";

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

export async function insertKey(
  sql: Sql,
  key: {
    id: string;
    workspaceId: string;
    name: string;
    secret: string;
    permission: Permission;
    domain?: string;
    test: boolean;
    makerId?: string;
  },
): Promise<Key> {
  const [row] = await sql.write<Key[]>`
    insert into keys (id, workspace_id, name, prefix, secret_hash, permission, domain, test, maker_id)
    values (${key.id}, ${key.workspaceId}, ${key.name}, ${keyPrefix(key.secret)}, ${hash(key.secret)},
      ${key.permission}, ${key.domain ?? null}, ${key.test}, ${key.makerId ?? null})
    returning ${columns(sql)}`;
  return row!;
}

/** Inserts the operator's key (POSTHORN_API_KEY) once. When the setting changes, it inserts the new key and revokes the old one. */
export async function ensureConfiguredKey(
  sql: Sql,
  key: { id: string; workspaceId: string; secret: string },
): Promise<void> {
  const prefix = keyPrefix(key.secret);
  await sql`update keys set revoked_at = now() where workspace_id = ${key.workspaceId} and name = 'POSTHORN_API_KEY'
    and prefix <> ${prefix} and revoked_at is null`;
  await sql`insert into keys (id, workspace_id, name, prefix, secret_hash, permission)
    values (${key.id}, ${key.workspaceId}, 'POSTHORN_API_KEY', ${prefix}, ${hash(key.secret)}, 'full')
    on conflict (prefix) do update set revoked_at = null where keys.workspace_id = excluded.workspace_id`;
}

/** Index keys_by_workspace. */
export async function hasKeys(sql: Sql, workspaceId: string): Promise<boolean> {
  return (await sql`select 1 from keys where workspace_id = ${workspaceId} limit 1`).length > 0;
}

/** The part of a key that authentication needs. */
export type FoundKey = Pick<Key, "id" | "workspaceId" | "permission" | "domain" | "test" | "makerId">;

/** Looks up many presented keys in one statement (index keys_prefix_key). The result is undefined for an unknown, wrong or revoked key. */
export async function findKeys(sql: Sql, presented: readonly string[]): Promise<(FoundKey | undefined)[]> {
  const prefixes = new Map(presented.map((secret) => [secret, keyPrefix(secret)]));
  // The inner select hides the number of prefixes, so that PostgreSQL keeps one plan: planning takes three times as long as the query.
  const rows = await sql<(FoundKey & { prefix: string; secretHash: string })[]>`
    select id, workspace_id as "workspaceId", permission, domain, test, maker_id as "makerId", prefix, secret_hash as "secretHash" from keys
    where prefix = any((select ${[...new Set(prefixes.values())]}::text[])::text[]) and revoked_at is null`;
  const byPrefix = new Map(rows.map((row) => [row.prefix, row]));
  const found = new Map<string, FoundKey>();
  for (const [secret, prefix] of prefixes) {
    const row = byPrefix.get(prefix);
    // Compares also when no row was found, so that the response time reveals nothing.
    const matches = timingSafeEqual(Buffer.from(hash(secret)), Buffer.from(row?.secretHash ?? noHash));
    if (!row || !matches) continue;
    const { id, workspaceId, permission, domain, test, makerId } = row;
    found.set(secret, { id, workspaceId, permission, domain, test, makerId });
  }
  return presented.map((secret) => found.get(secret));
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

/** The valid keys of a workspace that a person created, newest first (index keys_by_workspace). */
export async function keysMadeBy(
  sql: Sql,
  made: { workspaceId: string; personId: string; before?: string; limit: number },
): Promise<Key[]> {
  return await sql<Key[]>`
    select ${columns(sql)} from keys where workspace_id = ${made.workspaceId} and maker_id = ${made.personId} and revoked_at is null
    ${made.before ? sql`and id < ${made.before}` : sql``} order by id desc limit ${made.limit}`;
}

/** Revokes the keys that a person created, in one workspace or in all. Returns those that were valid. */
export async function revokeKeysMadeBy(
  sql: Sql,
  made: { workspaceId: string | undefined; personId: string },
): Promise<Pick<Key, "id" | "workspaceId">[]> {
  return await sql<Pick<Key, "id" | "workspaceId">[]>`
    update keys set revoked_at = now() where maker_id = ${made.personId} and revoked_at is null
    ${made.workspaceId ? sql`and workspace_id = ${made.workspaceId}` : sql``} returning id, workspace_id as "workspaceId"`;
}

/** The number of valid keys of a workspace that a person created. */
export async function countKeysMadeBy(sql: Sql, workspaceId: string, personId: string): Promise<number> {
  const [row] = await sql<{ keys: number }[]>`
    select count(*)::int as keys from keys where workspace_id = ${workspaceId} and maker_id = ${personId} and revoked_at is null`;
  return row!.keys;
}

/** Updates a key at most once a minute, so that not every API call causes a write. */
export async function touchKeys(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`update keys set last_used_at = now()
    where id = any(${ids as string[]}::uuid[]) and (last_used_at is null or last_used_at not between now() - interval '1 minute' and now())`;
}

function columns(sql: Sql) {
  return sql`id, workspace_id as "workspaceId", name, prefix, permission, domain, test, created_at as "createdAt",
    last_used_at as "lastUsedAt", revoked_at as "revokedAt", maker_id as "makerId"`;
}

function hash(secret: string): string {
  return digest("sha256", secret, "hex");
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

/** Index domains_by_name. */
export async function workspaceHasDomain(sql: Sql, workspaceId: string, domain: string): Promise<boolean> {
  const rows =
    await sql`select 1 from domains where workspace_id = ${workspaceId} and domain = ${domain} and deleted_at is null`;
  return rows.length > 0;
}

/** The key or session that opened a stream, and its workspace. */
export type Holder = { id: string; workspaceId: string };

/** The holders that may not read any longer: their key was revoked, their session has ended, or their person left the workspace.
 * events/follower.ts calls this while streams are open, since the gate checks a caller only at the start. */
export async function revokedAmong(sql: Sql, holders: readonly Holder[]): Promise<Holder[]> {
  return await sql<Holder[]>`
    select distinct h.id, h.workspace_id as "workspaceId"
    from unnest(${holders.map((h) => h.id)}::uuid[], ${holders.map((h) => h.workspaceId)}::uuid[]) as h(id, workspace_id)
    where not exists (select 1 from keys k where k.id = h.id and k.revoked_at is null)
      and not exists (select 1 from people_sessions s join members m on m.person_id = s.person_id and m.workspace_id = h.workspace_id
        where s.id = h.id and s.expires_at > wall_time() and coalesce(s.service_expires_at > (select service_time()), true))`;
}

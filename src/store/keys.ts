/** API keys: only a SHA-256 of the secret is stored; found by public prefix, compared in constant time. */
import { hash as digest, randomBytes, timingSafeEqual } from "node:crypto";
import type { Sql } from "./db.ts";

export type Permission = "full" | "send" | "read";
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
};

/** Stands for the key of what Posthorn itself sends to people (links that open their accounts): nobody reads that back by the API. */
export const systemKeyId = "00000000-0000-7000-8000-000000000000";

/** `ph_` or `ph_test_`, eight characters to find it by, then 32 characters (190 bits) that only its holder knows. */
export function makeKeySecret(test: boolean): { secret: string; prefix: string } {
  const prefix = `ph_${test ? "test_" : ""}${randomWord(8)}`;
  return { prefix, secret: `${prefix}_${randomWord(32)}` };
}

/** The public part of a presented key. A key that an operator chose has no such part: its own hash stands in. */
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
  },
): Promise<Key> {
  const [row] = await sql<Key[]>`
    insert into keys (id, workspace_id, name, prefix, secret_hash, permission, domain, test)
    values (${key.id}, ${key.workspaceId}, ${key.name}, ${keyPrefix(key.secret)}, ${hash(key.secret)},
      ${key.permission}, ${key.domain ?? null}, ${key.test})
    returning ${columns(sql)}`;
  return row!;
}

/** The operator's own key (POSTHORN_API_KEY) is inserted once; a changed one becomes a further key, the old one is revoked. */
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

/** What is known of a caller by its key. */
export type FoundKey = Pick<Key, "id" | "workspaceId" | "permission" | "domain" | "test">;

/** Many presented keys in one statement (index keys_prefix_key); each answer is the key, or undefined for any reason at all. */
export async function findKeys(sql: Sql, presented: readonly string[]): Promise<(FoundKey | undefined)[]> {
  const prefixes = new Map(presented.map((secret) => [secret, keyPrefix(secret)]));
  // Behind a select PostgreSQL does not see how many prefixes there are, and keeps one plan: a plan each time takes three times the look itself.
  const rows = await sql<(FoundKey & { prefix: string; secretHash: string })[]>`
    select id, workspace_id as "workspaceId", permission, domain, test, prefix, secret_hash as "secretHash" from keys
    where prefix = any((select ${[...new Set(prefixes.values())]}::text[])::text[]) and revoked_at is null`;
  const byPrefix = new Map(rows.map((row) => [row.prefix, row]));
  const found = new Map<string, FoundKey>();
  for (const [secret, prefix] of prefixes) {
    const row = byPrefix.get(prefix);
    // Compared also when nothing was found, so that the answer's time tells nothing.
    const same = timingSafeEqual(Buffer.from(hash(secret)), Buffer.from(row?.secretHash ?? noHash));
    if (!row || !same) continue;
    const { id, workspaceId, permission, domain, test } = row;
    found.set(secret, { id, workspaceId, permission, domain, test });
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

/** True the first time and ever after for a key of this workspace: revoking twice is no mistake. */
export async function revokeKey(sql: Sql, workspaceId: string, id: string): Promise<Key | undefined> {
  const [row] = await sql<Key[]>`
    update keys set revoked_at = coalesce(revoked_at, now()) where workspace_id = ${workspaceId} and id = ${id} returning ${columns(sql)}`;
  return row;
}

/** Noted at most once a minute per key: a read must not become a write. */
export async function touchKeys(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`update keys set last_used_at = now()
    where id = any(${ids as string[]}::uuid[]) and (last_used_at is null or last_used_at < now() - interval '1 minute')`;
}

function columns(sql: Sql) {
  return sql`id, workspace_id as "workspaceId", name, prefix, permission, domain, test, created_at as "createdAt",
    last_used_at as "lastUsedAt", revoked_at as "revokedAt"`;
}

function hash(secret: string): string {
  return digest("sha256", secret, "hex");
}

const noHash = "0".repeat(64);
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Bytes of 248 and above are thrown away, so that every character is equally likely. */
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

/** Whom a stream was opened for: a key's id or a session's, and the workspace. */
export type Holder = { id: string; workspaceId: string };

/** Which of these may read no more: the key is revoked, the session has ended, or its person is no member any longer; for streams
 * that outlive the moment they were let in. */
export async function revokedAmong(sql: Sql, holders: readonly Holder[]): Promise<Holder[]> {
  return await sql<Holder[]>`
    select distinct h.id, h.workspace_id as "workspaceId"
    from unnest(${holders.map((h) => h.id)}::uuid[], ${holders.map((h) => h.workspaceId)}::uuid[]) as h(id, workspace_id)
    where not exists (select 1 from keys k where k.id = h.id and k.revoked_at is null)
      and not exists (select 1 from people_sessions s join members m on m.person_id = s.person_id and m.workspace_id = h.workspace_id
        where s.id = h.id and s.expires_at > now())`;
}

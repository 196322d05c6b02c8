/** Changes and replaces keys. Each reads the key under a lock first, so that the decision about the change holds until it is stored.
 * Called by ../service.ts and the commands. */
import type { KeyLimits } from "../../http/caller.ts";
import type { Sql } from "../../postgres/pool.ts";
import { columns, endColumns, insertKey, isExpired, type Key, needsLimitedHash, storedDomains } from "../store.ts";

type At = { workspaceId: string; id: string };

export type KeyChange = { name: string; limits: KeyLimits };

/** `decide` throws to refuse. Undefined: the workspace has no such key. */
export async function updateKey(
  sql: Sql,
  at: At,
  decide: (key: Key) => Promise<KeyChange> | KeyChange,
): Promise<Key | undefined> {
  return await sql.begin(async (tx) => {
    const before = await lockKey(tx, at);
    if (!before) return undefined;
    const { name, limits } = await decide(before);
    const { domain, domains } = storedDomains(before.permission, limits.domains);
    const hide = needsLimitedHash(limits, domains);
    const opens = !same(before.scopes, limits.scopes) || !same(before.addresses, limits.addresses);
    const keepsEnd = before.expiresAt?.getTime() === limits.expiresAt?.getTime();
    const end = endColumns(tx, tx`${limits.expiresAt ?? null}::timestamptz`);
    const [row] = await tx<Key[]>`
      update keys set name = ${name}, domain = ${domain}, domains = ${domains}::text[], scopes = ${limits.scopes ?? null}::text[],
        allowed_recipients = ${limits.recipients ?? null}::text[], allowed_addresses = ${limits.addresses ?? null}::text[],
        limits_version = limits_version + ${opens ? 1 : 0}, limited = limited or ${hide},
        secret_hash = case when ${hide} and not limited
          then encode(sha256(convert_to('limited ' || secret_hash, 'UTF8')), 'hex') else secret_hash end
        ${keepsEnd ? tx`` : tx`, (expires_at, service_expires_at, reminded_days) = (select ${end})`}
      where workspace_id = ${at.workspaceId} and id = ${at.id} returning ${columns(tx)}`;
    return row;
  });
}

export type Rotation = {
  id: string;
  secret: string;
  /** How long the old key keeps working; 0: it is revoked at once. */
  overlapMs: number;
  expiresAt: Date | undefined;
  maker: { personId: string } | { keyId: string } | undefined;
};

/** What decides whether a key may be rotated. */
export type Rotatable = Key & { expired: boolean; replacedBy: string | null };

/** Runs in the transaction that checked the quota. `decide` throws to refuse. */
export async function rotateKey(
  tx: Sql,
  at: At,
  decide: (key: Rotatable) => Rotation,
): Promise<{ key: Key; previous: Key } | undefined> {
  const old = await lockKey(tx, at);
  if (!old) return undefined;
  const { overlapMs, ...added } = decide(old);
  const limits: KeyLimits = {
    scopes: old.scopes ?? undefined,
    domains: old.domains ?? undefined,
    recipients: old.recipients ?? undefined,
    addresses: old.addresses ?? undefined,
    expiresAt: added.expiresAt,
  };
  const { workspaceId, name, permission, test } = old;
  const { id, secret, maker } = added;
  const key = await insertKey(tx, {
    id,
    workspaceId,
    name,
    secret,
    permission,
    test,
    limits,
    maker,
    rotatedFrom: old.id,
  });
  const [previous] = overlapMs === 0 ? await revoke(tx, at) : await endAfter(tx, at, overlapMs);
  return { key, previous: previous! };
}

/** Two statements: one that waits for the lock would not see a replacement that was stored meanwhile. */
async function lockKey(tx: Sql, { workspaceId, id }: At): Promise<Rotatable | undefined> {
  await tx`select 1 from keys where workspace_id = ${workspaceId} and id = ${id} for update`;
  const [row] = await tx<Rotatable[]>`
    select ${columns(tx)}, ${isExpired(tx)} as expired, (select r.id from keys r
      where r.workspace_id = keys.workspace_id and r.rotated_from = keys.id and r.revoked_at is null limit 1) as "replacedBy"
    from keys where workspace_id = ${workspaceId} and id = ${id}`;
  return row;
}

async function revoke(tx: Sql, { workspaceId, id }: At): Promise<Key[]> {
  return await tx<Key[]>`
    update keys set revoked_at = now() where workspace_id = ${workspaceId} and id = ${id} returning ${columns(tx)}`;
}

/** The key ends after this time, or when it would have ended anyway. */
async function endAfter(tx: Sql, { workspaceId, id }: At, overlapMs: number): Promise<Key[]> {
  const overlap = tx`${overlapMs} * interval '1 millisecond'`;
  const left = tx`least(expires_at - wall_time(), ${overlap})`;
  return await tx<Key[]>`
    update keys set expires_at = least(expires_at, wall_time() + ${overlap}),
      service_expires_at = least(service_expires_at, (select service_time()) + ${overlap}),
      reminded_days = case when ${left} <= interval '1 day' then 1 when ${left} <= interval '7 days' then 7 end
    where workspace_id = ${workspaceId} and id = ${id} returning ${columns(tx)}`;
}

function same(before: readonly string[] | null, after: readonly string[] | undefined): boolean {
  return JSON.stringify(before ?? []) === JSON.stringify(after ?? []);
}

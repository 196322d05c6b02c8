/** The state of the database's secret, in the table settings: a check value of the active secret, and the last replacement. Every node
 * follows it, so that all nodes seal and sign with the same secret. Called by open-store.ts, secret-watch.ts and replace-secret.ts. */
import type { Sql } from "./pool.ts";
import { type HeldSecret, SecretError, type Secrets, type SecretUse } from "./sealing.ts";

/** Secrets are named by their ids, times are in ISO 8601. */
export type Replacement = {
  from: string;
  to: string;
  /** Every secret that was replaced. None of them may return. */
  retired: string[];
  begunAt: string;
  /** When nothing sealed with `from` was left. */
  sealedAt?: string;
  /** Until when tokens of `from` can be in use. */
  validUntil?: string;
  /** Since when tokens of `from` are invalid. */
  revokedAt?: string;
  /** How many stored secrets neither secret opened. */
  unreadable?: number;
  /** When a program without `from` had found nothing sealed with it. */
  checkedAt?: string;
};

export type SecretState = { check: string; replacement: Replacement | undefined };

export type SecretVerdict = { use: SecretUse } | { problem: string };

/** Decides what a program may do with the secrets that it has. */
export function judgeSecrets(held: readonly HeldSecret[], { check, replacement }: SecretState): SecretVerdict {
  const current = held[0]!;
  const active = held.find(({ checks }) => checks.includes(check));
  if (replacement?.retired.includes(current.id)) return { problem: problems.replaced };
  if (!active) return { problem: held.length > 1 || replacement ? problems.neither : problems.foreign };
  const from = held.find(({ id }) => id === replacement?.from);
  if (replacement && !replacement.sealedAt && !from) return { problem: problems.unfinished };
  // Before the replacement, nodes that already follow it may sign with POSTHORN_SECRET.
  const accepted = new Set([active.id, current.id]);
  if (from && !replacement?.revokedAt) accepted.add(from.id);
  return { use: { active: active.id, accepted: [...accepted], named: replacement !== undefined } };
}

const problems = {
  foreign:
    "POSTHORN_SECRET is not the one this database was created with, so this node cannot decrypt its keys. " +
    "Set it to the secret of the first node (the file `secret` in its data directory). " +
    "To replace the secret, set POSTHORN_SECRET_PREVIOUS to that one on every node, then run posthorn secret rotate.",
  neither:
    "Neither POSTHORN_SECRET nor POSTHORN_SECRET_PREVIOUS is the secret of this database, so this node cannot decrypt its keys. " +
    "Set POSTHORN_SECRET to the secret of the other nodes, and POSTHORN_SECRET_PREVIOUS to theirs.",
  replaced:
    "POSTHORN_SECRET is a secret that was replaced in this database. Set POSTHORN_SECRET to the new one, " +
    "and POSTHORN_SECRET_PREVIOUS to this one.",
  unfinished:
    "The secret of this database is being replaced, and keys are still sealed with the one before it. " +
    "Set POSTHORN_SECRET_PREVIOUS to that one until posthorn secret rotate has finished.",
} as const;

/** The first node stores a check value. A node with another secret must not start: it would write rows that the others cannot read. */
export async function checkSecret(sql: Sql, secrets: Secrets): Promise<SecretState> {
  const [row] = await sql<{ value: string }[]>`
    insert into settings (name, value) values ('secret_check', ${secrets.held()[0]!.checks[0]})
    on conflict (name) do update set value = settings.value returning value`;
  const state = { check: row!.value, replacement: await readReplacement(sql) };
  const verdict = judgeSecrets(secrets.held(), state);
  if ("problem" in verdict) throw new SecretError(verdict.problem);
  secrets.follow(verdict.use);
  return state;
}

/** `locked`: waits for a replacement that is being committed. */
export async function readSecretState(sql: Sql, { locked = false } = {}): Promise<SecretState> {
  // The next statement sees what this one waited for. A single one would see the changed row, but not the new one.
  if (locked) await sql`select 1 from settings where name = 'secret_check' for share`;
  const rows = await sql<{ name: string; value: string }[]>`
    select name, value from settings where name in ('secret_check', 'secret_replacement')`;
  const textOf = (name: string) => rows.find((row) => row.name === name)?.value;
  const replacement = textOf("secret_replacement");
  return {
    check: textOf("secret_check") ?? "",
    replacement: replacement === undefined ? undefined : (JSON.parse(replacement) as Replacement),
  };
}

async function readReplacement(sql: Sql): Promise<Replacement | undefined> {
  return (await readSecretState(sql)).replacement;
}

/** Locks the state until the end of the transaction, so that nodes that start wait for it. */
export async function lockSecretState(tx: Sql): Promise<SecretState> {
  await tx`select 1 from settings where name = 'secret_check' for update`;
  return await readSecretState(tx);
}

/** Makes another secret the active one. Call it in the transaction of `lockSecretState`. Earlier releases do not know the new check value,
 * and so do not start: they cannot read texts that name their secret. */
export async function beginReplacement(
  tx: Sql,
  change: { from: string; to: HeldSecret; revoke: boolean; earlier: Replacement | undefined },
): Promise<void> {
  const { from, to, revoke, earlier } = change;
  const retired = [...(earlier?.retired ?? []), from];
  await tx`update settings set value = ${to.checks[1]}, updated_at = now() where name = 'secret_check'`;
  await tx`insert into settings (name, value)
    select 'secret_replacement', (jsonb_build_object('from', ${from}::text, 'to', ${to.id}::text, 'retired', ${JSON.stringify(retired)}::jsonb,
      'begunAt', ${isoNow(tx)}) || case when ${revoke}::boolean then jsonb_build_object('revokedAt', ${isoNow(tx)}) else '{}' end)::text
    on conflict (name) do update set value = excluded.value, updated_at = now()`;
}

/** Adds a time to the replacement, unless it has it already. */
export async function noteReplacement(sql: Sql, to: string, what: "revokedAt" | "checkedAt"): Promise<void> {
  await addOnce(sql, to, what, sql`'{}'`);
}

/** Everything is sealed anew. Tokens of the old secret can be in use for this long from now on. */
export async function finishReplacement(
  sql: Sql,
  to: string,
  { tokensForMs, unreadable }: { tokensForMs: number; unreadable: number },
): Promise<void> {
  const more = sql`jsonb_build_object('validUntil', ${isoNow(sql, tokensForMs)}, 'unreadable', ${unreadable}::int)`;
  await addOnce(sql, to, "sealedAt", more);
}

async function addOnce(sql: Sql, to: string, what: string, more: ReturnType<Sql>): Promise<void> {
  await sql`update settings set updated_at = now(), value = (value::jsonb || jsonb_build_object(${what}::text, ${isoNow(sql)}) || ${more})::text
    where name = 'secret_replacement' and value::jsonb ->> 'to' = ${to} and not value::jsonb ? ${what}::text`;
}

/** The database's wall time, or a time after it, in the form of toISOString(). */
function isoNow(sql: Sql, afterMs = 0) {
  return sql`to_char((wall_time() + ${`${afterMs} milliseconds`}::interval) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

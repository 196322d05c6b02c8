/** The SQL of second factors: authenticator apps and recovery codes, and what a person has of them. store/passkeys.ts has that of
 * passkeys. Called by ../factors.ts, ../codes.ts, ../sign-in.ts and the commands. */
import type { Sql } from "../../postgres/pool.ts";
import { lockPerson } from "./sessions.ts";

export type Factors = {
  /** A confirmed authenticator app. */
  totp: boolean;
  passkeys: number;
  recoveryCodes: number;
  hasPassword: boolean;
};

/** Primary keys of people_totp and people_recovery_codes, indexes people_passkeys_by_person and people_accounts_by_person. */
export async function findFactors(sql: Sql, personId: string): Promise<Factors> {
  const [row] = await sql<Factors[]>`
    select exists (select 1 from people_totp where person_id = ${personId} and confirmed_at is not null) as totp,
      (select count(*)::int from people_passkeys where person_id = ${personId}) as passkeys,
      (select count(*)::int from people_recovery_codes where person_id = ${personId}) as "recoveryCodes",
      exists (select 1 from people_accounts where person_id = ${personId} and provider_id = 'credential'
        and password is not null) as "hasPassword"`;
  return row!;
}

/** Recovery codes alone are no factor: they exist only next to one. */
export function hasFactor({ totp, passkeys }: Pick<Factors, "totp" | "passkeys">): boolean {
  return totp || passkeys > 0;
}

/** Whether a workspace of the person requires a second factor (index members_by_person). */
export async function isRequiredByWorkspace(sql: Sql, personId: string): Promise<boolean> {
  const rows = await sql`
    select 1 from members m join workspaces w on w.id = m.workspace_id
    where m.person_id = ${personId} and w.require_second_factor limit 1`;
  return rows.length > 0;
}

/** Replaces an app that was not confirmed. False: the person has a confirmed one. */
export async function beginTotp(sql: Sql, totp: { personId: string; secret: string }): Promise<boolean> {
  const rows = await sql.write`
    insert into people_totp (person_id, secret_sealed) values (${totp.personId}, ${totp.secret})
    on conflict (person_id) do update set secret_sealed = excluded.secret_sealed, created_at = wall_time()
      where people_totp.confirmed_at is null returning 1`;
  return rows.length > 0;
}

/** `secret` is sealed. */
export async function findTotp(
  sql: Sql,
  personId: string,
): Promise<{ secret: string; isConfirmed: boolean } | undefined> {
  const [row] = await sql<{ secret: string; isConfirmed: boolean }[]>`
    select secret_sealed as secret, confirmed_at is not null as "isConfirmed" from people_totp where person_id = ${personId}`;
  return row;
}

/** False if another secret has taken the place of this one, or it is confirmed already. The code of the step is used up. */
export async function confirmTotp(
  sql: Sql,
  totp: { personId: string; secret: string; step: number },
): Promise<boolean> {
  const rows = await sql`
    update people_totp set confirmed_at = wall_time(), used_steps = array[${totp.step}::bigint]
    where person_id = ${totp.personId} and secret_sealed = ${totp.secret} and confirmed_at is null returning 1`;
  return rows.length > 0;
}

/** Uses up the code of a time step: only the first of several concurrent calls gets true, on all nodes. */
export async function useTotpStep(sql: Sql, personId: string, step: number): Promise<boolean> {
  const rows = await sql.write`
    update people_totp set used_steps = (used_steps || ${step}::bigint)[greatest(1, cardinality(used_steps) - 8):]
    where person_id = ${personId} and confirmed_at is not null and not ${step}::bigint = any(used_steps) returning 1`;
  return rows.length > 0;
}

export async function deleteTotp(sql: Sql, personId: string): Promise<boolean> {
  const rows =
    await sql`delete from people_totp where person_id = ${personId} and confirmed_at is not null returning 1`;
  return rows.length > 0;
}

export async function replaceRecoveryCodes(sql: Sql, personId: string, hashes: readonly string[]): Promise<void> {
  await sql`delete from people_recovery_codes where person_id = ${personId}`;
  await sql`insert into people_recovery_codes (person_id, code_hash)
    select ${personId}::uuid, h from unnest(${hashes as string[]}::text[]) h`;
}

/** Deletes the code. Only the first of several concurrent calls gets true. */
export async function useRecoveryCode(sql: Sql, personId: string, hash: string): Promise<boolean> {
  const rows = await sql.write`
    delete from people_recovery_codes where person_id = ${personId} and code_hash = ${hash} returning 1`;
  return rows.length > 0;
}

/** The session that added a factor has proved it. Other sessions without a second factor must prove who they are before the next
 * sensitive change: the browser that opened them may belong to a thief of the password. */
export async function onFactorAdded(sql: Sql, personId: string, sessionId: string): Promise<void> {
  await sql`update people_sessions set has_second_factor = has_second_factor or id = ${sessionId},
      proved_at = case when id = ${sessionId} or has_second_factor then proved_at end
    where person_id = ${personId}`;
}

/** After the last factor: nothing of it may satisfy a requirement. It cannot be told apart from that of a trusted provider, which counts
 * again from the next sign-in on. */
export async function onLastFactorRemoved(sql: Sql, personId: string): Promise<void> {
  await sql`delete from people_recovery_codes where person_id = ${personId}`;
  await sql`update people_sessions set has_second_factor = false where person_id = ${personId}`;
}

/** The person is no longer an operator. False: they were none. */
export async function endOperator(sql: Sql, personId: string): Promise<boolean> {
  const rows = await sql`
    update people set is_operator = false, updated_at = now() where id = ${personId} and is_operator returning 1`;
  return rows.length > 0;
}

/** Removes every factor of a person and ends all sessions. Returns the factors that there were. For the operator's command, in a
 * transaction. */
export async function removeAllFactors(sql: Sql, personId: string): Promise<{ totp: boolean; passkeys: number }> {
  await lockPerson(sql, personId);
  const [row] = await sql<{ totp: boolean; passkeys: number }[]>`
    with totp as (delete from people_totp where person_id = ${personId} returning confirmed_at),
      passkeys as (delete from people_passkeys where person_id = ${personId} returning 1),
      codes as (delete from people_recovery_codes where person_id = ${personId}),
      sign_ins as (delete from people_sign_ins where person_id = ${personId}),
      sessions as (delete from people_sessions where person_id = ${personId})
    select exists (select 1 from totp where confirmed_at is not null) as totp, (select count(*)::int from passkeys) as passkeys`;
  return row!;
}

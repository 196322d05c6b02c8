/** The SQL of sessions. Every API call of a person finds its session here, many of them in one statement. Called by ../people.ts and
 * ../open-session.ts. */
import { randomBytes } from "node:crypto";
import type { Role } from "../../http/caller.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";

export const sessionDays = 30;
export const sessionMs = sessionDays * 86_400_000;
/** How long a session may add the first factor of a person whose provider cannot prove anything. */
const firstFactorTime = "15 minutes";

export type SignedInBy = "password" | "passkey" | "oidc";

/** How a person proved who they are. */
export type Proof = {
  by: SignedInBy;
  /** With a second factor, or with something that counts as one. */
  hasSecondFactor: boolean;
  /** Milliseconds since the person proved it; missing: just now. Null: unknown, so that sensitive changes need another proof. */
  agoMs?: number | null;
  /** The session may add the first factor without a recent proof. */
  mayAddFirstFactor?: boolean;
  /** The hash that the given password matched. If it was replaced meanwhile, the proof is void. */
  passwordHash?: string;
  /** The identity at a provider, or the passkey, that signed in. If it was removed meanwhile, the proof is void. */
  identity?: { issuer: string; subject: string };
  passkeyId?: string;
};

export type NewSession = {
  personId: string;
  proof: Proof;
  userAgent: string | undefined;
  address: string;
  nowMs: number;
};

/** Undefined: the person is disabled or was deleted, or the proof is void by now. */
export async function insertSession(sql: Sql, session: NewSession): Promise<{ id: string; token: string } | undefined> {
  const token = randomBytes(24).toString("hex");
  const id = makeUuid(session.nowMs);
  const length = sql`${`${sessionMs} milliseconds`}::interval`;
  const { by, hasSecondFactor, agoMs = 0, mayAddFirstFactor = false } = session.proof;
  // The lock makes a concurrent disablePerson wait, which then ends this session.
  const rows = await sql.write`
    insert into people_sessions (id, person_id, token, ip_address, user_agent, created_at, updated_at, expires_at, service_expires_at,
      signed_in_by, has_second_factor, proved_at, first_factor_until)
    select ${id}::uuid, p.id, ${token}, ${session.address}, ${session.userAgent ?? null}, wall_time(),
      wall_time(), wall_time() + ${length}, service_time() + ${length}, ${by}, ${hasSecondFactor},
      service_time() - ${interval(agoMs)}::interval, service_time() + ${mayAddFirstFactor ? firstFactorTime : null}::interval
    from (${stillProved(sql, session.personId, session.proof)}) p returning 1`;
  return rows.length > 0 ? { id, token } : undefined;
}

function interval(ms: number | null): string | null {
  return ms === null ? null : `${Math.round(ms)} milliseconds`;
}

/** The person, if what they proved still holds. The locks make a concurrent change wait. A new password and disabling the person then delete
 * what was inserted. */
export function stillProved(sql: Sql, personId: string, { passwordHash, identity, passkeyId }: Proof) {
  let held = sql``;
  if (passwordHash !== undefined)
    held = sql`join people_accounts a on a.person_id = p.id and a.provider_id = 'credential' and a.password = ${passwordHash}`;
  else if (identity)
    held = sql`join people_accounts a on a.person_id = p.id and a.provider_id = ${identity.issuer} and a.account_id = ${identity.subject}`;
  else if (passkeyId !== undefined) held = sql`join people_passkeys k on k.person_id = p.id and k.id = ${passkeyId}`;
  return sql`select p.id from people p ${held} where p.id = ${personId} and p.disabled_at is null for share`;
}

export type LiveSession = {
  id: string;
  personId: string;
  email: string;
  name: string;
  /** The time until the session ends by the first of the two clocks. */
  endsInMs: number;
  signedInBy: SignedInBy;
  hasSecondFactor: boolean;
  /** Whether the person has a factor; a session without it may come from another node, or from before. */
  personHasFactor: boolean;
  isOperator: boolean;
  mayAddFirstFactor: boolean;
  /** The time since the person last proved who they are, by service time. Null: unknown. */
  provedAgoMs: number | null;
  /** The time since the last use that was stored. */
  usedAgoMs: number;
  /** The role in the requested workspace; null when the person is not a member. */
  role: Role | null;
  /** Whether the requested workspace requires a second factor. */
  workspaceRequiresFactor: boolean;
};

/** Many sessions in one statement (indexes people_sessions_token_key, members_by_person); undefined for one that has ended. */
export async function findSessions(
  sql: Sql,
  keys: readonly { token: string; workspaceId: string | undefined }[],
): Promise<(LiveSession | undefined)[]> {
  const rows = await sql<(LiveSession & { ord: number })[]>`
    select a.ord::int, s.id, s.person_id as "personId", p.email, p.name, m.role,
      coalesce(w.require_second_factor, false) as "workspaceRequiresFactor", p.is_operator as "isOperator",
      coalesce(s.first_factor_until > (select service_time()), false) as "mayAddFirstFactor",
      exists (select 1 from people_totp t where t.person_id = p.id and t.confirmed_at is not null)
        or exists (select 1 from people_passkeys k where k.person_id = p.id) as "personHasFactor",
      (extract(epoch from wall_time() - s.updated_at) * 1000)::float8 as "usedAgoMs", s.signed_in_by as "signedInBy", s.has_second_factor as "hasSecondFactor",
      (extract(epoch from (select service_time()) - s.proved_at) * 1000)::float8 as "provedAgoMs",
      (extract(epoch from least(s.expires_at - wall_time(), s.service_expires_at - (select service_time()))) * 1000)::float8 as "endsInMs"
    from unnest(${keys.map((k) => k.token)}::text[], ${keys.map((k) => k.workspaceId ?? null)}::uuid[])
      with ordinality as a(token, workspace_id, ord)
    join people_sessions s on s.token = a.token and ${isLive(sql)}
    join people p on p.id = s.person_id and p.disabled_at is null
    left join members m on m.person_id = s.person_id and m.workspace_id = a.workspace_id
    left join workspaces w on w.id = m.workspace_id`;
  const found: (LiveSession | undefined)[] = keys.map(() => undefined);
  for (const { ord, ...session } of rows) found[ord - 1] = session;
  return found;
}

/** Extends a session that has not ended. False: it has ended meanwhile. */
export async function renewSession(sql: Sql, id: string, forMs: number): Promise<boolean> {
  const length = sql`${`${forMs} milliseconds`}::interval`;
  const rows = await sql.write`update people_sessions s set expires_at = wall_time() + ${length},
      service_expires_at = (select service_time()) + ${length}, updated_at = wall_time()
    where s.id = ${id} and ${isLive(sql)} returning 1`;
  return rows.length > 0;
}

export type EndedSession = { id: string; personId: string };

/** Index people_sessions_token_key. */
export async function endSession(sql: Sql, token: string): Promise<EndedSession | undefined> {
  const [row] = await sql.write<EndedSession[]>`
    delete from people_sessions where token = ${token} returning id, person_id as "personId"`;
  return row;
}

/** Ends one session of a person, by its id. False: there is none. */
export async function endSessionOf(sql: Sql, personId: string, id: string): Promise<boolean> {
  const rows = await sql.write`delete from people_sessions where id = ${id} and person_id = ${personId} returning 1`;
  return rows.length > 0;
}

/** Ends every session of a person, except one. Returns their ids (index people_sessions_by_person). */
export async function endOtherSessions(sql: Sql, personId: string, keptId: string | undefined): Promise<string[]> {
  const rows = await sql.write<{ id: string }[]>`
    delete from people_sessions where person_id = ${personId} and id is distinct from ${keptId ?? null}::uuid returning id`;
  return rows.map(({ id }) => id);
}

/** Stores uses of sessions, at most once a minute for each. Skips a session that another statement changes: waiting for several of them
 * could deadlock with a statement that ends all sessions of a person. */
export async function touchSessions(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`update people_sessions set updated_at = wall_time() where id in (
    select id from people_sessions where id = any(${ids as string[]}::uuid[])
      and updated_at not between wall_time() - interval '1 minute' and wall_time() for no key update skip locked)`;
}

export type ListedSession = {
  id: string;
  userAgent: string | null;
  address: string | null;
  signedInBy: SignedInBy;
  hasSecondFactor: boolean;
  createdAt: Date;
  lastUsedAt: Date;
};

/** The sessions that have not ended, last used first (index people_sessions_by_person). */
export async function listSessions(sql: Sql, personId: string): Promise<ListedSession[]> {
  return await sql<ListedSession[]>`
    select s.id, s.user_agent as "userAgent", s.ip_address as address, s.signed_in_by as "signedInBy",
      s.has_second_factor as "hasSecondFactor", s.created_at as "createdAt", s.updated_at as "lastUsedAt"
    from people_sessions s where s.person_id = ${personId} and ${isLive(sql)} order by s.updated_at desc, s.id desc limit 100`;
}

export type LockedSession = { hasSecondFactor: boolean; isOperator: boolean };

/** Changes of one person's ways to sign in happen one after the other. Needs a transaction. Undefined: the session has ended meanwhile, for
 * example by a new password, and must not change anything. */
export async function lockSession(
  sql: Sql,
  { id, personId }: { id: string; personId: string },
): Promise<LockedSession | undefined> {
  await lockPerson(sql, personId);
  const [row] = await sql<LockedSession[]>`
    select s.has_second_factor as "hasSecondFactor", p.is_operator as "isOperator"
    from people_sessions s join people p on p.id = s.person_id where s.id = ${id} and p.id = ${personId} and ${isLive(sql)}`;
  return row;
}

export async function lockPerson(sql: Sql, personId: string): Promise<void> {
  await sql`select 1 from people where id = ${personId} for no key update`;
}

/** The person of this session has proved who they are, this long ago. False: the session has ended. */
export async function renewProof(
  sql: Sql,
  { id, withSecondFactor, agoMs = 0 }: { id: string; withSecondFactor: boolean; agoMs?: number },
): Promise<boolean> {
  const rows = await sql.write`
    update people_sessions s set proved_at = greatest(s.proved_at, service_time() - ${interval(agoMs)}::interval), has_second_factor = has_second_factor or ${withSecondFactor}
    where s.id = ${id} and ${isLive(sql)} returning 1`;
  return rows.length > 0;
}

/** The provider cannot prove who the person of this session is. */
export async function allowFirstFactor(sql: Sql, id: string): Promise<void> {
  await sql.write`update people_sessions s set first_factor_until = service_time() + ${firstFactorTime}::interval where s.id = ${id}`;
}

/** Ends every session of every person, and every sign-in that waits for its second step. */
export async function endAllSessions(sql: Sql): Promise<void> {
  await sql`delete from people_sessions`;
  await sql`delete from people_sign_ins`;
}

/** Keeps one session and the newest others of a person (index people_sessions_by_person). Ids grow with the database's clock, so after a
 * jump of that clock the kept session need not be among the newest. */
export async function endOldSessions(
  sql: Sql,
  { personId, keptToken, others }: { personId: string; keptToken: string; others: number },
): Promise<void> {
  await sql`delete from people_sessions where id in (
    select id from people_sessions where person_id = ${personId} and token <> ${keptToken} order by id desc offset ${others})`;
}

/** A session or a link `s` ends by wall time or by service time, whichever comes first: a clock that jumps must not extend it. */
export function isLive(sql: Sql) {
  return sql`s.expires_at > wall_time() and coalesce(s.service_expires_at > (select service_time()), true)`;
}

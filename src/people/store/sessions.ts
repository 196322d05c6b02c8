/** The SQL of sessions. Every API call of a person finds its session here, many of them in one statement. Called by ../people.ts and
 * ../open-session.ts. */
import { randomBytes } from "node:crypto";
import type { Role } from "../../http/caller.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";

export const sessionDays = 30;
export const sessionMs = sessionDays * 86_400_000;

export type SignedInBy = "password" | "passkey" | "oidc";

/** How a person proved who they are. */
export type Proof = {
  by: SignedInBy;
  /** With a second factor, or with something that counts as one. */
  hasSecondFactor: boolean;
};

export type NewSession = {
  personId: string;
  proof: Proof;
  userAgent: string | undefined;
  address: string;
  nowMs: number;
};

/** Returns the token of the session. Undefined: the person is disabled or was deleted. */
export async function insertSession(sql: Sql, session: NewSession): Promise<string | undefined> {
  const token = randomBytes(24).toString("hex");
  const length = sql`${`${sessionMs} milliseconds`}::interval`;
  const { by, hasSecondFactor } = session.proof;
  // The lock makes a concurrent disablePerson wait, which then ends this session.
  const rows = await sql.write`
    insert into people_sessions (id, person_id, token, ip_address, user_agent, created_at, updated_at, expires_at, service_expires_at,
      signed_in_by, has_second_factor)
    select ${makeUuid(session.nowMs)}::uuid, p.id, ${token}, ${session.address}, ${session.userAgent ?? null}, wall_time(),
      wall_time(), wall_time() + ${length}, service_time() + ${length}, ${by}, ${hasSecondFactor}
    from (select id from people where id = ${session.personId} and disabled_at is null for share) p returning 1`;
  return rows.length > 0 ? token : undefined;
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
  isOperator: boolean;
  /** The time since the person last proved who they are, by service time. Null: unknown. */
  provedAgoMs: number | null;
  /** The role in the requested workspace; null when the person is not a member. */
  role: Role | null;
};

/** Many sessions in one statement (indexes people_sessions_token_key, members_by_person); undefined for one that has ended. */
export async function findSessions(
  sql: Sql,
  keys: readonly { token: string; workspaceId: string | undefined }[],
): Promise<(LiveSession | undefined)[]> {
  const rows = await sql<(LiveSession & { ord: number })[]>`
    select a.ord::int, s.id, s.person_id as "personId", p.email, p.name, m.role,
      s.signed_in_by as "signedInBy", s.has_second_factor as "hasSecondFactor", p.is_operator as "isOperator",
      (extract(epoch from (select service_time()) - s.proved_at) * 1000)::float8 as "provedAgoMs",
      (extract(epoch from least(s.expires_at - wall_time(), s.service_expires_at - (select service_time()))) * 1000)::float8 as "endsInMs"
    from unnest(${keys.map((k) => k.token)}::text[], ${keys.map((k) => k.workspaceId ?? null)}::uuid[])
      with ordinality as a(token, workspace_id, ord)
    join people_sessions s on s.token = a.token and ${isLive(sql)}
    join people p on p.id = s.person_id and p.disabled_at is null
    left join members m on m.person_id = s.person_id and m.workspace_id = a.workspace_id`;
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

/** Ends one session, for a person who may not sign in. */
export async function endSession(sql: Sql, token: string): Promise<void> {
  await sql`delete from people_sessions where token = ${token}`;
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

/** A session ends by wall time or by service time, whichever comes first: a clock that jumps must not extend it. */
function isLive(sql: Sql) {
  return sql`s.expires_at > wall_time() and coalesce(s.service_expires_at > (select service_time()), true)`;
}

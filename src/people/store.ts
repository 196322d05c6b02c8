/** The SQL of people, passwords and one-time links; store/sessions.ts has that of sessions. Called by people.ts, sign-up.ts, resets.ts, housekeeping and the commands. */
import { hashToken } from "../ops/one-time-token.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { firstWorkspace, onlyOneNode } from "../workspaces/store/first.ts";
import { addFirstOwner, joinByInvite, type MostOwned } from "../workspaces/store.ts";
import { findFactors, hasFactor } from "./store/factors.ts";
import { isLive } from "./store/sessions.ts";

export type Person = { id: string; email: string; name: string };
export type NewPerson = {
  email: string;
  name: string;
  passwordHash: string;
  nowMs: number;
  /** By a link that only a mail to the address contained (docs/decisions/0040-single-sign-on.md). */
  provesAddress?: boolean;
};

export async function hasPeople(sql: Sql): Promise<boolean> {
  return (await sql`select 1 from people limit 1`).length > 0;
}

/** Index people_email_key. */
export async function findPerson(sql: Sql, email: string): Promise<Person | undefined> {
  const [row] = await sql<Person[]>`select id, email, name from people where email = ${email}`;
  return row;
}

/** Primary key of people. */
export async function findPersonById(sql: Sql, id: string): Promise<Person | undefined> {
  const [row] = await sql<Person[]>`select id, email, name from people where id = ${id}`;
  return row;
}

export type ListedFacts = {
  isOperator: boolean;
  disabledAt: Date | null;
  createdAt: Date;
  lastSeenAt: Date | null;
  /** Whether the person has an authenticator app. */
  totp: boolean;
  passkeys: number;
  workspaces: string | null;
};

export async function listPeople(sql: Sql): Promise<(Person & ListedFacts)[]> {
  return await sql`
    select p.id, p.email, p.name, p.is_operator as "isOperator", p.disabled_at as "disabledAt", p.created_at as "createdAt",
      exists (select 1 from people_totp t where t.person_id = p.id and t.confirmed_at is not null) as totp,
      (select count(*)::int from people_passkeys k where k.person_id = p.id) as passkeys,
      (select max(s.updated_at) from people_sessions s where s.person_id = p.id) as "lastSeenAt",
      (select string_agg(w.name || ' (' || m.role || ')', ', ' order by w.id) from members m join workspaces w on w.id = m.workspace_id
       where m.person_id = p.id) as workspaces
    from people p order by p.id limit 1000`;
}

/** Adds the first person as owner of the first workspace. Undefined when there is a person already: nodes and requests run one by one. */
export async function addFirstPerson(sql: Sql, person: NewPerson): Promise<Person | undefined> {
  return await onlyOneNode(sql, async (tx) => {
    if (await hasPeople(tx)) return undefined;
    const added = await addPerson(tx, person);
    const workspaceId = await firstWorkspace(tx);
    if (added && workspaceId)
      await addFirstOwner(tx, { workspaceId, id: makeUuid(person.nowMs), personId: added.id, email: added.email });
    return added;
  });
}

/** Consumes the link and adds the person, both or neither. */
export async function addPersonByLink(
  sql: Sql,
  person: Omit<NewPerson, "email">,
  token: string,
): Promise<Person | "no link" | "has account"> {
  return await withRollback(sql, async (tx) => {
    const email = await takeLink(tx, "sign_up", token);
    if (email === undefined) throw new Rollback("no link" as const);
    const added = await addPerson(tx, { ...person, email, provesAddress: true });
    if (!added) throw new Rollback("has account" as const);
    return added;
  });
}

/** Consumes the invitation and adds the person and the membership, all or nothing. */
export async function addPersonByInvite(
  sql: Sql,
  person: Omit<NewPerson, "email">,
  invite: { token: string; email: string; provesAddress?: boolean; most: MostOwned },
): Promise<Person | "no link" | "has account"> {
  return await withRollback(sql, async (tx) => {
    const { email, provesAddress = false } = invite;
    const added = await addPerson(tx, { ...person, email, provesAddress });
    if (!added) throw new Rollback("has account" as const);
    const { token, most } = invite;
    if (!(await joinByInvite(tx, { token, person: added, most }))) throw new Rollback("no link" as const);
    return added;
  });
}

/** Thrown inside `withRollback` to roll back and return a result. */
class Rollback<T> extends Error {
  readonly result: T;
  constructor(result: T) {
    super("rollback");
    this.result = result;
  }
}

/** Runs a transaction that can be rolled back with a result. */
async function withRollback<T>(sql: Sql, work: (sql: Sql) => Promise<T>): Promise<T | "no link" | "has account"> {
  try {
    return await sql.begin(work);
  } catch (error) {
    if (error instanceof Rollback) return error.result as "no link" | "has account";
    throw error;
  }
}

/** Undefined when the address already has an account. Its account of the kind `credential` holds the password; the `account_id` is
 * the person's id. */
export async function addPerson(sql: Sql, person: NewPerson): Promise<Person | undefined> {
  const id = makeUuid(person.nowMs);
  const [row] = await sql<Person[]>`
    with added as (
      insert into people (id, email, name, email_verified) values (${id}, ${person.email}, ${person.name}, ${person.provesAddress ?? false})
      on conflict (email) do nothing returning id, email, name
    ), account as (
      insert into people_accounts (id, person_id, provider_id, account_id, password)
      select ${makeUuid(person.nowMs)}::uuid, id, 'credential', id::text, ${person.passwordHash} from added
    )
    select id, email, name from added`;
  return row;
}

/** The password's hash of an account; undefined for an unknown address and for an account without a password. */
export async function findPassword(sql: Sql, email: string): Promise<{ person: Person; hash: string } | undefined> {
  const [row] = await sql<(Person & { hash: string })[]>`
    select p.id, p.email, p.name, a.password as hash from people p
    join people_accounts a on a.person_id = p.id and a.provider_id = 'credential' where p.email = ${email} and a.password is not null`;
  return row && { person: { id: row.id, email: row.email, name: row.name }, hash: row.hash };
}

/** Consumes the link, sets the password and ends every session, so that a person who knew the old password is signed out. A person who
 * came by a provider gets a password by it. A link from a mail proves the address, unless the account has a second factor: that stays, and
 * may belong to someone else. `unlinked`: identities that the first proof has removed. */
export async function resetPassword(
  sql: Sql,
  input: { token: string; passwordHash: string },
): Promise<{ person: Person; unlinked: number } | undefined> {
  return await sql.begin(async (tx) => {
    const link = await takeMailedLink(tx, "reset", input.token);
    if (link === undefined) return undefined;
    const { email, byMail } = link;
    // Waits for sign-ins and new factors, so that the next statements see them.
    const [locked] = await tx<{ id: string; isProved: boolean }[]>`
      select id, email_verified as "isProved" from people where email = ${email} for no key update`;
    const [person] = await tx<Person[]>`
      with person as (select id, email, name from people where email = ${email}),
      changed as (insert into people_accounts (id, person_id, provider_id, account_id, password)
        select gen_random_uuid(), id, 'credential', id::text, ${input.passwordHash} from person
        on conflict (provider_id, account_id) do update set password = excluded.password, updated_at = now()),
      ended as (delete from people_sessions s using person p where s.person_id = p.id),
      waiting as (delete from people_sign_ins s using person p where s.person_id = p.id),
      dropped as (delete from people_links l where l.email = ${email} and l.kind = 'reset')
      select id, email, name from person`;
    if (!person || !locked) return undefined;
    const isFirstProof = byMail && !locked.isProved && !hasFactor(await findFactors(tx, person.id));
    return { person, unlinked: isFirstProof ? await proveAddress(tx, person.id) : 0 };
  });
}

/** The person has just proved the address for the first time, and has a new password. The account may have been created by someone else,
 * so nothing that was added before may sign in: identities and an app that was not confirmed go. Returns the number of
 * identities. Call it only for an account without factors. */
async function proveAddress(sql: Sql, personId: string): Promise<number> {
  const rows = await sql`
    with proved as (update people set email_verified = true, updated_at = now() where id = ${personId}),
      app as (delete from people_totp where person_id = ${personId})
    delete from people_accounts where person_id = ${personId} and provider_id <> 'credential' returning 1`;
  return rows.length;
}

/** Sets a new password and ends every session of the person. Needs a transaction. False: the password is no longer the one that was
 * checked. Sessions are deleted by a second statement, which sees those that the first one waited for. */
export async function replacePassword(
  sql: Sql,
  change: { personId: string; from: string; to: string },
): Promise<boolean> {
  const changed = await sql`
    update people_accounts set password = ${change.to}, updated_at = now()
    where person_id = ${change.personId} and provider_id = 'credential' and password = ${change.from} returning 1`;
  if (changed.length === 0) return false;
  await sql`with waiting as (delete from people_sign_ins where person_id = ${change.personId})
    delete from people_sessions where person_id = ${change.personId}`;
  return true;
}

/** Deletes sessions and links that have ended by both clocks: wall time alone may be ahead and come back. Called by housekeeping. */
export async function deleteExpired(sql: Sql): Promise<void> {
  const ended = sql`expires_at < wall_time() and coalesce(service_expires_at, expires_at) < (select service_time())`;
  await sql`with old as (delete from people_sessions where ${ended}),
      sign_ins as (delete from people_sign_ins where service_expires_at < (select service_time())),
      challenges as (delete from people_used_challenges where service_expires_at < (select service_time())),
      flows as (delete from oidc_flows where ${ended}),
      counted as (delete from account_mail where counted_at < (select service_time()) - interval '1 day')
    delete from people_links where ${ended}`;
}

/** Links to sign up or to set a new password. Each works once and for a limited time; only its hash is stored. */
export type LinkKind = "sign_up" | "reset";

/** `byMail`: only a mail to the address contains the link. */
export async function addLink(
  sql: Sql,
  link: { token: string; kind: LinkKind; email: string; forMs: number; byMail?: boolean },
): Promise<void> {
  await sql.write`insert into people_links (token_hash, kind, email, expires_at, service_expires_at, by_mail)
    select ${hashToken(link.token)}, ${link.kind}, ${link.email}, wall_time() + length, service_time() + length, ${link.byMail ?? false}
    from (select ${`${link.forMs} milliseconds`}::interval as length) l`;
}

/** Primary key of people_links. */
export async function findLink(sql: Sql, token: string): Promise<{ kind: LinkKind; email: string } | undefined> {
  const [row] = await sql<{ kind: LinkKind; email: string }[]>`
    select kind, email from people_links s where token_hash = ${hashToken(token)} and ${isLive(sql)}`;
  return row;
}

/** Deletes the link and returns the address that it was sent to. Only the first of two concurrent calls gets the address. */
export async function takeLink(sql: Sql, kind: LinkKind, token: string): Promise<string | undefined> {
  return (await takeMailedLink(sql, kind, token))?.email;
}

async function takeMailedLink(
  sql: Sql,
  kind: LinkKind,
  token: string,
): Promise<{ email: string; byMail: boolean } | undefined> {
  const [row] = await sql.write<{ email: string; byMail: boolean }[]>`
    delete from people_links s where token_hash = ${hashToken(token)} and kind = ${kind} and ${isLive(sql)}
    returning email, by_mail as "byMail"`;
  return row;
}

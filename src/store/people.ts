/** People, their passwords and their sessions: what is done beside better-auth, because it must happen in one transaction or in one look. */
import type { Sql } from "./db.ts";
import { makeUuid } from "./ids.ts";
import { addFirstOwner, joinByInvite, type Role } from "./members.ts";
import { takeLink } from "./people-links.ts";
import { firstWorkspace, onlyOneNode } from "./workspaces.ts";

export type Person = { id: string; email: string; name: string };
export type NewPerson = { email: string; name: string; passwordHash: string; nowMs: number };

export async function hasPeople(sql: Sql): Promise<boolean> {
  return (await sql`select 1 from people limit 1`).length > 0;
}

/** Index people_email_key. */
export async function findPerson(sql: Sql, email: string): Promise<Person | undefined> {
  const [row] = await sql<Person[]>`select id, email, name from people where email = ${email}`;
  return row;
}

export async function listPeople(
  sql: Sql,
): Promise<(Person & { createdAt: Date; lastSeenAt: Date | null; workspaces: string | null })[]> {
  return await sql`
    select p.id, p.email, p.name, p.created_at as "createdAt",
      (select max(s.updated_at) from people_sessions s where s.person_id = p.id) as "lastSeenAt",
      (select string_agg(w.name || ' (' || m.role || ')', ', ' order by w.id) from members m join workspaces w on w.id = m.workspace_id
       where m.person_id = p.id) as workspaces
    from people p order by p.id limit 1000`;
}

/** The very first person, owner of the first workspace. Undefined when somebody was faster: nodes and requests take turns. */
export async function addFirstPerson(sql: Sql, person: NewPerson): Promise<Person | undefined> {
  return await onlyOneNode(sql, async (tx) => {
    if (await hasPeople(tx)) return undefined;
    const added = await insertPerson(tx, person);
    const workspaceId = await firstWorkspace(tx);
    if (added && workspaceId)
      await addFirstOwner(tx, { workspaceId, id: makeUuid(person.nowMs), personId: added.id, email: added.email });
    return added;
  });
}

/** Undefined when the address has an account already. */
export async function addPerson(sql: Sql, person: NewPerson): Promise<Person | undefined> {
  return await sql.begin((tx) => insertPerson(tx, person));
}

/** Uses the link up and adds the person, both or neither. */
export async function addPersonByLink(
  sql: Sql,
  person: Omit<NewPerson, "email">,
  token: string,
): Promise<Person | "no link" | "has account"> {
  return await undoing(sql, async (tx) => {
    const email = await takeLink(tx, "sign_up", token);
    if (email === undefined) throw new Undone("no link" as const);
    const added = await insertPerson(tx, { ...person, email });
    if (!added) throw new Undone("has account" as const);
    return added;
  });
}

/** Uses the invitation up, adds the person and the membership, all or nothing. */
export async function addPersonByInvite(
  sql: Sql,
  person: Omit<NewPerson, "email">,
  invite: { token: string; email: string },
): Promise<Person | "no link" | "has account"> {
  return await undoing(sql, async (tx) => {
    const added = await insertPerson(tx, { ...person, email: invite.email });
    if (!added) throw new Undone("has account" as const);
    if (!(await joinByInvite(tx, { token: invite.token, person: added }))) throw new Undone("no link" as const);
    return added;
  });
}

class Undone<T> extends Error {
  readonly answer: T;
  constructor(answer: T) {
    super("undone");
    this.answer = answer;
  }
}

/** A transaction that is rolled back with an answer. */
async function undoing<T>(sql: Sql, work: (sql: Sql) => Promise<T>): Promise<T | "no link" | "has account"> {
  try {
    return await sql.begin(work);
  } catch (error) {
    if (error instanceof Undone) return error.answer as "no link" | "has account";
    throw error;
  }
}

/** The account is of the kind that better-auth calls `credential`: its id there is the person's. */
async function insertPerson(sql: Sql, person: NewPerson): Promise<Person | undefined> {
  const id = makeUuid(person.nowMs);
  const [row] = await sql<Person[]>`
    with added as (
      insert into people (id, email, name) values (${id}, ${person.email}, ${person.name}) on conflict (email) do nothing
      returning id, email, name
    ), account as (
      insert into people_accounts (id, person_id, provider_id, account_id, password)
      select ${makeUuid(person.nowMs)}::uuid, id, 'credential', id::text, ${person.passwordHash} from added
    )
    select id, email, name from added`;
  return row;
}

/** Uses the link up, sets the password and ends every session of the person: whoever knew the old one is out. */
export async function resetPassword(
  sql: Sql,
  input: { token: string; passwordHash: string },
): Promise<Person | undefined> {
  return await sql.begin(async (tx) => {
    const email = await takeLink(tx, "reset", input.token);
    if (email === undefined) return undefined;
    const [person] = await tx<Person[]>`
      with person as (select id, email, name from people where email = ${email}),
      changed as (update people_accounts a set password = ${input.passwordHash}, updated_at = now() from person p
        where a.person_id = p.id and a.provider_id = 'credential'),
      ended as (delete from people_sessions s using person p where s.person_id = p.id),
      dropped as (delete from people_links l where l.email = ${email} and l.kind = 'reset')
      select id, email, name from person`;
    return person;
  });
}

export type LiveSession = {
  id: string;
  personId: string;
  email: string;
  name: string;
  expiresAt: Date;
  /** Of the workspace that was named, where the person is its member. */
  role: Role | null;
};

/** Many sessions in one statement (index people_sessions_token_key, members_by_person); undefined where one has ended. */
export async function findSessions(
  sql: Sql,
  asked: readonly { token: string; workspaceId: string | undefined }[],
): Promise<(LiveSession | undefined)[]> {
  const rows = await sql<(LiveSession & { ord: number })[]>`
    select a.ord::int, s.id, s.person_id as "personId", p.email, p.name, s.expires_at as "expiresAt", m.role
    from unnest(${asked.map((a) => a.token)}::text[], ${asked.map((a) => a.workspaceId ?? null)}::uuid[])
      with ordinality as a(token, workspace_id, ord)
    join people_sessions s on s.token = a.token and s.expires_at > now()
    join people p on p.id = s.person_id
    left join members m on m.person_id = s.person_id and m.workspace_id = a.workspace_id`;
  const found: (LiveSession | undefined)[] = asked.map(() => undefined);
  for (const { ord, ...session } of rows) found[ord - 1] = session;
  return found;
}

export async function forgetEnded(sql: Sql): Promise<void> {
  await sql`with old as (delete from people_sessions where expires_at < now()) delete from people_links where expires_at < now()`;
}

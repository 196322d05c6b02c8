/** The SQL with which operators list, disable and enable people and appoint operators. store/person-deletion.ts deletes people. Called by
 * ../people.ts. */

import type { Role } from "../../http/caller.ts";
import { idsMadeBy } from "../../keys/store.ts";
import type { Sql } from "../../postgres/pool.ts";

export type PersonEntry = {
  id: string;
  email: string;
  name: string;
  isOperator: boolean;
  disabledAt: Date | null;
  createdAt: Date;
  lastSeenAt: Date | null;
  workspaces: { id: string; name: string; role: Role }[];
  workspaceCount: number;
  validKeys: number;
};

export type PeopleFilter = {
  /** Part of an address or of a name. */
  query?: string;
  disabled?: boolean;
  operatorsOnly?: boolean;
};

/** A person may be a member of thousands of workspaces. */
const shownWorkspaces = 20;

/** Newest first, by the primary key. A search reads all people, which operators do rarely. */
export async function listPersonEntries(
  sql: Sql,
  filter: PeopleFilter,
  page: { before: string | undefined; limit: number },
): Promise<PersonEntry[]> {
  const { query, disabled, operatorsOnly } = filter;
  const like = query && `%${query.replace(/[\\%_]/g, "\\$&")}%`;
  return await sql<PersonEntry[]>`
    select ${columns(sql)} from people p where true
      ${page.before ? sql`and p.id < ${page.before}` : sql``}
      ${like ? sql`and (p.email ilike ${like} or p.name ilike ${like})` : sql``}
      ${disabled === undefined ? sql`` : disabled ? sql`and p.disabled_at is not null` : sql`and p.disabled_at is null`}
      ${operatorsOnly ? sql`and p.is_operator` : sql``}
    order by p.id desc limit ${page.limit}`;
}

/** Primary key. */
export async function getPersonEntry(sql: Sql, id: string): Promise<PersonEntry | undefined> {
  const [row] = await sql<PersonEntry[]>`select ${columns(sql)} from people p where p.id = ${id}`;
  return row;
}

/** Keys by maker have no index: a scan of all keys, for at most a page of people. */
function columns(sql: Sql) {
  return sql`p.id, p.email, p.name, p.is_operator as "isOperator", p.disabled_at as "disabledAt", p.created_at as "createdAt",
    (select max(s.updated_at) from people_sessions s where s.person_id = p.id) as "lastSeenAt",
    (select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'name', m.name, 'role', m.role) order by m.id desc), '[]') from (
      select w.id, w.name, m.role from members m join workspaces w on w.id = m.workspace_id where m.person_id = p.id
      order by w.id desc limit ${shownWorkspaces}) m) as workspaces,
    (select count(*)::int from members m where m.person_id = p.id) as "workspaceCount",
    (select count(*)::int from keys k where k.revoked_at is null
      and k.id in (${idsMadeBy(sql, { workspaceId: undefined, personId: sql`p.id` })})) as "validKeys"`;
}

/** False: nothing changed, because the person is or is not an operator already. */
export async function setOperator(sql: Sql, id: string, isOperator: boolean): Promise<boolean> {
  const rows = await sql`
    update people set is_operator = ${isOperator}, updated_at = now() where id = ${id} and is_operator <> ${isOperator} returning 1`;
  return rows.length > 0;
}

/** Needs a transaction. False: the person is disabled already. Sessions that sign-ins add at the same time are deleted, too: they lock the
 * person's row, so the second statement sees them. */
export async function disable(sql: Sql, id: string): Promise<boolean> {
  const rows = await sql`
    update people set disabled_at = wall_time(), updated_at = now() where id = ${id} and disabled_at is null returning 1`;
  await sql`delete from people_sessions where person_id = ${id}`;
  await sql`delete from people_sign_ins where person_id = ${id}`;
  return rows.length > 0;
}

/** False: the person is not disabled. */
export async function enable(sql: Sql, id: string): Promise<boolean> {
  const rows = await sql`
    update people set disabled_at = null, updated_at = now() where id = ${id} and disabled_at is not null returning 1`;
  return rows.length > 0;
}

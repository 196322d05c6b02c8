/** The SQL with which operators list the workspaces of the whole service. Called by ../workspaces.ts. */
import type { Sql } from "../../postgres/pool.ts";

export type WorkspaceState = "active" | "suspended" | "deleting";
export type WorkspacesFilter = { query?: string; state?: WorkspaceState };
export type ListedWorkspace = { id: string; createdAt: Date; owners: number; isFirst: boolean };

/** Newest first, by the primary key. A search reads all workspaces, which operators do rarely. */
export async function listIds(
  sql: Sql,
  filter: WorkspacesFilter,
  page: { before: string | undefined; limit: number },
): Promise<{ id: string }[]> {
  const { query, state } = filter;
  const like = query && `%${query.replace(/[\\%_]/g, "\\$&")}%`;
  const states = {
    active: sql`and w.suspended_at is null and w.deleting_at is null`,
    suspended: sql`and w.suspended_at is not null and w.deleting_at is null`,
    deleting: sql`and w.deleting_at is not null`,
  };
  return await sql<{ id: string }[]>`
    select w.id from workspaces w where w.kind = 'customer'
      ${page.before ? sql`and w.id < ${page.before}` : sql``}
      ${like ? sql`and (w.name ilike ${like} or exists (select 1 from members m where m.workspace_id = w.id and m.email = lower(${query})))` : sql``}
      ${state ? states[state] : sql``}
    order by w.id desc limit ${page.limit}`;
}

export async function readListed(sql: Sql, ids: readonly string[]): Promise<ListedWorkspace[]> {
  return await sql<ListedWorkspace[]>`
    select w.id, w.created_at as "createdAt",
      (select count(*)::int from members m where m.workspace_id = w.id and m.role = 'owner' and m.person_id is not null) as owners,
      exists (select 1 from settings where name = 'first_workspace' and value = w.id::text) as "isFirst"
    from workspaces w where w.kind = 'customer' and w.id = any(${ids as string[]}::uuid[])`;
}

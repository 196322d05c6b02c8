/** Workspaces: the owners of everything. Each has its own event counter from its first moment. */
import type { Sql } from "./db.ts";

export type Workspace = { id: string; name: string; createdAt: Date; updatedAt: Date };

export async function createWorkspace(sql: Sql, workspace: { id: string; name: string }): Promise<Workspace> {
  const [row] = await sql<Workspace[]>`
    with counter as (insert into event_counters (workspace_id) values (${workspace.id}))
    insert into workspaces (id, name) values (${workspace.id}, ${workspace.name})
    returning id, name, created_at as "createdAt", updated_at as "updatedAt"`;
  return row!;
}

/** Index workspaces_pkey. */
export async function getWorkspace(sql: Sql, id: string): Promise<Workspace | undefined> {
  const [row] = await sql<Workspace[]>`
    select id, name, created_at as "createdAt", updated_at as "updatedAt" from workspaces where id = ${id}`;
  return row;
}

export async function renameWorkspace(sql: Sql, id: string, name: string): Promise<Workspace | undefined> {
  const [row] = await sql<Workspace[]>`
    update workspaces set name = ${name}, updated_at = now() where id = ${id}
    returning id, name, created_at as "createdAt", updated_at as "updatedAt"`;
  return row;
}

/** Any number that no other lock of ours has. */
const firstLock = 0x66697273; // "firs"

/** Runs what must happen once in an instance's life: nodes that start together take turns. */
export async function onlyOneNode<T>(sql: Sql, work: (sql: Sql) => Promise<T>): Promise<T> {
  const done = await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${firstLock})`;
    return { value: await work(tx) };
  });
  return done.value as T;
}

/** To be called under `onlyOneNode`. */
export async function ensureFirstWorkspace(sql: Sql, workspace: { id: string; name: string }): Promise<string> {
  const there = await firstWorkspace(sql);
  if (there) return there;
  await createWorkspace(sql, workspace);
  await sql`insert into settings (name, value) values ('first_workspace', ${workspace.id})`;
  return workspace.id;
}

export async function firstWorkspace(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  return row?.value;
}

export async function findWorkspaceByName(sql: Sql, name: string): Promise<Workspace[]> {
  return await sql<Workspace[]>`
    select id, name, created_at as "createdAt", updated_at as "updatedAt" from workspaces where name = ${name} order by id limit 2`;
}

export async function listWorkspaces(sql: Sql): Promise<Workspace[]> {
  return await sql<
    Workspace[]
  >`select id, name, created_at as "createdAt", updated_at as "updatedAt" from workspaces order by id limit 1000`;
}

/** What the whole service holds, for the last line of a restore. */
export async function countAll(
  sql: Sql,
): Promise<{ workspaces: number; domains: number; emails: number; events: number }> {
  const [row] = await sql<{ workspaces: number; domains: number; emails: number; events: number }[]>`
    select (select count(*)::int from workspaces) as workspaces, (select count(*)::int from domains where deleted_at is null) as domains,
      (select count(*)::int from emails) as emails, (select count(*)::int from events) as events`;
  return row!;
}

/** The SQL of the two workspaces that the first start creates: the first one, whose domain Posthorn sends its own mail from, and the hidden
 * one of the kind `system`, which holds this mail. */
import { type Actor, record } from "../../audit/record.ts";
import type { Sql } from "../../postgres/pool.ts";
import { isAlive } from "../../postgres/workers.ts";
import { createWorkspace } from "../store.ts";

/** An advisory lock number that no other code uses. */
const firstStartLock = 0x66697273; // "firs"

/** Runs work that must happen once per instance: nodes that start at the same time run it one after the other. */
export async function onlyOneNode<T>(sql: Sql, work: (sql: Sql) => Promise<T>): Promise<T> {
  const done = await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${firstStartLock})`;
    return { value: await work(tx) };
  });
  return done.value as T;
}

/** Call this inside `onlyOneNode`. The first start of the program is not a change, and has no entry in the audit log: without an actor. */
export async function ensureFirstWorkspace(
  sql: Sql,
  workspace: { id: string; name: string },
  actor?: Actor,
): Promise<string> {
  const existing = await firstWorkspace(sql);
  if (existing) return existing;
  const { id } = workspace;
  await createWorkspace(sql, workspace);
  await sql`insert into settings (name, value) values ('first_workspace', ${id})`;
  const target = { kind: "workspace", id } as const;
  if (actor) await record(sql, actor, { action: "workspace.created", workspaceId: id, target });
  return id;
}

/** Call this inside `onlyOneNode`. Instances of an earlier release get theirs at the first start of this one. */
export async function ensureSystemWorkspace(sql: Sql, id: string): Promise<string> {
  const existing = await systemWorkspace(sql);
  if (existing) return existing;
  await createWorkspace(sql, { id, name: "System mail", kind: "system" });
  await sql`insert into settings (name, value) values ('system_workspace', ${id})`;
  return id;
}

export async function firstWorkspace(sql: Sql): Promise<string | undefined> {
  return await readSetting(sql, "first_workspace");
}

export async function systemWorkspace(sql: Sql): Promise<string | undefined> {
  return await readSetting(sql, "system_workspace");
}

async function readSetting(sql: Sql, name: string): Promise<string | undefined> {
  const [row] = await sql<{ value: string }[]>`select value from settings where name = ${name}`;
  return row?.value;
}

/** The version of the schema, and so of the program, that knows the system workspace. first.test.ts compares it with the migrations. */
export const systemWorkspaceSince = 41;

/** Whether a live program is older. It would look for the domain of system mail in the system workspace, and fail the mail. */
export async function hasOlderPrograms(sql: Sql): Promise<boolean> {
  const rows = await sql`
    select 1 from workers where coalesce(schema_version, 1) < ${systemWorkspaceSince} and ${isAlive(sql)} limit 1`;
  return rows.length > 0;
}

/** The SQL of the first workspace, which the first start creates and from which Posthorn sends its own mail. */
import { type Actor, record } from "../../audit/record.ts";
import type { Sql } from "../../postgres/pool.ts";
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

export async function firstWorkspace(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  return row?.value;
}

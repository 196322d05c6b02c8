/** Which instance this is, and its line of objects: a database that lost the end of its logs, or a restored copy, begins a new line. Called by
 * ../mark.ts and ../content-store.ts. */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import type { Sql } from "../../postgres/pool.ts";

export type Identity = {
  /** The same in every copy of the database. */
  instance: string;
  /** Different after each cut of the event logs. */
  cut: string;
  /** Part of the names of new objects. */
  line: string;
  /** A mark of this database has been written, or adopted. */
  hasMark: boolean;
};

/** Creates what is missing. The last cut is recorded by postgres/log-origin.ts. */
export async function readIdentity(sql: Sql): Promise<Identity> {
  const settings = await readSettings(sql);
  const instance = settings.get("instance_id") ?? (await makeInstance(sql));
  const cut = cutOf(settings.get("last_cut"));
  const line = await lineOf(sql, cut);
  return { instance, cut, line, hasMark: settings.has("content_mark") };
}

async function readSettings(sql: Sql): Promise<Map<string, string>> {
  const rows = await sql<{ name: string; value: string }[]>`
    select name, value from settings where name in ('instance_id', 'last_cut', 'content_mark')`;
  return new Map(rows.map(({ name, value }) => [name, value]));
}

async function makeInstance(sql: Sql): Promise<string> {
  await sql`insert into settings (name, value) values ('instance_id', ${randomUUID()}) on conflict (name) do nothing`;
  const [row] = await sql<[{ value: string }]>`select value from settings where name = 'instance_id'`;
  return row.value;
}

/** Short, for the mark and for people. */
function cutOf(lastCut: string | undefined): string {
  return lastCut === undefined ? "none" : createHash("sha256").update(lastCut).digest("hex").slice(0, 12);
}

async function lineOf(sql: Sql, cut: string): Promise<string> {
  const find = async () => (await sql<{ line: string }[]>`select line from object_lines where cut = ${cut}`)[0]?.line;
  const found = await find();
  if (found !== undefined) return found;
  await sql`insert into object_lines (line, cut) values (${randomBytes(6).toString("hex")}, ${cut}) on conflict (cut) do nothing`;
  return (await find())!;
}

/** The lines whose objects this database may delete. */
export async function listLines(sql: Sql): Promise<Set<string>> {
  const rows = await sql<{ line: string }[]>`select line from object_lines`;
  return new Set(rows.map(({ line }) => line));
}

/** Records that the store has this database's mark: a store without one is then the wrong store. */
export async function noteMark(sql: Sql): Promise<void> {
  await sql`insert into settings (name, value) values ('content_mark', 'written') on conflict (name) do nothing`;
}

/** The content of emails: read back whole for an attempt or for a person, whatever pieces it was stored in. */
import type { Sql } from "./db.ts";
import { partitionAt } from "./partitions.ts";

export type ContentKey = { workspaceId: string; emailId: string; day: string };

/** Parts by email id; an email whose content is gone is missing, one that is asked for twice (for two destinations) comes once. */
export async function readContents(sql: Sql, keys: readonly ContentKey[]): Promise<Map<string, string[]>> {
  const days = Map.groupBy(keys, ({ day }) => day);
  const rows = (await Promise.all([...days].map(([day, some]) => readDay(sql, day, some)))).flat();
  const parts = new Map<string, string[][]>();
  for (const row of rows) {
    const email = parts.get(row.emailId) ?? [];
    parts.set(row.emailId, email);
    email[row.part] = [...(email[row.part] ?? []), row.data];
  }
  return new Map(
    [...parts].map(([id, pieces]) => [id, pieces.map((piece) => (piece.length === 1 ? piece[0]! : piece.join("")))]),
  );
}

/** From the day's own partition: asked for through the table, PostgreSQL would make ready for all seventy days, in five times the time. */
async function readDay(sql: Sql, day: string, keys: readonly ContentKey[]) {
  const { name } = partitionAt("email_contents", Date.parse(day));
  return await sql<{ emailId: string; part: number; data: string }[]>`
    select email_id as "emailId", part, data from ${sql.unsafe(name)}
    where (workspace_id, email_id) in (
      select * from unnest(${keys.map((k) => k.workspaceId)}::uuid[], ${keys.map((k) => k.emailId)}::uuid[]))
    order by email_id, part, piece`.catch((error) => {
    if ((error as { code?: string }).code === undefinedTable) return [];
    throw error;
  });
}

/** The day's partition was dropped, and its content with it. */
const undefinedTable = "42P01";

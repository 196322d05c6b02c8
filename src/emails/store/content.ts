/** Reads the content of emails and joins its pieces, for delivery attempts and GetEmailContent. */

import { partitionAt } from "../../postgres/partitions.ts";
import type { Sql } from "../../postgres/pool.ts";

export type ContentKey = { workspaceId: string; emailId: string; day: string };

/** Parts by email id. An email whose content was deleted is missing; a key given twice (for two destinations) counts once. */
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

/**
 * Reads the day's own partition: through the parent table, PostgreSQL plans for all seventy partitions and takes five
 * times as long. If no partition has that name, the parent table decides whether the content exists.
 */
async function readDay(sql: Sql, day: string, keys: readonly ContentKey[]) {
  try {
    return await readFrom(sql, partitionAt("email_contents", Date.parse(day)).name, day, keys);
  } catch (error) {
    if ((error as { code?: string }).code !== undefinedTable) throw error;
    return await readFrom(sql, "email_contents", day, keys);
  }
}

const undefinedTable = "42P01";

async function readFrom(sql: Sql, table: string, day: string, keys: readonly ContentKey[]) {
  return await sql<{ emailId: string; part: number; data: string }[]>`
    select email_id as "emailId", part, data from ${sql.unsafe(table)}
    where day = ${day}::date and (workspace_id, email_id) in (
      select * from unnest(${keys.map((k) => k.workspaceId)}::uuid[], ${keys.map((k) => k.emailId)}::uuid[]))
    order by email_id, part, piece`;
}

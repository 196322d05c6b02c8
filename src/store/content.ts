/** The content of emails: read back whole for an attempt or for a person, whatever pieces it was stored in. */
import type { Sql } from "./db.ts";

export type ContentKey = { workspaceId: string; emailId: string; day: string };

/** Parts by email id; an email whose content is gone is missing, one that is asked for twice (for two destinations) comes once.
 * The day leads straight to its partition. */
export async function readContents(sql: Sql, keys: readonly ContentKey[]): Promise<Map<string, string[]>> {
  const rows = await sql<{ emailId: string; part: number; data: string }[]>`
    select c.email_id as "emailId", c.part, c.data
    from (select distinct * from unnest(${keys.map((k) => k.workspaceId)}::uuid[], ${keys.map((k) => k.emailId)}::uuid[], ${keys.map((k) => k.day)}::date[])
      as u(workspace_id, email_id, day)) k
    join email_contents c using (workspace_id, email_id, day)
    order by c.email_id, c.part, c.piece`;
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

/** The thread an email or inbound message stands in: its own Message-ID and the chain before it. */
import type { Sql } from "./db.ts";

export type ThreadLink = { messageId: string; references: string[] };

export async function findThread(
  sql: Sql,
  workspaceId: string,
  kind: "email" | "inbound",
  id: string,
): Promise<ThreadLink | undefined> {
  const [row] =
    kind === "email"
      ? await sql<ThreadLink[]>`
          select message_id as "messageId", coalesce(envelope -> 'references', '[]') as references
          from emails where workspace_id = ${workspaceId} and id = ${id}`
      : await sql<ThreadLink[]>`
          select message_id as "messageId", coalesce(summary -> 'references', '[]') as references
          from inbound_messages where workspace_id = ${workspaceId} and id = ${id} and message_id is not null`;
  return row;
}

/** The SQL of what operators see next to system mail: replies to it, and suppressed recipients. Called by ../system-mail.ts. */
import type { Sql } from "../../postgres/pool.ts";

export type SystemReply = { emailId: string; from: string; receivedAt: Date; text: string; autoSubmitted: boolean };

const repliesShown = 3;
/** More than is shown, because quoted links are cut out of it. */
const charactersRead = 4000;

/** Newest first. Index inbound_by_parent. */
export async function readReplies(sql: Sql, workspaceId: string, emailIds: readonly string[]): Promise<SystemReply[]> {
  return await sql<SystemReply[]>`
    select k.id as "emailId", m.* from unnest(${emailIds as string[]}::uuid[]) as k(id) cross join lateral (
      select from_address as from, created_at as "receivedAt", left(coalesce(new_text, body, ''), ${charactersRead}) as text,
        auto_submitted as "autoSubmitted"
      from inbound_messages where parent_email_id = k.id and workspace_id = ${workspaceId} order by id desc limit ${repliesShown}) m`;
}

/** Which of the addresses are suppressed, as they are given. Primary key. */
export async function findSuppressed(
  sql: Sql,
  workspaceId: string,
  addresses: readonly string[],
): Promise<Set<string>> {
  const rows = await sql<{ address: string }[]>`
    select a.address from unnest(${addresses as string[]}::text[]) as a(address)
    join suppressions s on s.workspace_id = ${workspaceId} and s.address = lower(a.address)`;
  return new Set(rows.map(({ address }) => address));
}

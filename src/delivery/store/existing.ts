/** Finds which emails exist, for the local mailbox, which deletes captured mail of deleted emails and of deleted inviters. */
import { systemKeyId } from "../../keys/store.ts";
import type { Sql } from "../../postgres/pool.ts";

/** A file name has no workspace, but every captured email has an event that names it. Index events_by_email and the primary key. */
export async function findEmails(sql: Sql, ids: readonly string[]): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    select e.id from unnest(${ids as string[]}::uuid[]) as k(id)
    cross join lateral (select workspace_id from events where email_id = k.id limit 1) v
    cross join lateral (select id from emails where workspace_id = v.workspace_id and id = k.id
      and (key_id is distinct from ${systemKeyId} or not metadata @> '{"inviter": "deleted"}') limit 1) e`;
  return new Set(rows.map(({ id }) => id));
}

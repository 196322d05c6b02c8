/** SQL of the DMARC policies of all sending domains, for posthorn doctor. It reads the results of the last checks. */
import type { Sql } from "../../postgres/pool.ts";

export type DmarcState = {
  /** Domains that can send. */
  sending: number;
  /** Those whose last check found no valid policy, and the first of them by name. */
  without: number;
  example: string | null;
};

/** Reads every domain once. */
export async function readDmarcState(sql: Sql): Promise<DmarcState> {
  const [row] = await sql<DmarcState[]>`
    select count(*)::int as sending, (count(*) filter (where not found))::int as without,
      min(domain) filter (where not found) as example
    from (
      select domain, records @> '[{"key": "dmarc", "status": "found"}]' as found
      from domains where can_send and deleted_at is null
    ) as checked`;
  return row!;
}

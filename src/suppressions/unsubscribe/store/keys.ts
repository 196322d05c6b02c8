/** SQL of the keys that links are made with. Called by ../links.ts. */
import type { Sql } from "../../../postgres/pool.ts";
import { stampTime } from "../../../postgres/service-clock.ts";

export type SealedKey = { id: string; number: number; sealed: string };

/** The keys of links, the newest first. */
export async function readLinkKeys(sql: Sql): Promise<SealedKey[]> {
  return await sql<SealedKey[]>`select id, number, key_sealed as sealed from unsubscribe_keys order by number desc`;
}

/** Stores the first key, unless another node has stored one. */
export async function addLinkKey(sql: Sql, key: SealedKey): Promise<void> {
  await sql.write`insert into unsubscribe_keys (id, number, key_sealed, created_at) values (${key.id}, ${key.number}, ${key.sealed}, ${stampTime(sql)})
    on conflict do nothing`;
}

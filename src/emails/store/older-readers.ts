/** Whether a live program of an earlier release runs on the database, which could not read a newer form of content. Used by parts.ts and
 * inbound/store/inbound.ts before they store such content. */
import type { Sql } from "../../postgres/pool.ts";
import { isAlive } from "../../postgres/workers.ts";

/** Programs start rarely, and a program that starts meanwhile only tries to read such content again later. */
const askAgainAfterMs = 5_000;

/** The version of the schema, and so of the program, that reads content in object storage. */
export const objectsSince = 52;

export function createOlderReaders(sql: Sql, since: number): () => Promise<boolean> {
  let asked: { atMs: number; answer: Promise<boolean> } | undefined;
  return () => {
    const nowMs = performance.now();
    if (asked && nowMs - asked.atMs < askAgainAfterMs) return asked.answer;
    const asking = { atMs: nowMs, answer: hasOlderReaders(sql, since) };
    asked = asking;
    asking.answer.catch(() => {
      if (asked === asking) asked = undefined;
    });
    return asking.answer;
  };
}

async function hasOlderReaders(sql: Sql, since: number): Promise<boolean> {
  const rows = await sql`
    select 1 from workers where coalesce(schema_version, 1) < ${since} and ${isAlive(sql)} limit 1`;
  return rows.length > 0;
}

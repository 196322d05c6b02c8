/** Retention of content in object storage: an object goes when the partition of its day has been dropped. Its row is deleted, and with it its
 * key, so that nothing can read it any longer; unused.ts deletes the object. Called by housekeeping. */
import { listPartitions, partitionOf } from "../postgres/partitions.ts";
import type { Sql } from "../postgres/pool.ts";
import { type ContentKind, forgetObjects, listObjectDays } from "./store/objects.ts";

const tables = { emails: "email_contents", inbound: "inbound_contents" } as const;
const batchSize = 500;

/** Returns the number of deleted rows. */
export async function forgetDroppedObjects(sql: Sql, signal?: AbortSignal): Promise<number> {
  let forgotten = 0;
  for (const content of Object.keys(tables) as ContentKind[]) {
    const days = await listObjectDays(sql, content);
    if (days.length === 0) continue;
    const names = new Set((await listPartitions(sql)).map(({ name }) => name));
    // A day has a partition from before its first email until retention drops it. A partition of received messages has seven days.
    const dropped = days.filter((day) => !names.has(partitionOf(tables[content], Date.parse(day)).name));
    for (const day of dropped)
      for (let rows = batchSize; rows === batchSize && !signal?.aborted; forgotten += rows)
        rows = await forgetObjects(sql, { content, day, limit: batchSize });
  }
  return forgotten;
}

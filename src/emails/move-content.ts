/** Carries the content of stored emails into object storage or back. It goes through all of them each time: what has moved is passed over, so
 * a move that was killed continues by beginning again. Called by app/move-content.ts. */
import type { ContentStore } from "../objects/content-store.ts";
import type { Patience } from "../objects/patience.ts";
import { noteUnused, type StoredObject } from "../objects/store/objects.ts";
import { ObjectLost } from "../objects/store-error.ts";
import type { Sql } from "../postgres/pool.ts";
import { readContents } from "./store/content.ts";
import { contentPartitions, listLarge, type PartKey, replaceByObject, replaceByPieces } from "./store/moves.ts";
import { requireObjectReaders } from "./store/older-readers.ts";
import { ContentGone, wholePart } from "./store/parts.ts";

export type EmailMove = {
  sql: Sql;
  contents: ContentStore;
  signal: AbortSignal;
  patiently: Patience;
  /** Called after each part that has moved. */
  onMoved(bytes: number): void;
  /** Called for each object that the store no longer has, or has damaged. Its row stays until retention deletes it. */
  onLost(): void;
};

/** Parts that move at the same time. Each is in memory in pieces, or as a whole on its way back. */
const atOnce = 4;

export async function moveToObjects(move: EmailMove): Promise<void> {
  const { sql, contents, signal } = move;
  for (const partition of await contentPartitions(sql)) {
    for (let after: Awaited<ReturnType<typeof listLarge>>["next"]; ; ) {
      if (signal.aborted) return;
      await requireObjectReaders(sql);
      const { parts, next } = await listLarge(sql, { partition, after, aboveBytes: contents.aboveBytes }).catch(
        noneIfDropped,
      );
      await inParallel(parts, atOnce, move, (part) => partToObject(move, part));
      if (!next) break;
      after = next;
    }
  }
}

/** Retention has dropped the partition since the list was made. */
function noneIfDropped(error: unknown): Awaited<ReturnType<typeof listLarge>> {
  if ((error as { code?: string }).code !== "42P01") throw error;
  return { parts: [], next: undefined };
}

async function partToObject(
  { sql, contents, onMoved, signal }: EmailMove,
  key: PartKey & { isSubmitted: boolean },
): Promise<void> {
  const { workspaceId, emailId } = key;
  const found = (await readContents(sql, [key], contents)).get(emailId)?.[key.part];
  if (!found || typeof found === "string" || found.bytes <= contents.aboveBytes) return;
  try {
    const object = await contents.put(workspaceId, { bytes: found.bytes, chunks: () => found.read(signal) }, signal);
    if (await replaceByObject(sql, key, object)) onMoved(found.bytes);
    else await noteUnused(sql, [object]);
  } catch (error) {
    // Deleted, or on another day since the list was made: the next move finds it there.
    if (!(error instanceof ContentGone)) throw error;
  }
}

/** Objects of emails, of one page. */
export async function moveToDatabase(
  move: EmailMove,
  objects: readonly (StoredObject & { workspaceId: string })[],
): Promise<void> {
  const { sql, contents, onMoved, onLost, signal } = move;
  await inParallel(objects, atOnce, move, async (object) => {
    const part = { bytes: object.bytes, read: () => contents.read(object.workspaceId, object, signal) };
    const bytes = await wholePart(part).catch(noneIfLost);
    if (!bytes) return onLost();
    const key = { workspaceId: object.workspaceId, emailId: object.ownerId, part: object.part, objectId: object.id };
    if (await replaceByPieces(sql, key, bytes)) onMoved(bytes.length);
  });
}

/** One lost object does not keep the others from moving. */
export function noneIfLost(error: unknown): undefined {
  if (!(error instanceof ObjectLost)) throw error;
}

/** Runs the work on all items, a few at the same time, and repeats it while the store is away. Rejects with the first error, after the work in hand has ended. */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  { signal, patiently }: Pick<EmailMove, "signal" | "patiently">,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  let failed = false;
  const one = async () => {
    for (let item = waiting.shift(); item !== undefined && !failed && !signal.aborted; item = waiting.shift())
      await patiently(() => work(item)).catch((error) => {
        failed = true;
        throw error;
      });
  };
  const results = await Promise.allSettled(Array.from({ length: limit }, one));
  const error = results.find((result) => result.status === "rejected");
  if (error) throw error.reason;
}

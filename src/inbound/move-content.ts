/** Carries received messages into object storage or back, as emails/move-content.ts does for emails. Called by app/move-content.ts. */
import { type EmailMove, inParallel, noneIfLost } from "../emails/move-content.ts";
import { requireObjectReaders } from "../emails/store/older-readers.ts";
import type { ContentStore } from "../objects/content-store.ts";
import { noteUnused, type StoredObject } from "../objects/store/objects.ts";
import { contentPartitions, listLarge, type MessageKey, replaceByObject, replaceByPieces } from "./store/moves.ts";
import { readInboundRaw } from "./store/reads.ts";

/** Each is in memory as a whole. */
const atOnce = 2;

export async function moveToObjects(move: EmailMove): Promise<void> {
  const { sql, contents, signal } = move;
  for (const partition of await contentPartitions(sql)) {
    for (let after: Awaited<ReturnType<typeof listLarge>>["next"]; ; ) {
      if (signal.aborted) return;
      await requireObjectReaders(sql);
      const { messages, next } = await listLarge(sql, { partition, after, aboveBytes: contents.aboveBytes }).catch(
        noneIfDropped,
      );
      await inParallel(messages, atOnce, move, (message) => messageToObject(move, message));
      if (!next) break;
      after = next;
    }
  }
}

function noneIfDropped(error: unknown): Awaited<ReturnType<typeof listLarge>> {
  if ((error as { code?: string }).code !== "42P01") throw error;
  return { messages: [], next: undefined };
}

async function messageToObject({ sql, contents, onMoved, signal }: EmailMove, key: MessageKey): Promise<void> {
  const raw = await readInboundRaw({ sql, contents }, key.workspaceId, key.inboundId);
  if (!raw) return;
  const object = await contents.put(key.workspaceId, { bytes: raw.length, chunks: () => [raw] }, signal);
  if (await replaceByObject(sql, key, object)) onMoved(raw.length);
  else await noteUnused(sql, [object]);
}

export async function moveToDatabase(
  move: EmailMove,
  objects: readonly (StoredObject & { workspaceId: string })[],
): Promise<void> {
  const { sql, contents, onMoved, onLost, signal } = move;
  await inParallel(objects, atOnce, move, async (object) => {
    const bytes = await wholeObject(contents, object, signal).catch(noneIfLost);
    if (!bytes) return onLost();
    const key = { workspaceId: object.workspaceId, inboundId: object.ownerId, objectId: object.id };
    if (await replaceByPieces(sql, key, bytes)) onMoved(bytes.length);
  });
}

async function wholeObject(
  contents: ContentStore,
  object: StoredObject & { workspaceId: string },
  signal: AbortSignal,
): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of contents.read(object.workspaceId, object, signal)) all.push(piece);
  return Buffer.concat(all);
}

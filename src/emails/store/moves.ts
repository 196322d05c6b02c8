/** Moves a stored part of an email between the database and object storage, while mail flows. Each part moves in one transaction, and readers
 * find it in one place or the other. Called by ../move-content.ts. */
import type { NewObject, ObjectRef } from "../../objects/store/objects.ts";
import { objectRows } from "../../objects/store/objects.ts";
import { listPartitions } from "../../postgres/partitions.ts";
import type { Sql } from "../../postgres/pool.ts";
import { batchBytes } from "./emails.ts";
import { dataOfLargePart, insertPieces, pieceLength, piecesOf } from "./pieces.ts";

export type PartKey = { workspaceId: string; emailId: string; day: string; part: number };
/** A position in a partition, in the order of its primary key. */
export type PartPosition = PartKey & { piece: number };

export async function contentPartitions(sql: Sql): Promise<string[]> {
  return (await listPartitions(sql)).filter(({ table }) => table === "email_contents").map(({ name }) => name);
}

const rowsAtOnce = 1_000;

/** Parts of the partition whose first piece has more than `aboveBytes` or is full. Reads the index and the lengths, not the content. */
export async function listLarge(
  sql: Sql,
  { partition, after, aboveBytes }: { partition: string; after: PartPosition | undefined; aboveBytes: number },
): Promise<{ parts: (PartKey & { isSubmitted: boolean })[]; next: PartPosition | undefined }> {
  const least = Math.min(aboveBytes, pieceLength - 1);
  const rows = await sql<(PartPosition & { isLarge: boolean; isSubmitted: boolean })[]>`
    select c.workspace_id as "workspaceId", c.email_id as "emailId", c.day::text as day, c.part, c.piece, c.piece = 0 and c.object is null
      and coalesce(octet_length(c.bytes), octet_length(c.data)) > ${least} as "isLarge",
      coalesce((select e.envelope ? 'submitted' from emails e where e.workspace_id = c.workspace_id and e.id = c.email_id), false) as "isSubmitted"
    from (select * from ${sql.unsafe(partition)}
      ${after ? sql`where (workspace_id, email_id, day, part, piece) > (${after.workspaceId}, ${after.emailId}, ${after.day}::date, ${after.part}, ${after.piece})` : sql``}
      order by workspace_id, email_id, day, part, piece limit ${rowsAtOnce}) c
    order by c.workspace_id, c.email_id, c.day, c.part, c.piece`;
  const parts = rows.filter(({ isLarge }) => isLarge);
  return { parts, next: rows.length < rowsAtOnce ? undefined : rows.at(-1) };
}

/** Replaces the pieces of a part by its object. False: the part has moved or was deleted meanwhile. */
export async function replaceByObject(sql: Sql, part: Omit<PartKey, "day">, object: ObjectRef): Promise<boolean> {
  return await sql.begin(async (tx) => {
    // Of any day: UpdateEmail may have moved it.
    const gone = await tx<{ day: string }[]>`
      delete from email_contents where workspace_id = ${part.workspaceId} and email_id = ${part.emailId} and part = ${part.part} and object is null
      returning day::text as day`;
    const [first] = gone;
    if (!first) return false;
    await tx`
      insert into email_contents (workspace_id, email_id, day, part, piece, data, object)
      values (${part.workspaceId}, ${part.emailId}, ${first.day}::date, ${part.part}, 0, ${dataOfLargePart}, ${object.id})`;
    const row: NewObject = { ...object, workspaceId: part.workspaceId, ownerId: part.emailId, part: part.part };
    await tx`
      insert into content_objects (workspace_id, owner_id, part, content, id, line, day, bytes, key_sealed)
      select o."workspaceId", o."ownerId", o.part, 'emails', o.id, o.line, ${first.day}::date, o.bytes, o."keySealed" from ${objectRows(tx, [row])}`;
    return true;
  });
}

/** Replaces an object by the pieces of its content. False: it was deleted meanwhile. */
export async function replaceByPieces(
  sql: Sql,
  part: Omit<PartKey, "day"> & { objectId: string },
  bytes: Buffer,
): Promise<boolean> {
  return await sql.begin(async (tx) => {
    const gone = await tx<{ day: string }[]>`
      delete from email_contents where workspace_id = ${part.workspaceId} and email_id = ${part.emailId} and part = ${part.part}
        and object = ${part.objectId} returning day::text as day`;
    const [first] = gone;
    // The content was deleted with its day, or UpdateEmail has just moved it to another day, where it needs its object.
    if (!first) return false;
    const rows = await tx`delete from content_objects where id = ${part.objectId} returning 1`;
    // The content was deleted, and its row here was about to be.
    if (rows.length === 0) return false;
    const parts = [{ bytes }];
    let slice = [];
    for (const piece of piecesOf({ id: part.emailId, workspaceId: part.workspaceId, parts })) {
      slice.push({ ...piece, part: part.part });
      if (slice.length < batchBytes / pieceLength) continue;
      await insertPieces(tx, slice);
      slice = [];
    }
    if (slice.length > 0) await insertPieces(tx, slice);
    return true;
  });
}

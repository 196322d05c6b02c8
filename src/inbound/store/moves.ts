/** Moves a received message between the database and object storage. Called by ../move-content.ts. */
import { dayOfId, type NewObject, type ObjectRef, objectRows } from "../../objects/store/objects.ts";
import { listPartitions } from "../../postgres/partitions.ts";
import type { Sql } from "../../postgres/pool.ts";
import { contentPieceBytes, dataOfObject } from "./inbound.ts";

export type MessageKey = { workspaceId: string; inboundId: string };
type Position = MessageKey & { piece: number };

export async function contentPartitions(sql: Sql): Promise<string[]> {
  return (await listPartitions(sql)).filter(({ table }) => table === "inbound_contents").map(({ name }) => name);
}

const rowsAtOnce = 1_000;

/** Messages of the partition with more than `aboveBytes`. */
export async function listLarge(
  sql: Sql,
  { partition, after, aboveBytes }: { partition: string; after: Position | undefined; aboveBytes: number },
): Promise<{ messages: MessageKey[]; next: Position | undefined }> {
  const rows = await sql<(Position & { isLarge: boolean })[]>`
    select c.workspace_id as "workspaceId", c.inbound_id as "inboundId", c.piece, c.piece = 0 and c.object is null and coalesce((
        select m.size_bytes > ${aboveBytes} from inbound_messages m where m.workspace_id = c.workspace_id and m.id = c.inbound_id), false) as "isLarge"
    from (select workspace_id, inbound_id, piece, object from ${sql.unsafe(partition)}
      ${after ? sql`where (workspace_id, inbound_id, piece) > (${after.workspaceId}, ${after.inboundId}, ${after.piece})` : sql``}
      order by workspace_id, inbound_id, piece limit ${rowsAtOnce}) c
    order by c.workspace_id, c.inbound_id, c.piece`;
  const messages = rows.filter(({ isLarge }) => isLarge);
  return { messages, next: rows.length < rowsAtOnce ? undefined : rows.at(-1) };
}

/** False: the message has moved or was deleted meanwhile. */
export async function replaceByObject(
  sql: Sql,
  { workspaceId, inboundId }: MessageKey,
  object: ObjectRef,
): Promise<boolean> {
  return await sql.begin(async (tx) => {
    const gone = await tx`
      delete from inbound_contents where workspace_id = ${workspaceId} and inbound_id = ${inboundId} and object is null returning 1`;
    if (gone.length === 0) return false;
    await tx`
      insert into inbound_contents (workspace_id, inbound_id, piece, data, object)
      values (${workspaceId}, ${inboundId}, 0, ${dataOfObject}, ${object.id})`;
    const row: NewObject = { ...object, workspaceId, ownerId: inboundId, part: 0 };
    await tx`
      insert into content_objects (workspace_id, owner_id, part, content, id, line, day, bytes, key_sealed)
      select o."workspaceId", o."ownerId", o.part, 'inbound', o.id, o.line, ${dayOfId(tx, 'o."ownerId"')}, o.bytes, o."keySealed"
      from ${objectRows(tx, [row])}`;
    return true;
  });
}

/** False: it was deleted meanwhile. */
export async function replaceByPieces(
  sql: Sql,
  { workspaceId, inboundId, objectId }: MessageKey & { objectId: string },
  bytes: Buffer,
): Promise<boolean> {
  return await sql.begin(async (tx) => {
    const gone = await tx`
      delete from inbound_contents where workspace_id = ${workspaceId} and inbound_id = ${inboundId} and object = ${objectId} returning 1`;
    const rows = await tx`delete from content_objects where id = ${objectId} returning 1`;
    if (gone.length === 0 || rows.length === 0) return false;
    for (let piece = 0; piece === 0 || piece * contentPieceBytes < bytes.length; piece++) {
      const data = bytes.subarray(piece * contentPieceBytes, (piece + 1) * contentPieceBytes).toString("base64");
      await tx`
        insert into inbound_contents (workspace_id, inbound_id, piece, data) values (${workspaceId}, ${inboundId}, ${piece}, ${data})`;
    }
    return true;
  });
}

/** The content of new emails in pieces, because one value of 40 MiB would block the event loop and the database. Used by emails.ts and
 * batches.ts; content.ts reads them. */
import { freeNow } from "../../ops/free.ts";
import { byteaArray, textArray } from "../../postgres/arrays.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { NewPart } from "./parts.ts";

/** Content is stored in pieces of this many characters or octets. */
export const pieceLength = 256 * 1024;

/** `bytes`: a piece of a large part. Its `data` is no JSON, no base64 and no message, so a program of an earlier release fails to compose the
 * email and leaves it to later attempts, instead of sending it without its content. */
export type ContentPiece = {
  workspaceId: string;
  emailId: string;
  part: number;
  piece: number;
  data: string;
  bytes: Buffer | null;
  /** The part is in object storage. `data` is the same as for other large parts. */
  object?: string;
};
export const dataOfLargePart = "*";

export async function insertPieces(sql: Sql, pieces: ContentPiece[]): Promise<void> {
  const bytes = byteaArray(pieces.map((p) => p.bytes));
  await sql`
    insert into email_contents (workspace_id, email_id, day, part, piece, data, bytes, object)
    select e.workspace_id, e.id, e.content_day, p.part, p.piece, p.data, p.bytes, p.object
    from unnest(${pieces.map((p) => p.workspaceId)}::uuid[], ${pieces.map((p) => p.emailId)}::uuid[], ${pieces.map((p) => p.part)}::smallint[],
      ${pieces.map((p) => p.piece)}::int[], ${textArray(pieces.map((p) => p.data))}::text[], ${bytes}::bytea[],
      ${pieces.map((p) => p.object ?? null)}::uuid[]) as p(workspace_id, id, part, piece, data, bytes, object)
    join emails e using (workspace_id, id)`;
  freeNow(bytes);
}

export function sizeOfPiece({ data, bytes }: ContentPiece): number {
  return bytes?.length ?? data.length;
}

type Content = { id: string; workspaceId: string; parts: readonly NewPart[] };

export function* piecesOf({ id, workspaceId, parts }: Content): Generator<ContentPiece> {
  for (const [part, content] of parts.entries()) {
    const slices = slicesOf(content);
    let piece = 0;
    for (const slice of slices) yield { workspaceId, emailId: id, part, piece: piece++, ...slice };
  }
}

function slicesOf(content: NewPart): Iterable<Pick<ContentPiece, "data" | "bytes" | "object">> {
  if (typeof content === "string") return textSlices(content);
  if ("bytes" in content) return byteSlices(content.bytes);
  return [{ data: dataOfLargePart, bytes: null, object: content.object.id }];
}

function* textSlices(text: string): Generator<{ data: string; bytes: null }> {
  let from = 0;
  do {
    let to = from + pieceLength;
    // PostgreSQL rejects half of a surrogate pair, so a pair stays in one piece.
    if (isHighSurrogate(text.charCodeAt(to - 1))) to--;
    yield { data: text.slice(from, to), bytes: null };
    from = to;
  } while (from < text.length);
}

function* byteSlices(bytes: Buffer): Generator<{ data: string; bytes: Buffer }> {
  for (let from = 0; from < bytes.length; from += pieceLength)
    yield { data: dataOfLargePart, bytes: bytes.subarray(from, from + pieceLength) };
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** The content of new emails in pieces, because one value of 40 MiB would block the event loop and the database. Used by emails.ts and
 * batches.ts; content.ts reads them. */
import type { Sql } from "../../postgres/pool.ts";
import { textArray } from "../../postgres/sql.ts";

/** Content is stored in pieces of this length. */
export const pieceLength = 256 * 1024;
export type ContentPiece = { workspaceId: string; emailId: string; part: number; piece: number; data: string };

export async function insertPieces(sql: Sql, pieces: ContentPiece[]): Promise<void> {
  await sql`
    insert into email_contents (workspace_id, email_id, day, part, piece, data)
    select e.workspace_id, e.id, e.content_day, p.part, p.piece, p.data
    from unnest(${pieces.map((p) => p.workspaceId)}::uuid[], ${pieces.map((p) => p.emailId)}::uuid[], ${pieces.map((p) => p.part)}::smallint[],
      ${pieces.map((p) => p.piece)}::int[], ${textArray(pieces.map((p) => p.data))}::text[]) as p(workspace_id, id, part, piece, data)
    join emails e using (workspace_id, id)`;
}

export function* piecesOf({
  id,
  workspaceId,
  parts,
}: {
  id: string;
  workspaceId: string;
  parts: readonly string[];
}): Generator<ContentPiece> {
  for (const [part, text] of parts.entries()) {
    let from = 0;
    for (let piece = 0; piece === 0 || from < text.length; piece++) {
      let to = from + pieceLength;
      // PostgreSQL rejects half of a surrogate pair, so a pair stays in one piece.
      if (isHighSurrogate(text.charCodeAt(to - 1))) to--;
      yield { workspaceId, emailId: id, part, piece, data: text.slice(from, to) };
      from = to;
    }
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

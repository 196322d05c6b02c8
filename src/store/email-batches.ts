/** A batch of emails going in: all of them and the batch's idempotency key, in one transaction. */
import type { Sql } from "./db.ts";
import { batchBytes, insertEmails, insertPieces, type NewEmail, type Piece, piecesOf } from "./emails.ts";

export type NewBatch = {
  workspaceId: string;
  emails: NewEmail[];
  /** Told again to whoever comes with the same key. */
  answer: unknown;
  idempotency: { key: string; requestHash: string; keptForMs: number } | undefined;
};

/** Undefined when it is stored now; else what the key was used for before: `answer` is null for a single email. */
export async function storeBatch(
  sql: Sql,
  batch: NewBatch,
): Promise<{ requestHash: string; answer: unknown } | undefined> {
  return await sql.begin(async (tx) => {
    if (batch.idempotency && !(await claimKey(tx, batch))) return await keyOf(tx, batch);
    if (batch.emails.length === 0) return undefined;
    const leftOut = await insertEmails(tx, batch.emails, []);
    // A domain was there when the batch was judged: who tries again gets it judged anew.
    if (leftOut.length > 0) throw Object.assign(new Error("a sending domain vanished"), { code: "55P03" });
    let slice: Piece[] = [];
    let length = 0;
    for (const piece of batch.emails.flatMap((email) => [...piecesOf(email)])) {
      slice.push(piece);
      length += piece.data.length;
      if (length < batchBytes) continue;
      await insertPieces(tx, slice);
      slice = [];
      length = 0;
    }
    await insertPieces(tx, slice);
    return undefined;
  });
}

async function claimKey(sql: Sql, { workspaceId, answer, idempotency }: NewBatch): Promise<boolean> {
  const { key, requestHash, keptForMs } = idempotency!;
  const rows = await sql`
    insert into idempotency (workspace_id, key, request_hash, answer, expires_at)
    values (${workspaceId}, ${key}, ${requestHash}, ${JSON.stringify(answer)}::jsonb, now() + ${`${keptForMs} milliseconds`}::interval)
    on conflict (workspace_id, key) do update
      set request_hash = excluded.request_hash, email_id = null, answer = excluded.answer, expires_at = excluded.expires_at
      where idempotency.expires_at < now()
    returning 1`;
  return rows.length > 0;
}

async function keyOf(sql: Sql, { workspaceId, idempotency }: NewBatch) {
  const [row] = await sql<{ requestHash: string; answer: unknown }[]>`
    select request_hash as "requestHash", answer from idempotency where workspace_id = ${workspaceId} and key = ${idempotency!.key}`;
  // A housekeeper took it between the two statements: the caller may simply try again.
  if (!row) throw Object.assign(new Error("idempotency key vanished"), { code: "55P03" });
  return row;
}

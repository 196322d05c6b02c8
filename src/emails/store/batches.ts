/** Stores a batch of emails and its idempotency key in one transaction. Called by accept-batch.ts. */
import type { ContentStore } from "../../objects/content-store.ts";
import { noteUnused } from "../../objects/store/objects.ts";
import { Problem } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import { serviceTime } from "../../postgres/service-clock.ts";
import { noDefaults, type QuotaDefaults } from "../../quotas/rules/limits.ts";
import { quotaProblem, repeatedOnRace } from "../../quotas/store/sending.ts";
import { batchBytes, changedMeanwhile, countEmails, insertEmails, type NewEmail } from "./emails.ts";
import { willBeRefused } from "./new-email.ts";
import { createPartPreparer, objectsOf } from "./parts.ts";
import { type ContentPiece, insertPieces, piecesOf, sizeOfPiece } from "./pieces.ts";

export type NewBatch = {
  /** Undefined: all content is in the database. */
  contents?: ContentStore;
  workspaceId: string;
  emails: NewEmail[];
  /** Returned again to later calls with the same key. */
  answer: unknown;
  idempotency: { key: string; requestHash: string; keptForMs: number } | undefined;
  /** The quotas of workspaces without their own. Default: unlimited. */
  quotas?: QuotaDefaults;
  /** Where unlimited workspaces are counted (quotas/store/sending.ts). */
  slot?: number;
};

/** Undefined: the batch is stored. Otherwise the earlier use of the key; its `answer` is null if that was a single email. */
export async function storeBatch(sql: Sql, batch: NewBatch): Promise<EarlierBatch | undefined> {
  const prepareParts = createPartPreparer(sql, batch.contents);
  const { quotas = noDefaults } = batch;
  let refused: Promise<boolean> | undefined;
  const isRefused = () => (refused ??= willBeRefused(sql, batch.emails, { quotas, batchKey: batch.idempotency?.key }));
  const prepared = await Promise.allSettled(batch.emails.map((email) => prepareParts(email, isRefused)));
  const emails = prepared.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  const forgetUploads = () =>
    noteUnused(
      sql,
      emails.flatMap(({ parts }) => objectsOf(parts)),
    );
  const failed = prepared.find((one) => one.status === "rejected");
  if (failed) {
    await forgetUploads().catch(() => {});
    // A repeated call gets the first answer, also while its content cannot be stored.
    const earlier = failed.reason instanceof Problem && batch.idempotency && (await findEarlier(sql, batch));
    if (earlier) return earlier;
    throw failed.reason;
  }
  const earlier = await repeatedOnRace(() => storeOnce(sql, { ...batch, emails }));
  if (earlier) await forgetUploads();
  return earlier;
}

type EarlierBatch = { requestHash: string; answer: unknown };

async function storeOnce(sql: Sql, batch: NewBatch): Promise<EarlierBatch | undefined> {
  const { quotas = noDefaults } = batch;
  return await sql.begin(async (tx) => {
    if (batch.idempotency && !(await claimKey(tx, batch))) return await keyOf(tx, batch);
    if (batch.emails.length === 0) return undefined;
    const pieces = batch.emails.flatMap((email) => [...piecesOf(email)]);
    // Most batches fit into one statement.
    const fits = pieces.reduce((sum, piece) => sum + sizeOfPiece(piece), 0) <= batchBytes;
    const leftOut = await insertEmails(tx, batch.emails, {
      quotas,
      slot: batch.slot,
      pieces: fits ? pieces : undefined,
    });
    // A quota that does not suffice for all emails refuses all of them: the caller can send a smaller batch.
    const refused = leftOut.map(quotaProblem).find((one) => one !== undefined);
    if (refused) throw refused;
    // The domain could send when the batch was checked. The error makes the caller retry, which checks it again.
    if (leftOut.length > 0) throw changedMeanwhile("A sending domain was deleted or blocked");
    if (!fits) await storeContent(tx, batch, pieces);
    return undefined;
  });
}

/** The content of emails that are stored, in several statements. */
async function storeContent(
  tx: Sql,
  { emails, quotas = noDefaults }: NewBatch,
  pieces: readonly ContentPiece[],
): Promise<void> {
  let slice: ContentPiece[] = [];
  let length = 0;
  for (const piece of pieces) {
    slice.push(piece);
    length += sizeOfPiece(piece);
    if (length < batchBytes) continue;
    await insertPieces(tx, slice);
    slice = [];
    length = 0;
  }
  await insertPieces(tx, slice);
  // At the end, because it locks the workspace's count until the commit.
  await countEmails(tx, emails, quotas);
}

async function claimKey(sql: Sql, { workspaceId, answer, idempotency }: NewBatch): Promise<boolean> {
  const { key, requestHash, keptForMs } = idempotency!;
  const rows = await sql`
    insert into idempotency (workspace_id, key, request_hash, answer, expires_at)
    values (${workspaceId}, ${key}, ${requestHash}, ${JSON.stringify(answer)}::jsonb, service_time() + ${`${keptForMs} milliseconds`}::interval)
    on conflict (workspace_id, key) do update
      set request_hash = excluded.request_hash, email_id = null, answer = excluded.answer, expires_at = excluded.expires_at
      where idempotency.expires_at < (select service_time())
    returning 1`;
  return rows.length > 0;
}

/** The answer acknowledges emails, so the look-up commits a write: it confirms that they are replicated. */
async function findEarlier(sql: Sql, { workspaceId, idempotency }: NewBatch): Promise<EarlierBatch | undefined> {
  const rows = await sql.begin(
    async (tx) =>
      await tx<EarlierBatch[]>`
      select request_hash as "requestHash", answer from idempotency
      where workspace_id = ${workspaceId} and key = ${idempotency!.key} and expires_at >= ${serviceTime(tx)}`,
    { receipt: "always" },
  );
  return rows[0];
}

async function keyOf(sql: Sql, { workspaceId, idempotency }: NewBatch) {
  const [row] = await sql<{ requestHash: string; answer: unknown }[]>`
    select request_hash as "requestHash", answer from idempotency where workspace_id = ${workspaceId} and key = ${idempotency!.key}`;
  // Housekeeping deleted the expired key between the two statements: the caller can retry.
  if (!row) throw changedMeanwhile("The idempotency key expired");
  return row;
}

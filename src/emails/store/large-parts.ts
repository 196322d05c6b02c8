/** Reads a large part of an email's content piece by piece, each few pieces in a statement of their own. Called by content.ts. */
import type { ContentStore } from "../../objects/content-store.ts";
import type { ObjectRef } from "../../objects/store/objects.ts";
import { ObjectLost, StoreError } from "../../objects/store-error.ts";
import type { Sql } from "../../postgres/pool.ts";
import { ContentGone, type ContentKey, type LargePart } from "./parts.ts";

/** `table`: the partition of the day, or the parent table. */
export type PartPlace = { table: string; key: ContentKey; part: number };

/** How the octets are stored. Earlier releases stored every part as text: base64 of an attachment, JSON, or a message with one character for
 * each octet. */
export type LargeForm = "bytes" | "base64" | "utf8" | "latin1";

export type LargeSource = PartPlace & { form: LargeForm; pieces: number; bytes: number };

/** Each has up to 256 KiB. With one, a part of 5 MiB takes a tenth more time; more take memory. */
const piecesAtOnce = 2;

export function largePart(sql: Sql, source: LargeSource): LargePart {
  const read = source.form === "bytes" ? bytePieces : textPieces;
  return { bytes: source.bytes, read: (signal) => whole(read(sql, source, signal), source.bytes) };
}

/** A part in object storage. Without `ref`, the content was deleted. */
export function objectPart(contents: ContentStore | undefined, workspaceId: string, ref: ObjectRef | null): LargePart {
  return {
    bytes: ref?.bytes ?? 0,
    async *read(signal) {
      if (!ref) throw new ContentGone();
      if (!contents)
        throw new StoreError("notConfigured", "this content is in object storage, which is not configured");
      try {
        yield* contents.read(workspaceId, ref, signal);
      } catch (error) {
        throw error instanceof ObjectLost ? new ContentGone(error) : error;
      }
    },
  };
}

/** The number of octets that base64 of this length decodes to. `ending`: its last characters. */
export function base64Bytes(characters: number, ending: string): number {
  const padding = ending.endsWith("==") ? 2 : ending.endsWith("=") ? 1 : 0;
  return Math.floor(((characters - padding) * 3) / 4);
}

/** Rows may be missing at the end, too: the email has them all or none. */
async function* whole(pieces: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let seen = 0;
  for await (const piece of pieces) {
    seen += piece.length;
    yield piece;
  }
  if (seen !== bytes) throw new ContentGone();
}

function* groups({ pieces }: LargeSource, signal: AbortSignal | undefined): Generator<{ from: number; to: number }> {
  for (let from = 0; from < pieces; from += piecesAtOnce) {
    signal?.throwIfAborted();
    yield { from, to: Math.min(from + piecesAtOnce, pieces) };
  }
}

async function* bytePieces(sql: Sql, source: LargeSource, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  const { workspaceId, emailId, day } = source.key;
  const where = `workspace_id = ${literal(workspaceId)} and email_id = ${literal(emailId)} and day = ${literal(day)} and part = ${Number(source.part)}`;
  // An object that has replaced the pieces since they were listed has a row without octets.
  for (const { from, to } of groups(source, signal)) {
    const text = `copy (select bytes from ${source.table} where ${where} and piece >= ${from} and piece < ${to} and bytes is not null order by piece) to stdout (format binary)`;
    const values = await sql.octets(text).catch(goneIfDropped);
    if (values.length < to - from) throw new ContentGone();
    yield* values;
  }
}

async function* textPieces(sql: Sql, source: LargeSource, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  const { workspaceId, emailId, day } = source.key;
  let rest = "";
  for (const { from, to } of groups(source, signal)) {
    const rows = await sql<{ data: string }[]>`
      select data from ${sql.unsafe(source.table)} where workspace_id = ${workspaceId} and email_id = ${emailId} and day = ${day}::date
        and part = ${source.part} and piece >= ${from} and piece < ${to} and bytes is null and object is null order by piece`.then(
      (found) => found,
      goneIfDropped,
    );
    if (rows.length < to - from) throw new ContentGone();
    for (const { data } of rows) {
      if (source.form !== "base64") {
        yield* slices(Buffer.from(data, source.form as "utf8" | "latin1"));
        continue;
      }
      // A piece need not end after four characters.
      const all = rest + data;
      const end = all.length - (all.length % 4);
      rest = all.slice(end);
      if (end > 0) yield Buffer.from(all.slice(0, end), "base64");
    }
  }
  if (rest !== "") yield Buffer.from(rest, "base64");
}

const largestPiece = 256 * 1024;

/** 256 Ki characters have up to 768 KiB in UTF-8. */
function* slices(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += largestPiece) yield bytes.subarray(from, from + largestPiece);
}

/** COPY has no parameters. Ids and days come from the database, and contain no quotes. */
function literal(value: string): string {
  if (!/^[0-9a-f-]{10,36}$/.test(value)) throw new Error(`not an id or a day: ${JSON.stringify(value)}`);
  return `'${value}'`;
}

const undefinedTable = "42P01";

/** Retention has dropped the partition since its rows were listed. */
function goneIfDropped(error: unknown): never {
  if ((error as { code?: string }).code === undefinedTable) throw new ContentGone();
  throw error;
}

/** Reads the content of emails, for delivery attempts and GetEmailContent: small parts at once, large ones later, piece by piece. */

import type { ContentStore } from "../../objects/content-store.ts";
import { type ObjectRef, objectOf } from "../../objects/store/objects.ts";
import { partitionAt } from "../../postgres/partitions.ts";
import type { Sql } from "../../postgres/pool.ts";
import { base64Bytes, type LargeForm, largePart, objectPart, type PartPlace } from "./large-parts.ts";
import { ContentGone, type ContentKey, type LargePart, largeFromBytes, type StoredPart } from "./parts.ts";

export type { ContentKey } from "./parts.ts";

/** Parts by email id. An email whose content was deleted is missing; a key given twice (for two destinations) counts once. */
export async function readContents(
  sql: Sql,
  keys: readonly ContentKey[],
  contents?: ContentStore,
): Promise<Map<string, StoredPart[]>> {
  const days = Map.groupBy(keys, ({ day }) => day);
  const read = await Promise.all([...days].map(([day, some]) => readDay({ sql, contents }, day, some)));
  return new Map(read.flatMap((contents) => [...contents]));
}

/**
 * Reads the day's own partition: through the parent table, PostgreSQL plans for all seventy partitions and takes five
 * times as long. If no partition has that name, the parent table decides whether the content exists.
 */
async function readDay(from: From, day: string, keys: readonly ContentKey[]): Promise<Map<string, StoredPart[]>> {
  const own = partitionAt("email_contents", Date.parse(day)).name;
  try {
    return await readFrom(from, own, day, keys);
  } catch (error) {
    if ((error as { code?: string }).code !== undefinedTable) throw error;
    return await readFrom(from, "email_contents", day, keys);
  }
}

/** `contents`: undefined if no object storage is configured. */
type From = { sql: Sql; contents: ContentStore | undefined };

const undefinedTable = "42P01";

/** Texts of earlier releases up to the length of the base64 of a small part are read at once. */
const smallTextBytes = Math.ceil(largeFromBytes / 3) * 4;

type PieceRow = {
  emailId: string;
  part: number;
  /** Null: a piece of a large part. */
  data: string | null;
  /** The length of `bytes`, or of a text in UTF-8. */
  octets: number;
  isText: boolean;
  /** Of a large text of an earlier release: the characters of part 0, and the last ones of base64. */
  characters: number | null;
  ending: string | null;
  /** The part is in object storage. */
  object: ObjectRef | null;
  isObject: boolean;
};

async function readFrom(
  { sql, contents: store }: From,
  table: string,
  day: string,
  keys: readonly ContentKey[],
  isSecond = false,
): Promise<Map<string, StoredPart[]>> {
  const isLargeText = sql`bytes is null and octet_length(data) > ${smallTextBytes}`;
  const rows = await sql<PieceRow[]>`
    select email_id as "emailId", part, case when bytes is null and object is null and octet_length(data) <= ${smallTextBytes} then data end as data,
      coalesce(octet_length(bytes), octet_length(data)) as octets, bytes is null as "isText",
      case when part = 0 and ${isLargeText} then length(data) end as characters, case when part > 0 and ${isLargeText} then right(data, 2) end as ending,
      object is not null as "isObject", case when c.object is not null then ${objectOf(sql, "c.object")} end as object
    from ${sql.unsafe(table)} c
    where day = ${day}::date and (workspace_id, email_id) in (
      select * from unnest(${keys.map((k) => k.workspaceId)}::uuid[], ${keys.map((k) => k.emailId)}::uuid[]))
    order by email_id, part, piece`;
  const keyOf = new Map(keys.map((key) => [key.emailId, key]));
  const contents = new Map<string, StoredPart[]>();
  for (const [emailId, ofEmail] of Map.groupBy(rows, (row) => row.emailId)) {
    const key = keyOf.get(emailId)!;
    const parts = Map.groupBy(ofEmail, (row) => row.part);
    const all = [...parts].map(([part, pieces]) => {
      const at = { table, key, part };
      const found = partOf({ sql, contents: store }, at, pieces);
      return typeof found === "string" || isSecond ? found : movable({ sql, contents: store }, at, found);
    });
    contents.set(emailId, all);
  }
  return contents;
}

function partOf({ sql, contents }: From, at: PartPlace, pieces: readonly PieceRow[]): StoredPart {
  const [first] = pieces;
  if (first!.isObject) return objectPart(contents, at.key.workspaceId, first!.object);
  if (pieces.every(({ data }) => data !== null)) return pieces.map(({ data }) => data!).join("");
  const form = pieces[0]!.isText ? textForm(at) : "bytes";
  return largePart(sql, { ...at, form, pieces: pieces.length, bytes: bytesOf(form, pieces) });
}

/** A part that moves to object storage or back while it is read (moves.ts) is read on from its new place. */
function movable(from: From, { key, part: index }: PartPlace, part: LargePart): LargePart {
  return {
    bytes: part.bytes,
    async *read(signal) {
      let at = 0;
      try {
        for await (const piece of part.read(signal)) {
          at += piece.length;
          yield piece;
        }
      } catch (error) {
        const again = error instanceof ContentGone ? await newPlace(from, key, index) : undefined;
        // Without its row, the object was deleted with the content.
        if (again?.bytes !== part.bytes)
          throw again === undefined && error instanceof ContentGone ? new ContentGone() : error;
        yield* after(at, again.read(signal));
      }
    },
  };
}

/** Read through the parent table: the part may be on another day, too. */
async function newPlace(from: From, key: ContentKey, index: number): Promise<LargePart | undefined> {
  const [row] = await from.sql<{ day: string }[]>`
    select day::text as day from email_contents where workspace_id = ${key.workspaceId} and email_id = ${key.emailId} and part = ${index} limit 1`;
  const parts =
    row && (await readFrom(from, "email_contents", row.day, [{ ...key, day: row.day }], true)).get(key.emailId);
  const part = parts?.[index];
  return typeof part === "string" ? undefined : part;
}

async function* after(skipped: number, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let at = 0;
  for await (const piece of pieces) {
    const rest = piece.subarray(Math.max(0, skipped - at));
    at += piece.length;
    if (rest.length > 0) yield rest;
  }
}

function textForm({ part, key }: PartPlace): LargeForm {
  if (part > 0) return "base64";
  return key.isSubmitted ? "latin1" : "utf8";
}

function bytesOf(form: LargeForm, pieces: readonly PieceRow[]): number {
  const octets = pieces.reduce((sum, piece) => sum + piece.octets, 0);
  if (form === "latin1") return pieces.reduce((sum, { characters, data }) => sum + (characters ?? data!.length), 0);
  if (form !== "base64") return octets;
  const last = pieces.at(-1)!;
  return base64Bytes(octets, last.ending ?? last.data!);
}

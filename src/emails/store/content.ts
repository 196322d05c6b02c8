/** Reads the content of emails, for delivery attempts and GetEmailContent: small parts at once, large ones later, piece by piece. */

import { partitionAt } from "../../postgres/partitions.ts";
import type { Sql } from "../../postgres/pool.ts";
import { base64Bytes, type LargeForm, largePart, type PartPlace } from "./large-parts.ts";
import { type ContentKey, largeFromBytes, type StoredPart } from "./parts.ts";

export type { ContentKey };

/** Parts by email id. An email whose content was deleted is missing; a key given twice (for two destinations) counts once. */
export async function readContents(sql: Sql, keys: readonly ContentKey[]): Promise<Map<string, StoredPart[]>> {
  const days = Map.groupBy(keys, ({ day }) => day);
  const read = await Promise.all([...days].map(([day, some]) => readDay(sql, day, some)));
  return new Map(read.flatMap((contents) => [...contents]));
}

/**
 * Reads the day's own partition: through the parent table, PostgreSQL plans for all seventy partitions and takes five
 * times as long. If no partition has that name, the parent table decides whether the content exists.
 */
async function readDay(sql: Sql, day: string, keys: readonly ContentKey[]): Promise<Map<string, StoredPart[]>> {
  const own = partitionAt("email_contents", Date.parse(day)).name;
  try {
    return await readFrom(sql, own, day, keys);
  } catch (error) {
    if ((error as { code?: string }).code !== undefinedTable) throw error;
    return await readFrom(sql, "email_contents", day, keys);
  }
}

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
};

async function readFrom(
  sql: Sql,
  table: string,
  day: string,
  keys: readonly ContentKey[],
): Promise<Map<string, StoredPart[]>> {
  const isLargeText = sql`bytes is null and octet_length(data) > ${smallTextBytes}`;
  const rows = await sql<PieceRow[]>`
    select email_id as "emailId", part, case when bytes is null and octet_length(data) <= ${smallTextBytes} then data end as data,
      coalesce(octet_length(bytes), octet_length(data)) as octets, bytes is null as "isText",
      case when part = 0 and ${isLargeText} then length(data) end as characters, case when part > 0 and ${isLargeText} then right(data, 2) end as ending
    from ${sql.unsafe(table)}
    where day = ${day}::date and (workspace_id, email_id) in (
      select * from unnest(${keys.map((k) => k.workspaceId)}::uuid[], ${keys.map((k) => k.emailId)}::uuid[]))
    order by email_id, part, piece`;
  const keyOf = new Map(keys.map((key) => [key.emailId, key]));
  const contents = new Map<string, StoredPart[]>();
  for (const [emailId, ofEmail] of Map.groupBy(rows, (row) => row.emailId)) {
    const key = keyOf.get(emailId)!;
    const parts = Map.groupBy(ofEmail, (row) => row.part);
    const all = [...parts].map(([part, pieces]) => partOf(sql, { table, key, part }, pieces));
    contents.set(emailId, all);
  }
  return contents;
}

function partOf(sql: Sql, at: PartPlace, pieces: readonly PieceRow[]): StoredPart {
  if (pieces.every(({ data }) => data !== null)) return pieces.map(({ data }) => data!).join("");
  const form = pieces[0]!.isText ? textForm(at) : "bytes";
  return largePart(sql, { ...at, form, pieces: pieces.length, bytes: bytesOf(form, pieces) });
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

/** Writes the content of emails and inbound messages as files: texts, attachments under their own names, and raw messages. One piece is in
 * memory at a time. Called by export.ts. */

import type { ContentStore } from "../objects/content-store.ts";
import { StoreError } from "../objects/store-error.ts";
import { toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { ExportFolder } from "./export-folder.ts";
import { attachmentName } from "./rules/file-name.ts";
import {
  type InboundPiece,
  type Piece,
  readInboundPieces,
  readInboundPlace,
  readPieces,
  readPlaces,
} from "./store/export.ts";

/** A line of files.jsonl. */
export type ContentFile = { path: string; of: string; bytes: number; sha256: string };

export type EmailRow = {
  workspace_id: string;
  id: string;
  content_day: string;
  envelope: { attachments: { filename: string }[]; submitted?: object };
};
/** `contents`: undefined if no object storage is configured. */
export type ContentSource = { sql: Sql; contents: ContentStore | undefined };
export type InboundRow = { workspace_id: string; id: string; created_at: string };

/** Nothing for an email whose content was deleted after its retention. */
export async function writeEmailContent(
  source: ContentSource,
  folder: ExportFolder,
  row: EmailRow,
): Promise<ContentFile[]> {
  const places = () => readPlaces(source.sql, { workspaceId: row.workspace_id, emailId: row.id });
  return await unlessMoved(places, () => writeParts(source, folder, row));
}

/** Pages of a part that `content move` moves in between would be from both places, so the content is then written again. */
async function unlessMoved<T>(places: () => Promise<string>, write: () => Promise<T>): Promise<T> {
  for (;;) {
    const before = await places();
    const [result] = await Promise.allSettled([write()]);
    if ((await places()) !== before) continue;
    if (result.status === "rejected") throw result.reason;
    return result.value;
  }
}

async function writeParts(
  { sql, contents }: ContentSource,
  folder: ExportFolder,
  row: EmailRow,
): Promise<ContentFile[]> {
  const files: ContentFile[] = [];
  const id = toWireId("email", row.id);
  const place = `emails/${row.content_day}/${id}`;
  const write = async (name: string, pieces: AsyncIterable<Buffer>) => {
    const path = `${place}/${name}`;
    files.push({ path, of: id, ...(await folder.writeContent(path, pieces)) });
  };
  const content = { workspaceId: row.workspace_id, emailId: row.id };
  for await (const { part, data } of partsOf(withObjects(readPieces(sql, content), contents, row.workspace_id))) {
    if (part === 0 && row.envelope.submitted) {
      await write("message.eml", octets(data));
    } else if (part === 0) {
      const { text, html } = JSON.parse(await joined(data)) as { text?: string; html?: string };
      if (text) await write("body.txt", one(text));
      if (html) await write("body.html", one(html));
    } else {
      const filename = row.envelope.attachments[part - 1]?.filename ?? "";
      await write(`attachments/${attachmentName(filename, part)}`, decoded(data));
    }
  }
  return files;
}

/** The message exactly as it was received, with its attachments. */
export async function writeInboundContent(
  source: ContentSource,
  folder: ExportFolder,
  row: InboundRow,
): Promise<ContentFile[]> {
  const place = () => readInboundPlace(source.sql, { workspaceId: row.workspace_id, inboundId: row.id });
  return await unlessMoved(place, () => writeMessage(source, folder, row));
}

async function writeMessage(
  { sql, contents }: ContentSource,
  folder: ExportFolder,
  row: InboundRow,
): Promise<ContentFile[]> {
  const of = toWireId("inbound", row.id);
  const stored = readInboundPieces(sql, { workspaceId: row.workspace_id, inboundId: row.id });
  const pieces = octetsOf(withObjects(stored, contents, row.workspace_id));
  const first = await pieces.next();
  if (first.done) return [];
  const all = async function* () {
    yield first.value;
    yield* pieces;
  };
  const path = `inbound/${row.created_at.slice(0, 10)}/${of}.eml`;
  return [{ path, of, ...(await folder.writeContent(path, decoded(all()))) }];
}

/** Replaces a piece that is in object storage by the pieces of its object. Without its row, the content was deleted. */
async function* withObjects<P extends InboundPiece>(
  pieces: AsyncGenerator<P>,
  contents: ContentStore | undefined,
  workspaceId: string,
): AsyncGenerator<P & { bytes?: Buffer | null }> {
  for await (const piece of pieces) {
    if (!piece.isObject) yield piece;
    if (!piece.object) continue;
    if (!contents) throw new StoreError("notConfigured", "this content is in object storage: set POSTHORN_CONTENT_URL");
    for await (const bytes of contents.read(workspaceId, piece.object)) yield { ...piece, bytes };
  }
}

async function* octetsOf(
  pieces: AsyncIterable<{ data: string; bytes?: Buffer | null }>,
): AsyncGenerator<string | Buffer> {
  for await (const { data, bytes } of pieces) yield bytes ?? data;
}

/** Groups pieces by their part. The caller reads each part to its end before the next. */
async function* partsOf(
  pieces: AsyncGenerator<Pick<Piece, "part" | "data"> & { bytes?: Buffer | null }>,
): AsyncGenerator<{ part: number; data: AsyncGenerator<string | Buffer> }> {
  let next = await pieces.next();
  while (!next.done) {
    const { part } = next.value;
    yield {
      part,
      data: (async function* () {
        for (; !next.done && next.value.part === part; next = await pieces.next())
          yield next.value.bytes ?? next.value.data;
      })(),
    };
    // A part that was not read to its end would come again.
    while (!next.done && next.value.part === part) next = await pieces.next();
  }
}

async function joined(pieces: AsyncIterable<string | Buffer>): Promise<string> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(typeof piece === "string" ? Buffer.from(piece) : piece);
  return Buffer.concat(all).toString();
}

/** A submitted message in text has one character for each octet. */
async function* octets(pieces: AsyncIterable<string | Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield typeof piece === "string" ? Buffer.from(piece, "latin1") : piece;
}

async function* one(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

/** Pieces of base64 need not end after four characters. */
async function* decoded(pieces: AsyncIterable<string | Buffer>): AsyncGenerator<Buffer> {
  let rest = "";
  for await (const text of pieces) {
    if (typeof text !== "string") {
      yield text;
      continue;
    }
    const all = rest + text.replace(/\s+/g, "");
    const whole = all.length - (all.length % 4);
    rest = all.slice(whole);
    if (whole > 0) yield Buffer.from(all.slice(0, whole), "base64");
  }
  if (rest !== "") yield Buffer.from(rest, "base64");
}

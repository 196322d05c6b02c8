/** Exports everything that is stored of a workspace or of a person to a folder: JSON lines for each kind of row, content and attachments as
 * files. Continues after a kill, and needs the same memory for any size. Rows that were committed before the export began are in it; what
 * changes meanwhile may be in it or not. Called by posthorn workspaces export and posthorn people export. */
import { systemKeyId } from "../keys/store.ts";
import type { ContentStore } from "../objects/content-store.ts";
import { ObjectLost } from "../objects/store-error.ts";
import { toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import {
  type ContentFile,
  type ContentSource,
  type EmailRow,
  type InboundRow,
  writeEmailContent,
  writeInboundContent,
} from "./export-content.ts";
import { type ExportFolder, exportFormat, type ManifestFile, openExportFolder } from "./export-folder.ts";
import { exportedRow, hasTexts, withoutTexts } from "./exported-row.ts";
import {
  type ExportedRow,
  findMailWithOpenLinks,
  listSources,
  readPage,
  type Source,
  type Subject,
} from "./store/export.ts";

export type ExportOptions = {
  subject: Subject;
  path: string;
  nowMs(): number;
  /** Rows per statement. */
  pageRows?: number;
  /** Undefined: all content is in the database. */
  contents?: ContentStore;
  stop?: AbortSignal;
  onProgress?(text: string): void;
};

export type Manifest = {
  format: number;
  subject: string;
  startedAt: string;
  finishedAt: string;
  files: ManifestFile[];
};

/** Paths, sizes and hashes of the content files. */
const contentList = "files.jsonl";
/** Content that the export does not contain: a link in it opens an account, or its object is lost. */
const leftOutList = "left-out.jsonl";
/** Rows of events and inbound mail can have some 100 KiB. */
const defaultPageRows = 100;

/** Undefined: stopped before the end; a second call continues. */
export async function exportAll(
  sql: Sql,
  options: ExportOptions,
): Promise<{ manifest: Manifest; wasResumed: boolean } | undefined> {
  const { subject, nowMs } = options;
  const id = toWireId(subject.kind, subject.id);
  const folder = await openExportFolder(options.path, { subject: id, startedAt: isoTime(nowMs()) });
  try {
    for (const list of [contentList, leftOutList]) await folder.append(list, []);
    for (const source of await listSources(sql, subject)) {
      if (!(await exportSource(sql, folder, source, options))) return undefined;
    }
    options.onProgress?.("computing checksums");
    const manifest: Manifest = {
      format: exportFormat,
      subject: id,
      startedAt: folder.state.startedAt,
      finishedAt: isoTime(nowMs()),
      files: await folder.hashFiles(),
    };
    await folder.complete(manifest);
    return { manifest, wasResumed: folder.isResumed };
  } finally {
    await folder.close();
  }
}

/** False: stopped before the end. */
async function exportSource(sql: Sql, folder: ExportFolder, source: Source, options: ExportOptions): Promise<boolean> {
  const { subject, stop } = options;
  const limit = source.isPaged ? (options.pageRows ?? defaultPageRows) : undefined;
  const file = folder.file(source.file);
  while (!file.isComplete) {
    const rows = await readPage(sql, { subject, source, after: file.position, limit });
    const openMail = await findMailWithOpenLinks(sql, mailOf(source, rows));
    const steps = stepsOf(source, rows);
    for (const [i, some] of steps.entries()) {
      if (stop?.aborted) {
        await folder.checkpoint({ now: true });
        return false;
      }
      await writeRows(sql, folder, { contents: options.contents, source, rows: some, subject, openMail });
      if (source.isPaged) file.position = some.at(-1)?.position ?? file.position;
      file.isComplete = i === steps.length - 1 && (limit === undefined || rows.length < limit);
      options.onProgress?.(`${source.file}: ${file.rows} rows`);
      await folder.checkpoint({ now: file.isComplete });
    }
  }
  return true;
}

/** At least one step, with a checkpoint after it: an email has up to some 25 MB of content, other rows are small. */
function stepsOf({ table }: Source, rows: readonly ExportedRow[]): (readonly ExportedRow[])[] {
  const hasContent = table === "emails" || table === "inbound_messages";
  return hasContent && rows.length > 0 ? rows.map((row) => [row]) : [rows];
}

type Rows = {
  contents: ContentStore | undefined;
  source: Source;
  rows: readonly ExportedRow[];
  subject: Subject;
  openMail: ReadonlySet<string>;
};

async function writeRows(
  sql: Sql,
  folder: ExportFolder,
  { contents, source, rows, subject, openMail }: Rows,
): Promise<void> {
  const { table } = source;
  const lines: string[] = [];
  for (const { row } of rows) {
    const mayOpenAccount = openMail.has(String(row[emailColumns[table] ?? ""]));
    const shown = exportedRow(table, mayOpenAccount ? withoutTexts(row) : row);
    lines.push(JSON.stringify(shown));
    // Account mail in the export of a workspace is mail of other people.
    const isOfOthers = subject.kind === "workspace" && table === "emails" && row.key_id === systemKeyId;
    if (mayOpenAccount || isOfOthers) {
      const reason = mayOpenAccount ? "It may contain a link that is still valid." : "It is account mail of a person.";
      if (hasTexts(table, row)) await folder.append(leftOutList, [JSON.stringify({ of: shown.id, reason })]);
      continue;
    }
    const files = await writeContent({ sql, contents }, folder, { table, row }).catch(noneIfLost);
    if (!files) {
      await folder.append(leftOutList, [JSON.stringify({ of: shown.id, reason: lostReason })]);
      continue;
    }
    await folder.append(
      contentList,
      files.map((one) => JSON.stringify(one)),
    );
  }
  await folder.append(source.file, lines);
}

/** One lost object must not keep an export from its end. */
function noneIfLost(error: unknown): undefined {
  if (!(error instanceof ObjectLost)) throw error;
}

const lostReason = "Its content is missing or damaged in the object storage.";

/** The column with the id of the email, in tables with texts of mail. */
const emailColumns: Record<string, string> = { emails: "id", events: "email_id", inbound_messages: "parent_email_id" };

function mailOf({ table }: Source, rows: readonly ExportedRow[]): { workspaceId: string; id: string }[] {
  const column = emailColumns[table];
  if (column === undefined) return [];
  const mails = new Map(rows.map(({ row }) => [row[column] as string | null, row.workspace_id as string]));
  return [...mails].flatMap(([id, workspaceId]) => (id === null ? [] : [{ id, workspaceId }]));
}

async function writeContent(
  source: ContentSource,
  folder: ExportFolder,
  { table, row }: { table: string; row: Record<string, unknown> },
): Promise<ContentFile[]> {
  if (table === "emails") return await writeEmailContent(source, folder, row as EmailRow);
  return table === "inbound_messages" ? await writeInboundContent(source, folder, row as InboundRow) : [];
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

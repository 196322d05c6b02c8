/** Reads all rows of a workspace or of a person, page by page in the order of each table's primary key, for an export. Which tables there
 * are comes from the catalog, so that a new table cannot be forgotten. Called by ../export.ts. */
import { systemKeyId } from "../../keys/store.ts";
import { type ObjectRef, objectOf } from "../../objects/store/objects.ts";
import type { Sql } from "../../postgres/pool.ts";
import { isOfPerson, type PersonRef, tablesByPerson } from "./person-rows.ts";

export type Subject = { kind: "workspace"; id: string } | ({ kind: "person" } & PersonRef);

/** A file of the export: rows of one table. */
export type Source = {
  file: string;
  table: string;
  key: KeyColumn[];
  secrets: string[];
  /** False if the key of the table is secret, so that no position may be saved. Such tables have few rows of a person. */
  isPaged: boolean;
};
type KeyColumn = { name: string; type: string };

/** The key of a row as text; an export that was killed continues after it. */
export type Position = string[];
export type ExportedRow = { row: Record<string, unknown>; position: Position };

/** Content is exported as files. The others hold nothing that a person would look for: keys and hashes that recognize repeated requests for
 * a day, the state of a deletion, and sign-ins at a provider that have not ended. */
export const notExported = [
  "email_contents",
  "inbound_contents",
  "content_objects",
  "idempotency",
  "inbound_seen",
  "workspace_deletions",
  "oidc_flows",
];

/** What gives access to something. A random token in DNS names and the hash of a message do not. */
const secret = /secret|sealed|password|_hash$|^token$|_token$|private|credential|challenge|recovery/;
const notSecret = ["domains.token", "inbound_messages.content_hash"];

export async function listSources(sql: Sql, subject: Subject): Promise<Source[]> {
  const column = subject.kind === "workspace" ? "workspace_id" : "person_id";
  const others = subject.kind === "workspace" ? ["workspaces"] : tablesByPerson;
  const rows = await sql<{ table: string; columns: string[]; key: KeyColumn[] }[]>`
    select c.relname::text as table, array_agg(a.attname::text order by a.attnum) as columns,
      (select jsonb_agg(jsonb_build_object('name', k.attname, 'type', format_type(k.atttypid, null)) order by array_position(i.indkey::int2[], k.attnum))
        from pg_index i join pg_attribute k on k.attrelid = c.oid and k.attnum = any(i.indkey) where i.indrelid = c.oid and i.indisprimary) as key
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = current_schema()::regnamespace
      and c.relname <> all(${notExported}::text[])
    group by c.oid, c.relname having bool_or(a.attname = ${column}) or c.relname = any(${others}::text[]) order by c.relname`;
  return rows.map(({ table, columns, key }) => {
    const secrets = columns.filter((name) => secret.test(name) && !notSecret.includes(`${table}.${name}`));
    const isPaged = !key.some(({ name }) => secrets.includes(name));
    return { file: fileOf(table), table, key, secrets, isPaged };
  });
}

export function fileOf(table: string): string {
  return `${fileNames[table] ?? table.replaceAll("_", "-")}.jsonl`;
}

const fileNames: Record<string, string> = {
  workspaces: "workspace",
  inbound_messages: "inbound",
  audit_entries: "audit",
};

/** Tables are partitioned by their keys, and keys begin with the workspace, so a page costs as much as its rows. Without a limit: all rows. */
export async function readPage(
  sql: Sql,
  read: { subject: Subject; source: Source; after: Position | undefined; limit: number | undefined },
): Promise<ExportedRow[]> {
  const { source, after } = read;
  const key = sql.unsafe(source.key.map(({ name }) => `t.${name}`).join(", "));
  const texts = sql.unsafe(source.key.map(({ name }) => `t.${name}::text`).join(", "));
  return await sql<ExportedRow[]>`
    select to_jsonb(t) - ${source.secrets}::text[] as row, array[${texts}] as position from ${sql.unsafe(source.table)} t
    where ${belongs(sql, read.subject, source.table)} ${after ? sql`and (${key}) > (${castKey(sql, source, after)})` : sql``}
    order by ${key} ${read.limit === undefined ? sql`` : sql`limit ${read.limit}`}`;
}

function castKey(sql: Sql, { key }: Source, position: Position) {
  return key
    .map(({ type }, i) => sql`${position[i]}::text::${sql.unsafe(type)}`)
    .reduce((list, value) => sql`${list}, ${value}`);
}

function belongs(sql: Sql, subject: Subject, table: string) {
  if (subject.kind === "person") return isOfPerson(sql, table, subject);
  return table === "workspaces" ? sql`t.id = ${subject.id}` : sql`t.workspace_id = ${subject.id}`;
}

/** Of these emails, the account mail to people with an open link or invitation, which the text may contain. Asked after the row was read;
 * content never changes to contain a newer link. A link that either clock could still admit counts as open.
 * Primary keys, and indexes people_links_by_email and members_invited. */
export async function findMailWithOpenLinks(
  sql: Sql,
  emails: readonly { workspaceId: string; id: string }[],
): Promise<Set<string>> {
  if (emails.length === 0) return new Set();
  const rows = await sql<{ id: string }[]>`
    select e.id from unnest(${emails.map((e) => e.workspaceId)}::uuid[], ${emails.map((e) => e.id)}::uuid[]) as k(workspace_id, id)
    join emails e on e.workspace_id = k.workspace_id and e.id = k.id and e.key_id = ${systemKeyId}
    join recipients r on r.workspace_id = e.workspace_id and r.email_id = e.id
    where exists (select 1 from people_links l where l.email = lower(r.address)
        and coalesce(l.service_expires_at > (select service_time()), l.expires_at > wall_time()))
      or exists (select 1 from members m where m.email = lower(r.address) and m.person_id is null
        and coalesce(m.invite_service_expires_at > (select service_time()), m.invite_expires_at > wall_time()))`;
  return new Set(rows.map(({ id }) => id));
}

/** `bytes`: a piece of a large part (emails/store/parts.ts). */
export type Piece = {
  part: number;
  piece: number;
  data: string;
  bytes: Buffer | null;
  isObject: boolean;
  object: ObjectRef | null;
};
/** A few at a time: each has up to 256 KiB. */
const piecesPerPage = 8;

/** The pieces of an email's content, in order. Of the day that the email has at
 * each page, because UpdateEmail may move the content meanwhile. Primary keys. */
export async function* readPieces(sql: Sql, content: { workspaceId: string; emailId: string }): AsyncGenerator<Piece> {
  let after = { part: -1, piece: -1 };
  for (;;) {
    const rows = await sql<Piece[]>`
      select part, piece, data, bytes, c.object is not null as "isObject", case when c.object is not null then ${objectOf(sql, "c.object")} end as object
      from email_contents c where workspace_id = ${content.workspaceId} and email_id = ${content.emailId}
        and day = (select content_day from emails where workspace_id = ${content.workspaceId} and id = ${content.emailId}) and (part, piece) > (${after.part}, ${after.piece}) order by part, piece limit ${piecesPerPage}`;
    yield* rows;
    if (rows.length < piecesPerPage) return;
    after = rows.at(-1)!;
  }
}

/** Where each part of an email's content is: it changes when `content move` moves a part. */
export async function readPlaces(sql: Sql, content: { workspaceId: string; emailId: string }): Promise<string> {
  const rows = await sql<{ part: number; object: string | null }[]>`
    select part, object from email_contents where workspace_id = ${content.workspaceId} and email_id = ${content.emailId} and piece = 0
      and day = (select content_day from emails where workspace_id = ${content.workspaceId} and id = ${content.emailId}) order by part`;
  return JSON.stringify(rows);
}

/** The same of an inbound message. */
export async function readInboundPlace(sql: Sql, content: { workspaceId: string; inboundId: string }): Promise<string> {
  const rows = await sql<{ object: string | null }[]>`
    select object from inbound_contents
    where workspace_id = ${content.workspaceId} and inbound_id = ${content.inboundId} and piece = 0`;
  return JSON.stringify(rows);
}

/** `isObject`: the message is in object storage. */
export type InboundPiece = { data: string; isObject: boolean; object: ObjectRef | null };

/** The pieces of an inbound message, in base64. Primary key. */
export async function* readInboundPieces(
  sql: Sql,
  content: { workspaceId: string; inboundId: string },
): AsyncGenerator<InboundPiece> {
  for (let after = -1; ; ) {
    const rows = await sql<(InboundPiece & { piece: number })[]>`
      select piece, data, c.object is not null as "isObject", case when c.object is not null then ${objectOf(sql, "c.object")} end as object
      from inbound_contents c where workspace_id = ${content.workspaceId} and inbound_id = ${content.inboundId}
        and piece > ${after} order by piece limit ${piecesPerPage}`;
    yield* rows;
    if (rows.length < piecesPerPage) return;
    after = rows.at(-1)!.piece;
  }
}

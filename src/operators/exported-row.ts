/** A row of the database as a line of an export: fields in camelCase and ids with their prefix, as the API spells them. Called by export.ts. */
import { type IdKind, idPrefixes } from "../postgres/ids.ts";

/** What the column `id` of a table identifies. */
const tables: Record<string, IdKind> = {
  workspaces: "workspace",
  members: "member",
  keys: "key",
  domains: "domain",
  dkim_keys: "dkimKey",
  imported_dkim_keys: "dkimKey",
  emails: "email",
  events: "event",
  webhooks: "webhook",
  webhook_deliveries: "delivery",
  inbound_messages: "inbound",
  reports: "report",
  people: "person",
};

const references: Record<string, IdKind> = {
  workspace_id: "workspace",
  email_id: "email",
  parent_email_id: "email",
  domain_id: "domain",
  key_id: "key",
  event_id: "event",
  source_event: "event",
  webhook_id: "webhook",
  delivery_id: "delivery",
  inbound_id: "inbound",
  person_id: "person",
  maker_person_id: "person",
  maker_key_id: "key",
  rotated_from: "key",
};

/** How the API spells the kinds of actors that have an id. */
const actors: Record<string, IdKind> = { person: "person", stranger: "person", key: "key" };

export function exportedRow(table: string, row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const kind = kindOf(table, name, row);
      const text = kind && typeof value === "string" ? `${idPrefixes[kind]}_${value}` : value;
      return [camel(name), text];
    }),
  );
}

const texts = { row: ["body", "new_text", "html"], payload: ["body", "newText", "html"] };

/** Without the texts of a message, which may quote a link. In an event, they are in the payload. */
export function withoutTexts(row: Record<string, unknown>): Record<string, unknown> {
  const { payload, ...rest } = without(row, texts.row);
  return payload === undefined ? rest : { ...rest, payload: without(payload as object, texts.payload) };
}

/** Whether `withoutTexts` or leaving out the content loses something. Only a few events have texts. */
export function hasTexts(table: string, row: Record<string, unknown>): boolean {
  return table !== "events" || texts.payload.some((name) => Object.hasOwn(row.payload as object, name));
}

function without(fields: object, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

function kindOf(table: string, name: string, row: Record<string, unknown>): IdKind | undefined {
  if (name === "id") return tables[table];
  if (name === "actor_id") return actors[String(row.actor)];
  if (name === "target_id") return row.target as IdKind;
  return references[name];
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

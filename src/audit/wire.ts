/** Translates the audit log between its rows and the API: entries, filters and page tokens. Called by service.ts. */
import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { AuditActor, type AuditFilter as WireFilter } from "../gen/v1/audit_pb.ts";
import type { Violation } from "../ops/problem.ts";
import { fromWireId, type IdKind, idPrefixes, toWireId } from "../postgres/ids.ts";
import type { Actor, AuditEntry } from "./entry.ts";
import type { AuditFilter, AuditPlace } from "./store.ts";

const actorOnWire: Record<Actor["kind"], AuditActor> = {
  person: AuditActor.PERSON,
  key: AuditActor.KEY,
  command: AuditActor.COMMAND,
  service: AuditActor.SERVICE,
  stranger: AuditActor.STRANGER,
};

export function entryOnWire(entry: AuditEntry) {
  const { actor, actorId, target, targetId, workspaceId } = entry;
  const isKnown = actor === "person" || actor === "key";
  return {
    id: entry.id,
    at: timestampFromDate(entry.at),
    actor: actorOnWire[actor],
    actorId: actorId && isKnown ? toWireId(actor, actorId) : "",
    actorName: entry.actorName ?? "",
    action: entry.action,
    targetId: target && targetId ? toWireId(target, targetId) : "",
    fields: entry.fields,
    reason: entry.reason ?? "",
    address: entry.address ?? "",
    workspaceId: workspaceId ? toWireId("workspace", workspaceId) : "",
  };
}

/** Adds a violation for each filter that cannot match anything. */
export function filterFrom(filter: WireFilter | undefined, problems: Violation[]): Omit<AuditFilter, "workspaceId"> {
  if (!filter) return {};
  const actorId = fromWireId("person", filter.actorId) ?? fromWireId("key", filter.actorId);
  if (filter.actorId !== "" && !actorId)
    problems.push({ field: "filter.actorId", description: "must be the id of a person or a key, per_… or key_…" });
  const targetId = anyId(filter.targetId);
  if (filter.targetId !== "" && !targetId)
    problems.push({ field: "filter.targetId", description: "must be an id, such as key_… or wh_…" });
  const action = filter.action || undefined;
  if (action && !/^[a-z_]{1,40}(\.[a-z_]{1,40})?$/.test(action))
    problems.push({ field: "filter.action", description: "must be an action or a noun, such as key.created or key" });
  const from = dateOf(filter.from, "filter.from", problems);
  const to = dateOf(filter.to, "filter.to", problems);
  if (from && to && from >= to) problems.push({ field: "filter.to", description: "must be after filter.from" });
  return { actorId, targetId, action, from, to };
}

function anyId(text: string): string | undefined {
  const kind = (Object.keys(idPrefixes) as IdKind[]).find((one) => text.startsWith(`${idPrefixes[one]}_`));
  return kind && fromWireId(kind, text);
}

function dateOf(timestamp: Timestamp | undefined, field: string, problems: Violation[]): Date | undefined {
  if (!timestamp) return undefined;
  const date = timestampDate(timestamp);
  const year = date.getUTCFullYear();
  if (year >= 1970 && year < 10_000) return date;
  problems.push({ field, description: "must be a time between the years 1970 and 9999" });
  return undefined;
}

export function pageTokenOf({ at, id }: AuditEntry): string {
  return Buffer.from(`${at.getTime()} ${id}`).toString("base64url");
}

/** Undefined for the first page, and after a violation. */
export function placeFrom(pageToken: string, problems: Violation[]): AuditPlace | undefined {
  if (pageToken === "") return undefined;
  const match = /^(\d{1,15}) (\d{1,18})$/.exec(Buffer.from(pageToken.slice(0, 100), "base64url").toString());
  if (match) return { at: new Date(Number(match[1])), id: match[2]! };
  problems.push({
    field: "pageToken",
    description: "is not a token that this method returned; leave it out for the first page",
  });
  return undefined;
}

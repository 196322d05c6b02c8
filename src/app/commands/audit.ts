/** posthorn audit: shows or exports the audit log, of one workspace or of the whole service, on a running or a stopped instance. */
import { create, toJsonString } from "@bufbuild/protobuf";
import type { AuditEntry } from "../../audit/entry.ts";
import { type AuditFilter, type AuditPlace, listEntries } from "../../audit/store.ts";
import { entryOnWire, filterFrom } from "../../audit/wire.ts";
import { AuditEntrySchema, AuditFilterSchema } from "../../gen/v1/audit_pb.ts";
import type { Violation } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import { type Command, table, UsageError } from "../command.ts";
import { workspaceFrom, workspaceOption } from "./keys.ts";
import { withStore } from "./with-store.ts";

const page = 1000;
const shownByDefault = 50;

export const audit: Command = {
  name: "audit",
  summary: "Show who changed what, newest first: in a workspace, or with --all in the whole service.",
  options: {
    workspace: workspaceOption,
    all: { type: "boolean", help: "entries of every workspace and of the service itself" },
    actor: { type: "string", help: "only changes by this person or key, per_… or key_…" },
    target: { type: "string", help: "only changes to the object with this id" },
    action: { type: "string", help: "only this action or noun, such as key.created or key" },
    from: { type: "string", help: "only entries from this time on, such as 2026-11-01 or 2026-11-01T12:00:00Z" },
    to: { type: "string", help: "only entries before this time" },
    limit: { type: "string", help: `how many entries; default: ${shownByDefault}, with --json all` },
    json: { type: "boolean", help: "one JSON object per line, as ExportAuditEntries returns them" },
  },
  async run({ options, config }) {
    if (options.all && options.workspace !== undefined)
      throw new UsageError("Use either --all or --workspace, not both.");
    const limit = limitFrom(options.limit, options.json === true);
    const text = (name: string) => String(options[name] ?? "");
    const problems: Violation[] = [];
    const given = { actorId: text("actor"), targetId: text("target"), action: text("action") };
    const filter = filterFrom(create(AuditFilterSchema, given), problems);
    if (problems.length > 0) throw new UsageError(problems.map(mistake).join("; "));
    const times = { from: timeFrom("from", options.from), to: timeFrom("to", options.to) };
    await withStore(config(), async ({ sql, nowMs }) => {
      const workspaceId = options.all ? undefined : await workspaceFrom(sql, options.workspace, nowMs());
      const rows: string[][] = [];
      for await (const entry of entriesOf(sql, { ...filter, ...times, workspaceId }, limit)) {
        const wire = entryOnWire(entry);
        if (options.json) process.stdout.write(`${toJsonString(AuditEntrySchema, create(AuditEntrySchema, wire))}\n`);
        else rows.push(lineOf(entry, wire));
      }
      if (options.json) return;
      const head = ["TIME", "WHO", "FROM", "ACTION", "TARGET", "DETAILS"];
      process.stdout.write(rows.length > 0 ? table([head, ...rows], "") : "No entry of the audit log matches.\n");
    });
  },
};

async function* entriesOf(sql: Sql, filter: AuditFilter, limit: number): AsyncGenerator<AuditEntry> {
  let before: AuditPlace | undefined;
  for (let left = limit; left > 0; ) {
    const size = Math.min(left, page);
    const rows = await listEntries(sql, filter, { before, limit: size });
    yield* rows;
    if (rows.length < size) return;
    before = rows.at(-1);
    left -= rows.length;
  }
}

function mistake({ field, description }: Violation): string {
  return `--${field.replace(/^filter\./, "").replace(/Id$/, "")} ${description}`;
}

function lineOf(entry: AuditEntry, wire: { actorId: string; targetId: string }): string[] {
  const who = entry.actorName ? `${entry.actorName} (${wire.actorId})` : wire.actorId || entry.actor;
  const details = [...entry.fields, ...(entry.reason ? [`refused: ${entry.reason}`] : [])].join(", ");
  return [entry.at.toISOString(), who, entry.address ?? "", entry.action, wire.targetId, details];
}

function limitFrom(value: string | boolean | undefined, json: boolean): number {
  if (value === undefined) return json ? Number.POSITIVE_INFINITY : shownByDefault;
  const limit = Number(value);
  if (!Number.isInteger(limit) || limit < 1)
    throw new UsageError(`--limit must be a number of at least 1, not ${JSON.stringify(value)}`);
  return limit;
}

function timeFrom(name: string, value: string | boolean | undefined): Date | undefined {
  if (value === undefined) return undefined;
  const isIso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(String(value));
  const time = new Date(String(value));
  if (isIso && !Number.isNaN(time.getTime())) return time;
  throw new UsageError(`--${name} must be a day or a time in UTC, such as 2026-11-01 or 2026-11-01T12:00:00Z`);
}

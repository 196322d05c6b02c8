/** posthorn audit: shows or exports the audit log, of one workspace or of the whole service, locally or at another instance. */
import { create, type JsonObject, toJson } from "@bufbuild/protobuf";
import { type AuditFilter, type AuditPlace, listEntries } from "../../audit/store.ts";
import { entryOnWire, filterFrom } from "../../audit/wire.ts";
import { AuditEntrySchema, AuditFilterSchema } from "../../gen/v1/audit_pb.ts";
import type { Violation } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import { type Command, UsageError } from "../command.ts";
import { type Cell, fittedTable, jsonLine, write } from "../output.ts";
import { constantText, pages } from "./listing.ts";
import { readTime } from "./read-options.ts";
import { apiOptions, targetOf, withTarget } from "./with-api.ts";
import { withStore } from "./with-store.ts";
import { workspaceFrom } from "./workspace-option.ts";

const page = 1000;
const shownByDefault = 50;

export const audit: Command = {
  name: "audit",
  summary: "Show who changed what, newest first: in a workspace, or with --all in the whole service.",
  options: {
    all: { type: "boolean", help: "entries of every workspace and of the service itself" },
    actor: { type: "string", help: "only changes by this person or key, per_… or key_…" },
    target: { type: "string", help: "only changes to the object with this id" },
    action: { type: "string", help: "only this action or noun, such as key.created or key" },
    from: { type: "string", help: "only entries from this time on, such as 2026-11-01 or 2026-11-01T12:00:00Z" },
    to: { type: "string", help: "only entries before this time" },
    limit: { type: "string", help: `how many entries; default: ${shownByDefault}, with --json all` },
    json: { type: "boolean", help: "one JSON object per line, as ExportAuditEntries returns them" },
    ...apiOptions,
  },
  async run(input) {
    const { options, config } = input;
    if (options.all && options.workspace !== undefined)
      throw new UsageError("Use either --all or --workspace, not both.");
    const limit = limitFrom(options.limit, options.json === true);
    const text = (name: string) => String(options[name] ?? "");
    const problems: Violation[] = [];
    const given = { actorId: text("actor"), targetId: text("target"), action: text("action") };
    const filter = filterFrom(create(AuditFilterSchema, given), problems);
    if (problems.length > 0) throw new UsageError(problems.map(mistake).join("; "));
    const times = { from: readTime("from", options.from), to: readTime("to", options.to) };
    const target = await targetOf(input);
    if (target && options.all)
      throw new UsageError(
        "--all is for operators of the service. Run the command on the server with --profile local, or sign in to the dashboard as an operator.",
      );
    const printed = async (entries: AsyncIterable<WireEntry>) => {
      const rows: Cell[][] = [];
      for await (const entry of entries)
        if (options.json) await write(jsonLine(entry));
        else rows.push(lineOf(entry));
      if (options.json) return;
      const head = ["TIME", "WHO", "FROM", "ACTION", "TARGET", "DETAILS"];
      await write(rows.length > 0 ? fittedTable([head, ...rows], [1, 5]) : "No entry of the audit log matches.\n");
    };
    if (!target)
      return await withStore(config(), async ({ sql, nowMs }) => {
        const workspaceId = options.all ? undefined : await workspaceFrom(sql, options.workspace, nowMs());
        const dateOf = (time: string | undefined) => (time === undefined ? undefined : new Date(time));
        const dates = { from: dateOf(times.from), to: dateOf(times.to) };
        await printed(entriesOf(sql, { ...filter, ...dates, workspaceId }, limit));
      });
    const request = { filter: { ...given, ...present(times) } };
    await withTarget(input, target, (api) =>
      printed(withoutEmpty(pages<WireEntry>(api, "AuditService/ListAuditEntries", request, limit))),
    );
  },
};

type WireEntry = JsonObject & {
  at: string;
  actor?: string;
  actorId?: string;
  actorName?: string;
  address?: string;
  action: string;
  targetId?: string;
  fields?: string[];
  reason?: string;
};

async function* entriesOf(sql: Sql, filter: AuditFilter, limit: number): AsyncGenerator<WireEntry> {
  let before: AuditPlace | undefined;
  for (let left = limit; left > 0; ) {
    const size = Math.min(left, page);
    const rows = await listEntries(sql, filter, { before, limit: size });
    for (const row of rows)
      yield toJson(AuditEntrySchema, create(AuditEntrySchema, entryOnWire(row))) as unknown as WireEntry;
    if (rows.length < size) return;
    before = rows.at(-1);
    left -= rows.length;
  }
}

function mistake({ field, description }: Violation): string {
  return `--${field.replace(/^filter\./, "").replace(/Id$/, "")} ${description}`;
}

function lineOf(entry: WireEntry): Cell[] {
  const { actorId = "", actorName, fields = [], reason } = entry;
  const actor = constantText(entry.actor, "AUDIT_ACTOR_");
  const who = actorName ? `${actorName} (${actorId})` : actorId || actor;
  const details = [...fields, ...(reason ? [`refused: ${reason}`] : [])].join(", ");
  return [new Date(entry.at).toISOString(), who, entry.address, entry.action, entry.targetId, details];
}

/** As in ExportAuditEntries, where a field without a value is left out. */
async function* withoutEmpty(entries: AsyncIterable<WireEntry>): AsyncGenerator<WireEntry> {
  for await (const entry of entries)
    yield Object.fromEntries(Object.entries(entry).filter(([, value]) => value && String(value) !== "")) as WireEntry;
}

/** Only what is set: the API takes no null. */
function present(times: Record<string, string | undefined>): JsonObject {
  return Object.fromEntries(Object.entries(times).filter(([, time]) => time !== undefined)) as JsonObject;
}

function limitFrom(value: string | boolean | undefined, json: boolean): number {
  if (value === undefined) return json ? Number.POSITIVE_INFINITY : shownByDefault;
  const limit = Number(value);
  if (!Number.isInteger(limit) || limit < 1)
    throw new UsageError(`--limit must be a number of at least 1, not ${JSON.stringify(value)}`);
  return limit;
}

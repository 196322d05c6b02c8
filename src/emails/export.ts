/** ExportEmails: the emails of a list as one file, read page by page as fast as the client takes it. Called by service.ts. */
import { create, toJsonString } from "@bufbuild/protobuf";
import { openStream, type StreamDeps } from "../events/service.ts";
import { EmailSchema, type ExportEmailsRequest, ExportFormat, ListEmailsRequestSchema } from "../gen/v1/email_pb.ts";
import type { Call } from "../http/call.ts";
import { asText, writeCsv } from "../ops/csv.ts";
import { invalid } from "../ops/problem.ts";
import { toWireId } from "../postgres/ids.ts";
import { readFilters } from "./filter.ts";
import { outcomeOf } from "./rules/outcome.ts";
import { listEmails } from "./store/list.ts";
import type { EmailRow } from "./store/reads.ts";
import { emailOnWire } from "./wire.ts";

const rowsPerChunk = 200;

const exportFormats: readonly ExportFormat[] = Object.values(ExportFormat);

const columns: Record<string, (row: EmailRow, wire: ReturnType<typeof emailOnWire>) => string> = {
  id: (_, { id }) => id,
  outcome: ({ counts }) => outcomeOf(counts),
  created_at: ({ createdAt }) => createdAt.toISOString(),
  scheduled_at: ({ scheduledAt }) => scheduledAt?.toISOString() ?? "",
  from: (_, { from }) => from,
  to: (_, { to }) => to.join(", "),
  cc: (_, { cc }) => cc.join(", "),
  bcc: (_, { bcc }) => bcc.join(", "),
  subject: ({ subject }) => subject,
  status_message: (_, { statusMessage }) => statusMessage,
  delivered: ({ counts }) => String(counts.delivered),
  sent: ({ counts }) => String(counts.sent),
  bounced: ({ counts }) => String(counts.bounced),
  failed: ({ counts }) => String(counts.failed),
  suppressed: ({ counts }) => String(counts.suppressed),
  delayed: ({ counts }) => String(counts.delayed),
  queued: ({ counts }) => String(counts.queued),
  canceled: ({ counts }) => String(counts.canceled),
  complained: ({ counts }) => String(counts.complained),
  replied: ({ replied }) => String(replied),
  domain: ({ domain }) => domain,
  key_id: ({ keyId }) => (keyId === null ? "" : toWireId("key", keyId)),
  test: ({ test }) => String(test),
  message_id: ({ messageId }) => messageId,
  metadata: ({ metadata }) => JSON.stringify(metadata),
};

export async function* exportEmails(deps: StreamDeps, request: ExportEmailsRequest, call: Call) {
  const { filter = create(ListEmailsRequestSchema), format } = request;
  if (!exportFormats.includes(format))
    throw invalid([{ field: "format", description: "is unknown: use EXPORT_FORMAT_CSV or EXPORT_FORMAT_JSON_LINES" }]);
  const filters = readFilters(filter, call.caller.workspaceId, "filter.");
  const isCsv = format !== ExportFormat.JSON_LINES;
  const stream = await openStream(deps, call);
  try {
    const header = isCsv ? writeCsv(Object.keys(columns)) : "";
    let emails = 0;
    // Also tells the client that the file has begun.
    yield { chunk: Buffer.from(header), emails };
    for (let before: string | undefined; ; ) {
      stream.throwIfOver();
      const { rows, resumeBefore } = await listEmails(deps.sql, { ...filters, before, limit: rowsPerChunk });
      emails += rows.length;
      yield { chunk: Buffer.from(rows.map(isCsv ? csvOf : jsonOf).join("")), emails };
      before = rows.length === rowsPerChunk ? rows.at(-1)!.id : resumeBefore;
      if (before === undefined) return;
    }
  } finally {
    stream.close();
  }
}

function csvOf(row: EmailRow): string {
  const wire = emailOnWire(row, undefined);
  return writeCsv(Object.values(columns).map((column) => asText(column(row, wire))));
}

function jsonOf(row: EmailRow): string {
  return `${toJsonString(EmailSchema, create(EmailSchema, emailOnWire(row, undefined)), { alwaysEmitImplicit: true })}\n`;
}

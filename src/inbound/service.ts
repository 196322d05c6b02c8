/** The handlers of InboundService: lists and reads the inbound mail of the caller's workspace. */

import { fromJson } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { VerdictsSchema } from "../gen/v1/event_pb.ts";
import { InboundService, UnattributedReportKind, UnattributedReportReason } from "../gen/v1/inbound_pb.ts";
import type { Call } from "../http/call.ts";
import { serve } from "../http/call.ts";
import { cutPage, keysetPage } from "../http/paging.ts";
import type { ContentStore } from "../objects/content-store.ts";
import { invalid, notFound, Problem } from "../ops/problem.ts";
import { fromWireId, toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { ProcessPart } from "../shares/process-part.ts";
import type { Reader } from "./reader.ts";
import { explainUnattributed } from "./rules/attribution.ts";
import { getInbound, type InboundRow, listInbound } from "./store/reads.ts";
import { listUnattributed, type UnattributedRow } from "./store/unattributed.ts";
import { createStoredMail, type StoredRead } from "./stored.ts";

type InboundDeps = { sql: Sql; contents?: ContentStore; reader: Reader; part?: ProcessPart };

export function createInboundService({ sql, contents, reader, part }: InboundDeps) {
  const stored = createStoredMail({ sql, contents, reader, part });
  return serve(InboundService, {
    async listInbound(request, call) {
      const page = keysetPage(request);
      const parentEmailId = fromWireId("email", request.parentEmailId);
      // A malformed id matches no message.
      if (request.parentEmailId !== "" && !parentEmailId) return { data: [], nextPageToken: "" };
      const text = request.search.trim();
      const rows = await listInbound(sql, {
        workspaceId: call.caller.workspaceId,
        before: page.before,
        limit: page.limit + 1,
        domain: request.domain.trim().toLowerCase() || undefined,
        recipient: request.recipient.trim() || undefined,
        parentEmailId,
        receivedAfter: request.receivedAfter && timestampDate(request.receivedAfter),
        receivedBefore: request.receivedBefore && timestampDate(request.receivedBefore),
        search: text === "" ? undefined : { text, inboundId: fromWireId("inbound", text) },
      });
      const cut = cutPage(rows, page.limit);
      return { data: cut.rows.map(onWire), nextPageToken: cut.nextPageToken };
    },

    async getInbound(request, call) {
      const row = await find(request.id, call);
      await call.reserveAnswer?.(textBytes(row));
      const texts = await stored.texts(readOf(call), row);
      if (!texts) throw notFound("inbound message", request.id);
      return { inbound: onWire(row), ...texts };
    },

    async getInboundContent(request, call) {
      const row = await find(request.id, call);
      await call.reserveAnswer?.(2 * Number(row.sizeBytes));
      const raw = await stored.content(readOf(call), row);
      if (!raw) throw notFound("inbound message", request.id);
      return { raw };
    },

    async listUnattributedReports(request, call) {
      const page = keysetPage(request);
      const { workspaceId } = call.caller;
      const rows = await listUnattributed(sql, { workspaceId, before: page.before, limit: page.limit + 1 });
      const cut = cutPage(rows, page.limit);
      return { data: cut.rows.map(unattributedOnWire), nextPageToken: cut.nextPageToken };
    },

    async getInboundAttachment(request, call) {
      const { attachmentId } = request;
      const missing = (["id", "attachmentId"] as const).filter((field) => request[field] === "");
      if (missing.length > 0) throw invalid(missing.map((field) => ({ field, description: "is required" })));
      const row = await find(request.id, call);
      const attachment = row.summary.attachments.find(({ id }) => id === attachmentId);
      // The encoded part and the decoded content.
      if (attachment) await call.reserveAnswer?.(3 * attachment.sizeBytes);
      const content = attachment && (await stored.attachment(readOf(call), row, attachmentId));
      if (!attachment || !content)
        throw new Problem("not_found", `The message ${request.id} has no attachment ${JSON.stringify(attachmentId)}.`);
      return { attachment, content };
    },
  });

  async function find(wireId: string, call: Call): Promise<InboundRow> {
    if (wireId === "") throw invalid([{ field: "id", description: "is required: the id of an inbound message, in_…" }]);
    const id = fromWireId("inbound", wireId);
    const row = id && (await getInbound(sql, call.caller.workspaceId, id));
    if (!row) throw notFound("inbound message", wireId);
    return row;
  }
}

function readOf({ caller, cancellation }: Call): StoredRead {
  return { workspaceId: caller.workspaceId, cancellation };
}

/** The most memory that the texts of a message take: the text, its new part and the HTML are each at most the message without attachments. */
function textBytes({ sizeBytes, summary }: InboundRow): number {
  const attached = summary.attachments.reduce((sum, attachment) => sum + attachment.sizeBytes, 0);
  return 3 * Math.max(0, Number(sizeBytes) - attached);
}

const kindOnWire = { bounce: UnattributedReportKind.BOUNCE, complaint: UnattributedReportKind.COMPLAINT };
const reasonOnWire = {
  shared_path: UnattributedReportReason.SHARED_PATH,
  expired: UnattributedReportReason.EXPIRED,
  no_token: UnattributedReportReason.NO_TOKEN,
  invalid_token: UnattributedReportReason.INVALID_TOKEN,
};

function unattributedOnWire(row: UnattributedRow) {
  return {
    emailId: toWireId("email", row.emailId),
    kind: kindOnWire[row.kind],
    reason: reasonOnWire[row.reason],
    explanation: explainUnattributed(row.reason),
    namedRecipient: row.namedRecipient,
    reports: row.reports,
    firstReceivedAt: timestampFromDate(row.firstAt),
    lastReceivedAt: timestampFromDate(row.lastAt),
  };
}

function onWire(row: InboundRow) {
  return {
    id: toWireId("inbound", row.id),
    from: row.from,
    to: row.recipients,
    subject: row.subject,
    messageId: row.messageId ?? "",
    inReplyTo: row.inReplyTo ?? "",
    parentEmailId: row.parentEmailId ? toWireId("email", row.parentEmailId) : "",
    autoSubmitted: row.autoSubmitted,
    verdicts: fromJson(VerdictsSchema, row.verdicts, { ignoreUnknownFields: true }),
    attachments: [...row.summary.attachments],
    sizeBytes: Number(row.sizeBytes),
    receivedAt: timestampFromDate(row.createdAt),
    domain: row.domain,
    replyTo: row.summary.replyTo ?? "",
  };
}

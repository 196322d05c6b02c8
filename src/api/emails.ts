/** EmailService: sends email, shows what became of it, cancels what still waits. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Accept } from "../accept/accept.ts";
import { toOutgoing } from "../accept/outgoing.ts";
import { EmailService, EmailStatus, SendEmailRequestSchema } from "../gen/v1/email_pb.ts";
import { compose } from "../mail/compose.ts";
import { invalid, notFound, Problem, type Violation } from "../rules/problem.ts";
import type { Clock } from "../store/clock.ts";
import { readContents } from "../store/content.ts";
import type { Sql } from "../store/db.ts";
import { cancelEmail, type EmailRow, getEmail, getRecipients, listEmails } from "../store/email-reads.ts";
import { fromWireId, makeUuid, toWireId } from "../store/ids.ts";
import { systemKeyId } from "../store/keys.ts";
import type { Wake } from "../store/wake.ts";
import { sendBatch } from "./batch.ts";
import type { Call } from "./call.ts";
import { emailOnWire, senderOf, sendRequestFrom, statusFromWire, statusOnWire, statusText } from "./email-wire.ts";
import { listEvents } from "./events.ts";
import type { FirstAttempt } from "./first-attempt.ts";
import type { Follower } from "./follower.ts";
import { cutPage, keysetPage } from "./paging.ts";
import { serve } from "./service.ts";
import { streamEvents } from "./stream.ts";
import { unknownFields } from "./written.ts";

export type EmailServiceDeps = {
  sql: Sql;
  clock: Clock;
  wake: Wake;
  accept: Accept;
  firstAttempt: FirstAttempt;
  follower: Follower;
  heartbeatMs: number;
  /** Streams end with it, in a way that tells their readers to resume elsewhere. */
  stopping: AbortSignal;
};

/** A sync caller waits at most this long, and always leaves time for the answer to reach it. */
const maxWaitMs = 10_000;
const answerMarginMs = 250;

export function createEmailService(deps: EmailServiceDeps) {
  const { sql } = deps;
  return serve(EmailService, {
    async sendEmail(request, call) {
      const { caller } = call;
      const send = sendRequestFrom(request);
      const accepted = await deps.accept.accept(send, senderOf(caller), {
        idempotencyKey: call.header("idempotency-key"),
        beginWrite: () => call.beginWrite(),
        unknownFields: () => unknownFields(request, SendEmailRequestSchema),
      });
      const answer = { id: toWireId("email", accepted.id), messageId: accepted.messageId };
      const later = send.scheduledAt !== undefined && send.scheduledAt.getTime() > deps.clock.nowMs();
      if (request.async || later) {
        const statusMessage = later ? `scheduled for ${send.scheduledAt?.toISOString()}` : "queued for delivery";
        return { ...answer, status: EmailStatus.QUEUED, statusMessage };
      }
      const waitMs = Math.max(0, Math.min(maxWaitMs, (call.timeLeftMs() ?? Number.POSITIVE_INFINITY) - answerMarginMs));
      const progress = await deps.firstAttempt(
        { workspaceId: caller.workspaceId, id: accepted.id },
        waitMs,
        call.life.signal,
      );
      const { status, statusMessage } = progress ?? { status: "queued" as const, statusMessage: "" };
      return { ...answer, status: statusOnWire[status], statusMessage: statusText(status, statusMessage) };
    },

    sendEmailBatch: (request, call) => sendBatch(deps.accept, request, call),

    async getEmail(request, call) {
      const row = await find(request.id, call, call.caller.permission === "send" ? call.caller.keyId : undefined);
      return { email: emailOnWire(row, await getRecipients(sql, call.caller.workspaceId, row.id)) };
    },

    async listEmails(request, call) {
      const page = keysetPage(request);
      const problems: Violation[] = [];
      if (request.metadataValue !== "" && request.metadataKey === "")
        problems.push({ field: "metadataValue", description: "needs metadataKey beside it" });
      if (problems.length > 0) throw invalid(problems);
      const text = request.search.trim();
      const rows = await listEmails(sql, {
        workspaceId: call.caller.workspaceId,
        before: page.before,
        limit: page.limit + 1,
        status: statusFromWire(request.status),
        recipient: request.recipient.trim() || undefined,
        domain: request.domain.trim().toLowerCase() || undefined,
        metadataKey: request.metadataKey || undefined,
        metadataValue: request.metadataValue || undefined,
        createdAfter: request.createdAfter && timestampDate(request.createdAfter),
        createdBefore: request.createdBefore && timestampDate(request.createdBefore),
        search: text === "" ? undefined : { text, emailId: fromWireId("email", text) },
      });
      const cut = cutPage(rows, page.limit);
      return { data: cut.rows.map((row) => emailOnWire(row, undefined)), nextPageToken: cut.nextPageToken };
    },

    async cancelEmail(request, call) {
      const { workspaceId } = call.caller;
      const { id } = await find(request.id, call);
      call.beginWrite();
      const { canceled } = await cancelEmail(sql, { workspaceId, id, eventId: makeUuid(deps.clock.nowMs()) });
      if (canceled.length === 0) {
        throw new Problem(
          "failed_precondition",
          "No recipient of this email is waiting any more: each is finished, or being tried at this moment.",
        );
      }
      deps.wake.tell("events");
      const email = emailOnWire((await getEmail(sql, workspaceId, id))!, await getRecipients(sql, workspaceId, id));
      return { email, canceledRecipients: canceled.length, message: `Canceled for ${canceled.join(", ")}.` };
    },

    async getEmailContent(request, call) {
      const row = await find(request.id, call);
      if (row.keyId === systemKeyId) throw privateMail();
      const contents = await readContents(sql, [
        { workspaceId: call.caller.workspaceId, emailId: row.id, day: row.contentDay },
      ]);
      const parts = contents.get(row.id);
      if (!parts) throw new Problem("not_found", `The content of ${request.id} is past the time it is kept.`);
      const outgoing = toOutgoing({ ...row, date: row.scheduledAt ?? row.createdAt }, parts);
      return { raw: compose(outgoing), body: outgoing.text, html: outgoing.html };
    },

    listEvents: (request, call) => listEvents(sql, request, call),
    streamEvents: (request, call) => streamEvents(deps, request, call),
  });

  async function find(wireId: string, call: Call, keyId?: string): Promise<EmailRow> {
    if (wireId === "") throw invalid([{ field: "id", description: "is required: the id of an email, em_…" }]);
    const id = fromWireId("email", wireId);
    const row = id && (await getEmail(sql, call.caller.workspaceId, id, keyId));
    if (!row) throw notFound("email", wireId);
    return row;
  }
}

/** Its links open accounts: whoever may read the workspace's mail must not thereby become somebody else. */
function privateMail(): Problem {
  return new Problem(
    "permission_denied",
    "Posthorn sent this email to a person about their account. Its content is for that person alone.",
  );
}

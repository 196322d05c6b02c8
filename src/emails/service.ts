/** EmailService: sends emails one by one or in batches, waits for first attempts, lists, shows, reschedules and cancels emails. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { actorOf, audited } from "../audit/record.ts";
import type { CatchUp } from "../events/catch-up.ts";
import type { Follower } from "../events/follower.ts";
import { listEvents, openStream, type StreamDeps, streamEvents } from "../events/service.ts";
import {
  EmailService,
  EmailStatus,
  type ExportEmailsRequest,
  ExportFormat,
  ListEmailsRequestSchema,
  type SendEmailBatchRequest,
  type SendEmailBatchResponseSchema,
  SendEmailRequestSchema,
} from "../gen/v1/email_pb.ts";
import { type Call, serve } from "../http/call.ts";
import { readsOwnEmailsOnly } from "../http/caller.ts";
import { cutPage, keysetPage } from "../http/paging.ts";
import { unknownFields } from "../http/unknown-fields.ts";
import { systemKeyId } from "../keys/store.ts";
import type { OutgoingEmail } from "../mail/compose.ts";
import type { ContentStore } from "../objects/content-store.ts";
import type { Clock } from "../ops/clock.ts";
import { invalid, notFound, Problem } from "../ops/problem.ts";
import { fromWireId, makeUuid, toWireId } from "../postgres/ids.ts";
import { createLoader } from "../postgres/loader.ts";
import { isDatabaseAway, retrying, type Sql } from "../postgres/pool.ts";
import type { Wake } from "../postgres/wake.ts";
import type { StreamQuota } from "../quotas/streams.ts";
import type { Accept } from "./accept.ts";
import { createContentMoves } from "./content-moves.ts";
import { wakeDestinations } from "./lane.ts";
import { readOutgoing } from "./outgoing.ts";
import { outcomes } from "./rules/outcome.ts";
import { checkTime } from "./rules/reschedule.ts";
import { readContents } from "./store/content.ts";
import { countEmails } from "./store/count.ts";
import { listEmails } from "./store/list.ts";
import { ContentGone } from "./store/parts.ts";
import { cancelEmail, type EmailRow, type EmailState, getEmail, getRecipients, progressOf } from "./store/reads.ts";
import { rescheduleEmail } from "./store/reschedule.ts";
import {
  csvHeader,
  csvOf,
  emailOnWire,
  filtersFrom,
  jsonLineOf,
  outcomeOnWire,
  sendRequestFrom,
  statusOnWire,
  statusText,
  submitterOf,
} from "./wire.ts";

export type EmailServiceDeps = {
  sql: Sql;
  /** Undefined: all content is in the database. */
  contents?: ContentStore;
  clock: Clock;
  wake: Wake;
  accept: Accept;
  /** Composes a message without a signature, off the event loop if it is large. */
  compose(email: OutgoingEmail): Promise<{ raw: Buffer }>;
  /** Reads the texts of a submitted message, off the event loop. */
  readTexts(workspaceId: string, raw: Buffer): Promise<{ body: string; html: string }>;
  waitForFirstAttempt: WaitForFirstAttempt;
  follower: Follower;
  catchUp: CatchUp;
  heartbeatMs: number;
  /** Undefined on the command line. */
  streams?: StreamQuota;
  /** Ends event streams at shutdown, with a code that makes clients reconnect to another node. */
  stopping: AbortSignal;
};

/** How long a synchronous SendEmail waits for the first attempt, at most. */
const maxWaitMs = 10_000;
/** Time left before the caller's deadline for the answer to arrive. */
const answerMarginMs = 250;

const maxBatchEmails = 500;

const idRequired = { field: "id", description: "is required: the id of an email, em_…" };

/** How often a waiting call reads the email's progress if no wake-up arrives. */
const pollMs = 500;

export function createEmailService(deps: EmailServiceDeps) {
  const { sql } = deps;
  const contentMoves = createContentMoves();
  return serve(EmailService, {
    async sendEmail(request, call) {
      const { caller } = call;
      const send = sendRequestFrom(request);
      const accepted = await deps.accept.accept(send, submitterOf(caller), {
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
      const at = { workspaceId: caller.workspaceId, id: accepted.id };
      // The email is stored, so an outage during the wait does not change the answer.
      const progress = await deps.waitForFirstAttempt(at, waitMs, call.cancellation.signal).catch((error) => {
        if (!isDatabaseAway(error)) throw error;
      });
      const { status, statusMessage } = progress ?? { status: "queued" as const, statusMessage: "" };
      return { ...answer, status: statusOnWire[status], statusMessage: statusText(status, statusMessage) };
    },

    sendEmailBatch: (request, call) => sendBatch(deps.accept, request, call),

    async getEmail(request, call) {
      const row = await find(request.id, call, readsOwnEmailsOnly(call.caller) ? call.caller.keyId : undefined);
      return { email: emailOnWire(row, await getRecipients(sql, call.caller.workspaceId, row.id)) };
    },

    async listEmails(request, call) {
      const page = keysetPage(request);
      const filters = filtersFrom(request, call.caller.workspaceId);
      const { rows, resumeBefore } = await listEmails(sql, {
        ...filters,
        before: page.before,
        limit: page.limit + 1,
      });
      const cut = cutPage(rows, page.limit, resumeBefore);
      return { data: cut.rows.map((row) => emailOnWire(row, undefined)), nextPageToken: cut.nextPageToken };
    },

    async countEmails({ filter = create(ListEmailsRequestSchema) }, call) {
      const counted = await countEmails(sql, filtersFrom(filter, call.caller.workspaceId, "filter."));
      const counts = outcomes.flatMap((outcome) => {
        const { emails, atLeast } = counted.byOutcome[outcome];
        return emails > 0 ? [{ outcome: outcomeOnWire[outcome], emails, atLeast }] : [];
      });
      return { counts, total: counted.total.emails, atLeast: counted.total.atLeast };
    },

    exportEmails: (request, call) => exportEmails(deps, request, call),

    async cancelEmail(request, call) {
      const { workspaceId } = call.caller;
      const { id } = await find(request.id, call);
      call.beginWrite();
      const { canceled } = await audited(
        sql,
        actorOf(call.caller),
        (tx) => cancelEmail(tx, { workspaceId, id, eventId: makeUuid(deps.clock.nowMs()) }),
        (done) =>
          done.canceled.length > 0
            ? { action: "email.canceled", workspaceId, target: { kind: "email", id } }
            : undefined,
      );
      if (canceled.length === 0) {
        throw new Problem(
          "failed_precondition",
          "This email cannot be canceled: each recipient is finished or is being attempted right now.",
        );
      }
      deps.wake.notify("events");
      const email = emailOnWire((await getEmail(sql, workspaceId, id))!, await getRecipients(sql, workspaceId, id));
      return { email, canceledRecipients: canceled.length, message: `Canceled for ${canceled.join(", ")}.` };
    },

    async updateEmail(request, call) {
      const { workspaceId } = call.caller;
      const requested = request.scheduledAt && timestampDate(request.scheduledAt);
      const violations = [...(request.id === "" ? [idRequired] : []), ...checkTime(requested, deps.clock.nowMs())];
      if (violations.length > 0) throw invalid(violations);
      const { id } = await find(request.id, call);
      call.beginWrite();
      // A deadlock is possible with a statement that stores mail of several days.
      const done = await retrying(() =>
        audited(
          sql,
          actorOf(call.caller),
          (tx) => rescheduleEmail(tx, { workspaceId, id }, requested!, (move) => contentMoves.take(workspaceId, move)),
          (result) =>
            result?.isChanged
              ? { action: "email.rescheduled", workspaceId, target: { kind: "email", id }, fields: ["scheduledAt"] }
              : undefined,
        ),
      );
      if (done) wakeDestinations(deps.wake, workspaceId, done.destinations);
      const row = done && (await getEmail(sql, workspaceId, id));
      // The workspace was deleted during the call.
      if (!row) throw notFound("email", request.id);
      const email = emailOnWire(row, await getRecipients(sql, workspaceId, id));
      const time = row.scheduledAt?.toISOString();
      return {
        email,
        message: done.isChanged ? `Rescheduled for ${time}.` : `This email already has the time ${time}.`,
      };
    },

    async getEmailContent(request, call) {
      const found = await find(request.id, call);
      if (found.keyId === systemKeyId) throw privateMail();
      // The stored parts and the composed message, which encodes attachments as base64.
      await call.reserveAnswer?.(3 * Number(found.sizeBytes));
      const outgoing = await readContent(found, call);
      if (!outgoing)
        throw new Problem("not_found", `The content of ${request.id} was deleted after its retention period.`);
      const { raw } = await deps.compose(outgoing);
      if (outgoing.submitted) {
        return { raw, ...(await textsOf(call.caller.workspaceId, raw)) };
      }
      return { raw, body: outgoing.text, html: outgoing.html };
    },

    listEvents: (request, call) => listEvents(sql, request, call),
    streamEvents: (request, call) => streamEvents(deps, request, call),
  });

  async function find(wireId: string, call: Call, keyId?: string): Promise<EmailRow> {
    if (wireId === "") throw invalid([idRequired]);
    const id = fromWireId("email", wireId);
    const row = id && (await getEmail(sql, call.caller.workspaceId, id, keyId));
    if (!row) throw notFound("email", wireId);
    return row;
  }

  /** None of a message that is too complex to be taken apart: it was sent as its sender wrote it. */
  async function textsOf(workspaceId: string, raw: Buffer): Promise<{ body: string; html: string }> {
    try {
      const { body, html } = await deps.readTexts(workspaceId, raw);
      return { body, html };
    } catch (error) {
      if (error instanceof Problem && error.code === "failed_precondition") return { body: "", html: "" };
      throw error;
    }
  }

  /** UpdateEmail moves the content to another day. If that happens between two reads, the row is read again. */
  async function readContent(row: EmailRow, call: Call): Promise<OutgoingEmail | undefined> {
    const { workspaceId } = call.caller;
    const isSubmitted = row.envelope.submitted !== undefined;
    const contents = await readContents(
      sql,
      [{ workspaceId, emailId: row.id, day: row.contentDay, isSubmitted }],
      deps.contents,
    );
    const parts = contents.get(row.id);
    const email = { ...row, date: row.scheduledAt ?? row.createdAt };
    const outgoing = parts && (await readOutgoing(email, parts).catch(unlessGone));
    if (outgoing) return outgoing;
    const now = await getEmail(sql, workspaceId, row.id);
    return now && now.contentDay !== row.contentDay ? await readContent(now, call) : undefined;
  }
}

function unlessGone(error: unknown): undefined {
  if (!(error instanceof ContentGone)) throw error;
  if (error.lost) throw new Problem("not_found", error.message);
}

/** System mail contains sign-in and password links. A caller that reads the workspace's mail must not take over an account. */
function privateMail(): Problem {
  return new Problem(
    "permission_denied",
    "Posthorn sent this email to a person about their account. Only that person can read its content.",
  );
}

async function sendBatch(
  accept: Accept,
  request: SendEmailBatchRequest,
  call: Call,
): Promise<MessageInitShape<typeof SendEmailBatchResponseSchema>> {
  const { length } = request.emails;
  if (length === 0) throw invalid([{ field: "emails", description: "is required: the emails to send" }]);
  if (length > maxBatchEmails)
    throw invalid([
      { field: "emails", description: `has ${length} entries, at most ${maxBatchEmails} are allowed in one call` },
    ]);
  const results = await accept.acceptBatch(request.emails.map(sendRequestFrom), submitterOf(call.caller), {
    idempotencyKey: call.header("idempotency-key"),
    beginWrite: () => call.beginWrite(),
    unknownFields: (i) => unknownFields(request, SendEmailRequestSchema, ["emails", i]),
  });
  const refused = results.filter((result) => "error" in result).length;
  const data = results.map((result) => {
    if ("error" in result)
      return { error: { ...result.error, violations: result.error.violations.map((v) => ({ ...v })) } };
    return { id: toWireId("email", result.id), messageId: result.messageId, status: EmailStatus.QUEUED };
  });
  return { data, accepted: length - refused, refused };
}

export type FirstAttempt = { status: EmailState; statusMessage: string };

/**
 * Waits until every recipient was attempted once, for synchronous callers of SendEmail. It never rejects, because the
 * email is already accepted. Undefined: the database did not answer, so the progress is not known.
 */
export type WaitForFirstAttempt = (
  email: { workspaceId: string; id: string },
  limitMs: number,
  signal: AbortSignal,
) => Promise<FirstAttempt | undefined>;

export function createWaitForFirstAttempt(deps: { sql: Sql; wake: Wake }): WaitForFirstAttempt {
  const load = createLoader(async (emails: { workspaceId: string; id: string }[]) => {
    const byId = new Map((await progressOf(deps.sql, emails)).map((row) => [row.id, row]));
    return emails.map((email) => byId.get(email.id));
  });

  return async (email, limitMs, signal) => {
    const end = performance.now() + limitMs;
    let last: FirstAttempt | undefined;
    for (;;) {
      const changed = nextChange(deps.wake, Math.min(pollMs, end - performance.now()), signal);
      const now = await load(email).catch(() => undefined);
      if (now) last = { status: now.status, statusMessage: now.statusMessage };
      // Every recipient was attempted: it is settled, or waits for a retry, which this call does not wait for.
      const done = now !== undefined && now.untried === 0 && now.status !== "processing";
      if (done || performance.now() >= end || signal.aborted) return last;
      await changed;
    }
  };
}

function nextChange(wake: Wake, limitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      off();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.max(0, limitMs));
    const off = wake.on("events", done);
    signal.addEventListener("abort", done);
  });
}

const exportFormats: readonly ExportFormat[] = Object.values(ExportFormat);
const rowsPerChunk = 200;

/** The emails of a list as one file, read page by page as fast as the client takes it. */
async function* exportEmails(deps: StreamDeps, request: ExportEmailsRequest, call: Call) {
  const { filter = create(ListEmailsRequestSchema), format } = request;
  if (!exportFormats.includes(format))
    throw invalid([{ field: "format", description: "is unknown: use EXPORT_FORMAT_CSV or EXPORT_FORMAT_JSON_LINES" }]);
  const filters = filtersFrom(filter, call.caller.workspaceId, "filter.");
  const isCsv = format !== ExportFormat.JSON_LINES;
  const stream = await openStream(deps, call);
  try {
    const header = isCsv ? csvHeader() : "";
    let emails = 0;
    // Also tells the client that the file has begun.
    yield { chunk: Buffer.from(header), emails };
    for (let before: string | undefined; ; ) {
      stream.throwIfOver();
      const { rows, resumeBefore } = await listEmails(deps.sql, { ...filters, before, limit: rowsPerChunk });
      emails += rows.length;
      yield { chunk: Buffer.from(rows.map(isCsv ? csvOf : jsonLineOf).join("")), emails };
      before = rows.length === rowsPerChunk ? rows.at(-1)!.id : resumeBefore;
      if (before === undefined) return;
    }
  } finally {
    stream.close();
  }
}

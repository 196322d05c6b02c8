/**
 * Accepts every email into the queue: checks the request, resolves its thread, and stores it if its domain may send.
 * EmailService (service.ts) and system-mail.ts call it. Parts: accept-batch.ts (many emails in one call), rules/ (checks),
 * store/ (SQL). Read rules/check.ts and store/emails.ts next; delivery/loop.ts takes over from the queue.
 */

import { makeMessageId, readMessageId } from "../mail/message-id.ts";
import { textField } from "../mail/mime/header.ts";
import type { Submitted } from "../mail/submitted/prepare.ts";
import type { ContentStore } from "../objects/content-store.ts";
import type { Clock } from "../ops/clock.ts";
import { invalid, Problem } from "../ops/problem.ts";
import { fromWireId, makeUuid, toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Wake } from "../postgres/wake.ts";
import { noDefaults, type QuotaDefaults, type QuotaKind } from "../quotas/rules/limits.ts";
import { type UnsubscribeLinks, unsubscribeFields } from "../suppressions/unsubscribe/links.ts";
import { type AcceptBatch, createAcceptBatch, type PrepareOptions } from "./accept-batch.ts";
import { wakeLanes } from "./lane.ts";
import { type CheckedEmail, check, domainRefused, keyProblem } from "./rules/check.ts";
import {
  checkIdempotencyKey,
  idempotencyKeptForMs,
  idempotencyKeyReused,
  messageKey,
  requestHash,
} from "./rules/idempotency.ts";
import type { AcceptOptions, SendLimits, SendRequest, Submitter } from "./rules/request.ts";
import { type CheckedSubmission, checkSubmitted, type SubmittedMessage } from "./rules/submitted.ts";
import { createEmailStore, findAccepted, type NewEmail } from "./store/emails.ts";
import { attachmentPart, messagePart, textsPart } from "./store/parts.ts";
import { findThread, findThreadByMessageId } from "./store/reads.ts";

export type AcceptedEmail = {
  id: string;
  messageId: string;
  /** An earlier call with the same idempotency key and request has already stored this email. */
  repeated: boolean;
};

export type Accept = {
  accept(request: SendRequest, submitter: Submitter, options: AcceptOptions): Promise<AcceptedEmail>;
  /** Accepts a message that was submitted over SMTP. */
  acceptSubmitted(message: SubmittedMessage, submitter: Submitter): Promise<AcceptedEmail>;
  /** Accepts many emails in one commit; each is checked separately. */
  acceptBatch: AcceptBatch;
  idle(): Promise<void>;
};

export type AcceptDeps = {
  /** Undefined: all content is in the database. */
  contents?: ContentStore;
  sql: Sql;
  clock: Clock;
  wake: Wake;
  limits: SendLimits;
  retryForMs: number;
  /** The quotas of workspaces without their own. Default: unlimited. */
  quotas?: QuotaDefaults;
  /** Makes the links of emails that a recipient can unsubscribe with. */
  unsubscribeLinks: Pick<UnsubscribeLinks, "requirePublicUrl" | "make">;
  /** Processes of the program. Each gathers emails for longer, so that together they send about as many statements as one. */
  processes?: number;
  /** Called when a quota refuses an email of the workspace. */
  onQuotaRefusal?(workspaceId: string, kind: QuotaKind): void;
  /** Called with emails right after they were committed, unless they came as a batch. */
  onStored?(emails: readonly NewEmail[]): void;
};

/** For each process, if there are several: emails that arrive within this time share a statement. */
const gatherMs = 5;

export function createAccept(deps: AcceptDeps): Accept {
  const { quotas = noDefaults } = deps;
  const { contents } = deps;
  const onStored = (stored: readonly NewEmail[]) => {
    deps.onStored?.(stored);
    wakeLanes(deps.wake, stored);
  };
  const { processes = 1 } = deps;
  const minIntervalMs = processes > 1 ? gatherMs * processes : 0;
  const emails = createEmailStore(deps.sql, { contents, quotas, onStored, minIntervalMs });
  const acceptBatch = createAcceptBatch({ sql: deps.sql, contents, wake: deps.wake, quotas, prepare });

  return {
    async accept(request, submitter, options) {
      checkIdempotencyKey(options.idempotencyKey);
      const identity = { key: options.idempotencyKey, hash: () => requestHash(request) };
      return await acceptOnce(submitter, identity, async () => {
        const unknownFields = () => options.unknownFields?.(0) ?? [];
        const row = await prepare(request, submitter, { idempotencyKey: options.idempotencyKey, unknownFields });
        options.beginWrite();
        return row;
      });
    },
    async acceptSubmitted(submitted, submitter) {
      const { idempotencyKey, digest } = submitted.message;
      checkIdempotencyKey(idempotencyKey);
      const key = idempotencyKey ?? (digest === undefined ? undefined : messageKey(digest, submitter));
      return await acceptOnce(
        submitter,
        { key, hash: () => digest! },
        async () => await submittedRow(submitted, submitter, key),
      );
    },
    async acceptBatch(requests, submitter, options) {
      try {
        return await acceptBatch(requests, submitter, options);
      } catch (error) {
        noteRefusal(error, submitter);
        throw error;
      }
    },
    idle: emails.idle,
  };

  function noteRefusal(error: unknown, { workspaceId }: Submitter): void {
    if (error instanceof Problem && error.reason === "QUOTA_EXCEEDED")
      deps.onQuotaRefusal?.(workspaceId, error.metadata.quota as QuotaKind);
  }

  /** Returns the email to store, or throws a Problem. Writes nothing; the code that stores the email checks its domain. */
  async function prepare(
    request: SendRequest,
    submitter: Submitter,
    { idempotencyKey, unknownFields }: PrepareOptions,
  ): Promise<NewEmail> {
    const checked = check(request, { limits: deps.limits, nowMs: deps.clock.nowMs(), unknownFields });
    if (!checked.ok) throw invalid(checked.violations);
    const { email } = checked;
    const refused = keyProblem(email, submitter);
    if (refused) throw refused;
    if (email.unsubscribe) deps.unsubscribeLinks.requirePublicUrl();
    const thread = await threadOf(deps.sql, submitter.workspaceId, request, email);
    const id = makeUuid(deps.clock.nowMs());
    const linkFields = await linkFieldsOf(id, email, submitter);
    return toRow({ id, deps, request, submitter, email, thread, idempotencyKey, linkFields });
  }

  /** Made once and stored with the email, so that every attempt sends the same octets. */
  async function linkFieldsOf(
    emailId: string,
    { unsubscribe, recipients, from }: Pick<CheckedEmail, "unsubscribe" | "recipients" | "from">,
    { workspaceId, test }: Submitter,
  ): Promise<[name: string, value: string][]> {
    if (!unsubscribe) return [];
    const { topic } = unsubscribe;
    const { address } = recipients[0]!;
    const link = { workspaceId, emailId, address, topic, domain: from.domain, test };
    return unsubscribeFields(await deps.unsubscribeLinks.make(link));
  }

  type Identity = { key: string | undefined; hash(): string };

  /** Stores the email, unless one with the same idempotency key is stored. */
  async function acceptOnce(
    submitter: Submitter,
    identity: Identity,
    prepareRow: () => Promise<NewEmail>,
  ): Promise<AcceptedEmail> {
    try {
      return await acceptNew(await prepareRow());
    } catch (error) {
      const earlier = error instanceof Problem && (await findEarlier(submitter, identity));
      if (earlier) return earlier;
      noteRefusal(error, submitter);
      throw error;
    }
  }

  async function acceptNew(row: NewEmail): Promise<AcceptedEmail> {
    const answer = await emails.accept(row);
    if (answer.stored) return { id: row.id, messageId: row.messageId, repeated: false };
    if ("refused" in answer) throw answer.refused;
    if (answer.emailId === undefined) throw domainRefused(row.domain, answer.domain);
    if (answer.requestHash !== row.idempotency!.requestHash) throw idempotencyKeyReused();
    return { id: answer.emailId, messageId: answer.messageId, repeated: true };
  }

  /** A repeated call gets the first answer, even if the domain or the schedule would be rejected by now. */
  async function findEarlier({ workspaceId }: Submitter, { key, hash }: Identity): Promise<AcceptedEmail | undefined> {
    if (key === undefined) return undefined;
    // The answer acknowledges the email, so the look-up commits a write: it confirms that the email is replicated.
    const first = await deps.sql.begin((tx) => findAccepted(tx, workspaceId, key), { receipt: "always" });
    if (!first) return undefined;
    if (first.requestHash !== hash()) throw idempotencyKeyReused();
    return { id: first.emailId, messageId: first.messageId, repeated: true };
  }

  async function submittedRow(
    submitted: SubmittedMessage,
    submitter: Submitter,
    key: string | undefined,
  ): Promise<NewEmail> {
    const nowMs = deps.clock.nowMs();
    const checked = checkSubmitted(submitted, { limits: deps.limits, nowMs });
    if (!checked.ok) throw invalid(checked.violations);
    const { email } = checked;
    const refused = keyProblem(email, submitter);
    if (refused) throw refused;
    const id = makeUuid(nowMs);
    const linkFields = await linkFieldsOf(id, email, submitter);
    return toSubmittedRow({ id, deps, submitter, email, message: submitted.message, key, linkFields });
  }
}

type Thread = { inReplyTo: string | undefined; references: string[] };

/** Explicit references take precedence. Otherwise: the references of the email replied to, if it is ours, plus that email. */
async function threadOf(sql: Sql, workspaceId: string, request: SendRequest, email: CheckedEmail): Promise<Thread> {
  if (request.replyToEmailId !== "") {
    const kind = request.replyToEmailId.startsWith("in_") ? "inbound" : "email";
    const id = fromWireId(kind, request.replyToEmailId);
    const answered = id && (await findThread(sql, workspaceId, kind, id));
    if (!answered)
      throw new Problem(
        "not_found",
        `replyToEmailId: no email or inbound message has the id ${JSON.stringify(request.replyToEmailId)} in this workspace.`,
      );
    return {
      inReplyTo: answered.messageId,
      references: email.references.length > 0 ? email.references : [...answered.references, answered.messageId],
    };
  }
  if (email.inReplyTo === undefined) return { inReplyTo: undefined, references: email.references };
  if (email.references.length > 0) return { inReplyTo: email.inReplyTo, references: email.references };
  const ours = readMessageId(email.inReplyTo);
  const id = ours && fromWireId("email", ours.emailId);
  const named = id ? await findThread(sql, workspaceId, "email", id) : undefined;
  // Mail libraries write ids of the same form, too.
  const answered = named ?? (await findThreadByMessageId(sql, workspaceId, email.inReplyTo));
  const chain = answered?.messageId === email.inReplyTo ? answered.references : [];
  return { inReplyTo: email.inReplyTo, references: [...chain, email.inReplyTo] };
}

type RowInput = {
  id: string;
  deps: AcceptDeps;
  request: SendRequest;
  submitter: Submitter;
  email: CheckedEmail;
  thread: Thread;
  idempotencyKey: string | undefined;
  linkFields: [name: string, value: string][];
};

function toRow({ id, deps, request, submitter, email, thread, idempotencyKey, linkFields }: RowInput): NewEmail {
  const { from, to, cc, bcc, replyTo, headers, requireTls, unsubscribe } = email;
  return {
    id,
    workspaceId: submitter.workspaceId,
    domainWorkspaceId: submitter.domainWorkspaceId,
    keyId: submitter.keyId,
    domain: from.domain,
    subject: email.subject,
    messageId: makeMessageId(toWireId("email", id), from.domain),
    envelope: {
      from,
      to,
      cc,
      bcc,
      replyTo,
      headers: [...headers, ...linkFields],
      requireTls,
      ...thread,
      ...(unsubscribe && { unsubscribe }),
      attachments: email.attachments.map(({ base64: _, ...label }) => label),
    },
    metadata: email.metadata,
    test: submitter.test,
    sizeBytes:
      Buffer.byteLength(email.text) +
      Buffer.byteLength(email.html) +
      email.attachments.reduce((sum, a) => sum + a.sizeBytes, 0),
    scheduledAt: email.scheduledAt,
    retryForMs: deps.retryForMs,
    expiresAt: email.expiresAt,
    recipients: email.recipients,
    parts: [textsPart({ text: email.text, html: email.html }), ...email.attachments.map(attachmentPart)],
    idempotency:
      idempotencyKey === undefined
        ? undefined
        : { key: idempotencyKey, requestHash: requestHash(request), keptForMs: idempotencyKeptForMs },
  };
}

type SubmittedInput = {
  id: string;
  deps: AcceptDeps;
  submitter: Submitter;
  email: CheckedSubmission;
  message: Submitted;
  key: string | undefined;
  linkFields: [name: string, value: string][];
};

function toSubmittedRow({ id, deps, submitter, email, message, key, linkFields }: SubmittedInput): NewEmail {
  const { from, to, cc, bcc, recipients, scheduledAt, unsubscribe } = email;
  const { replyTo, inReplyTo, references, attachments, later, eightBit } = message;
  return {
    id,
    workspaceId: submitter.workspaceId,
    keyId: submitter.keyId,
    domain: from.domain,
    subject: message.subject,
    messageId: message.messageId ?? makeMessageId(toWireId("email", id), from.domain),
    isForeignId: message.messageId !== undefined,
    envelope: {
      from,
      to,
      cc,
      bcc,
      replyTo,
      headers: [],
      requireTls: false,
      inReplyTo,
      references,
      attachments,
      submitted: { later, eightBit },
      ...(unsubscribe && { unsubscribe }),
    },
    metadata: message.metadata,
    test: submitter.test,
    sizeBytes: message.message.length,
    scheduledAt,
    retryForMs: deps.retryForMs,
    expiresAt: undefined,
    recipients,
    parts: [messagePart(withFields(linkFields, message.message))],
    idempotency: key === undefined ? undefined : { key, requestHash: message.digest!, keptForMs: idempotencyKeptForMs },
  };
}

/** The fields of the link come first, and the header of the message after them. */
function withFields(fields: readonly [name: string, value: string][], message: Buffer): Buffer {
  if (fields.length === 0) return message;
  return Buffer.concat([
    Buffer.from(fields.map(([name, value]) => textField(name, value)).join(""), "latin1"),
    message,
  ]);
}

/** The one door into the queue: check, thread, store where the domain may send. Whoever lets an email in (the API, later SMTP submission) comes through here. */
import { makeMessageId, readMessageId } from "../mail/message-id.ts";
import { invalid, Problem } from "../rules/problem.ts";
import type { Clock } from "../store/clock.ts";
import type { Sql } from "../store/db.ts";
import { createEmailStore, findAccepted, type NewEmail } from "../store/emails.ts";
import { fromWireId, makeUuid, toWireId } from "../store/ids.ts";
import { findThread } from "../store/threads.ts";
import type { Wake } from "../store/wake.ts";
import { type AcceptBatch, createAcceptBatch } from "./batch.ts";
import { type CheckedEmail, check } from "./check.ts";
import { domainRefused, keyRefused } from "./domain.ts";
import { checkKey, hashOf, keyKeptForMs, keyUsed } from "./idempotency.ts";
import { tellMail } from "./lanes.ts";
import type { SendLimits, SendRequest } from "./request.ts";

export type Sender = { workspaceId: string; keyId: string; domain: string | undefined; test: boolean };

export type AcceptedEmail = {
  id: string;
  messageId: string /** Told before: the same idempotency key and request. */;
  repeated: boolean;
};

export type Accept = {
  accept(request: SendRequest, sender: Sender, options: AcceptOptions): Promise<AcceptedEmail>;
  /** Many at once, in one commit; each is judged on its own. */
  acceptBatch: AcceptBatch;
  idle(): Promise<void>;
};

export type AcceptOptions = {
  idempotencyKey: string | undefined;
  /** Called just before the statement is sent: the last moment at which a passed deadline leaves nothing behind. */
  beginWrite(): void;
  /** Names in the request, or in the i-th email of a batch, that the contract does not have. */
  unknownFields?(i: number): readonly string[];
};

/** What one email of a call is prepared with. */
export type Prepare = { idempotencyKey?: string; unknownFields?: () => readonly string[] };

export type AcceptDeps = { sql: Sql; clock: Clock; wake: Wake; limits: SendLimits; retryForMs: number };

export function createAccept(deps: AcceptDeps): Accept {
  const emails = createEmailStore(deps.sql, { onStored: (stored) => tellMail(deps.wake, stored) });

  return {
    async accept(request, sender, options) {
      checkKey(options.idempotencyKey);
      try {
        return await acceptNew(request, sender, options);
      } catch (error) {
        const told = error instanceof Problem && (await tellAgain(request, sender, options.idempotencyKey));
        if (!told) throw error;
        return told;
      }
    },
    acceptBatch: createAcceptBatch({ sql: deps.sql, wake: deps.wake, prepare }),
    idle: emails.idle,
  };

  /** The email as it will be stored, or a problem that keeps it out; its domain is judged by whoever stores it. Writes nothing. */
  async function prepare(
    request: SendRequest,
    sender: Sender,
    { idempotencyKey, unknownFields }: Prepare,
  ): Promise<NewEmail> {
    const checked = check(request, { limits: deps.limits, nowMs: deps.clock.nowMs(), unknownFields });
    if (!checked.ok) throw invalid(checked.violations);
    const { email } = checked;
    if (sender.domain !== undefined && sender.domain !== email.from.domain)
      throw keyRefused(sender.domain, email.from.domain);
    const thread = await threadOf(deps.sql, sender.workspaceId, request, email);
    return toRow({ deps, request, sender, email, thread, idempotencyKey });
  }

  async function acceptNew(request: SendRequest, sender: Sender, options: AcceptOptions): Promise<AcceptedEmail> {
    const row = await prepare(request, sender, {
      idempotencyKey: options.idempotencyKey,
      unknownFields: () => options.unknownFields?.(0) ?? [],
    });
    options.beginWrite();
    const answer = await emails.accept(row);
    if (answer.stored) return { id: row.id, messageId: row.messageId, repeated: false };
    if (answer.emailId === undefined) throw domainRefused(row.domain, answer.domain);
    if (answer.requestHash !== row.idempotency!.requestHash) throw keyUsed();
    const messageId = makeMessageId(toWireId("email", answer.emailId), row.domain);
    return { id: answer.emailId, messageId, repeated: true };
  }

  /** What was accepted once is answered again, also where a domain or the time of day would refuse it by now. */
  async function tellAgain(
    request: SendRequest,
    sender: Sender,
    key: string | undefined,
  ): Promise<AcceptedEmail | undefined> {
    const first = key === undefined ? undefined : await findAccepted(deps.sql, sender.workspaceId, key);
    if (!first) return undefined;
    if (first.requestHash !== hashOf(request)) throw keyUsed();
    return { id: first.emailId, messageId: first.messageId, repeated: true };
  }
}

type Thread = { inReplyTo: string | undefined; references: string[] };

/** Explicit references win; else the chain of the email that is answered, when it is ours, and that email itself. */
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
  const answered = id ? await findThread(sql, workspaceId, "email", id) : undefined;
  const chain = answered?.messageId === email.inReplyTo ? answered.references : [];
  return { inReplyTo: email.inReplyTo, references: [...chain, email.inReplyTo] };
}

type RowInput = {
  deps: AcceptDeps;
  request: SendRequest;
  sender: Sender;
  email: CheckedEmail;
  thread: Thread;
  idempotencyKey: string | undefined;
};

function toRow({ deps, request, sender, email, thread, idempotencyKey }: RowInput): NewEmail {
  const id = makeUuid(deps.clock.nowMs());
  const { from, to, cc, bcc, replyTo, headers, requireTls } = email;
  return {
    id,
    workspaceId: sender.workspaceId,
    keyId: sender.keyId,
    domain: from.domain,
    subject: email.subject,
    messageId: makeMessageId(toWireId("email", id), from.domain),
    envelope: {
      from,
      to,
      cc,
      bcc,
      replyTo,
      headers,
      requireTls,
      ...thread,
      attachments: email.attachments.map(({ base64: _, ...label }) => label),
    },
    metadata: email.metadata,
    test: sender.test,
    sizeBytes:
      Buffer.byteLength(email.text) +
      Buffer.byteLength(email.html) +
      email.attachments.reduce((sum, a) => sum + a.sizeBytes, 0),
    scheduledAt: email.scheduledAt,
    retryForMs: deps.retryForMs,
    expiresAt: email.expiresAt,
    recipients: email.recipients,
    parts: [JSON.stringify({ text: email.text, html: email.html }), ...email.attachments.map((a) => a.base64)],
    idempotency:
      idempotencyKey === undefined
        ? undefined
        : { key: idempotencyKey, requestHash: hashOf(request), keptForMs: keyKeptForMs },
  };
}

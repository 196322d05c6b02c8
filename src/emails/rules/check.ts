/**
 * Checks a SendRequest for accept.ts: returns the email to store, or every violation at once. Also has the problems for
 * a domain or an API key that may not send.
 */
import { allowsRecipient } from "../../keys/rules/recipients.ts";
import { type Address, parseAddress } from "../../mail/address.ts";
import { composedSizeAtMost } from "../../mail/compose.ts";
import { checkHeaderField } from "../../mail/header-fields.ts";
import { MAX_REFERENCES, parseMessageId } from "../../mail/message-id.ts";
import { checkAttachment } from "../../mail/mime/attachment.ts";
import { canonicalBase64 } from "../../mail/mime/base64.ts";
import { Problem, type Violation } from "../../ops/problem.ts";
import { blankReason, isBlank } from "./blank.ts";
import type { RecipientKind, SendLimits, SendRequest } from "./request.ts";
import { checkUnsubscribe } from "./unsubscribe.ts";

export type CheckedEmail = {
  from: Address;
  to: Address[];
  cc: Address[];
  bcc: Address[];
  replyTo: Address[];
  subject: string;
  text: string;
  html: string;
  metadata: Record<string, string>;
  scheduledAt: Date | undefined;
  expiresAt: Date | undefined;
  /** `base64`: a large file may be its octets instead. */
  attachments: {
    base64: string | { file: Buffer };
    filename: string;
    contentType: string;
    contentId?: string;
    sizeBytes: number;
  }[];
  inReplyTo: string | undefined;
  references: string[];
  headers: [string, string][];
  requireTls: boolean;
  unsubscribe: { topic: string } | undefined;
  /** Each mailbox once, in the order to, cc, bcc. */
  recipients: { kind: RecipientKind; address: string; destination: string }[];
};

export type CheckResult = { ok: true; email: CheckedEmail } | { ok: false; violations: Violation[] };

const maxSubject = 998;
const maxMetadata = { entries: 50, key: 64, value: 1024 };
const maxReplyTo = 10;
const maxHeaders = 50;
const dayMs = 86_400_000;
export const maxAheadMs = 30 * dayMs;
const maxPastMs = 5 * 60_000;

/** `unknownFields` returns the names in the request that are not in the contract; it is called if the email is blank. */
export function check(
  request: SendRequest,
  { limits, nowMs, unknownFields }: { limits: SendLimits; nowMs: number; unknownFields?: () => readonly string[] },
): CheckResult {
  const violations: Violation[] = [];
  const wrong = (field: string, description: string) => violations.push({ field, description });

  const [from] = readAddresses("from", request.from === "" ? [] : [request.from], wrong, () => "from");
  if (request.from === "")
    wrong("from", "is required: the sender, such as news@example.com or News <news@example.com>");
  if (from?.smtputf8) wrong("from", "must use only ASCII before the @, so that receivers can verify the sender");
  if (request.to.length === 0) wrong("to", "is required: at least one recipient");
  const given = request.to.length + request.cc.length + request.bcc.length;
  if (given > limits.recipients) {
    wrong(
      "to",
      `to, cc and bcc together have ${given} recipients, at most ${limits.recipients} are allowed; send several emails`,
    );
  }
  const tooMany = given > limits.recipients;
  const to = tooMany ? [] : readAddresses("to", request.to, wrong);
  const cc = tooMany ? [] : readAddresses("cc", request.cc, wrong);
  const bcc = tooMany ? [] : readAddresses("bcc", request.bcc, wrong);
  if (request.replyToAddresses.length > maxReplyTo)
    wrong("replyToAddresses", `has ${request.replyToAddresses.length} entries, at most ${maxReplyTo} are allowed`);
  const replyTo = readAddresses("replyToAddresses", request.replyToAddresses.slice(0, maxReplyTo), wrong);

  for (const [i, one] of replyTo.entries()) {
    if (one.smtputf8) wrong(`replyToAddresses[${i}]`, "must use only ASCII before the @");
  }

  checkSubject(request.subject, wrong);
  if (isBlank(request)) wrong("body", blankReason(unknownFields?.() ?? []));
  checkText("body", request.body, wrong);
  checkText("html", request.html, wrong);
  checkMetadata(request.metadata, wrong);
  const scheduledAt = checkTimes(request, nowMs, wrong);
  const attachments = readAttachments(request, limits, wrong);
  const threading = readThreading(request, wrong);
  const headers = readHeaders(request.headers, wrong);
  checkUnsubscribe(request, wrong);
  if (violations.length > 0 || !from) return { ok: false, violations };

  const email: CheckedEmail = {
    from,
    to,
    cc,
    bcc,
    replyTo,
    subject: request.subject ?? "",
    text: request.body,
    html: request.html,
    metadata: { ...request.metadata },
    scheduledAt,
    expiresAt: request.expiresAt,
    attachments,
    ...threading,
    headers,
    requireTls: request.requireTls,
    unsubscribe: request.unsubscribe,
    recipients: uniqueRecipients({ to, cc, bcc }),
  };
  const bytes = sizeOf(email);
  if (bytes > limits.messageBytes) {
    wrong(
      "attachments",
      `the composed message would have ${bytes} bytes, at most ${limits.messageBytes} are allowed; send links to large files`,
    );
    return { ok: false, violations };
  }
  return { ok: true, email };
}

type Wrong = (field: string, description: string) => void;

function readAddresses(
  field: string,
  texts: readonly string[],
  wrong: Wrong,
  nameOf = (i: number) => `${field}[${i}]`,
): Address[] {
  return texts.flatMap((text, i) => {
    const read = parseAddress(text);
    if (read.ok) return [read.address];
    wrong(nameOf(i), read.reason);
    return [];
  });
}

/** Each mailbox once, where it appears first. Case is ignored: mailboxes that differ only in case are rare. */
export function uniqueRecipients(lists: Record<RecipientKind, Address[]>): CheckedEmail["recipients"] {
  const seen = new Set<string>();
  return (["to", "cc", "bcc"] as const).flatMap((kind) =>
    lists[kind].flatMap(({ address, domain }) => {
      if (seen.has(address.toLowerCase())) return [];
      seen.add(address.toLowerCase());
      return [{ kind, address, destination: domain }];
    }),
  );
}

function checkSubject(subject: string | undefined, wrong: Wrong): void {
  if (subject === undefined) return wrong("subject", "is required; it may be empty");
  if (subject.length > maxSubject)
    wrong("subject", `has ${subject.length} characters, at most ${maxSubject} are allowed`);
  if (/[\r\n\0]/.test(subject)) wrong("subject", "must not contain CR, LF or NUL");
  if (!subject.isWellFormed()) wrong("subject", "contains an unpaired surrogate; send valid Unicode");
}

function checkText(field: string, text: string, wrong: Wrong): void {
  if (text.includes("\0")) wrong(field, "must not contain NUL");
  if (!text.isWellFormed()) wrong(field, "contains an unpaired surrogate; send valid Unicode");
}

export function checkMetadata(metadata: Readonly<Record<string, string>>, wrong: Wrong): void {
  const entries = Object.entries(metadata);
  if (entries.length > maxMetadata.entries)
    wrong("metadata", `has ${entries.length} entries, at most ${maxMetadata.entries} are allowed`);
  for (const [key, value] of entries.slice(0, maxMetadata.entries)) {
    const field = `metadata[${JSON.stringify(key.slice(0, maxMetadata.key))}]`;
    if (key === "" || key.length > maxMetadata.key)
      wrong(field, `the key has ${key.length} characters, 1 to ${maxMetadata.key} are allowed`);
    if (value.length > maxMetadata.value)
      wrong(field, `the value has ${value.length} characters, at most ${maxMetadata.value} are allowed`);
    checkText(field, key + value, wrong);
  }
}

export function checkTimes(
  request: Pick<SendRequest, "scheduledAt" | "expiresAt">,
  nowMs: number,
  wrong: Wrong,
): Date | undefined {
  const at = request.scheduledAt?.getTime();
  for (const { field, description } of request.scheduledAt
    ? scheduleViolations(request.scheduledAt, nowMs, "leave it out to send now")
    : [])
    wrong(field, description);
  const due = Math.max(at ?? nowMs, nowMs);
  if (request.expiresAt && Number.isNaN(request.expiresAt.getTime())) wrong("expiresAt", notATime);
  if (request.expiresAt && request.expiresAt.getTime() <= due)
    wrong("expiresAt", "must be later than the time of the first attempt");
  if (request.expiresAt && request.expiresAt.getTime() > due + maxAheadMs)
    wrong("expiresAt", "must be within 30 days of the first attempt");
  return at !== undefined && at > nowMs ? request.scheduledAt : undefined;
}

/** Binary messages can carry times that no calendar has. */
const notATime = "is not a time from the year 1 to 9999; use seconds since 1970";

/** `toSendNow` says what to do instead of naming a time in the past. */
export function scheduleViolations(scheduledAt: Date, nowMs: number, toSendNow: string): Violation[] {
  const at = scheduledAt.getTime();
  const field = "scheduledAt";
  if (Number.isNaN(at)) return [{ field, description: notATime }];
  const named = `is ${scheduledAt.toISOString()}`;
  if (at > nowMs + maxAheadMs)
    return [{ field, description: `${named}, more than 30 days ahead; choose an earlier time` }];
  if (at < nowMs - maxPastMs)
    return [{ field, description: `${named}, more than 5 minutes in the past; ${toSendNow}` }];
  return [];
}

function readAttachments(request: SendRequest, limits: SendLimits, wrong: Wrong): CheckedEmail["attachments"] {
  if (request.attachments.length > limits.attachments) {
    wrong("attachments", `has ${request.attachments.length} entries, at most ${limits.attachments} are allowed`);
    return [];
  }
  return request.attachments.flatMap((attachment, i): CheckedEmail["attachments"] => {
    const { base64Content, file, filename, contentType, contentId } = attachment;
    const label = { filename, contentType, ...(contentId !== "" && { contentId }) };
    if (filename === "") wrong(`attachments[${i}].filename`, "is required: the name that the reader sees");
    for (const problem of checkAttachment(label)) wrong(`attachments[${i}]`, problem);
    if (file) return [{ ...label, base64: { file }, sizeBytes: file.length }];
    const base64 = canonicalBase64(base64Content);
    if (base64 === undefined) {
      wrong(`attachments[${i}].base64Content`, "is not base64; encode the file's bytes with the standard alphabet");
      return [];
    }
    const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
    return [{ ...label, base64, sizeBytes: (base64.length / 4) * 3 - padding }];
  });
}

function readThreading(request: SendRequest, wrong: Wrong): { inReplyTo: string | undefined; references: string[] } {
  if (request.inReplyTo !== "" && request.replyToEmailId !== "")
    wrong("replyToEmailId", "cannot be combined with inReplyTo; set only one of them");
  const read = (field: string, text: string) => {
    const id = parseMessageId(text);
    if (id.ok) return id.messageId;
    wrong(field, id.reason);
    return undefined;
  };
  const inReplyTo = request.inReplyTo === "" ? undefined : read("inReplyTo", request.inReplyTo);
  if (request.references.length > MAX_REFERENCES)
    wrong(
      "references",
      `has ${request.references.length} entries, at most ${MAX_REFERENCES} are allowed; keep the first and the latest`,
    );
  const references = request.references
    .slice(0, MAX_REFERENCES)
    .flatMap((text, i) => read(`references[${i}]`, text) ?? []);
  return { inReplyTo, references };
}

function readHeaders(headers: Readonly<Record<string, string>>, wrong: Wrong): [string, string][] {
  const entries = Object.entries(headers);
  if (entries.length > maxHeaders) wrong("headers", `has ${entries.length} entries, at most ${maxHeaders} are allowed`);
  const seen = new Set<string>();
  for (const [name, value] of entries.slice(0, maxHeaders)) {
    const field = `headers[${JSON.stringify(name.slice(0, 80))}]`;
    const judged = checkHeaderField(name, value);
    if (!judged.ok) wrong(field, judged.reason);
    if (seen.has(name.toLowerCase())) wrong(field, "is given twice, in different letter case");
    seen.add(name.toLowerCase());
  }
  return entries;
}

function sizeOf(email: CheckedEmail): number {
  const attachments = email.attachments.map(({ base64, ...label }) => {
    return { ...label, base64: typeof base64 === "string" ? base64 : { part: 0, bytes: base64.file.length } };
  });
  return composedSizeAtMost({
    ...email,
    attachments,
    id: "em_00000000-0000-7000-8000-000000000000",
    messageId: "<00000000-0000-7000-8000-000000000000@example.com>",
    date: new Date(0),
  });
}

/** A domain that may not send. The note says what the owner has to do. */
export type BlockedDomain = { status: string; note: string };

/** The problem for an email whose domain may not send; `domain` is undefined if the workspace has not registered it. */
export function domainRefused(name: string, domain: BlockedDomain | undefined): Problem {
  if (!domain)
    return new Problem(
      "failed_precondition",
      `${name} is not a domain of this workspace. Register it with AddDomain, publish its DNS records, then send.`,
    );
  return new Problem(
    "failed_precondition",
    `${name} cannot send yet (status ${domain.status}). ${domain.note || "Publish its DKIM records, then call VerifyDomain."}`,
  );
}

/** The problem of an email that the submitter's key may not send: it is limited to other sending domains or recipients. */
export function keyProblem(
  { from, recipients }: Pick<CheckedEmail, "from" | "recipients">,
  key: { domains?: readonly string[]; recipients?: readonly string[] },
): Problem | undefined {
  if (key.domains && !key.domains.includes(from.domain))
    return new Problem(
      "permission_denied",
      `This key may only send from ${namesOf(key.domains)}, not from ${from.domain}.`,
    );
  const rules = key.recipients;
  const refused = rules && recipients.find(({ address }) => !allowsRecipient(rules, address));
  if (!refused) return undefined;
  return new Problem(
    "permission_denied",
    `This key may not send to ${refused.address}. Nothing was sent to any recipient. Send to allowed recipients only, or add this one to the allowed recipients of the key in the dashboard or with UpdateKey.`,
  );
}

function namesOf(domains: readonly string[]): string {
  const more = domains.length - 5;
  return domains.slice(0, 5).join(", ") + (more > 0 ? ` and ${more} more domains` : "");
}

/** Builds the sample that is composed and judged: the caller's email, or a plain one of ours. Nothing of it is stored. Called by service.ts. */
import { check } from "../emails/rules/check.ts";
import { emptyRequest, type SendLimits, type SendRequest } from "../emails/rules/request.ts";
import { checkSubmitted } from "../emails/rules/submitted.ts";
import type { Address } from "../mail/address.ts";
import { parseAddress } from "../mail/address.ts";
import type { OutgoingEmail } from "../mail/compose.ts";
import { makeMessageId } from "../mail/message-id.ts";
import { textField } from "../mail/mime/header.ts";
import type { Submitted } from "../mail/submitted/prepare.ts";
import { invalid } from "../ops/problem.ts";
import { makeUuid, toWireId } from "../postgres/ids.ts";

export type Sample = {
  /** No sample was given. */
  isOwn: boolean;
  fromDomain: string;
  replyDomain: string;
  /** The email to compose. `refused`: a message that Posthorn does not accept; it is judged as it is, without a signature. */
  content: { email: OutgoingEmail } | { refused: string; raw: Buffer };
  /** Undefined: read from the composed message. */
  texts: { text: string; html: string } | undefined;
  /** What the recipient of the sample can unsubscribe from. The caller makes the link and adds its fields with `withFields`. */
  unsubscribe?: { topic: string; address: string } | undefined;
};

const sampleRecipient = "recipient@example.com";

/** The plain email that stands in for a missing sample, and that DKIM is verified with. */
export function ownSample(domain: string, nowMs: number): Sample & { content: { email: OutgoingEmail } } {
  const request = {
    ...emptyRequest,
    subject: "Deliverability check",
    body: "This email is composed to check its signature. It is never sent.",
  };
  const limits = { recipients: 1, messageBytes: 1024 * 1024, attachments: 0 };
  return { ...sampleFrom(request, { domain, nowMs, limits }), isOwn: true };
}

/** Checks the request as SendEmail does, but `from` and `to` may be missing. */
export function sampleFrom(
  request: SendRequest,
  { domain, nowMs, limits }: { domain: string; nowMs: number; limits: SendLimits },
): Sample & { content: { email: OutgoingEmail } } {
  const whole = {
    ...request,
    from: request.from === "" ? `check@${domain}` : request.from,
    to: request.to.length === 0 ? [sampleRecipient] : request.to,
  };
  const checked = check(whole, { limits, nowMs });
  if (!checked.ok)
    throw invalid(checked.violations.map(({ field, description }) => ({ field: `email.${field}`, description })));
  const { from, to, cc, replyTo, subject, text, html, headers, attachments, inReplyTo, references } = checked.email;
  const { unsubscribe, recipients } = checked.email;
  const email = {
    ...identity(from, nowMs),
    from,
    to,
    cc,
    replyTo,
    subject,
    text,
    html,
    headers,
    attachments: attachments.map(({ base64, ...label }) => {
      return { ...label, base64: typeof base64 === "string" ? base64 : base64.file.toString("base64") };
    }),
    inReplyTo,
    references: references.length > 0 ? references : inReplyTo ? [inReplyTo] : [],
  };
  return {
    isOwn: false,
    content: { email },
    texts: { text, html },
    fromDomain: from.domain,
    replyDomain: replyTo[0]?.domain ?? from.domain,
    unsubscribe: unsubscribe && { ...unsubscribe, address: recipients[0]!.address },
  };
}

/** An email that was sent, as it is composed for delivery. */
export function sampleFromStored(email: OutgoingEmail): Sample {
  const { from, replyTo, text = "", html = "" } = email;
  return {
    isOwn: false,
    content: { email },
    texts: email.submitted ? undefined : { text, html },
    fromDomain: from.domain,
    replyDomain: replyTo?.[0]?.domain ?? from.domain,
  };
}

/** A whole message, read and checked as submission over SMTP does. The addresses in the header stand for those of the envelope. */
export function sampleFromSubmitted(
  prepared: Submitted,
  { raw, domain, nowMs, limits }: { raw: Buffer; domain: string; nowMs: number; limits: SendLimits },
): Sample {
  const named = [...prepared.to, ...prepared.cc].map(({ address }) => address);
  const recipients = named.length > 0 ? named : [sampleRecipient];
  const checked = checkSubmitted({ message: prepared, recipients }, { limits, nowMs });
  if (!checked.ok)
    return refusedSample(
      raw,
      checked.violations.map(({ field, description }) => `${field} ${description}`).join("; "),
      domain,
    );
  const { from, to, cc, subject, replyTo, message, later, unsubscribe } = prepared;
  const own = identity(from, nowMs);
  const email = {
    ...own,
    messageId: prepared.messageId ?? own.messageId,
    from,
    to: to.length > 0 ? to : [addressOf(sampleRecipient)],
    cc,
    subject,
    submitted: { message, later },
  };
  return {
    isOwn: false,
    content: { email },
    texts: undefined,
    fromDomain: from.domain,
    replyDomain: replyTo[0]?.domain ?? from.domain,
    unsubscribe: unsubscribe && { ...unsubscribe, address: checked.email.recipients[0]!.address },
  };
}

/** Adds header fields where emails/accept.ts adds those of a link. */
export function withFields(sample: Sample, fields: [name: string, value: string][]): Sample {
  if ("refused" in sample.content) return sample;
  const { email } = sample.content;
  const { submitted, headers = [] } = email;
  if (!submitted) return { ...sample, content: { email: { ...email, headers: [...headers, ...fields] } } };
  const head = fields.map(([name, value]) => textField(name, value)).join("");
  const rest = submitted.message;
  const message = typeof rest === "string" ? head + rest : Buffer.concat([Buffer.from(head, "latin1"), rest]);
  return { ...sample, content: { email: { ...email, submitted: { ...submitted, message } } } };
}

/** A message that cannot be submitted. Its From may be unreadable; then the domain is taken. */
export function refusedSample(raw: Buffer, refused: string, domain: string): Sample {
  return { isOwn: false, content: { refused, raw }, texts: undefined, fromDomain: domain, replyDomain: domain };
}

function identity(from: Address, nowMs: number): Pick<OutgoingEmail, "id" | "messageId" | "date"> {
  const id = toWireId("email", makeUuid(nowMs));
  return { id, messageId: makeMessageId(id, from.domain), date: new Date(nowMs) };
}

function addressOf(text: string): Address {
  const read = parseAddress(text);
  if (!read.ok) throw new Error(read.reason);
  return read.address;
}

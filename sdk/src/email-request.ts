/** Converts the email that a caller passes to `emails.send` or `emails.sendBatch` to the request of the API. */
import { type AttachmentInput, toAttachment } from "./attachment.ts";
import { badArgument } from "./error.ts";
import type { SendEmailRequest } from "./gen/email.ts";

type Plain = Omit<
  SendEmailRequest,
  "to" | "cc" | "bcc" | "references" | "attachments" | "replyToAddresses" | "replyToEmailId"
>;

/** An email to send. */
export interface SendEmail extends Plain {
  /** Primary recipients, one or several: `a@example.com` or `Name <a@example.com>`. */
  to: string | readonly string[];
  /** Carbon-copy recipients. */
  cc?: string | readonly string[];
  /** Blind-copy recipients. They do not appear in any header. */
  bcc?: string | readonly string[];
  /** Files to attach. */
  attachments?: readonly AttachmentInput[];
  /** Message-IDs for the References header. Rarely needed: `inReplyTo` and `replyTo` set this header too. */
  references?: string | readonly string[];
  /** Id of an earlier email (`em_…`) or inbound message (`in_…`) that this email replies to. It sets the threading headers. */
  replyTo?: string;
  /** Addresses for the Reply-To header. Default: replies go to `from`. */
  replyToAddresses?: string | readonly string[];
}

export async function toSendRequest(email: SendEmail): Promise<SendEmailRequest> {
  const { to, cc, bcc, attachments, references, replyTo, replyToAddresses, ...plain } = email;
  rejectUnknownFields(plain);
  if (replyTo?.includes("@")) {
    throw badArgument(
      "replyTo",
      "must be the id of an earlier email (em_…) or inbound message (in_…). Use replyToAddresses for the Reply-To header, and inReplyTo for a Message-ID",
    );
  }
  return {
    ...plain,
    to: toArray(to),
    cc: toArray(cc),
    bcc: toArray(bcc),
    references: toArray(references),
    attachments: await Promise.all((attachments ?? []).map(toAttachment)),
    replyToEmailId: replyTo,
    replyToAddresses: toArray(replyToAddresses),
  };
}

function toArray(value: string | readonly string[] | undefined): string[] {
  return value === undefined ? [] : typeof value === "string" ? [value] : [...value];
}

const knownFields: ReadonlySet<string> = new Set<keyof Plain>([
  "from",
  "subject",
  "body",
  "html",
  "metadata",
  "scheduledAt",
  "inReplyTo",
  "async",
  "headers",
  "expiresAt",
  "requireTls",
]);

/** Field names from other email APIs, with the name here. */
const fieldsByOtherName: Record<string, string> = {
  attachment: "attachments",
  content: "body",
  html_body: "html",
  htmlBody: "html",
  message: "body",
  text: "body",
  text_body: "body",
  textBody: "body",
  reply_to: "replyToAddresses",
  replyToEmailId: "replyTo",
  scheduled_at: "scheduledAt",
  tags: "metadata",
};

/** The server ignores unknown fields, so content in a field with the wrong name would be lost without an error. */
function rejectUnknownFields(plain: object): void {
  const wrong = Object.keys(plain).find((name) => !knownFields.has(name));
  if (wrong === undefined) return;
  const right = fieldsByOtherName[wrong];
  throw badArgument(wrong, `is not a field of an email${right ? `: use ${right} instead` : ""}`);
}

/** What a caller writes to send an email, made into the request that the wire has. */
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
  /** Blind-copy recipients. They appear in no header. */
  bcc?: string | readonly string[];
  /** Files to attach. */
  attachments?: readonly AttachmentInput[];
  /** Message-IDs for the References header. Rarely needed: `inReplyTo` and `replyTo` set it by themselves. */
  references?: string | readonly string[];
  /** Id of an earlier email (`em_…`) or inbound message (`in_…`) that this one answers; threading follows from it. */
  replyTo?: string;
  /** Addresses for the Reply-To header. Default: answers go to `from`. */
  replyToAddresses?: string | readonly string[];
}

export async function toSendRequest(email: SendEmail): Promise<SendEmailRequest> {
  const { to, cc, bcc, attachments, references, replyTo, replyToAddresses, ...plain } = email;
  refuseUnknown(plain);
  if (replyTo?.includes("@")) {
    throw badArgument(
      "replyTo",
      "takes the id of an earlier email (em_… or in_…). For the Reply-To header use replyToAddresses, to answer a Message-ID use inReplyTo",
    );
  }
  return {
    ...plain,
    to: several(to),
    cc: several(cc),
    bcc: several(bcc),
    references: several(references),
    attachments: await Promise.all((attachments ?? []).map(toAttachment)),
    replyToEmailId: replyTo,
    replyToAddresses: several(replyToAddresses),
  };
}

function several(value: string | readonly string[] | undefined): string[] {
  return value === undefined ? [] : typeof value === "string" ? [value] : [...value];
}

const known: ReadonlySet<string> = new Set<keyof Plain>([
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

const otherNames: Record<string, string> = {
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

/** The server ignores fields it does not know: a text under the wrong name would be sent as an empty email. */
function refuseUnknown(plain: object): void {
  const wrong = Object.keys(plain).find((name) => !known.has(name));
  if (wrong === undefined) return;
  const right = otherNames[wrong];
  throw badArgument(wrong, `is no field of an email${right ? `; here it is called ${right}` : ""}`);
}

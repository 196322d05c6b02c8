/** Converts the email that a caller passes to `emails.send` or `emails.sendBatch` to the request of the API. */
import { type Address, toAddress, toAddresses } from "./address.ts";
import { type AnyAttachment, toAttachment } from "./attachment.ts";
import { checkArray, checkString } from "./check.ts";
import { badArgument } from "./error.ts";
import type { SendEmailRequest } from "./gen/email.ts";
import { htmlToText } from "./html-text.ts";
import { type ReactElement, renderReact } from "./react.ts";
import type { Reading } from "./reading.ts";

type Plain = Omit<
  SendEmailRequest,
  "from" | "to" | "cc" | "bcc" | "body" | "references" | "attachments" | "replyToAddresses" | "replyToEmailId"
>;

/** An email to send. */
export interface SendEmail extends Plain {
  /**
   * Sender: `a@example.com`, `Name <a@example.com>` or `{ name, address }`. Its domain must be registered in this workspace and able to
   * send.
   */
  from: Address;
  /** Primary recipients, one or several: `a@example.com`, `Name <a@example.com>` or `{ name, address }`. */
  to: Address | readonly Address[];
  /** Carbon-copy recipients. */
  cc?: Address | readonly Address[];
  /** Blind-copy recipients. They do not appear in any header. */
  bcc?: Address | readonly Address[];
  /** Plain-text content. Default: made from the HTML. An empty string: the email has no text. */
  body?: string;
  /** A React Email component, such as `<Welcome />`, instead of `html`. Needs the package `@react-email/render`. */
  react?: ReactElement;
  /** Files to attach, each with `content`, `path` or `url`. */
  attachments?: readonly AnyAttachment[];
  /** Message-IDs for the References header. Rarely needed: `inReplyTo` and `replyTo` set this header too. */
  references?: string | readonly string[];
  /** Id of an earlier email (`em_…`) or inbound message (`in_…`) that this email replies to. It sets the threading headers. */
  replyTo?: string;
  /** Addresses for the Reply-To header. Default: replies go to `from`. */
  replyToAddresses?: Address | readonly Address[];
}

/** `path` begins the names of fields in errors: `emails[2].` in a batch. */
export async function toSendRequest(email: SendEmail, reading: Reading, path = ""): Promise<SendEmailRequest> {
  const { from, to, cc, bcc, body, html, react, attachments, references, replyTo, replyToAddresses, ...plain } = email;
  rejectUnknownFields(plain, path);
  if (from !== undefined && from !== null && typeof from !== "object") checkString(from, `${path}from`);
  rejectAddressAsReply(replyTo, path);
  if (attachments !== undefined && attachments !== null) checkArray(attachments, `${path}attachments`);
  const request = {
    ...plain,
    from: from === undefined || from === null ? from : toAddress(from, `${path}from`),
    to: toAddresses(to, `${path}to`),
    cc: toAddresses(cc, `${path}cc`),
    bcc: toAddresses(bcc, `${path}bcc`),
    references: toTexts(references, `${path}references`),
    replyToEmailId: replyTo,
    replyToAddresses: toAddresses(replyToAddresses, `${path}replyToAddresses`),
  };
  // Opened before the component is rendered: a stream that fails before it is read would end the process.
  const files = Promise.all(
    (attachments ?? []).map((one, i) => toAttachment(one, `${path}attachments[${i}]`, reading)),
  );
  files.catch(() => {});
  const content = { html, body };
  if (react !== undefined && react !== null) {
    if (html) throw badArgument(`${path}react`, "cannot be combined with html");
    content.html = await reading.race(renderReact(react, `${path}react`));
  }
  if (content.html !== undefined && content.html !== null) checkString(content.html, `${path}html`);
  if ((body === undefined || body === null) && content.html) content.body = htmlToText(content.html);
  return { ...request, ...content, attachments: await files };
}

/** In other libraries, replyTo is an address. */
function rejectAddressAsReply(replyTo: unknown, path: string): void {
  if (replyTo === undefined || replyTo === null || (typeof replyTo === "string" && !replyTo.includes("@"))) return;
  throw badArgument(
    `${path}replyTo`,
    "must be the id of an earlier email (em_…) or inbound message (in_…). Use replyToAddresses for the Reply-To header, and inReplyTo for a Message-ID",
  );
}

function toTexts(value: string | readonly string[] | undefined, field: string): string[] {
  if (value === undefined || value === null) return [];
  if (typeof value === "string") return [value];
  checkArray(value, field, "must be a string or an array of strings");
  return [...value];
}

/** An object, so that a field that the contract gains cannot be forgotten here. */
const knownFields: Record<keyof Plain, true> = {
  subject: true,
  html: true,
  metadata: true,
  scheduledAt: true,
  inReplyTo: true,
  async: true,
  headers: true,
  expiresAt: true,
  requireTls: true,
  unsubscribe: true,
};

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
function rejectUnknownFields(plain: object, path: string): void {
  const wrong = Object.keys(plain).find((name) => !Object.hasOwn(knownFields, name));
  if (wrong === undefined) return;
  const right = Object.hasOwn(fieldsByOtherName, wrong) ? fieldsByOtherName[wrong] : undefined;
  throw badArgument(`${path}${wrong}`, `is not a field of an email${right ? `: use ${right} instead` : ""}`);
}

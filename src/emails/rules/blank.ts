/**
 * Rejects emails without content, with advice: the caller may have put the content in a field that is misspelled or
 * named as in another service's API. Called by check.ts.
 */
import type { SendRequest } from "./request.ts";

/** Empty strings count as absent; a body of spaces is content. */
export function isBlank({ body, html, attachments }: SendRequest): boolean {
  return body === "" && html === "" && attachments.length === 0;
}

/** `unknownFields`: names in the request that are not in the contract. They are ignored, so each may be why the email is blank. */
export function blankReason(unknownFields: readonly string[]): string {
  const need = "an email needs body, html or an attachment";
  if (unknownFields.length === 0) return `is required: ${need}`;
  const listed = unknownFields.slice(0, maxListed).map((name) => {
    const advice = suggestField(name);
    return advice === undefined ? quoted(name) : `${quoted(name)} (${advice})`;
  });
  const more = unknownFields.length > maxListed ? `, and ${unknownFields.length - maxListed} more` : "";
  const fields = unknownFields.length === 1 ? "an unknown field" : "unknown fields";
  return `is required: ${need}. The request has ${fields}: ${listed.join(", ")}${more}`;
}

const maxListed = 10;
const maxNameLength = 64;

/** Advice for an unknown field name; undefined if no field of ours is likely meant. */
export function suggestField(name: string): string | undefined {
  const plain = plainName(name);
  if (templates.has(plain)) return "render the template yourself and use html";
  const field =
    Object.entries(otherNames).find(([, others]) => others.includes(plain))?.[0] ??
    known.find((field) => plainName(field) === plain) ??
    closest(plain);
  return field && `use ${field}`;
}

/** Services differ in case and separators, so `HtmlBody`, `html_body` and `htmlBody` count as one name. */
function plainName(name: string): string {
  return name
    .slice(0, maxNameLength)
    .replace(/[_\-.\s]/g, "")
    .toLowerCase();
}

/** From the APIs of Resend, Postmark, Amazon SES, SendGrid, Mailgun, Mailjet and Brevo. */
const otherNames: Record<string, readonly string[]> = {
  body: [
    "text",
    "textbody",
    "textcontent",
    "textpart",
    "plaintext",
    "plain",
    "bodytext",
    "bodyplain",
    "content",
    "message",
  ],
  html: ["htmlbody", "htmlcontent", "htmlpart", "bodyhtml", "htmltext", "markup"],
  attachments: ["attachment", "file", "files", "inlinedattachments", "inline"],
  replyToAddresses: ["replyto", "replytolist", "replytoaddress", "hreplyto"],
  metadata: ["tag", "tags", "emailtags", "customargs", "customvariables", "variables", "params", "data"],
  headers: ["customheaders", "header"],
  scheduledAt: ["sendat", "sendafter", "deliverat", "deliverytime", "scheduled", "schedule"],
  from: ["sender", "source", "fromemail", "fromaddress", "fromemailaddress"],
  to: ["recipient", "recipients", "toaddresses", "toemail", "destination", "personalizations"],
  cc: ["ccaddresses"],
  bcc: ["bccaddresses"],
  subject: ["title"],
};
const templates = new Set([
  "template",
  "templateid",
  "templatealias",
  "templatename",
  "templatemodel",
  "dynamictemplatedata",
  "react",
]);

/** The fields of SendEmail, for matching misspelled names. */
const known = [
  ...["from", "to", "cc", "bcc", "subject", "body", "html", "metadata", "scheduledAt", "attachments", "inReplyTo"],
  ...["references", "async", "headers", "replyToEmailId", "replyToAddresses", "expiresAt", "requireTls"],
];

/** Allows one edit in a short name and two in a longer one. The fields to, cc and bcc are excluded: they are close to any short name. */
function closest(plain: string): string | undefined {
  const allowed = plain.length > 6 ? 2 : 1;
  return known
    .filter((field) => field.length > 3)
    .map((field) => ({ field, edits: editsBetween(plain, field.toLowerCase()) }))
    .filter(({ edits }) => edits <= allowed)
    .sort((a, b) => a.edits - b.edits)[0]?.field;
}

/** The edit distance: letters inserted, deleted, replaced or swapped with their neighbor (optimal string alignment). */
function editsBetween(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        next[j] = Math.min(next[j]!, before[j - 2]! + 1);
    }
    before = row;
    row = next;
  }
  return row[b.length]!;
}

/** The caller chose the name, so one with unusual characters is quoted and a long one is cut. */
function quoted(name: string): string {
  return /^[\w.-]{1,64}$/.test(name) ? name : JSON.stringify(name.slice(0, maxNameLength));
}

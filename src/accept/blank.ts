/** An email without any content, and the names under which its sender may have sent some: fields of other services' APIs, or misspelled ones. */
import type { SendRequest } from "./request.ts";

/** Empty strings count as absent; a text of spaces is a text. */
export function isBlank({ body, html, attachments }: SendRequest): boolean {
  return body === "" && html === "" && attachments.length === 0;
}

/** `unknownFields`: names in the request that the contract does not have. They are ignored, so each may be why the email is blank. */
export function blankReason(unknownFields: readonly string[]): string {
  const need = "an email needs body, html or an attachment";
  if (unknownFields.length === 0) return `is required: ${need}`;
  const named = unknownFields.slice(0, mostNames).map((name) => {
    const right = likelyField(name);
    return right === undefined ? shown(name) : `${shown(name)} (${right})`;
  });
  const more = unknownFields.length > mostNames ? `, and ${unknownFields.length - mostNames} more` : "";
  const fields = unknownFields.length === 1 ? "an unknown field" : "unknown fields";
  return `is required: ${need}. The request has ${fields}: ${named.join(", ")}${more}`;
}

const mostNames = 10;
const longestName = 64;

/** The advice for a name that is not ours; undefined where none is likely. */
export function likelyField(name: string): string | undefined {
  const plain = plainName(name);
  if (templates.has(plain)) return "render the template yourself and use html";
  const right =
    Object.entries(otherNames).find(([, others]) => others.includes(plain))?.[0] ??
    known.find((field) => plainName(field) === plain) ??
    closest(plain);
  return right && `use ${right}`;
}

/** Services differ in case and in separators: `HtmlBody`, `html_body` and `htmlBody` are one name. */
function plainName(name: string): string {
  return name
    .slice(0, longestName)
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

/** The fields that a misspelled name may stand for. */
const known = [
  ...["from", "to", "cc", "bcc", "subject", "body", "html", "metadata", "scheduledAt", "attachments", "inReplyTo"],
  ...["references", "async", "headers", "replyToEmailId", "replyToAddresses", "expiresAt", "requireTls"],
];

/** One edit in a short name, two in a longer one; a name of two letters is close to everything. */
function closest(plain: string): string | undefined {
  const allowed = plain.length > 6 ? 2 : 1;
  return known
    .filter((field) => field.length > 3)
    .map((field) => ({ field, edits: editsBetween(plain, field.toLowerCase()) }))
    .filter(({ edits }) => edits <= allowed)
    .sort((a, b) => a.edits - b.edits)[0]?.field;
}

/** Letters added, left out, replaced, or swapped with their neighbour (optimal string alignment). */
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

/** A name that holds anything odd is quoted, and none is long: the caller wrote it. */
function shown(name: string): string {
  return /^[\w.-]{1,64}$/.test(name) ? name : JSON.stringify(name.slice(0, longestName));
}

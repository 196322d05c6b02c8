/** Checks the custom header fields of an email, and names the fields that occur once. Called by emails/rules/check.ts for a request, and again by
 * compose.ts. */

import { copyField } from "./return-path.ts";

/** RFC 5322 §3.6, RFC 2045, RFC 2369 and RFC 3834 allow each of these once. A receiver may show another one than a filter checks, so many refuse
 * such mail. All fields that mail/dkim.ts signs are among them, because the signature names each field. */
export const singleFields: ReadonlySet<string> = new Set([
  "from",
  "sender",
  "reply-to",
  "to",
  "cc",
  "message-id",
  "in-reply-to",
  "references",
  "subject",
  "date",
  "mime-version",
  "content-type",
  "content-transfer-encoding",
  "list-unsubscribe",
  "list-unsubscribe-post",
  "list-id",
  "feedback-id",
  "auto-submitted",
]);

export type HeaderFieldResult = { ok: true } | { ok: false; reason: string };

const MAX_VALUE_OCTETS = 4096;

/** Accepts a valid name that neither the service nor a mail server in transit sets, with a value on one line. */
export function checkHeaderField(name: string, value: string): HeaderFieldResult {
  // RFC 5322 §3.6.8: printable ASCII without ":". With 76 characters, a short value still fits on the first line.
  if (!/^[!-9;-~]{1,76}$/.test(name)) {
    return refuse(
      `The header name ${quote(name)} is not valid: use 1 to 76 letters, digits and hyphens, as in "X-Order-Id"`,
    );
  }
  const lower = name.toLowerCase();
  const owner = ownerOf(lower);
  if (owner !== undefined) return refuse(`The header ${name} cannot be set here: ${owner}`);
  if (/[\r\n\0]/.test(value)) return refuse(`The value of header ${name} contains a line break or NUL: remove it`);
  if (!value.isWellFormed())
    return refuse(`The value of header ${name} contains an unpaired surrogate: send valid Unicode`);
  const octets = Buffer.byteLength(value);
  if (octets > MAX_VALUE_OCTETS) {
    return refuse(`The value of header ${name} has ${octets} octets; at most ${MAX_VALUE_OCTETS} are allowed`);
  }
  return checkListField(name, lower, value);
}

const BY_FIELD = "use the field of the same name in the request";
const BY_SERVICE = "the service sets it";
const BY_SERVERS = "mail servers set it in transit";

const OWNERS: Readonly<Record<string, string>> = {
  from: BY_FIELD,
  to: BY_FIELD,
  cc: BY_FIELD,
  bcc: BY_FIELD,
  subject: BY_FIELD,
  "in-reply-to": BY_FIELD,
  references: BY_FIELD,
  "reply-to": "use replyToAddresses in the request",
  sender: "it would name a different sender than From",
  date: BY_SERVICE,
  "message-id": BY_SERVICE,
  "mime-version": BY_SERVICE,
  "dkim-signature": BY_SERVICE,
  [copyField.toLowerCase()]: BY_SERVICE,
  "domainkey-signature": BY_SERVICE,
  "return-path": BY_SERVERS,
  received: BY_SERVERS,
  "received-spf": BY_SERVERS,
  "authentication-results": BY_SERVERS,
  "delivered-to": BY_SERVERS,
  "x-original-to": BY_SERVERS,
  "envelope-to": BY_SERVERS,
  "apparently-to": BY_SERVERS,
  "errors-to": "the service receives the bounces",
  "return-receipt-to": "the service receives the bounces",
};

function ownerOf(lower: string): string | undefined {
  if (Object.hasOwn(OWNERS, lower)) return OWNERS[lower];
  if (lower.startsWith("content-")) return "the service derives it from the content of the email";
  if (lower.startsWith("arc-") || lower.startsWith("resent-")) return BY_SERVERS;
  return undefined;
}

// RFC 2369 §2 and RFC 8058 §3: list fields contain URLs, and the programs that read them do not decode encoded words.
function checkListField(name: string, lower: string, value: string): HeaderFieldResult {
  if (!lower.startsWith("list-") || lower === "list-id") return { ok: true };
  if (!/^[\x20-\x7e]*$/.test(value) || value.includes("=?")) {
    return refuse(`The value of header ${name} must be plain ASCII: percent-encode other characters of its URLs`);
  }
  if (value !== value.trim() || value.split(" ").some((word) => word.length > 900)) {
    return refuse(
      `The value of header ${name} must not start or end with a space or contain a URL longer than 900 characters`,
    );
  }
  return { ok: true };
}

function quote(name: string): string {
  return JSON.stringify(name.slice(0, 40)).replace(/[^\x20-\x7e]/g, "?");
}

function refuse(reason: string): HeaderFieldResult {
  return { ok: false, reason };
}

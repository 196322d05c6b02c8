/** Judges the custom header fields of a request, for accept; the composer refuses whatever this refuses. */

export type HeaderFieldResult = { ok: true } | { ok: false; reason: string };

/**
 * A field that the caller may add to a message: a lawful name that is not ours or a hop's to write, and a one-line
 * value.
 */
export function checkHeaderField(name: string, value: string): HeaderFieldResult {
  // RFC 5322 §3.6.8: printable ASCII without ":"; 76 leaves room for a value on the first line.
  if (!/^[!-9;-~]{1,76}$/.test(name)) {
    return refuse(
      `the header name ${quote(name)} is not valid: use 1 to 76 letters, digits and hyphens, as in "X-Order-Id"`,
    );
  }
  const lower = name.toLowerCase();
  const owner = ownerOf(lower);
  if (owner !== undefined) return refuse(`The header ${name} cannot be set here: ${owner}`);
  if (/[\r\n\0]/.test(value)) return refuse(`The value of header ${name} contains a line break or NUL: remove it`);
  if (!value.isWellFormed())
    return refuse(`The value of header ${name} contains half of a character: send valid Unicode`);
  const octets = Buffer.byteLength(value);
  if (octets > MAX_VALUE_OCTETS) {
    return refuse(`The value of header ${name} has ${octets} octets, at most ${MAX_VALUE_OCTETS} are allowed`);
  }
  return checkMachineRead(name, lower, value);
}

const MAX_VALUE_OCTETS = 4096;

const BY_FIELD = "use the field of the same name in the request";
const BY_US = "it is written by the service";
const BY_HOPS = "it is written by the servers on the way";

const OWNERS: Readonly<Record<string, string>> = {
  from: BY_FIELD,
  to: BY_FIELD,
  cc: BY_FIELD,
  bcc: BY_FIELD,
  subject: BY_FIELD,
  "in-reply-to": BY_FIELD,
  references: BY_FIELD,
  "reply-to": "use replyToAddresses in the request",
  sender: "it would name another sender than From",
  date: BY_US,
  "message-id": BY_US,
  "mime-version": BY_US,
  "dkim-signature": BY_US,
  "domainkey-signature": BY_US,
  "return-path": BY_HOPS,
  received: BY_HOPS,
  "received-spf": BY_HOPS,
  "authentication-results": BY_HOPS,
  "delivered-to": BY_HOPS,
  "x-original-to": BY_HOPS,
  "envelope-to": BY_HOPS,
  "apparently-to": BY_HOPS,
  "errors-to": "bounces come back to the service",
  "return-receipt-to": "bounces come back to the service",
};

function ownerOf(lower: string): string | undefined {
  if (Object.hasOwn(OWNERS, lower)) return OWNERS[lower];
  if (lower.startsWith("content-")) return "it follows from the content of the email";
  if (lower.startsWith("arc-") || lower.startsWith("resent-")) return BY_HOPS;
  return undefined;
}

// RFC 2369 §2 and RFC 8058 §3: list fields hold URLs, and a program that reads them decodes no encoded words.
function checkMachineRead(name: string, lower: string, value: string): HeaderFieldResult {
  if (!lower.startsWith("list-") || lower === "list-id") return { ok: true };
  if (!/^[\x20-\x7e]*$/.test(value) || value.includes("=?")) {
    return refuse(`The value of header ${name} must be plain ASCII: percent-encode other characters of its URLs`);
  }
  if (value !== value.trim() || value.split(" ").some((word) => word.length > 900)) {
    return refuse(`The value of header ${name} must have no outer spaces and no URL longer than 900 characters`);
  }
  return { ok: true };
}

function quote(name: string): string {
  return JSON.stringify(name.slice(0, 40)).replace(/[^\x20-\x7e]/g, "?");
}

function refuse(reason: string): HeaderFieldResult {
  return { ok: false, reason };
}

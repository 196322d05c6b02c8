/** Reads the headers of a nodemailer message: those with a field of their own in the API, Posthorn's options, and all others. */
import type { SendEmail } from "./email-request.ts";
import { badArgument } from "./error.ts";

type HeaderFields = Pick<
  SendEmail,
  "subject" | "inReplyTo" | "references" | "headers" | "metadata" | "scheduledAt" | "unsubscribe"
> & {
  idempotencyKey?: string;
};

export interface HeaderData {
  headers?: unknown;
  list?: unknown;
  normalizedHeaders?: Record<string, unknown>;
  priority?: unknown;
  xMailer?: unknown;
}

/** The fields of a message in which nodemailer and the API agree. nodemailer also takes them from `headers`. */
const ownFields = new Set(["from", "to", "cc", "bcc", "reply-to", "subject", "in-reply-to", "references"]);

const refusedHeaders: Readonly<Record<string, string>> = {
  "message-id": "cannot be set: Posthorn generates it, and sendMail returns it as info.messageId",
  date: "cannot be set: Posthorn sets it. Use X-Posthorn-Scheduled-At to send later",
};

/** `message` is nodemailer's compiled message, `data` the fields after `normalize`. */
export function readHeaders(message: object, data: HeaderData): HeaderFields {
  const header = (name: string) => valuesOf((message as { getHeader(name: string): unknown }).getHeader(name));
  const options: HeaderFields = { subject: header("Subject").join(" "), headers: {} };
  const inReplyTo = messageIds(header("In-Reply-To"));
  if (inReplyTo.length > 0) options.inReplyTo = inReplyTo.join(" ");
  const references = messageIds(header("References"));
  if (references.length > 0) options.references = references;
  const given = givenHeaders(data.headers);
  const derived = derivedHeaders(data);
  // As in nodemailer, priority and xMailer replace the same headers, and list adds to them.
  const replaced = new Set(derived.map(([name]) => name.toLowerCase()).filter((name) => !name.startsWith("list-")));
  const seen = new Set<string>();
  for (const [name, values] of [...given.filter(([name]) => !replaced.has(name.toLowerCase())), ...derived]) {
    const lower = name.toLowerCase();
    if (values.length === 0 || ownFields.has(lower)) continue;
    if (Object.hasOwn(refusedHeaders, lower)) throw badArgument(`headers.${name}`, refusedHeaders[lower]!);
    if (values.length > 1 && !lower.startsWith("list-"))
      throw badArgument(`headers.${name}`, "has several values: the API takes one value for each header");
    if (seen.has(lower)) throw badArgument(`headers.${name}`, "is set twice: the API takes one value for each header");
    seen.add(lower);
    const value = values.join(", ");
    if (lower.startsWith("x-posthorn-")) setOption(options, name, value);
    else set(options.headers!, name, value);
  }
  return options;
}

/** nodemailer takes an object, or an array of `{ key, value }`. */
function givenHeaders(headers: unknown): [name: string, values: string[]][] {
  if (Array.isArray(headers))
    return (headers as { key?: unknown; value?: unknown }[]).map(({ key, value }) => [String(key), valuesOf(value)]);
  return Object.entries((headers ?? {}) as object).map(([name, value]) => [name, valuesOf(value)]);
}

/** Headers that nodemailer derives from other fields of the message. */
function derivedHeaders({ list, normalizedHeaders = {}, priority, xMailer }: HeaderData): [string, string[]][] {
  const derived: [string, string[]][] = [];
  for (const key of Object.keys((list ?? {}) as object)) {
    const name = `list-${key.toLowerCase().trim()}`;
    derived.push([name.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase()), valuesOf(normalizedHeaders[name])]);
  }
  if (typeof xMailer === "string" && xMailer !== "") derived.push(["X-Mailer", [xMailer]]);
  const level = String(priority ?? "").toLowerCase();
  if (level === "high" || level === "low") {
    derived.push(["X-Priority", [level === "high" ? "1 (Highest)" : "5 (Lowest)"]]);
    const word = level === "high" ? "High" : "Low";
    derived.push(["X-MSMail-Priority", [word]], ["Importance", [word]]);
  }
  return derived;
}

/** A value is text, `{ prepared, value }` or an array of these. Line breaks become spaces, as in nodemailer. */
function valuesOf(value: unknown): string[] {
  if (value === undefined || value === null || value === "") return [];
  if (Array.isArray(value)) return value.flatMap(valuesOf);
  if (typeof value === "object" && "value" in value) return valuesOf(value.value);
  return [
    String(value)
      .replace(/\s*[\r\n]+\s*/g, " ")
      .trim(),
  ].filter((text) => text !== "");
}

function messageIds(values: readonly string[]): string[] {
  const ids = values.flatMap((value) => value.split(/\s+/));
  return ids.map((id) => `<${id.replace(/^<|>$/g, "")}>`);
}

/** A plain assignment of `__proto__` would be lost. */
function set(values: Record<string, string>, name: string, value: string): void {
  Object.defineProperty(values, name, { value, enumerable: true, configurable: true, writable: true });
}

/** The same options as over SMTP (docs/smtp.md), so that a program can use either transport. */
function setOption(options: HeaderFields, name: string, value: string): void {
  const option = name.toLowerCase().slice("x-posthorn-".length);
  if (option.startsWith("metadata-")) {
    options.metadata ??= {};
    set(options.metadata, option.slice("metadata-".length), value);
  } else if (option === "scheduled-at") options.scheduledAt = readTime(name, value);
  else if (option === "idempotency-key") options.idempotencyKey = value;
  else if (option === "unsubscribe") options.unsubscribe = { topic: value };
  else {
    const known =
      "X-Posthorn-Metadata-<name>, X-Posthorn-Scheduled-At, X-Posthorn-Idempotency-Key and X-Posthorn-Unsubscribe";
    throw badArgument(`headers.${name}`, `is not known: use ${known}`);
  }
}

/** A time without a zone would depend on the machine. */
function readTime(name: string, value: string): Date {
  const hasZone =
    /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d.*([Zz]|[+-]\d\d:?\d\d)$|^\D*\d{1,2} \w{3} \d{4} .*(GMT|UTC?|[+-]\d{4})$/;
  const time = new Date(value);
  if (!hasZone.test(value) || Number.isNaN(time.getTime()))
    throw badArgument(`headers.${name}`, "is not a time: write one such as 2030-01-31T09:00:00Z");
  return time;
}

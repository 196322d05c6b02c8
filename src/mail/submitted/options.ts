/** The header fields with which a submitted message sets what a call of the API sets in its request. Used by prepare.ts. */
import { copyField } from "../return-path.ts";
import { type RawField, SubmittedProblem, textOf } from "./fields.ts";

export type SubmittedOptions = {
  /** Names in lower case, because programs change the case of field names. */
  metadata: Record<string, string>;
  scheduledAt: Date | undefined;
  idempotencyKey: string | undefined;
  /** What the recipient can unsubscribe from. */
  unsubscribe: { topic: string } | undefined;
};

const prefix = "x-posthorn-";
const metadataPrefix = `${prefix}metadata-`;
const known =
  "X-Posthorn-Metadata-<name>, X-Posthorn-Scheduled-At, X-Posthorn-Idempotency-Key and X-Posthorn-Unsubscribe";

/** The caller removes the fields from the message. */
export function readOptions(fields: readonly RawField[]): SubmittedOptions {
  const options: SubmittedOptions = {
    metadata: {},
    scheduledAt: undefined,
    idempotencyKey: undefined,
    unsubscribe: undefined,
  };
  const metadata: [name: string, value: string][] = [];
  const seen = new Set<string>();
  for (const field of fields) {
    const { key, name } = field;
    // A message that was received from Posthorn and is sent on has the field of its own copy.
    if (!key.startsWith(prefix) || key === copyField.toLowerCase()) continue;
    if (seen.has(key)) throw new SubmittedProblem(`the header has more than one ${name} field: keep one`);
    seen.add(key);
    const value = textOf(field).trim();
    if (key.startsWith(metadataPrefix)) metadata.push([key.slice(metadataPrefix.length), value]);
    else if (key === `${prefix}scheduled-at`) options.scheduledAt = readTime(name, value);
    else if (key === `${prefix}idempotency-key`) options.idempotencyKey = value;
    else if (key === `${prefix}unsubscribe`) options.unsubscribe = readTopic(fields, value);
    // A misspelled field would otherwise be sent at once, or twice.
    else throw new SubmittedProblem(`the header field ${name} is not known: use ${known}`);
  }
  // An assignment to __proto__ would store nothing.
  return { ...options, metadata: Object.fromEntries(metadata) };
}

/** emails/rules checks the topic. */
function readTopic(fields: readonly RawField[], topic: string): { topic: string } {
  const own = fields.find(({ key }) => key === "list-unsubscribe" || key === "list-unsubscribe-post");
  if (own)
    throw new SubmittedProblem(`the header has X-Posthorn-Unsubscribe, which sets ${own.name}: keep one of them`);
  return { topic };
}

/** RFC 3339, as in the API, or the format of Date fields. A time without a zone would depend on the machine. */
function readTime(name: string, value: string): Date {
  const isTime =
    /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)$/.test(value) || rfc5322.test(value);
  const time = isTime ? new Date(value) : undefined;
  if (!time || Number.isNaN(time.getTime()))
    throw new SubmittedProblem(`${name} is not a time: write one such as 2030-01-31T09:00:00Z`);
  return time;
}

const rfc5322 = /^(?:[A-Za-z]{3}, *)?\d{1,2} [A-Za-z]{3} \d{4} \d\d:\d\d(:\d\d)? (?:[+-]\d{4}|GMT|UT|UTC)$/;

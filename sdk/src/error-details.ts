/** Reads the details of a Connect error, base64-encoded protobuf. Three types are used: BadRequest, ErrorInfo and RetryInfo. */
import { fromBase64 } from "./base64.ts";
import type { FieldViolation } from "./gen/error-details.ts";

export interface ReadDetails {
  violations?: FieldViolation[];
  retryAfterMs?: number;
  reason?: string;
  metadata?: Record<string, string>;
}

/** Skips details that cannot be decoded, so that the caller still gets the error itself. */
export function readDetails(details: unknown): ReadDetails {
  const read: ReadDetails = {};
  for (const detail of Array.isArray(details) ? details : []) {
    const { type, value } = (detail ?? {}) as { type?: unknown; value?: unknown };
    if (typeof value !== "string") continue;
    try {
      if (type === "google.rpc.BadRequest") read.violations = readBadRequest(fromBase64(value));
      if (type === "google.rpc.ErrorInfo") Object.assign(read, readErrorInfo(fromBase64(value)));
      if (type === "google.rpc.RetryInfo") read.retryAfterMs = readRetryInfo(fromBase64(value));
    } catch {}
  }
  return read;
}

// google/rpc/error_details.proto: BadRequest.field_violations = 1; FieldViolation.field = 1, description = 2.
function readBadRequest(bytes: Uint8Array): FieldViolation[] {
  return [...fieldsOf(bytes)].filter(isBytes(1)).map((violation) => {
    const inner = [...fieldsOf(violation.bytes)];
    return { field: textOf(inner.find(isBytes(1))), description: textOf(inner.find(isBytes(2))) };
  });
}

// ErrorInfo.reason = 1, metadata = 3; an entry of metadata has key = 1, value = 2.
function readErrorInfo(bytes: Uint8Array): Pick<ReadDetails, "reason" | "metadata"> {
  const fields = [...fieldsOf(bytes)];
  const entries = fields.filter(isBytes(3)).map((entry) => {
    const inner = [...fieldsOf(entry.bytes)];
    return [textOf(inner.find(isBytes(1))), textOf(inner.find(isBytes(2)))] as const;
  });
  const reason = textOf(fields.find(isBytes(1))) || undefined;
  return entries.length === 0 ? { reason } : { reason, metadata: Object.fromEntries(entries) };
}

// RetryInfo.retry_delay = 1; Duration.seconds = 1, nanos = 2.
function readRetryInfo(bytes: Uint8Array): number | undefined {
  const delay = [...fieldsOf(bytes)].find(isBytes(1));
  if (!delay) return undefined;
  const inner = [...fieldsOf(delay.bytes)];
  const part = (field: number) => inner.find((one) => one.field === field)?.number ?? 0;
  return part(1) * 1000 + part(2) / 1e6;
}

interface Field {
  field: number;
  number?: number;
  bytes?: Uint8Array;
}

function isBytes(field: number) {
  return (one: Field): one is Field & { bytes: Uint8Array } => one.field === field && one.bytes !== undefined;
}

function textOf(field: { bytes: Uint8Array } | undefined): string {
  return field ? new TextDecoder().decode(field.bytes) : "";
}

/** Yields the fields of one protobuf message. Wire types: 0 varint, 1 and 5 fixed width, 2 length-delimited. */
function* fieldsOf(bytes: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      if (byte === undefined || scale > 2 ** 63) throw new RangeError("the message is truncated");
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Uint8Array => {
    if (at + length > bytes.length) throw new RangeError("the message is truncated");
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    if (tag % 8 === 0) yield { field, number: varint() };
    else if (tag % 8 === 2) yield { field, bytes: take(varint()) };
    else if (tag % 8 === 1) take(8);
    else if (tag % 8 === 5) take(4);
    else throw new RangeError("the message has an unknown wire type");
  }
}

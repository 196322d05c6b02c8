/** Standard Webhooks signatures: verifies webhooks from Posthorn, and signs payloads for a user's tests. */
import { fromBase64, toBase64 } from "./base64.ts";
import { joinBytes } from "./bytes.ts";
import { checkObject } from "./check.ts";
import { badArgument, PosthornError } from "./error.ts";
import type { Event } from "./gen/event.ts";

/** Request headers: a Headers object, or Node's plain object. */
export type HeadersLike =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** Maximum difference between the signature's timestamp and the current time. Default 300. */
  toleranceSeconds?: number;
  /** The current time, for tests. Default: now. */
  now?: Date;
}

/**
 * Verifies that a webhook is from Posthorn and recent, and returns its event. `rawBody` is the body as it arrived, before any
 * JSON parser. Throws `unauthenticated` when the signature is missing, too old or wrong; respond with 401 in that case.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: HeadersLike,
  secret: string,
  options: VerifyOptions = {},
): Promise<Event> {
  checkObject(headers, "headers", "must be the request's headers: a Headers object or Node's request.headers");
  checkObject(options, "options");
  const key = await importSecret(secret);
  const body = bytesOf(rawBody);
  const id = requiredHeader(headers, "webhook-id");
  const timestamp = requiredHeader(headers, "webhook-timestamp");
  const signatures = requiredHeader(headers, "webhook-signature");
  checkTimestamp(timestamp, options);
  const signed = joinBytes([new TextEncoder().encode(`${id}.${timestamp}.`), body]);
  // Computed once: a stranger may send thousands of signatures with a large body.
  const expected = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed));
  // After a rotation there are two signatures, with the new and the old secret. One match is enough.
  for (const signature of signatures.split(" ")) {
    const [version, value = ""] = signature.split(",", 2);
    if (version === "v1" && matches(value, expected)) return parseEvent(body);
  }
  throw unauthenticated(
    "The signature does not match. Check that the secret belongs to this webhook, and that the body is passed exactly as it arrived, not parsed and serialized again.",
  );
}

export interface SignedPayload {
  body: string;
  headers: { "content-type": string; "webhook-id": string; "webhook-timestamp": string; "webhook-signature": string };
}

/** Signs an event as Posthorn does, so that your tests can post it to your endpoint. */
export async function signTestPayload(
  event: Event | string,
  secret: string,
  options: { id?: string; timestamp?: Date } = {},
): Promise<SignedPayload> {
  const body = typeof event === "string" ? event : JSON.stringify(event);
  const id = options.id ?? (typeof event === "string" ? "evt_test" : event.id);
  const timestamp = String(Math.floor((options.timestamp ?? new Date()).getTime() / 1000));
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const signature = await crypto.subtle.sign("HMAC", await importSecret(secret), signed);
  return {
    body,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${toBase64(new Uint8Array(signature))}`,
    },
  };
}

async function importSecret(secret: string): Promise<CryptoKey> {
  const shape = "must be the webhook's signing secret, whsec_ and base64, as CreateWebhook returned it";
  if (typeof secret !== "string") throw badArgument("secret", shape);
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = fromBase64(secret.trim().replace(/^whsec_/, ""));
  } catch {
    throw badArgument("secret", shape);
  }
  if (bytes.length === 0) throw badArgument("secret", shape);
  return await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

/** Compares every byte, so that the time does not show how many of them match. */
function matches(signature: string, expected: Uint8Array): boolean {
  // The base64 of 32 bytes has 43 characters and one of padding.
  if (signature.length < 43 || signature.length > 44) return false;
  let given: Uint8Array;
  try {
    given = fromBase64(signature);
  } catch {
    return false;
  }
  if (given.length !== expected.length) return false;
  let difference = 0;
  for (let i = 0; i < expected.length; i++) difference |= given[i]! ^ expected[i]!;
  return difference === 0;
}

function checkTimestamp(timestamp: string, { toleranceSeconds = 300, now = new Date() }: VerifyOptions): void {
  if (!/^\d{1,12}$/.test(timestamp)) throw unauthenticated("The header webhook-timestamp is not a number of seconds.");
  const differenceSeconds = Math.abs(now.getTime() / 1000 - Number(timestamp));
  if (!(differenceSeconds <= toleranceSeconds)) {
    throw unauthenticated(
      `The header webhook-timestamp differs from this machine's clock by ${Math.round(differenceSeconds)} seconds; at most ${toleranceSeconds} are allowed. The request may be a replay, or a clock is wrong.`,
    );
  }
}

function requiredHeader(headers: HeadersLike, name: string): string {
  const value = headerValue(headers, name);
  if (!value) throw unauthenticated(`The header ${name} is missing. The request is not a webhook from Posthorn.`);
  return value;
}

function headerValue(headers: HeadersLike, name: string): string | undefined {
  if (typeof headers.get === "function")
    return (headers as { get(name: string): string | null }).get(name) ?? undefined;
  const plain = headers as Record<string, string | readonly string[] | undefined>;
  const value = plain[name] ?? Object.entries(plain).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === "string" ? value : value?.[0];
}

function bytesOf(rawBody: unknown): Uint8Array {
  if (typeof rawBody === "string") return new TextEncoder().encode(rawBody);
  if (rawBody instanceof ArrayBuffer) return new Uint8Array(rawBody);
  if (ArrayBuffer.isView(rawBody)) return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength);
  throw badArgument(
    "rawBody",
    "must be the body as it arrived, as a string or bytes. It seems to be parsed already: read the body before any JSON parser",
  );
}

function parseEvent(body: Uint8Array): Event {
  try {
    return JSON.parse(new TextDecoder().decode(body)) as Event;
  } catch (cause) {
    throw new PosthornError("invalid_argument", "The signature matches, but the body is not JSON.", { cause });
  }
}

function unauthenticated(message: string): PosthornError {
  return new PosthornError("unauthenticated", message);
}

/** Signatures of Standard Webhooks: checks what Posthorn posts, and signs payloads for a user's own tests. */
import { fromBase64, toBase64 } from "./base64.ts";
import { joinBytes } from "./bytes.ts";
import { badArgument, PosthornError } from "./error.ts";
import type { Event } from "./gen/event.ts";

/** Headers as any server has them: a Headers object, or Node's plain object. */
export type HeadersLike =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** How far the time of the signature may lie from now. Default 300. */
  toleranceSeconds?: number;
  /** The time to compare with, for tests. Default: now. */
  now?: Date;
}

/**
 * Checks that a webhook comes from Posthorn and is fresh, and returns its event. `rawBody` is the body as it arrived, before
 * any JSON parser. Throws `unauthenticated` when the signature is missing, old or wrong: answer that with 401.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: HeadersLike,
  secret: string,
  options: VerifyOptions = {},
): Promise<Event> {
  const key = await importSecret(secret);
  const body = bytesOf(rawBody);
  const id = required(headers, "webhook-id");
  const timestamp = required(headers, "webhook-timestamp");
  const signatures = required(headers, "webhook-signature");
  refuseOld(timestamp, options);
  const signed = joinBytes([new TextEncoder().encode(`${id}.${timestamp}.`), body]);
  // After a rotation there are two signatures, of the new secret and of the old one: one that fits is enough.
  for (const signature of signatures.split(" ")) {
    const [version, value = ""] = signature.split(",", 2);
    if (version === "v1" && (await fits(key, value, signed))) return parseEvent(body);
  }
  throw refused(
    "The signature does not fit. Check that the secret is the one of this webhook, and that the body is passed exactly as it arrived, not parsed and written again.",
  );
}

export interface SignedPayload {
  body: string;
  headers: { "content-type": string; "webhook-id": string; "webhook-timestamp": string; "webhook-signature": string };
}

/** Signs an event as Posthorn would, so that your own tests can post it to your endpoint. */
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
  const shape = "must be the webhook's signing secret, whsec_ and base64, as CreateWebhook showed it";
  if (typeof secret !== "string") throw badArgument("secret", shape);
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = fromBase64(secret.trim().replace(/^whsec_/, ""));
  } catch {
    throw badArgument("secret", shape);
  }
  if (bytes.length === 0) throw badArgument("secret", shape);
  return await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

/** The platform's own comparison, which takes the same time wherever the difference lies. */
async function fits(key: CryptoKey, signature: string, signed: Uint8Array<ArrayBuffer>): Promise<boolean> {
  try {
    return await crypto.subtle.verify("HMAC", key, fromBase64(signature), signed);
  } catch {
    return false;
  }
}

function refuseOld(timestamp: string, { toleranceSeconds = 300, now = new Date() }: VerifyOptions): void {
  if (!/^\d{1,12}$/.test(timestamp)) throw refused("The header webhook-timestamp is no number of seconds.");
  const apart = Math.abs(now.getTime() / 1000 - Number(timestamp));
  if (!(apart <= toleranceSeconds)) {
    throw refused(
      `The signature is ${Math.round(apart)} seconds away from this machine's clock, more than the ${toleranceSeconds} allowed: it was sent again by somebody, or a clock is wrong.`,
    );
  }
}

function required(headers: HeadersLike, name: string): string {
  const value = lookUp(headers, name);
  if (!value) throw refused(`The header ${name} is missing: this is no webhook of Posthorn.`);
  return value;
}

function lookUp(headers: HeadersLike, name: string): string | undefined {
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
    "must be the body as it arrived, a string or bytes. It looks parsed already: read it before any JSON parser does",
  );
}

function parseEvent(body: Uint8Array): Event {
  try {
    return JSON.parse(new TextDecoder().decode(body)) as Event;
  } catch (cause) {
    throw new PosthornError("invalid_argument", "The signature fits, but the body is no JSON.", { cause });
  }
}

function refused(message: string): PosthornError {
  return new PosthornError("unauthenticated", message);
}

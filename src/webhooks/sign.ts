/** Signs what is posted, as Standard Webhooks says: a receiver proves with its secret who sent a body, which one, and when. */
import { createHmac } from "node:crypto";

export type SignedHeaders = { "webhook-id": string; "webhook-timestamp": string; "webhook-signature": string };

/** One signature per live secret, the newest first: while a secret is being replaced, a receiver may hold either. */
export function signHeaders(message: {
  id: string;
  body: string;
  nowMs: number;
  secrets: readonly string[];
}): SignedHeaders {
  const timestamp = String(Math.floor(message.nowMs / 1000));
  const signed = `${message.id}.${timestamp}.${message.body}`;
  const signatures = message.secrets.map((secret) => `v1,${hmac(keyOf(secret), signed)}`);
  return { "webhook-id": message.id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.replace(/^whsec_/, ""), "base64");
}

function hmac(key: Buffer, text: string): string {
  return createHmac("sha256", key).update(text, "utf8").digest("base64");
}

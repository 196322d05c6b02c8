/** One attempt to post an event to a webhook: encodes it, signs it with the valid secrets, posts it and judges the response. Called by
 * deliver.ts and by SendTestWebhook. */

import { createHmac } from "node:crypto";
import type { StoredEvent } from "../events/store.ts";
import { toWireId } from "../postgres/ids.ts";
import type { Secrets } from "../postgres/sealing.ts";
import { keptText } from "./exchange.ts";
import type { Exchange, Poster } from "./post.ts";
import { judgeAnswer, type WebhookVerdict } from "./rules/retry.ts";
import { secretContext, type WebhookSigner } from "./store/webhooks.ts";

export type AttemptResult = WebhookVerdict & {
  responseStatus: number | undefined;
  /** Status line, headers and body of the response together, truncated at 4 KiB. */
  responseHead: string;
  durationMs: number;
  exchange: Exchange;
};

/** Undefined when `signal` aborted the request: whether it arrived is unknown. */
export type WebhookAttempt = (
  signer: WebhookSigner,
  event: StoredEvent,
  signal: AbortSignal,
) => Promise<AttemptResult | undefined>;

export type AttemptDeps = {
  poster: Poster;
  secrets: Secrets;
  /** The event as JSON, as streams show it. */
  render(event: StoredEvent): string;
  nowMs: () => number;
};

export function createAttempt(deps: AttemptDeps): WebhookAttempt {
  return async (signer, event, signal) => {
    const body = deps.render(event);
    const secrets = signer.sealedSecrets.map((sealed) => deps.secrets.open(sealed, secretContext(signer.id)));
    const headers = signHeaders({ id: toWireId("event", event.id), body, nowMs: deps.nowMs(), secrets });
    const posted = await deps.poster.post({ url: signer.url, headers, body }, signal);
    if (!posted) return undefined;
    const { status, durationMs, exchange } = posted;
    const responseHead = headOf(exchange);
    return { ...judgeAnswer(posted.answer), responseStatus: status, responseHead, durationMs, exchange };
  };
}

function headOf({ responseHeaders, responseBody }: Exchange): string {
  if (responseHeaders === "") return "";
  return keptText(Buffer.from(`${responseHeaders}\n\n${responseBody}`));
}

export type SignedHeaders = { "webhook-id": string; "webhook-timestamp": string; "webhook-signature": string };

/** The headers of the Standard Webhooks specification, with which a receiver verifies the sender, the id and the time of a body. One
 * signature per valid secret, newest first: after a rotation a receiver may still have the old secret. */
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

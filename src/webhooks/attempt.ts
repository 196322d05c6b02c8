/** One attempt to post an event to a webhook: encodes it, signs it with the valid secrets, posts it and judges the response. Called by
 * deliver.ts and by SendTestWebhook. */

import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
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
  const keysOf = createOpener(deps);
  const render = createRenderer(deps);
  return async (signer, event, signal) => {
    const body = render(event);
    const keys = keysOf(signer);
    const headers = signHeaders({ id: toWireId("event", event.id), body, nowMs: deps.nowMs(), keys });
    const posted = await deps.poster.post({ url: signer.url, headers, body }, signal);
    if (!posted) return undefined;
    const { status, durationMs, exchange } = posted;
    const responseHead = headOf(exchange);
    return { ...judgeAnswer(posted.answer), responseStatus: status, responseHead, durationMs, exchange };
  };
}

/** Opens the secrets of webhooks. They are kept for a few seconds, because opening one takes longer than signing with it. */
function createOpener({ secrets, nowMs }: Pick<AttemptDeps, "secrets" | "nowMs">) {
  const open = new Map<string, KeyObject>();
  let clearedMs = nowMs();
  return (signer: WebhookSigner): KeyObject[] => {
    const ageMs = nowMs() - clearedMs;
    if (open.size >= maxOpenSecrets || ageMs > openForMs || ageMs < 0) {
      open.clear();
      clearedMs = nowMs();
    }
    return signer.sealedSecrets.map((sealed) => {
      const name = `${signer.id} ${sealed}`;
      const key = open.get(name) ?? signingKey(secrets.open(sealed, secretContext(signer.id)));
      open.set(name, key);
      return key;
    });
  };
}

/** Deliveries of the same event to several webhooks share its text, if they are posted at about the same time. */
function createRenderer({ render, nowMs }: Pick<AttemptDeps, "render" | "nowMs">) {
  const rendered = new Map<string, string>();
  let length = 0;
  let clearedMs = nowMs();
  const clear = () => {
    rendered.clear();
    length = 0;
    clearedMs = nowMs();
  };
  return (event: StoredEvent): string => {
    const ageMs = nowMs() - clearedMs;
    if (ageMs > renderedForMs || ageMs < 0) clear();
    const known = rendered.get(event.id);
    if (known !== undefined) return known;
    const body = render(event);
    if (length + body.length > maxRenderedLength) clear();
    rendered.set(event.id, body);
    length += body.length;
    return body;
  };
}

function headOf({ responseHeaders, responseBody }: Exchange): string {
  if (responseHeaders === "") return "";
  if (responseBody === "") return responseHeaders;
  return keptText(Buffer.from(`${responseHeaders}\n\n${responseBody}`));
}

const openForMs = 10_000;
const maxOpenSecrets = 1000;
const renderedForMs = 5000;
const maxRenderedLength = 2 * 1024 * 1024;

export type SignedHeaders = { "webhook-id": string; "webhook-timestamp": string; "webhook-signature": string };

/** The headers of the Standard Webhooks specification, with which a receiver verifies the sender, the id and the time of a body. One
 * signature per valid secret, newest first: after a rotation a receiver may still have the old secret. */
export function signHeaders(message: {
  id: string;
  body: string;
  nowMs: number;
  keys: readonly KeyObject[];
}): SignedHeaders {
  const timestamp = String(Math.floor(message.nowMs / 1000));
  const signed = `${message.id}.${timestamp}.${message.body}`;
  const signatures = message.keys.map((key) => `v1,${hmac(key, signed)}`);
  return { "webhook-id": message.id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

export function signingKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret.replace(/^whsec_/, ""), "base64"));
}

function hmac(key: KeyObject, text: string): string {
  return createHmac("sha256", key).update(text, "utf8").digest("base64");
}

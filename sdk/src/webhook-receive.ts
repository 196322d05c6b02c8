/** What all webhook handlers share: reads the raw body, verifies it, calls the user's handlers, and decides on the response. */
import { chunksOf, collectBytes } from "./bytes.ts";
import { checkFunction, checkNumber, checkObject } from "./check.ts";
import { badArgument, PosthornError } from "./error.ts";
import type { Event } from "./gen/event.ts";
import { dispatchEvent, type EventHandlers, handledTypes } from "./handlers.ts";
import type { Request, Response } from "./platform.ts";
import { type HeadersLike, type VerifyOptions, verifyWebhook } from "./webhook-signature.ts";

export interface WebhookHandlerOptions extends EventHandlers, VerifyOptions {
  /** The webhook's signing secret, `whsec_…`. */
  secret: string;
  /** A larger body is rejected with 413. Default 64 MiB. */
  maxBytes?: number;
}

export const defaultMaxBytes = 64 * 1024 * 1024;

export interface Reply {
  status: number;
  text?: string;
  /** An error of a handler or of the setup, as opposed to a request that is not from Posthorn. */
  fault?: unknown;
}

export interface Delivery {
  method: string;
  headers: HeadersLike;
  read(): Promise<string | Uint8Array>;
}

/** Posthorn retries the delivery after every status except 2xx. */
export async function receive(options: WebhookHandlerOptions, delivery: Delivery): Promise<Reply> {
  if (delivery.method !== "POST") return { status: 405, text: "Send webhooks with POST.\n" };
  let event: Event | undefined;
  try {
    event = await verifyWebhook(await delivery.read(), delivery.headers, options.secret, options);
    await dispatchEvent(event, options);
    return { status: 204 };
  } catch (error) {
    await options.onError?.(error, event);
    // The response does not include a handler's error message, because Posthorn stores responses in its delivery log.
    if (event || !(error instanceof PosthornError))
      return { status: 500, text: "The endpoint failed to handle the event.\n", fault: error };
    if (error.code === "resource_exhausted") return { status: 413, text: `${error.message}\n` };
    return error.code === "unauthenticated"
      ? { status: 401, text: `${error.message}\n` }
      : { status: 500, text: "The endpoint is misconfigured. Its error handler has the details.\n", fault: error };
  }
}

/** Called when a handler is created. The secret is checked with each request, because some frameworks load modules without their settings. */
export function checkOptions(options: WebhookHandlerOptions): void {
  checkObject(options, "options", "must be an object with the secret and handlers, such as { secret, onBounced }");
  for (const [name, value] of Object.entries(options)) if (/^on[A-Z]/.test(name)) checkFunction(value, name);
  // Compared with text, every length would be allowed.
  checkNumber(options.maxBytes, "maxBytes");
  checkNumber(options.toleranceSeconds, "toleranceSeconds");
  if (!options.onEvent && handledTypes(options).length === 0)
    throw badArgument("onEvent", "is missing: pass onEvent or a handler for one event type, such as onBounced");
}

/** The same for the handler of a framework: without `onError`, the framework's own error handling gets the fault. */
export async function receiveOrThrow(options: WebhookHandlerOptions, delivery: Delivery): Promise<Reply> {
  const reply = await receive(options, delivery);
  if (reply.fault !== undefined && !options.onError) throw reply.fault;
  return reply;
}

/** `advice` says how the framework's users keep the raw body. */
export function bodyConsumed(advice: string): PosthornError {
  return new PosthornError(
    "failed_precondition",
    `The body was read before the webhook handler, and only the raw body can be verified. ${advice}`,
  );
}

/** `raw` is a body that the framework has kept. */
export function deliveryOf(
  request: Request,
  options: WebhookHandlerOptions,
  advice: string,
  raw?: () => Promise<Uint8Array> | undefined,
): Delivery {
  return {
    method: request.method,
    headers: request.headers,
    async read() {
      const kept = await raw?.();
      if (kept) return kept;
      if ((request as { bodyUsed?: boolean }).bodyUsed) throw bodyConsumed(advice);
      return await readAll(request.body ? chunksOf(request.body) : [], options);
    },
  };
}

export function toResponse({ status, text }: Reply): Response {
  return new Response(text, { status, headers: text ? { "content-type": "text/plain; charset=utf-8" } : {} });
}

/** The properties of Node's IncomingMessage, or of a framework's request, that the handlers use. */
export interface NodeRequest extends AsyncIterable<unknown> {
  method?: string | undefined;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  readableEnded?: boolean;
}

/** The properties of Node's ServerResponse that the handlers use. */
export interface NodeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(text?: string): unknown;
}

export function nodeDeliveryOf(request: NodeRequest, options: WebhookHandlerOptions, advice: string): Delivery {
  return {
    method: request.method ?? "",
    headers: request.headers,
    async read() {
      const { rawBody, body, readableDidRead } = request as NodeRequest & Record<string, unknown>;
      const kept = [rawBody, body].find((value) => typeof value === "string" || ArrayBuffer.isView(value));
      if (kept !== undefined) return kept as string | Uint8Array;
      if (readableDidRead || request.readableEnded) throw bodyConsumed(advice);
      return await readAll(request, options);
    },
  };
}

export function writeReply(response: NodeResponse, { status, text }: Reply): void {
  response.statusCode = status;
  if (text) response.setHeader("content-type", "text/plain; charset=utf-8");
  // The client may still send the rest of the body.
  if (status === 413) response.setHeader("connection", "close");
  response.end(text);
}

export async function readAll(
  chunks: AsyncIterable<unknown> | Iterable<unknown>,
  { maxBytes = defaultMaxBytes }: WebhookHandlerOptions,
): Promise<Uint8Array> {
  const collected = collectBytes();
  let length = 0;
  for await (const chunk of chunks) {
    const part = typeof chunk === "string" ? new TextEncoder().encode(chunk) : (chunk as Uint8Array);
    length += part.length;
    if (length > maxBytes) throw new PosthornError("resource_exhausted", `The body is larger than ${maxBytes} bytes.`);
    collected.add(part);
  }
  return collected.joined();
}

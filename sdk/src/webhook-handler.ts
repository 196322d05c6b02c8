/** Webhook endpoints for a user's server: one for servers that use Request and Response, one for node:http and Express. */
import { chunksOf, joinBytes } from "./bytes.ts";
import { PosthornError } from "./error.ts";
import type { Event } from "./gen/event.ts";
import { dispatchEvent, type EventHandlers } from "./handlers.ts";
import type { Request, Response } from "./platform.ts";
import { type HeadersLike, type VerifyOptions, verifyWebhook } from "./webhook-signature.ts";

export interface WebhookHandlerOptions extends EventHandlers, VerifyOptions {
  /** The webhook's signing secret, `whsec_…`. */
  secret: string;
  /** A larger body is rejected with 413. Default 64 MiB. */
  maxBytes?: number;
}

interface Reply {
  status: number;
  text?: string;
}

/** A handler for every server that uses Request and Response: Deno, Bun, Hono, Next.js, Cloudflare Workers. */
export function fetchWebhookHandler(options: WebhookHandlerOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const { status, text } = await receive(options, {
      method: request.method,
      headers: request.headers,
      read: () => readAll(request.body ? chunksOf(request.body) : [], options),
    });
    return new Response(text, { status, headers: text ? { "content-type": "text/plain; charset=utf-8" } : {} });
  };
}

/** The properties of Node's IncomingMessage, or of a framework's request, that the handler uses. */
export interface NodeRequest extends AsyncIterable<unknown> {
  method?: string | undefined;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  readableEnded?: boolean;
}

/** The properties of Node's ServerResponse that the handler uses. */
export interface NodeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(text?: string): unknown;
}

/** A handler for `node:http` and Express. With Express, mount it before `express.json()`, or after `express.raw({ type: () => true })`. */
export function nodeWebhookHandler(
  options: WebhookHandlerOptions,
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  return async (request, response) => {
    const { status, text } = await receive(options, {
      method: request.method ?? "",
      headers: request.headers,
      read: () => readNode(request, options),
    });
    response.statusCode = status;
    if (text) response.setHeader("content-type", "text/plain; charset=utf-8");
    response.end(text);
  };
}

interface Delivery {
  method: string;
  headers: HeadersLike;
  read(): Promise<string | Uint8Array>;
}

/** Posthorn retries the delivery after every status except 2xx. */
async function receive(options: WebhookHandlerOptions, delivery: Delivery): Promise<Reply> {
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
      return { status: 500, text: "The endpoint failed to handle the event.\n" };
    if (error.code === "resource_exhausted") return { status: 413, text: `${error.message}\n` };
    return error.code === "unauthenticated"
      ? { status: 401, text: `${error.message}\n` }
      : { status: 500, text: "The endpoint is misconfigured. Its error handler has the details.\n" };
  }
}

async function readNode(request: NodeRequest, options: WebhookHandlerOptions): Promise<string | Uint8Array> {
  const { rawBody, body } = request as { rawBody?: unknown; body?: unknown };
  // A body parser may have consumed the stream. Its raw body is used; verifyWebhook reports a parsed body as an error.
  const buffered = rawBody ?? body;
  if (buffered !== undefined && (request.readableEnded || rawBody !== undefined)) return buffered as string;
  return await readAll(request, options);
}

async function readAll(
  chunks: AsyncIterable<unknown> | Iterable<unknown>,
  { maxBytes = 64 * 1024 * 1024 }: WebhookHandlerOptions,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const part = typeof chunk === "string" ? new TextEncoder().encode(chunk) : (chunk as Uint8Array);
    length += part.length;
    if (length > maxBytes) throw new PosthornError("resource_exhausted", `The body is larger than ${maxBytes} bytes.`);
    parts.push(part);
  }
  return joinBytes(parts);
}

/** Endpoints that receive webhooks: one for servers that speak Request and Response, one for Node's own. */
import { chunksOf, joinBytes } from "./bytes.ts";
import { PosthornError } from "./error.ts";
import type { Event } from "./gen/event.ts";
import { type EventHandlers, handOver } from "./handlers.ts";
import { type HeadersLike, type VerifyOptions, verifyWebhook } from "./webhook-signature.ts";

export interface WebhookHandlerOptions extends EventHandlers, VerifyOptions {
  /** The webhook's signing secret, `whsec_…`. */
  secret: string;
  /** A longer body is refused with 413. Default 64 MiB. */
  maxBytes?: number;
}

interface Answer {
  status: number;
  text?: string;
}

/** `Deno.serve`, `Bun.serve`, Hono, Next.js, Cloudflare Workers: everything that takes a Request. */
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

/** The parts of Node's IncomingMessage, and of what frameworks make of it, that are used. */
export interface NodeRequest extends AsyncIterable<unknown> {
  method?: string | undefined;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  readableEnded?: boolean;
}

/** The parts of Node's ServerResponse that are used. */
export interface NodeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(text?: string): unknown;
}

/** `node:http`, Express and the like. With Express, mount it before `express.json()`, or behind `express.raw` for every type. */
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

/** Any answer but 2xx makes Posthorn post the event again later. */
async function receive(options: WebhookHandlerOptions, delivery: Delivery): Promise<Answer> {
  if (delivery.method !== "POST") return { status: 405, text: "Webhooks arrive by POST.\n" };
  let event: Event | undefined;
  try {
    event = await verifyWebhook(await delivery.read(), delivery.headers, options.secret, options);
    await handOver(event, options);
    return { status: 204 };
  } catch (error) {
    await options.onError?.(error, event);
    // What a handler threw stays on this side: the answer shows up in the sender's log of deliveries.
    if (event || !(error instanceof PosthornError)) return { status: 500, text: "The event could not be handled.\n" };
    if (error.code === "resource_exhausted") return { status: 413, text: `${error.message}\n` };
    return error.code === "unauthenticated"
      ? { status: 401, text: `${error.message}\n` }
      : { status: 500, text: "This endpoint is not set up right.\n" };
  }
}

async function readNode(request: NodeRequest, options: WebhookHandlerOptions): Promise<string | Uint8Array> {
  const { rawBody, body } = request as { rawBody?: unknown; body?: unknown };
  // What a parser before us has left: a raw body is as good as the stream, a parsed one is told about by the check.
  const left = rawBody ?? body;
  if (left !== undefined && (request.readableEnded || rawBody !== undefined)) return left as string;
  return await readAll(request, options);
}

async function readAll(
  chunks: AsyncIterable<unknown> | Iterable<unknown>,
  { maxBytes = 64 * 1024 * 1024 }: WebhookHandlerOptions,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const piece = typeof chunk === "string" ? new TextEncoder().encode(chunk) : (chunk as Uint8Array);
    length += piece.length;
    if (length > maxBytes) throw new PosthornError("resource_exhausted", `The body is longer than ${maxBytes} bytes.`);
    pieces.push(piece);
  }
  return joinBytes(pieces);
}

/** A webhook route for Fastify 4 and 5. Imported as "posthorn/fastify". */
import { Readable } from "node:stream";
import { PosthornError } from "./error.ts";
import {
  bodyConsumed,
  checkOptions,
  defaultMaxBytes,
  readAll,
  receiveOrThrow,
  type WebhookHandlerOptions,
} from "./webhook-receive.ts";

export type { WebhookHandlerOptions } from "./webhook-receive.ts";

/** The part of Fastify's request that the route uses. */
export interface FastifyRequest {
  method: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The part of Fastify's reply that the route uses. */
export interface FastifyReply {
  code(status: number): FastifyReply;
  type(contentType: string): FastifyReply;
  header(name: string, value: string): FastifyReply;
  send(payload?: unknown): FastifyReply;
}

export interface WebhookRoute {
  bodyLimit: number;
  preParsing(request: FastifyRequest, reply: FastifyReply, payload: AsyncIterable<unknown>): Promise<unknown>;
  handler(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
}

const advice =
  "Pass the whole result of webhookRoute to app.post or app.route: its preParsing hook keeps the raw body.";

/**
 * The options of a route that verifies each webhook and calls the handler of its event:
 * `app.post("/hooks/posthorn", webhookRoute({ secret, onBounced }))`. It works with every body parser of the application. Without
 * `onError`, errors of your handlers are passed to Fastify's error handler.
 */
export function webhookRoute(options: WebhookHandlerOptions): WebhookRoute {
  checkOptions(options);
  const rawBodies = new WeakMap<object, Uint8Array>();
  return {
    bodyLimit: options.maxBytes ?? defaultMaxBytes,
    async preParsing(request, reply, payload) {
      const raw = await readAll(payload, options).catch(async (error: unknown) => {
        await options.onError?.(error);
        reply.header("connection", "close");
        // Fastify responds with the status code of an error.
        throw error instanceof PosthornError ? Object.assign(error, { statusCode: 413 }) : error;
      });
      rawBodies.set(request, raw);
      // The application's parser gets an empty object: Fastify's own refuses an event with a key such as __proto__ in its metadata.
      const parsed = Readable.from([new TextEncoder().encode("{}")], { objectMode: false });
      // Fastify compares this length with the header content-length.
      return Object.assign(parsed, { receivedEncodedLength: raw.length });
    },
    async handler(request, reply) {
      const { status, text } = await receiveOrThrow(options, {
        method: request.method,
        headers: request.headers,
        async read() {
          const raw = rawBodies.get(request);
          if (!raw) throw bodyConsumed(advice);
          return raw;
        },
      });
      if (text) reply.type("text/plain; charset=utf-8");
      return reply.code(status).send(text);
    },
  };
}

/** A webhook handler for Hono, on every platform that Hono runs on. Imported as "posthorn/hono". */
import type { Request, Response } from "./platform.ts";
import { checkOptions, deliveryOf, receiveOrThrow, toResponse, type WebhookHandlerOptions } from "./webhook-receive.ts";

export type { WebhookHandlerOptions } from "./webhook-receive.ts";

/** The part of Hono's Context that the handler uses. */
export interface HonoContext {
  req: { raw: Request };
}

const advice =
  "Call c.req.text() or c.req.arrayBuffer() instead of parsing the body another way, or mount the handler first.";

/**
 * Verifies each webhook and calls the handler of its event: `app.post("/hooks/posthorn", webhookHandler({ secret, onBounced }))`. Without
 * `onError`, errors of your handlers are passed to `app.onError`.
 */
export function webhookHandler(options: WebhookHandlerOptions): (context: HonoContext) => Promise<Response> {
  checkOptions(options);
  return async ({ req }) =>
    toResponse(
      await receiveOrThrow(
        options,
        deliveryOf(req.raw, options, advice, () => keptBody(req)),
      ),
    );
}

/** Hono keeps a body that a middleware has read. A body that was parsed as JSON differs from the raw one, so it is not used. */
function keptBody(req: object): Promise<Uint8Array> | undefined {
  const { bodyCache } = req as { bodyCache?: Record<string, Promise<unknown> | undefined> };
  const kept = bodyCache?.arrayBuffer ?? bodyCache?.text;
  return kept?.then((body) =>
    typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body as ArrayBuffer),
  );
}

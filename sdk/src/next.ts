/** Webhook handlers for Next.js: route handlers of the App Router, and API routes of the Pages Router. Imported as "posthorn/next". */
import type { Request, Response } from "./platform.ts";
import {
  checkOptions,
  deliveryOf,
  type NodeRequest,
  type NodeResponse,
  nodeDeliveryOf,
  receiveOrThrow,
  toResponse,
  type WebhookHandlerOptions,
  writeReply,
} from "./webhook-receive.ts";

export type { NodeRequest, NodeResponse, WebhookHandlerOptions } from "./webhook-receive.ts";

/**
 * For `app/…/route.ts`: `export const POST = webhookHandler({ secret, onBounced })`. Verifies each webhook and calls the handler of its
 * event. Without `onError`, errors of your handlers are thrown, and Next.js logs them.
 */
export function webhookHandler(options: WebhookHandlerOptions): (request: Request) => Promise<Response> {
  const advice = "Call the handler before request.json() or request.text().";
  checkOptions(options);
  return async (request) => toResponse(await receiveOrThrow(options, deliveryOf(request, options, advice)));
}

/**
 * For `pages/api/…`: `export default pagesWebhookHandler({ secret, onBounced })`. The file must also export
 * `const config = { api: { bodyParser: false } }`, because the handler needs the raw body.
 */
export function pagesWebhookHandler(
  options: WebhookHandlerOptions,
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  const advice = "Add `export const config = { api: { bodyParser: false } };` to the file of the API route.";
  checkOptions(options);
  return async (request, response) =>
    writeReply(response, await receiveOrThrow(options, nodeDeliveryOf(request, options, advice)));
}
